"""Games: played to their end, written down, read back."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
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
        return "".join(f'[{name} "{value}"]\n' for name, value in tags.items()) + "\n" + " ".join([*told, self.result]) + "\n"

    def ucci(self) -> str:
        """The game as a position command of the UCCI protocol."""
        return f"position fen {self.start}" + (f" moves {' '.join(self.moves)}" if self.moves else "")


def read_game(path: Path) -> Game:
    """A game that was saved as PGN or as a UCCI move list, to go on with or to look at.

    Raises:
        InputError: unreadable, or with a move that is not legal.
    """
    text = read_text(path)
    if found := re.search(r"position (?:startpos|fen (?P<fen>[^\n]+?))(?: moves (?P<moves>[a-i0-9 ]+))?\s*$", text):
        game = Game("red", "black", found["fen"] or START, tuple((found["moves"] or "").split()))
    else:
        tags = dict(re.findall(r'^\[(\w+) "([^"]*)"\]', text, re.MULTILINE))
        body = re.sub(r"^\[.*\]$", "", text, flags=re.MULTILINE)
        moves = tuple(move.replace("-", "").lower() for move in re.findall(r"\b[A-Ia-i]\d-?[A-Ia-i]\d\b", body))
        if not tags and not moves:
            raise InputError("holds no game", path=str(path), accepted="PGN with moves such as H2-E2, or a UCCI position command")
        game = Game(tags.get("Red", "red"), tags.get("Black", "black"), tags.get("FEN", START), moves)
    game.positions()
    return game


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
