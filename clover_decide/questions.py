"""Typed questions. Torch-free; every model is frozen and refuses unknown fields.

A question set is an ordered mapping from ids to questions. Ids are the caller's: they name the answers and never
reach the model. A bad field raises QuestionError or LimitError, also from these constructors.
"""

from __future__ import annotations

import datetime as dt
import re
import warnings
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from clover_decide.question_base import (
    MAX_LEVELS,
    MAX_MULTI_OPTIONS,
    MAX_OPTIONS,
    Option,
    QuestionBase,
    as_options,
    check_options,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clover_decide.question_base import OptionsLike


class Boolean(QuestionBase):
    """Yes or no. The answer is a bool."""

    type: Literal["boolean"] = "boolean"

    if TYPE_CHECKING:

        def __init__(self, text: str, *, depends_on: Sequence[str] = ()) -> None: ...

    def json_schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class Choice(QuestionBase):
    """One of 2 to 255 options. The answer is the option's value."""

    type: Literal["choice"] = "choice"
    options: tuple[Option, ...]

    if TYPE_CHECKING:

        def __init__(self, text: str, *, options: OptionsLike, depends_on: Sequence[str] = ()) -> None: ...

    _coerce = field_validator("options", mode="before")(as_options)

    @field_validator("options")
    @classmethod
    def _count(cls, options: tuple[Option, ...]) -> tuple[Option, ...]:
        return check_options(options, 2, MAX_OPTIONS, "options")

    def json_schema(self) -> dict[str, Any]:
        return {"enum": [o.value for o in self.options]}


class MultiChoice(QuestionBase):
    """Any number of the options, between `minimum` and `maximum`. The answer is a tuple in option order."""

    type: Literal["multi_choice"] = "multi_choice"
    options: tuple[Option, ...]
    minimum: int = Field(default=0, ge=0)
    maximum: int | None = Field(default=None, ge=1)

    if TYPE_CHECKING:

        def __init__(
            self, text: str, *, options: OptionsLike, minimum: int = 0, maximum: int | None = None, depends_on: Sequence[str] = ()
        ) -> None: ...

    _coerce = field_validator("options", mode="before")(as_options)

    @field_validator("options")
    @classmethod
    def _count(cls, options: tuple[Option, ...]) -> tuple[Option, ...]:
        return check_options(options, 2, MAX_MULTI_OPTIONS, "options")

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if not self.minimum <= self.most <= len(self.options):
            raise ValueError(
                f"minimum {self.minimum} and maximum {self.maximum} select nothing from {len(self.options)} options; "
                f"accepted: 0 <= minimum <= maximum <= {len(self.options)}"
            )
        return self

    @property
    def most(self) -> int:
        return len(self.options) if self.maximum is None else self.maximum

    def json_schema(self) -> dict[str, Any]:
        items = {"enum": [o.value for o in self.options]}
        return {"type": "array", "items": items, "uniqueItems": True, "minItems": self.minimum, "maxItems": self.most}


class Score(QuestionBase):
    """An ordered scale of 2 to 10 levels, low to high. The answer is the level's index, from 0."""

    type: Literal["score"] = "score"
    levels: tuple[Option, ...]

    if TYPE_CHECKING:

        def __init__(self, text: str, *, levels: OptionsLike, depends_on: Sequence[str] = ()) -> None: ...

    _coerce = field_validator("levels", mode="before")(as_options)

    @field_validator("levels")
    @classmethod
    def _count(cls, levels: tuple[Option, ...]) -> tuple[Option, ...]:
        return check_options(levels, 2, MAX_LEVELS, "levels")

    def json_schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": 0, "maximum": len(self.levels) - 1}


class Integer(QuestionBase):
    """A whole number within bounds of at most 12 digits."""

    type: Literal["integer"] = "integer"
    minimum: int = Field(default=0, ge=-(10**12), le=10**12)
    maximum: int = Field(default=999_999, ge=-(10**12), le=10**12)

    if TYPE_CHECKING:

        def __init__(self, text: str, *, minimum: int = 0, maximum: int = 999_999, depends_on: Sequence[str] = ()) -> None: ...

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        _ordered("minimum", self.minimum, "maximum", self.maximum)
        return self

    def json_schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


class Number(QuestionBase):
    """A decimal number within bounds, with `decimals` digits after the point. The answer is a float."""

    type: Literal["number"] = "number"
    minimum: float = Field(default=0.0, ge=-1e9, le=1e9, allow_inf_nan=False)
    maximum: float = Field(default=999_999.0, ge=-1e9, le=1e9, allow_inf_nan=False)
    decimals: int = Field(default=2, ge=0, le=6)

    if TYPE_CHECKING:

        def __init__(
            self,
            text: str,
            *,
            minimum: float = 0.0,
            maximum: float = 999_999.0,
            decimals: int = 2,
            depends_on: Sequence[str] = (),
        ) -> None: ...

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        _ordered("minimum", self.minimum, "maximum", self.maximum)
        low, high = self.scaled
        if low > high:
            raise ValueError(
                f"no number of {self.decimals} decimals lies between {self.minimum} and {self.maximum}; "
                "accepted: wider bounds or more decimals"
            )
        return self

    @property
    def scaled(self) -> tuple[int, int]:
        """Bounds as integers in units of the last decimal: ceil of the lower, floor of the upper."""
        from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

        unit = Decimal(1).scaleb(-self.decimals)
        low = (Decimal(repr(self.minimum)) / unit).to_integral_value(ROUND_CEILING)
        return int(low), int((Decimal(repr(self.maximum)) / unit).to_integral_value(ROUND_FLOOR))

    def json_schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.minimum, "maximum": self.maximum}


