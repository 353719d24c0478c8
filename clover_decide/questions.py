"""Typed questions. Torch-free; every model is frozen and refuses unknown fields.

A question set is an ordered mapping from ids to questions. Ids are the caller's: they name the answers and never
reach the model.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

MAX_QUESTIONS = 64
"""Questions a request."""
MAX_GROUP = 8
"""Questions answered together in one block."""
MAX_OPTIONS = 255
MAX_LEVELS = 10
MAX_MULTI_OPTIONS = 24
"""Options of a `multi_choice`: each takes two positions of the canvas."""

SPECIAL = re.compile(r"<\|[a-z_]+\|>|<(?:repo_name|reponame|file_sep|filename|gh_stars|issue_\w+|jupyter_\w+|empty_output)>")
"""Control tokens of the supported model families; material may contain them (it is escaped), questions may not."""


if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    OptionsLike = Sequence["str | Option | dict[str, Any]"] | Mapping[str, str | None]
    """Option names, `{name: description}`, or options."""


class Option(BaseModel):
    """One possible answer and, where the name does not say it all, what it means."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    value: str
    description: str | None = None

    @field_validator("value", "description")
    @classmethod
    def _plain(cls, text: str | None, info: ValidationInfo) -> str | None:
        if text is not None:
            _refuse_special(text)
            if not text.strip():
                raise ValueError(f"empty {info.field_name}; accepted: text")
        return text


def _refuse_special(text: str) -> None:
    found = SPECIAL.search(text)
    if found:
        raise ValueError(
            f"contains the control token {found.group()!r}, which would let text pose as prompt structure; "
            "accepted: text without control tokens (material may contain them, it is escaped)"
        )
    if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise ValueError("contains a lone surrogate, which is not encodable as UTF-8; accepted: valid Unicode")


