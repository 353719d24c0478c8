"""Positions of Chinese chess and facts about their moves. Legal moves come from cchess; what they win and lose is counted here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from clover_decide.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from cchess import ChessBoard

Side = Literal["red", "black"]
Square = tuple[int, int]
Move = tuple[Square, Square]
START = "rnbakabnr/9/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/9/RNBAKABNR w - - 0 1"
NAMES = {"k": "king", "a": "advisor", "b": "elephant", "n": "horse", "r": "rook", "c": "cannon", "p": "pawn"}
VALUES = {"king": 100.0, "rook": 9.0, "cannon": 4.5, "horse": 4.0, "advisor": 2.0, "elephant": 2.0, "pawn": 1.0}
"""What pieces are usually held to be worth, in pawns."""


SQUARES = [(x, y) for x in range(9) for y in range(10)]


def _near(kinds: str) -> dict[Square, list[Square]]:
    """For each square those that lie as far off as a piece of some kind may go at most: on its lines, or a step away."""
    steps = {"a": {(1, 1)}, "b": {(2, 2)}, "n": {(1, 2), (2, 1)}, "p": {(0, 1), (1, 0)}}
    lines = any(kind in "krc" for kind in kinds)
    far = set().union(*(steps.get(kind, set()) for kind in kinds))
    found = {square: list[Square]() for square in SQUARES}
    for start in SQUARES:
        for end in SQUARES:
            off = abs(start[0] - end[0]), abs(start[1] - end[1])
            if start != end and ((lines and 0 in off) or off in far):
                found[start].append(end)
    return found


NEAR = {kind: _near(kind) for kind in NAMES}
NEAR_ANY = _near("".join(NAMES))
"""What the rules are asked about: cchess would try all ninety squares for most pieces, which takes six times as long."""


@dataclass(frozen=True)
class MoveFacts:
    """A legal move and what the rules say of it.

    name: from and to, such as "h2e2" (files a to i as red sees them, ranks 0 to 9 from red's side). takes: the piece taken. check, mate:
    of the opponent. loses: the piece that the opponent can then win the most by taking, and `reply` the move that does. net: pawns
    won by the taken piece less what the best taking reply wins back. mated: whether a reply mates. reach: squares that the piece could go
    to next.
    """

    name: str
    piece: str
    takes: str | None
    check: bool
    mate: bool
    loses: str | None
    reply: str | None
    net: float
    mated: bool
    reach: int


class Position:
    """A position with a side to move. Immutable: `after` gives the next one."""

    def __init__(self, fen: str = START) -> None:
        """
        Raises:
            InputError: no FEN of a position in which both kings stand and the side that has moved is not in check.
            MissingExtraError: cchess is not installed.
        """
        self._board = _board(fen)
        self.side: Side = "black" if fen.split()[1:2] == ["b"] else "red"

    @property
    def fen(self) -> str:
        """Placement and side to move."""
        return f"{self._board.to_fen().split()[0]} {'w' if self.side == 'red' else 'b'}"

    @property
    def opponent(self) -> Side:
        return "black" if self.side == "red" else "red"

    @cached_property
    def moves(self) -> tuple[str, ...]:
        """Legal moves by name, in alphabetical order."""
        return tuple(sorted(_name(*move) for move in _legal(self._board.copy())))

    @cached_property
    def in_check(self) -> bool:
        return _checked(self._board.copy())

    @property
    def over(self) -> bool:
        """Whether the side to move cannot: it has lost, by mate or stalemate alike."""
        return not self.moves

    def after(self, move: str) -> Position:
        """The position after a legal move.

        Raises:
            InputError: it is not legal here.
        """
        if move not in self.moves:
            shown = ", ".join(self.moves[:6])
            raise InputError("is not legal here", path="move", given=move, accepted=f"one of {len(self.moves)} moves: {shown} …")
        return self._after(move)

    def _after(self, move: str) -> Position:
        # Not ChessBoard.move, which looks for mates on the way.
        board, (start, end) = self._board.copy(), (_place(move[:2]), _place(move[2:]))
        board.put_fench(board.pop_fench(start), end)
        board.next_turn()
        new = Position.__new__(Position)
        new._board, new.side = board, self.opponent
        return new

    def pieces(self, side: Side) -> list[tuple[str, str]]:
        """Names and squares of a side's pieces, the king first."""
        found = [(NAMES[p.fench.lower()], _square(p.x, p.y)) for p in self._board.get_pieces() if p and _side(p.fench) == side]
        return sorted(found, key=lambda piece: (list(NAMES.values()).index(piece[0]), piece[1]))

    def piece_at(self, square: str) -> str | None:
        return _piece(self._board, _place(square))

    def facts(self, moves: Sequence[str] | None = None) -> tuple[MoveFacts, ...]:
        """Facts of legal moves, of all by default."""
        board = self._board.copy()
        return tuple(_facts(board, move) for move in (self.moves if moves is None else moves))

    def threat(self) -> MoveFacts | None:
        """The taking move by which the opponent would win the most if it were to move; None if none wins anything. In check, None."""
        if self.in_check:
            return None
        board = self._board.copy()
        board.next_turn()
        taking = [_facts(board, _name(*move)) for move in list(_legal(board)) if board.get_fench(move[1])]
        winning = [fact for fact in taking if fact.net > 0]
        return max(winning, key=lambda fact: (fact.net, fact.name)) if winning else None


def _facts(board: ChessBoard, move: str) -> MoveFacts:
    """Facts of a legal move. The board is played on and put back."""
    start, end = _place(move[:2]), _place(move[2:])
    piece, taken = _piece(board, start), _piece(board, end)
    assert piece is not None
    with _played(board, start, end):
        check, replied, mated = _checked(board), False, False
        worst, reply = 0.0, None
        for answer in _possible(board):
            takes = board.get_fench(answer[1]) is not None
            # Most replies neither take nor check: it is enough to know that one of them is legal.
            with _played(board, *answer):
                checks = _checked(board)
                legal = not (replied and not takes and not checks) and not _exposed(board)
                mated = mated or (legal and checks and next(_legal(board), None) is None)
            replied = replied or legal
            if legal and takes and (gain := _gain(board, answer)) > worst:
                worst, reply = gain, answer
        loses = _piece(board, reply[1]) if reply else None
        board.next_turn()
        reach = len(_possible(board, [end]))
        board.next_turn()
    net = (VALUES[taken] if taken else 0.0) - worst
    return MoveFacts(move, piece, taken, check, not replied, loses, _name(*reply) if reply else None, net, mated, reach)


def _gain(board: ChessBoard, move: Move) -> float:
    """What a legal move wins by taking; less what has taken, if that can be taken in turn."""
    won, taker = _piece(board, move[1]), _piece(board, move[0])
    if won is None or taker is None:
        return 0.0
    with _played(board, *move):
        again = any(_safe(board, start, move[1]) for start in _takers(board, move[1]))
    return VALUES[won] - (VALUES[taker] if again else 0.0)


def _legal(board: ChessBoard) -> Iterator[Move]:
    """Legal moves of the side to move. The board is played on and put back between them."""
    for start, end in _possible(board):
        if _safe(board, start, end):
            yield start, end


def _possible(board: ChessBoard, starts: Sequence[Square] = SQUARES) -> list[Move]:
    """The moves that pieces of the side to move can make, whether they leave the king in check or not."""
    red = board.get_move_color() == 1  # cchess.RED
    placed = ((start, fench) for start in starts if (fench := board.get_fench(start)) and fench.isupper() == red)
    return [(start, end) for start, fench in placed for end in NEAR[fench.lower()][start] if board.is_valid_move(start, end)]


def _safe(board: ChessBoard, start: Square, end: Square) -> bool:
    """Whether a move that its piece can make leaves the own king out of check."""
    with _played(board, start, end):
        return not _exposed(board)


@contextmanager
def _played(board: ChessBoard, start: Square, end: Square) -> Iterator[None]:
    """The board with a move made, until it is put back: copying it thousands of times would take seconds."""
    piece, taken = board.pop_fench(start), board.get_fench(end)
    board.put_fench(piece, end)
    board.next_turn()
    try:
        yield
    finally:
        board.next_turn()
        board.put_fench(piece, start)
        board.put_fench(taken, end)


def _checked(board: ChessBoard) -> bool:
    """Whether the side to move is in check: what the other would see if it were to move."""
    board.next_turn()
    try:
        return _exposed(board)
    finally:
        board.next_turn()


def _exposed(board: ChessBoard) -> bool:
    """Whether the side to move could take the other's king."""
    king = board.get_king(board.move_player.opposite())
    return king is not None and bool(_takers(board, (king.x, king.y)))


def _takers(board: ChessBoard, square: Square) -> list[Square]:
    """Where the side to move has pieces that could take what is on a square."""
    return [start for start in NEAR_ANY[square] if board.get_fench(start) and board.is_valid_move(start, square)]


def _piece(board: ChessBoard, at: Square) -> str | None:
    found = board.get_fench(at)
    return NAMES[found.lower()] if found else None


def _board(fen: str) -> ChessBoard:
    try:
        from cchess import ChessBoard
    except ImportError:
        raise MissingExtraError("cchess is not installed", path="xiangqi", accepted='pip install "clover-decide[xiangqi]"') from None
    placed, *rest = fen.split() or [""]
    rows = placed.split("/")
    known = all(c in "123456789kabnrcpKABNRCP" for row in rows for c in row)
    widths = [sum(int(c) if c.isdigit() else 1 for c in row) for row in rows] if known else []
    if len(rows) != 10 or set(widths) != {9} or (rest and rest[0] not in ("w", "b", "r")):
        raise InputError("is no position", path="fen", given=fen, accepted="ten ranks of nine squares and w or b, such as " + START)
    if placed.count("k") != 1 or placed.count("K") != 1:
        raise InputError("needs one king of each side", path="fen", given=fen, accepted="one k and one K")
    for king, palace in (("k", rows[:3]), ("K", rows[7:])):
        if not any("".join("." * int(c) if c.isdigit() else c for c in row)[3:6].count(king) for row in palace):
            raise InputError(
                "a king is not in its palace", path="fen", given=fen, accepted="kings on files d to f of their three back ranks"
            )
    board = ChessBoard(f"{placed} {'b' if rest[:1] == ['b'] else 'w'}")
    other = board.copy()
    other.next_turn()
    if _checked(other):
        raise InputError("the side that has moved is in check", path="fen", given=fen, accepted="a position that can arise")
    return board


def _square(x: int, y: int) -> str:
    return f"{chr(ord('a') + x)}{y}"


def _place(square: str) -> tuple[int, int]:
    return ord(square[0]) - ord("a"), int(square[1])


def _name(start: tuple[int, int], end: tuple[int, int]) -> str:
    return _square(*start) + _square(*end)


def _side(fench: str) -> Side:
    return "red" if fench.isupper() else "black"
