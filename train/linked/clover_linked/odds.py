"""Three readings of one fact with stated percentages, as the clause of an ambiguous case words them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Readings = Sequence[tuple[int, Any]]
"""(percent, value) in the order in which the text names them."""


def odds(facts: Any) -> dict[str, Any]:
    """Placeholders of an `_unsure` clause."""
    readings: Readings = facts["unsure"]
    names = ("first", "second", "third")
    out: dict[str, Any] = {}
    for index, (percent, value) in enumerate(readings):
        out |= {names[index]: value, f"p{index + 1}": percent}
    return out
