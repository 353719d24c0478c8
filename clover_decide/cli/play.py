"""`clover-decide play`: Chinese chess in the terminal."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from clover_decide.cli.options import DtypeOption, ModelOption, ModeOption
from clover_decide.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clover_decide.xiangqi.game import Game
    from clover_decide.xiangqi.players import Player
    from clover_decide.xiangqi.position import Position

play = typer.Typer(no_args_is_help=True, help="Games against the model.")
Who = Literal["human", "model", "independent", "random", "candidates", "greedy", "engine"]
QUIT = {"quit", "exit", "q"}


@play.callback()
def games() -> None:
    """Games against the model."""


class _StoppedError(Exception):
    """The human wants to stop."""


@dataclass
class HumanPlayer:
    """Moves typed on stdin; what is none is told, and asked for again."""

    name: str = "human"

    def move(self, position: Position, history: Sequence[str]) -> str:
        from clover_decide.xiangqi.players import read_move

        while True:
            print(f"{position.side}, your move (such as h2e2; quit): ", end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            if not line or line.strip().lower() in QUIT:
                raise _StoppedError
            try:
                return read_move(line, position)
            except InputError as error:
                print(error, file=sys.stderr)


@play.command("xiangqi")
def xiangqi(
    red: Annotated[Who, typer.Option(help="Who has red: independent is the model asked one question at a time.")] = "human",
    black: Annotated[Who, typer.Option(help="Who has black.")] = "model",
    games: Annotated[int, typer.Option(min=1, help="With more than one the two change colours, and the score is printed as JSON.")] = 1,
    fen: Annotated[str | None, typer.Option(help="The first position.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with a saved game (PGN, or a UCCI move list).")] = None,
    save: Annotated[Path | None, typer.Option(help="Write the games as PGN here.")] = None,
    engine: Annotated[Path, typer.Option(help="A UCI engine with the variant xiangqi.")] = Path("/usr/games/fairy-stockfish"),
    skill: Annotated[int, typer.Option(min=-20, max=20, help="The engine's skill level.")] = -20,
    limit: Annotated[str, typer.Option(help="The engine's search, as UCI's go has it.")] = "depth 1",
    opening: Annotated[int, typer.Option(min=0, max=20, help="Plies drawn by lot before each two games of several.")] = 0,
    most: Annotated[int, typer.Option(min=2, help="Plies after which a game is a draw.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the players that draw lots.")] = 0,
    glyphs: Annotated[bool, typer.Option("--glyphs", help="Chinese characters for the pieces.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No boards.")] = False,
    mode: ModeOption = "joint",
    model: ModelOption = "clover-xiangqi",
    dtype: DtypeOption = "float32",
) -> int:
    """Chinese chess: human, model, engine and simple players against each other.

    clover-decide play xiangqi

    clover-decide play xiangqi --red model --black random --games 10 --quiet
    """
    from clover_decide.xiangqi.game import Game, read_game
    from clover_decide.xiangqi.game import play as play_game
    from clover_decide.xiangqi.match import match
    from clover_decide.xiangqi.position import START, Position

    start = Position(fen).fen + " - - 0 1" if fen is not None else START
    if resume and (fen or games > 1):
        raise InputError("goes on with one game", path="--resume", accepted="--resume without --fen and --games")
    if games > 1 and "human" in (red, black):
        raise InputError("people play one game at a time", path="--games", given=games, accepted="--games 1")
    if save is not None and (save.exists() or not save.parent.is_dir()):
        problem = "the file exists" if save.exists() else "no such folder"
        raise InputError(problem, path="--save", given=str(save), accepted="a new file in an existing folder")
    begun = read_game(resume) if resume else None
    if begun is not None and begun.result != "*":
        raise InputError(f"the game is over ({begun.result})", path="--resume", given=str(resume), accepted='a game with the result "*"')
    options: dict[str, Any] = {"engine": engine, "skill": skill, "limit": limit, "mode": mode, "model": model, "dtype": dtype}
    players = (_player(red, random.Random(f"{seed}-red"), options), _player(black, random.Random(f"{seed}-black"), options))
    told = {"first": players[0].name, "second": players[1].name}
    if games > 1:
        score = match(*players, games, start=start, most=most, opening=opening, seed=seed, watch=lambda s: _tell_score(s, games))
        low, high = score.interval()
        counts = {"won": score.won, "drawn": score.drawn, "lost": score.lost}
        print(json.dumps({**told, "games": games, **counts, "points": round(score.points, 4), "interval": [round(low, 4), round(high, 4)]}))
        _save(save, score.games)
        return 0
    game = begun or Game(players[0].name, players[1].name, start)
    seen: list[Game] = [game]

    def watch(at: Game, position: Position) -> None:
        seen.append(at)
        if not quiet:
            _show(at, position, players, glyphs)

    try:
        game = play_game(*players, game, most=most, watch=watch)
    except _StoppedError:
        game = seen[-1]
    print(game.pgn(), end="", flush=True)
    _save(save, [game])
    return 0


def _player(who: Who, rng: random.Random, options: dict[str, Any]) -> Player:
    from clover_decide.xiangqi.players import CandidatePlayer, EnginePlayer, GreedyPlayer, ModelPlayer, RandomPlayer

    match who:
        case "human":
            return HumanPlayer()
        case "random":
            return RandomPlayer(rng)
        case "candidates":
            return CandidatePlayer(rng)
        case "greedy":
            return GreedyPlayer(rng)
        case "engine":
            return EnginePlayer(options["engine"], {"Skill Level": options["skill"]}, options["limit"])
        case _:
            from clover_decide.decider import Decider

            mode = "independent" if who == "independent" else options["mode"]
            return ModelPlayer(Decider(options["model"], dtype=options["dtype"]), mode)


def _show(game: Game, position: Position, players: Sequence[Player], glyphs: bool) -> None:
    from clover_decide.decision import shown
    from clover_decide.xiangqi.view import board_text

    last = game.moves[-1] if game.moves else ""
    print(f"\n{board_text(position, last, glyphs=glyphs)}", file=sys.stderr)
    if game.result != "*":
        print(f"{game.result} {game.reason}", file=sys.stderr)
        return
    if last:
        moved = players[0 if position.side == "black" else 1]
        decision = getattr(moved, "last", None)
        if decision is not None:
            told = ", ".join(f"{key} {shown(answer.value)} ({answer.probability:.2f})" for key, answer in decision.answers.items())
            print(f"{moved.name} played {last}: {told}; {decision.timing.total:.1f} s", file=sys.stderr)


def _tell_score(score: Any, games: int) -> None:
    print(f"\r{score.played} of {games}: +{score.won} ={score.drawn} -{score.lost} ", end="", file=sys.stderr, flush=True)
    if score.played == games:
        print(file=sys.stderr)


def _save(path: Path | None, games: Sequence[Game]) -> None:
    if path is None:
        return
    try:
        path.write_text("\n".join(game.pgn() for game in games), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", path="--save", given=str(path), accepted="a writable path") from None