def _as_options(value: Any) -> Any:
    """Accept names, `{name: description}` and option objects alike."""
    if isinstance(value, dict):
        return tuple({"value": k, "description": v} for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return tuple({"value": v} if isinstance(v, str) else v for v in value)
    return value


def _check_options(options: tuple[Option, ...], low: int, high: int, noun: str) -> tuple[Option, ...]:
    if not low <= len(options) <= high:
        raise ValueError(f"{len(options)} {noun} given; accepted: {low} to {high} distinct {noun}")
    seen: set[str] = set()
    for option in options:
        key = option.value.strip()
        if key in seen:
            raise ValueError(f"{noun[:-1]} {key!r} is given twice; accepted: {low} to {high} distinct {noun}")
        seen.add(key)
    return options


class _Question(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)
    text: str = Field(description="The question as put to the model.")
    depends_on: tuple[str, ...] = Field(default=(), description="Ids of questions that must share this one's group.")

    def __init__(self, text: str | None = None, **data: Any) -> None:
        # Positional text keeps `Boolean("Was the notice timely?")` short.
        if text is not None:
            data["text"] = text
        super().__init__(**data)

    @field_validator("text")
    @classmethod
    def _asked(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("empty question text; accepted: a question or an instruction")
        _refuse_special(text)
        return text


class Boolean(_Question):
    """Yes or no. The answer is a bool."""

    type: Literal["boolean"] = "boolean"

    if TYPE_CHECKING:

        def __init__(self, text: str, *, depends_on: Sequence[str] = ()) -> None: ...

    def json_schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class Choice(_Question):
    """One of 2 to 255 options. The answer is the option's value."""

    type: Literal["choice"] = "choice"
    options: tuple[Option, ...]

    if TYPE_CHECKING:

        def __init__(self, text: str, *, options: OptionsLike, depends_on: Sequence[str] = ()) -> None: ...

    _coerce = field_validator("options", mode="before")(_as_options)

    @field_validator("options")
    @classmethod
    def _count(cls, options: tuple[Option, ...]) -> tuple[Option, ...]:
        return _check_options(options, 2, MAX_OPTIONS, "options")

    def json_schema(self) -> dict[str, Any]:
        return {"enum": [o.value for o in self.options]}


class MultiChoice(_Question):
    """Any number of the options, between `minimum` and `maximum`. The answer is a tuple in option order."""

    type: Literal["multi_choice"] = "multi_choice"
    options: tuple[Option, ...]
    minimum: int = Field(default=0, ge=0)
    maximum: int | None = Field(default=None, ge=1)

    if TYPE_CHECKING:

        def __init__(
            self, text: str, *, options: OptionsLike, minimum: int = 0, maximum: int | None = None, depends_on: Sequence[str] = ()
        ) -> None: ...

    _coerce = field_validator("options", mode="before")(_as_options)

    @field_validator("options")
    @classmethod
    def _count(cls, options: tuple[Option, ...]) -> tuple[Option, ...]:
        return _check_options(options, 2, MAX_MULTI_OPTIONS, "options")

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


class Score(_Question):
    """An ordered scale of 2 to 10 levels, low to high. The answer is the level's index, from 0."""

    type: Literal["score"] = "score"
    levels: tuple[Option, ...]

    if TYPE_CHECKING:

        def __init__(self, text: str, *, levels: OptionsLike, depends_on: Sequence[str] = ()) -> None: ...

    _coerce = field_validator("levels", mode="before")(_as_options)

    @field_validator("levels")
    @classmethod
    def _count(cls, levels: tuple[Option, ...]) -> tuple[Option, ...]:
        return _check_options(levels, 2, MAX_LEVELS, "levels")

    def json_schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": 0, "maximum": len(self.levels) - 1}


class Integer(_Question):
    """A whole number within bounds of at most 12 digits."""

    type: Literal["integer"] = "integer"
    minimum: int = Field(default=0, ge=-(10**12), le=10**12)
    maximum: int = Field(default=999_999, ge=-(10**12), le=10**12)

    if TYPE_CHECKING:

        def __init__(self, text: str, *, minimum: int = 0, maximum: int = 999_999, depends_on: Sequence[str] = ()) -> None: ...

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.minimum > self.maximum:
            raise ValueError(f"bounds reversed: minimum {self.minimum} > maximum {self.maximum}; accepted: minimum <= maximum")
        return self

    def json_schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


class Number(_Question):
    """A decimal number within bounds, with at most `decimals` digits after the point. The answer is a float."""

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
        if self.minimum > self.maximum:
            raise ValueError(f"bounds reversed: minimum {self.minimum} > maximum {self.maximum}; accepted: minimum <= maximum")
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


class Date(_Question):
    """A calendar date. The answer is a `datetime.date`, an ISO string in JSON."""

    type: Literal["date"] = "date"
    earliest: dt.date = dt.date(1900, 1, 1)
    latest: dt.date = dt.date(2099, 12, 31)

    if TYPE_CHECKING:

        def __init__(
            self, text: str, *, earliest: dt.date = ..., latest: dt.date = ..., depends_on: Sequence[str] = ()
        ) -> None: ...

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.earliest > self.latest:
            raise ValueError(f"bounds reversed: earliest {self.earliest} > latest {self.latest}; accepted: earliest <= latest")
        if self.earliest.year < 1000:
            raise ValueError(f"earliest {self.earliest} has a year of fewer than four digits; accepted: year 1000 or later")
        return self

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "format": "date"}


class Quote(_Question):
    """A verbatim span of the material of at most `max_tokens` tokens; `material[start:end] == quote` always holds."""

    type: Literal["quote"] = "quote"
    max_tokens: int = Field(default=12, ge=1, le=48)

    if TYPE_CHECKING:

        def __init__(self, text: str, *, max_tokens: int = 12, depends_on: Sequence[str] = ()) -> None: ...

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1}


class Text(_Question):
    """A short string that matches a regular expression as a whole and fits `max_tokens` tokens."""

    type: Literal["text"] = "text"
    pattern: str
    max_tokens: int = Field(default=12, ge=1, le=48)

    if TYPE_CHECKING:

        def __init__(self, text: str, *, pattern: str, max_tokens: int = 12, depends_on: Sequence[str] = ()) -> None: ...

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"pattern is not a regular expression ({error}); accepted: a regular expression") from None
        return pattern

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^(?:{self.pattern})$"}


Question = Annotated[Boolean | Choice | MultiChoice | Score | Integer | Number | Date | Quote | Text, Field(discriminator="type")]
AnyQuestion = Boolean | Choice | MultiChoice | Score | Integer | Number | Date | Quote | Text
QUESTION_TYPES: dict[str, type[_Question]] = {
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
