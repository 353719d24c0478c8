"""What all questions share: limits, options, and how a bad field becomes an error of ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from clover_decide.errors import LimitError, QuestionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_core import ErrorDetails

    OptionsLike = Sequence["str | Option | dict[str, Any]"] | Mapping[str, str | None]
    """Option names, `{name: description}`, or options."""

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


def refuse_special(text: str) -> None:
    """Raise ValueError if the text could pose as prompt structure or cannot be encoded."""
    found = SPECIAL.search(text)
    if found:
        raise ValueError(
            f"contains the control token {found.group()!r}, which would let text pose as prompt structure; "
            "accepted: text without control tokens (material may contain them, it is escaped)"
        )
    if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise ValueError("contains a lone surrogate, which is not encodable as UTF-8; accepted: valid Unicode")


class Option(BaseModel):
    """One possible answer and, where the name does not say it all, what it means."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    value: str
    description: str | None = None

    @field_validator("value", "description")
    @classmethod
    def _plain(cls, text: str | None, info: ValidationInfo) -> str | None:
        if text is not None:
            refuse_special(text)
            if not text.strip():
                raise ValueError(f"empty {info.field_name}; accepted: text")
        return text


def as_options(value: Any) -> Any:
    """Accept names, `{name: description}` and option objects alike."""
    if isinstance(value, dict):
        return tuple({"value": k, "description": v} for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(_as_option(item) for item in value)
    return value


def _as_option(item: Any) -> Any:
    if isinstance(item, (bool, int, float)):
        raise ValueError(f"{item!r} is not text, and in YAML an unquoted yes, no or number is not either; accepted: quoted names")
    return {"value": item} if isinstance(item, str) else item


def check_options(options: tuple[Option, ...], low: int, high: int, noun: str) -> tuple[Option, ...]:
    """The right number of options, distinct as the model reads them (runs of white space are one space)."""
    if not low <= len(options) <= high:
        raise ValueError(f"{len(options)} {noun} given; accepted: {low} to {high} distinct {noun}")
    seen: set[str] = set()
    for option in options:
        key = " ".join(option.value.split())
        if key in seen:
            raise ValueError(f"{noun[:-1]} {key!r} is given twice; accepted: {low} to {high} distinct {noun}")
        seen.add(key)
    return options


class QuestionBase(BaseModel):
    """Text and dependencies of any question. Frozen; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    text: str = Field(description="The question as put to the model.")
    depends_on: tuple[str, ...] = Field(default=(), description="Ids of questions that must share this one's group.")

    def __init__(self, text: str | None = None, /, **data: Any) -> None:
        # Positional text keeps `Boolean("Was the notice timely?")` short.
        if text is not None:
            data["text"] = text
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise question_error(error) from None

    @field_validator("text")
    @classmethod
    def _asked(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("empty question text; accepted: a question or an instruction")
        refuse_special(text)
        return text


def question_error(error: ValidationError) -> QuestionError | LimitError:
    """The first problem pydantic found, as one of our errors; the path is relative to the question."""
    first = error.errors(include_url=False)[0]
    problem, _, accepted = first["msg"].removeprefix("Value error, ").partition("; accepted: ")
    given = first.get("input")
    if first["type"] == "missing":
        problem = "is required"
    if first["type"] == "missing" or isinstance(given, (dict, list, tuple)):
        given = None
    if first["type"] == "extra_forbidden":
        problem, given, accepted = "unknown field", None, "the fields of this question type"
    accepted = accepted or _bounded(first) or _accepted_by(first["type"])
    over = re.match(r"(\d+) (?:options|levels) given", problem)
    kind = LimitError if over and int(over.group(1)) > MAX_LEVELS else QuestionError
    return kind(problem, path=".".join(str(step) for step in first["loc"]), given=given, accepted=accepted)


def _bounded(first: ErrorDetails) -> str:
    """The bound that a number is beyond."""
    words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
    return next((f"{words[name]} {bound}" for name, bound in first.get("ctx", {}).items() if name in words), "")


def _accepted_by(kind: str) -> str:
    words = {
        "missing": "a value",
        "string_type": "text",
        "int_": "a whole number within the documented bounds",
        "float": "a number within the documented bounds",
        "finite_number": "a finite number",
        "date": "an ISO date",
        "less": "a value within the documented bounds",
        "greater": "a value within the documented bounds",
        "tuple": "a list",
        "model": "a name or {value, description}",
    }
    return next((text for prefix, text in words.items() if kind.startswith(prefix)), "see docs/questions.md")
