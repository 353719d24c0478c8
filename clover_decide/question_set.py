"""Question sets: every form in which a caller may state questions, read into one ordered mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from clover_decide.errors import LimitError, QuestionError
from clover_decide.json_schema import questions_of_schema
from clover_decide.questions import MAX_QUESTIONS, QUESTION_TYPES, AnyQuestion, Question

_ADAPTER: TypeAdapter[AnyQuestion] = TypeAdapter(Question)
_TYPES = ", ".join(QUESTION_TYPES)
_LIMIT_MARKS = ("options given", "levels given")


@dataclass(frozen=True)
class QuestionSet:
    """Questions by id, in order.

    `model` is the pydantic class the questions came from, if any. `raw` maps, for questions that came from a JSON
    Schema with non-string enum values, the option text back to the value.
    """

    questions: Mapping[str, AnyQuestion]
    model: type[BaseModel] | None = None
    raw: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def json_schema(self) -> dict[str, Any]:
        """JSON Schema (draft 2020-12) of the answers object, `Decision.values()` in JSON."""
        properties = {key: {**question.json_schema(), "description": question.text} for key, question in self.questions.items()}
        for key, values in self.raw.items():
            properties[key]["enum"] = list(values.values())
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }


def read_questions(questions: Any) -> QuestionSet:
    """Read questions given as a mapping, a sequence, a pydantic class or a JSON Schema object.

    Mapping: id -> question object or dict with `type` and `text`. Sequence: question objects (named q1, q2, …) or
    dicts with an `id`. Pydantic class and JSON Schema: one question a field, its text the field's description.

    Raises:
        QuestionError: with the path of the offending field.
        LimitError: more questions, options or levels than documented.
    """
    if isinstance(questions, QuestionSet):
        return questions
    if isinstance(questions, type) and issubclass(questions, BaseModel):
        parsed, raw = questions_of_schema(questions.model_json_schema())
        result = QuestionSet(_read_all(parsed), questions, raw)
    elif (
        isinstance(questions, Mapping) and questions.get("type") == "object" and isinstance(questions.get("properties"), Mapping)
    ):
        parsed, raw = questions_of_schema(questions)
        result = QuestionSet(_read_all(parsed), None, raw)
    elif isinstance(questions, Mapping):
        result = QuestionSet(_read_all(questions))
    elif isinstance(questions, Sequence) and not isinstance(questions, (str, bytes)):
        result = QuestionSet(_read_all(_named(questions)))
    else:
        raise QuestionError(
            f"a {type(questions).__name__} is not a set of questions",
            path="questions",
            accepted="a mapping id -> question, a list of questions, a pydantic class or a JSON Schema object",
        )
    _check_set(result.questions)
    return result


def _named(questions: Sequence[Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for index, item in enumerate(questions):
        key = f"q{index + 1}"
        if isinstance(item, Mapping) and "id" in item:
            key, item = item["id"], {k: v for k, v in item.items() if k != "id"}
        if key in named:
            raise QuestionError(f"id {key!r} is used twice", path=f"questions[{index}].id", accepted="distinct ids")
        named[key] = item
    return named


def _read_all(questions: Mapping[Any, Any]) -> Mapping[str, AnyQuestion]:
    out: dict[str, AnyQuestion] = {}
    for key, value in questions.items():
        if not isinstance(key, str) or not key:
            raise QuestionError("an id must be a non-empty string", path="questions", given=key, accepted="non-empty strings")
        out[key] = _read_one(f"questions.{key}", value)
    return MappingProxyType(out)


def _read_one(path: str, value: Any) -> AnyQuestion:
    if isinstance(value, tuple(QUESTION_TYPES.values())):
        return value  # pyright: ignore[reportReturnType]
    if not isinstance(value, Mapping):
        raise QuestionError(
            f"a {type(value).__name__} is not a question", path=path, given=value, accepted="a question object or a dict"
        )
    kind = value.get("type")
    if kind not in QUESTION_TYPES:
        problem = "a question needs a type" if kind is None else "unknown question type"
        raise QuestionError(problem, path=f"{path}.type", given=kind, accepted=_TYPES)
    try:
        return _ADAPTER.validate_python(dict(value))
    except ValidationError as error:
        raise question_error(error, path) from None


def question_error(error: ValidationError, path: str) -> QuestionError | LimitError:
    """The first problem pydantic found, as one of our errors."""
    first = error.errors(include_url=False)[0]
    # The first step of the location is the discriminator's value, not a field.
    where = ".".join([path, *(str(step) for step in first["loc"][1:])])
    message = first["msg"].removeprefix("Value error, ")
    problem, _, accepted = message.partition("; accepted: ")
    given = first.get("input") if first["type"] != "missing" and not isinstance(first.get("input"), (dict, list, tuple)) else None
    if first["type"] == "extra_forbidden":
        problem, given, accepted = "unknown field", None, "the fields of this question type"
    over = any(mark in problem for mark in _LIMIT_MARKS) and _count(problem) > 10
    return (LimitError if over else QuestionError)(problem, path=where, given=given, accepted=accepted)


def _count(problem: str) -> int:
    head = problem.split(" ", 1)[0]
    return int(head) if head.isdigit() else 0


def _check_set(questions: Mapping[str, AnyQuestion]) -> None:
    if not questions:
        raise QuestionError("no question given", path="questions", accepted=f"1 to {MAX_QUESTIONS} questions")
    if len(questions) > MAX_QUESTIONS:
        raise LimitError(f"{len(questions)} questions given", path="questions", accepted=f"1 to {MAX_QUESTIONS} questions")
    for key, question in questions.items():
        for other in question.depends_on:
            if other not in questions or other == key:
                known = ", ".join(k for k in questions if k != key) or "none here"
                raise QuestionError(f"depends on unknown question {other!r}", path=f"questions.{key}.depends_on", accepted=known)
