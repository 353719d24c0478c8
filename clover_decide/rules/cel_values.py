"""What a part of a CEL expression is, if it is not a condition: a sum, an answer, options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from clover_decide.rules.formula import Formula, all_of

MAX_CASES = 32
"""Cases that a value or a comparison may come to; beyond, the library evaluates it."""


class NotSymbolicError(Exception):
    """A part of the language that only cel-python evaluates."""


@dataclass(frozen=True)
class Sum:
    """Σ factor · answer + constant. `kind` keeps dates and lengths of time apart from numbers."""

    terms: Mapping[str, Fraction]
    constant: Fraction
    kind: Literal["number", "date", "days"] = "number"

    def plus(self, other: Sum, sign: int, kind: Literal["number", "date", "days"]) -> Sum:
        terms = dict(self.terms)
        for key, factor in other.terms.items():
            terms[key] = terms.get(key, Fraction(0)) + sign * factor
        return Sum({k: f for k, f in terms.items() if f}, self.constant + sign * other.constant, kind)


@dataclass(frozen=True)
class RestOf:
    """What is left of an answer that is never negative when it is divided by a constant."""

    key: str
    of: int


@dataclass(frozen=True)
class AnswerOf:
    """A choice or text question."""

    key: str


@dataclass(frozen=True)
class OptionsOf:
    """A multiple choice, or with `counted` the number of its options."""

    key: str
    counted: bool = False


@dataclass(frozen=True)
class Cases:
    """A value that depends on conditions, of which exactly one holds: `c ? a : b`, and what is made of it."""

    cases: tuple[tuple[Formula, Any], ...]

    @classmethod
    def of(cls, condition: Formula, value: Any) -> tuple[tuple[Formula, Any], ...]:
        """The cases of a value that is taken where a condition holds."""
        if isinstance(value, Cases):
            return tuple((all_of([condition, inner]), one) for inner, one in value.cases)
        return ((condition, value),)


KINDS: dict[tuple[str, str, str], Literal["number", "date", "days"]] = {
    ("number", "+", "number"): "number",
    ("number", "-", "number"): "number",
    ("date", "-", "date"): "days",
    ("date", "+", "days"): "date",
    ("date", "-", "days"): "date",
    ("days", "+", "date"): "date",
    ("days", "+", "days"): "days",
    ("days", "-", "days"): "days",
}


def is_condition(value: Any) -> bool:
    """Whether a value is true or false: none of those here, and no text or list."""
    return not isinstance(value, AnswerOf | Cases | OptionsOf | RestOf | Sum | str | tuple)
