"""Three readings of one fact with stated percentages.

The likeliest lies on one side of the deciding threshold, the two others together outweigh it on the other: the favourite of
each question alone then belongs to no one reading, and an answerer that takes questions apart is wrong however well it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clover_linked.cases import Draw

Readings = Sequence[tuple[int, Any]]
"""(percent, value) in the order in which the text names them."""


SHARES = ((40, 35, 25), (45, 30, 25), (40, 31, 29), (44, 32, 24))


def around(draw: Draw, threshold: int, *, reaching: bool, spread: int = 6) -> list[tuple[int, int]]:
    """(percent, number) for three numbers near a threshold, the likeliest first.

    reaching: whether a number that equals the threshold lies on the upper side.
    """
    upper = draw.rng.sample(range(threshold + (not reaching), threshold + spread), 3)
    lower = draw.rng.sample(range(max(1, threshold - spread + 1), threshold + (not reaching)), 3)
    first, others = (upper, lower) if draw.chance() else (lower, upper)
    return list(zip(draw.pick(*SHARES), (first[0], *others[1:]), strict=True))


def odds(facts: Any) -> dict[str, Any]:
    """Placeholders of an `_unsure` clause."""
    readings: Readings = facts["unsure"]
    names = ("first", "second", "third")
    out: dict[str, Any] = {}
    for index, (percent, value) in enumerate(readings):
        out |= {names[index]: value, f"p{index + 1}": percent}
    return out
