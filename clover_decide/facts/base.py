"""What a derived fact is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MAX_MENTIONS = 4
"""Places that are remembered of a date, count or amount."""


@dataclass(frozen=True)
class Fact:
    """One derived fact. `text` is what the model reads; `value` is exact (days for differences, ISO for dates).

    `at` are the characters of the material where what it is derived from begins.
    """

    kind: Literal["date", "ambiguous_date", "days_between", "comparison", "difference", "given"]
    text: str
    value: str | int | None = None
    at: tuple[int, ...] = ()


def surface(found: str) -> str:
    """What was found, as a fact shows it: a line break or two spaces in it are one space."""
    return " ".join(found.split())
