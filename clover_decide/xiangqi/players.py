"""Who can play: the model, a human's typed moves, an engine that speaks UCI, one who takes what is worth most, and chance."""

from __future__ import annotations

import random
import re
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from clover_decide.errors import InputError, ModelError
from clover_decide.xiangqi.position import VALUES, Position
from clover_decide.xiangqi.turn import choose, decide_turn, make_turn

if TYPE_CHECKING:
    from clover_decide.decider import Decider
    from clover_decide.decision import Decision


PATIENCE = 30.0
"""Seconds that an engine has for an answer."""


class Player(Protocol):
    """Chooses a legal move of a position that has one. `history` are the positions before (FEN), the first one first."""

    name: str

    def move(self, position: Position, history: Sequence[str]) -> str: ...


@dataclass
class RandomPlayer:
    """Any legal move."""

    rng: random.Random
    name: str = "random"

    def move(self, position: Position, history: Sequence[str]) -> str:
        return self.rng.choice(position.moves)


@dataclass
class CandidatePlayer:
    """Any of the moves that the model would be asked to choose from: what the facts alone are worth."""

    rng: random.Random
    name: str = "candidates"

    def move(self, position: Position, history: Sequence[str]) -> str:
        return self.rng.choice(choose(position, history)).name


@dataclass
class GreedyPlayer:
    """Takes what is worth most, one ply deep; of equals, any."""

    rng: random.Random
    name: str = "greedy"

    def move(self, position: Position, history: Sequence[str]) -> str:
        worth = {move: VALUES.get(position.piece_at(move[2:]) or "", 0.0) for move in position.moves}
        best = max(worth.values())
        return self.rng.choice([move for move, value in worth.items() if value == best])


@dataclass
class ModelPlayer:
    """The model: a group of linked questions a turn. `last` is the decision of its last move."""

    decider: Decider
    mode: Any = "joint"
    effort: Any = "standard"
    name: str = ""
    last: Decision | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.name = self.name or f"{self.decider.model} {self.mode}"

    def move(self, position: Position, history: Sequence[str]) -> str:
        move, self.last = decide_turn(self.decider, make_turn(position, history), self.mode, self.effort)
        return move


class EnginePlayer:
    """An engine that speaks UCI with the variant xiangqi, such as fairy-stockfish.

    Raises:
        ModelError: it cannot be started, or ends.
    """

    def __init__(self, path: Path, options: Mapping[str, Any] | None = None, limit: str = "depth 1") -> None:
        self.name, self._limit = f"{path.name} {limit}", limit
        try:
            self._process = subprocess.Popen([str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        except OSError as error:
            raise ModelError(f"cannot be started ({error.strerror})", path="engine", given=str(path), accepted="a UCI engine") from None
        try:
            self._send("uci", "setoption name UCI_Variant value xiangqi")
            self._send(*(f"setoption name {name} value {value}" for name, value in (options or {}).items()), "isready")
            self._read("readyok")
        except ModelError:
            self.close()
            raise

    def move(self, position: Position, history: Sequence[str]) -> str:
        return self.best(position)[0]

    def best(self, position: Position, among: Sequence[str] = ()) -> tuple[str, str | None]:
        """Its move, of all or of some, and the reply that it expects, if it names one."""
        only = f" searchmoves {' '.join(_counted(move, 1) for move in among)}" if among else ""
        self._send(f"position fen {position.fen} - - 0 1", f"go {self._limit}{only}")
        found = re.match(r"bestmove ([a-i]\d+[a-i]\d+)(?: ponder ([a-i]\d+[a-i]\d+))?", self._read("bestmove"))
        assert found, "a position with legal moves has a best one"
        return _counted(found[1], -1), _counted(found[2], -1) if found[2] else None

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _send(self, *lines: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("".join(line + "\n" for line in lines))
            self._process.stdin.flush()
        except OSError:
            raise ModelError("the engine has ended", path="engine", given=self.name, accepted="a UCI engine") from None

    def _read(self, begins: str) -> str:
        assert self._process.stdout is not None
        # A program that never answers is ended, which ends the reading too.
        guard = threading.Timer(PATIENCE, self._process.kill)
        guard.start()
        try:
            while line := self._process.stdout.readline():
                if line.startswith(begins):
                    return line
        finally:
            guard.cancel()
        raise ModelError("the engine has ended, or does not answer", path="engine", given=self.name, accepted="a UCI engine")


def _counted(move: str, more: int) -> str:
    """A move with other numbers of ranks: engines count from 1."""
    return re.sub(r"\d+", lambda rank: str(int(rank[0]) + more), move)


def read_move(text: str, position: Position) -> str:
    """A move as people type it: h2e2, H2-E2 or h2 e2.

    Raises:
        InputError: no move, or not a legal one.
    """
    plain = re.sub(r"[\s-]", "", text.lower())
    if not re.fullmatch(r"[a-i]\d[a-i]\d", plain):
        raise InputError("is no move", path="move", given=text.strip(), accepted="from and to, such as h2e2")
    position.after(plain)
    return plain
