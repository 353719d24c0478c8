"""A board as text, red below."""

from __future__ import annotations

from clover_decide.xiangqi.position import Position, Side

LETTERS = {"king": "k", "advisor": "a", "elephant": "b", "horse": "n", "rook": "r", "cannon": "c", "pawn": "p"}
GLYPHS: dict[Side, dict[str, str]] = {
    "red": dict(zip(LETTERS, "帥仕相傌俥炮兵", strict=True)),
    "black": dict(zip(LETTERS, "將士象馬車砲卒", strict=True)),
}


def board_text(position: Position, last: str = "", *, glyphs: bool = False) -> str:
    """Ten ranks with their numbers, the files below; the squares of the last move are marked. Letters: red in capitals."""
    placed: dict[str, str] = {}
    for side in ("red", "black"):
        for piece, square in position.pieces(side):
            letter = LETTERS[piece].upper() if side == "red" else LETTERS[piece]
            placed[square] = GLYPHS[side][piece] if glyphs else letter
    empty = "．" if glyphs else "."
    rows: list[str] = []
    for rank in range(9, -1, -1):
        cells = [_cell(placed.get(f"{file}{rank}", empty), f"{file}{rank}" in (last[:2], last[2:])) for file in "abcdefghi"]
        rows.append(f"{rank} " + "".join(cells))
        if rank == 5:
            rows.append("  " + "~" * (36 if glyphs else 27))
    names = "ａｂｃｄｅｆｇｈｉ" if glyphs else "abcdefghi"
    return "\n".join([*rows, "  " + "".join(f" {name} " for name in names)])


def _cell(piece: str, marked: bool) -> str:
    return f"[{piece}]" if marked else f" {piece} "