class Date(QuestionBase):
    """A calendar date. The answer is a `datetime.date`, an ISO string in JSON."""

    type: Literal["date"] = "date"
    earliest: dt.date = dt.date(1900, 1, 1)
    latest: dt.date = dt.date(2099, 12, 31)

    if TYPE_CHECKING:

        def __init__(
            self, text: str, *, earliest: dt.date | str = ..., latest: dt.date | str = ..., depends_on: Sequence[str] = ()
        ) -> None: ...

    @field_validator("earliest", "latest", mode="before")
    @classmethod
    def _not_a_timestamp(cls, value: Any) -> Any:
        if isinstance(value, (int, float)):
            raise ValueError("a number is not a date; accepted: an ISO date")
        return value

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        _ordered("earliest", self.earliest, "latest", self.latest)
        if self.earliest.year < 1000:
            raise ValueError(f"earliest {self.earliest} has a year of fewer than four digits; accepted: year 1000 or later")
        return self

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "format": "date"}


class Quote(QuestionBase):
    """A verbatim span of the material of at most `max_tokens` tokens; `material[start:end] == quote` always holds."""

    type: Literal["quote"] = "quote"
    max_tokens: int = Field(default=12, ge=1, le=48)

    if TYPE_CHECKING:

        def __init__(self, text: str, *, max_tokens: int = 12, depends_on: Sequence[str] = ()) -> None: ...

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1}


class Text(QuestionBase):
    """A short string that matches a regular expression as a whole and fits `max_tokens` tokens.

    The expression must mean the same to Python and to the Rust `regex` syntax that compiles it: no look-around, no
    back-references, no set operations inside brackets.
    """

    type: Literal["text"] = "text"
    pattern: str
    max_tokens: int = Field(default=12, ge=1, le=48)

    if TYPE_CHECKING:

        def __init__(self, text: str, *, pattern: str, max_tokens: int = 12, depends_on: Sequence[str] = ()) -> None: ...

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            with warnings.catch_warnings():
                # Python warns of exactly the sets ([[:alpha:]], a&&b, a--b, a~~b) that Rust reads differently.
                warnings.simplefilter("error", FutureWarning)
                re.compile(pattern)
        except (re.error, FutureWarning, RecursionError, OverflowError) as error:
            raise ValueError(f"pattern is not a plain regular expression ({error}); accepted: a regular expression") from None
        return pattern

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^(?:{self.pattern})$"}


def _ordered(low_name: str, low: Any, high_name: str, high: Any) -> None:
    if low > high:
        raise ValueError(f"bounds reversed: {low_name} {low} > {high_name} {high}; accepted: {low_name} <= {high_name}")


AnyQuestion = Boolean | Choice | MultiChoice | Score | Integer | Number | Date | Quote | Text
QUESTION_TYPES: dict[str, type[AnyQuestion]] = {
    "boolean": Boolean,
    "choice": Choice,
    "multi_choice": MultiChoice,
    "score": Score,
    "integer": Integer,
    "number": Number,
    "date": Date,
    "quote": Quote,
    "text": Text,
}


def answer_names(question: AnyQuestion) -> tuple[str, ...]:
    """What the answers of a closed question are called in its distribution; nothing for other types."""
    match question:
        case Boolean():
            return "true", "false"
        case Choice():
            return tuple(option.value for option in question.options)
        case Score():
            return tuple(str(level) for level in range(len(question.levels)))
        case _:
            return ()
