"""Games: played to their end, written down, read back."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from clover_decide.errors import InputError
from clover_decide.files import read_text
from clover_decide.xiangqi.players import Player
from clover_decide.xiangqi.position import START, Position

Result = Literal["1-0", "0-1", "1/2-1/2", "*"]
MOST_PLIES = 200
"""A game that is not decided by then is a draw."""
RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
_TAG = r'^\[(\w+) "((?:[^"\\\n]|\\.)*)"\][ \t]*$'
REPEATED = 3
"""A position that stands so often ends the game."""


@dataclass(frozen=True)
class Game:
    """Moves from a first position, and how it ended: "*" while it goes on."""

    red: str
    black: str
    start: str = START
    moves: tuple[str, ...] = ()
    result: Result = "*"
    reason: str = ""

    def positions(self) -> list[Position]:
        """Every position, the first one first.

        Raises:
            InputError: a move is not legal where it stands; the message says which.
        """
        found = [Position(self.start)]
        for number, move in enumerate(self.moves, 1):
            try:
                found.append(found[-1].after(move))
            except InputError as error:
                raise InputError(error.problem, path=f"moves[{number}]", given=move, accepted=error.accepted) from None
        return found

    def pgn(self) -> str:
        """The game as PGN, with moves from square to square."""
        date = dt.date.today().strftime("%Y.%m.%d")
        tags = {"Game": "Chinese Chess", "Date": date, "Red": self.red, "Black": self.black, "Result": self.result, "FEN": self.start}
        tags |= {"Format": "ICCS", **({"Termination": self.reason} if self.reason else {})}
        first = 1 if Position(self.start).side == "red" else 2
        numbered = [f"{i // 2 + 1}. " if i % 2 == 0 else "" for i in range(first - 1, first - 1 + len(self.moves))]
        told = [number + f"{move[:2]}-{move[2:]}".upper() for number, move in zip(numbered, self.moves, strict=True)]
        if numbered and first == 2:
            told[0] = f"1... {told[0]}"
        return "".join(f'[{name} "{_quoted(value)}"]\n' for name, value in tags.items()) + "\n" + " ".join([*told, self.result]) + "\n"

    def ucci(self) -> str:
        """The game as a position command of the UCCI protocol."""
        return f"position fen {self.start}" + (f" moves {' '.join(self.moves)}" if self.moves else "")


def _quoted(value: str) -> str:
    return " ".join(value.split()).replace("\\", "\\\\").replace('"', '\\"')


def read_game(path: Path) -> Game:
    """A game that was saved as PGN or as a UCCI move list, to go on with or to look at. Comments and variations are passed over.

    Raises:
        InputError: unreadable, several games, a token that is no move from square to square, or a move that is not legal.
    """
    text = read_text(path)
    try:
        game = _ucci_game(text) if text.lstrip().startswith("position ") else _pgn_game(text)
        game.positions()
    except InputError as error:
        raise error.at(str(path)) from None
    return game


def _ucci_game(text: str) -> Game:
    found = re.fullmatch(r"\s*position (?:startpos|fen (?P<fen>[^\n]+?))(?: moves(?P<moves>[^\n]*))?\s*", text)
    if not found:
        raise InputError("is no position command", given=text[:80], accepted="position startpos moves h2e2 h9g7")
    return Game("red", "black", found["fen"] or START, tuple(_moves((found["moves"] or "").split())))


def _pgn_game(text: str) -> Game:
    tags = [(name, re.sub(r"\\(.)", r"\1", value)) for name, value in re.findall(_TAG, text, re.MULTILINE)]
    if len({name for name, _ in tags}) < len(tags):
        raise InputError("holds several games", accepted="a file with one game")
    plain = re.sub(_TAG, " ", text, flags=re.MULTILINE)
    plain = re.sub(r"\{[^}]*\}|;[^\n]*", " ", plain)
    while (flatter := re.sub(r"\([^()]*\)", " ", plain)) != plain:
        plain = flatter
    tokens = re.sub(r"\b\d+\.+", " ", plain).split()
    results = [token for token in tokens if token in RESULTS]
    if not tokens or len(results) > 1:
        problem = "holds several games" if results else "holds no game"
        raise InputError(problem, accepted="one game as PGN with moves such as H2-E2, or a UCCI position command")
    known = dict(tags)
    result: Result = results[0] if results else "*"  # pyright: ignore[reportAssignmentType]
    moves = tuple(_moves([token for token in tokens if token not in RESULTS]))
    return Game(known.get("Red", "red"), known.get("Black", "black"), known.get("FEN", START), moves, result, known.get("Termination", ""))


def _moves(tokens: Sequence[str]) -> Iterator[str]:
    for number, token in enumerate(tokens, 1):
        plain = token.replace("-", "").lower()
        if not re.fullmatch(r"[a-i]\d[a-i]\d", plain):
            raise InputError("is no move from square to square", path=f"moves[{number}]", given=token, accepted="H2-E2 or h2e2")
        yield plain


def play(
    red: Player,
    black: Player,
    game: Game | None = None,
    *,
    most: int = MOST_PLIES,
    watch: Callable[[Game, Position], None] = lambda game, position: None,
) -> Game:
    """Play a game, or go on with one, to its end. `watch` is told of every position, the first one too.

    Raises:
        InputError: a player's move is not legal.
    """
    game = game or Game(red.name, black.name)
    positions = game.positions()
    watch(game, positions[-1])
    while True:
        position, history = positions[-1], [p.fen for p in positions[:-1]]
        ended = _end(position, history, positions, most)
        if ended is not None:
            game = replace(game, result=ended[0], reason=ended[1])
            watch(game, position)
            return game
        move = (red if position.side == "red" else black).move(position, history)
        positions.append(position.after(move))
        game = replace(game, moves=(*game.moves, move))
        watch(game, positions[-1])


def _end(position: Position, history: Sequence[str], positions: Sequence[Position], most: int) -> tuple[Result, str] | None:
    """How the game ends here, if it does."""
    lost: Result = "0-1" if position.side == "red" else "1-0"
    won: Result = "1-0" if position.side == "red" else "0-1"
    if position.over:
        return lost, "mate" if position.in_check else "stalemate"
    if history.count(position.fen) >= REPEATED - 1:
        # Who has checked at every move since the position first stood has to do something else, and loses.
        since = positions[history.index(position.fen) + 1 :]
        if all(p.in_check for p in since if p.side == position.side):
            return won, "perpetual check"
        if all(p.in_check for p in since if p.side != position.side):
            return lost, "perpetual check"
        return "1/2-1/2", "repetition"
    if len(history) >= most:
        return "1/2-1/2", f"{most} plies"
    return None
