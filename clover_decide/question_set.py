"""Question sets: every form in which a caller may state questions, read into one ordered mapping."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticUserError

from clover_decide.errors import CloverError, LimitError, QuestionError
from clover_decide.frozen import FrozenMap
from clover_decide.json_schema import questions_of_schema
from clover_decide.question_base import MAX_QUESTIONS
from clover_decide.questions import QUESTION_TYPES, AnyQuestion, MultiChoice

_TYPES = ", ".join(QUESTION_TYPES)


@dataclass(frozen=True)
class QuestionSet:
    """Questions by id, in order.

    `model` is the pydantic class the questions came from, if any. `raw` maps, for questions that came from a JSON
    Schema with non-string enum values, the option text back to the value.
    """

    questions: Mapping[str, AnyQuestion]
    model: type[BaseModel] | None = None
    raw: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: FrozenMap[str, Mapping[str, Any]]())

    def json_schema(self) -> dict[str, Any]:
        """JSON Schema (draft 2020-12) of the answers object, `Decision.values()` in JSON."""
        properties: dict[str, Any] = {}
        for key, question in self.questions.items():
            schema = question.json_schema()
            holder = schema.get("items", schema)
            if key in self.raw:
                holder["enum"] = [self.raw[key].get(value, value) for value in holder["enum"]]
            properties[key] = {**schema, "description": question.text}
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def plain(self, key: str, value: Any) -> Any:
        """An answer's value as JSON has it: ISO dates, lists, and the values that options of a JSON Schema stand for."""
        raw = self.raw.get(key, {})
        if isinstance(value, dt.date):
            return value.isoformat()
        if isinstance(value, tuple):
            return [raw.get(item, item) for item in value]
        return raw.get(value, value) if isinstance(value, str) else value

    def plain_all(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Answers of some questions as JSON has them, in the order of the questions, options in theirs."""
        out: dict[str, Any] = {}
        for key, question in self.questions.items():
            if key in values:
                value = values[key]
                if isinstance(value, tuple) and isinstance(question, MultiChoice):
                    value = tuple(option.value for option in question.options if option.value in value)
                out[key] = self.plain(key, value)
        return out

    def identity(self) -> list[Any]:
        """Everything that can change an answer, JSON-ready and in order; equal sets have equal identities."""
        return [[key, question.model_dump(mode="json")] for key, question in self.questions.items()]


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
        result = _of_schema(_schema_of(questions), questions)
    elif isinstance(questions, Mapping) and questions.get("type") == "object" and "properties" in questions:
        result = _of_schema(questions, None)
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


def _schema_of(model: type[BaseModel]) -> Mapping[str, Any]:
    try:
        return model.model_json_schema()
    except PydanticUserError as error:
        raise QuestionError(
            f"{model.__name__} has no JSON Schema ({str(error).splitlines()[0]})",
            path="questions",
            accepted="a class of plain fields",
        ) from None


def _of_schema(schema: Mapping[str, Any], model: type[BaseModel] | None) -> QuestionSet:
    parsed, raw = questions_of_schema(schema)
    return QuestionSet(_read_all(parsed), model, FrozenMap(raw))


def _named(questions: Sequence[Any]) -> dict[Any, Any]:
    named: dict[Any, Any] = {}
    for index, item in enumerate(questions):
        key: Any = f"q{index + 1}"
        if isinstance(item, Mapping) and "id" in item:
            key, item = item["id"], {k: v for k, v in item.items() if k != "id"}
        if not isinstance(key, str):
            raise QuestionError("an id must be a string", path=f"questions[{index}].id", given=key, accepted="non-empty strings")
        if key in named:
            raise QuestionError(f"id {key!r} is used twice", path=f"questions[{index}].id", accepted="distinct ids")
        named[key] = item
    return named


def _read_all(questions: Mapping[Any, Any]) -> Mapping[str, AnyQuestion]:
    out: dict[str, AnyQuestion] = {}
    for key, value in questions.items():
        if not isinstance(key, str) or not key:
            raise QuestionError("an id must be a non-empty string", path="questions", given=key, accepted="non-empty strings")
        if any(0xD800 <= ord(c) <= 0xDFFF for c in key):
            raise QuestionError("an id contains a lone surrogate", path="questions", given=key, accepted="valid Unicode")
        out[key] = _read_one(f"questions.{key}", value)
    return FrozenMap(out)


def _read_one(path: str, value: Any) -> AnyQuestion:
    if isinstance(value, tuple(QUESTION_TYPES.values())):
        return value  # pyright: ignore[reportReturnType]
    if not isinstance(value, Mapping):
        raise QuestionError(f"a {type(value).__name__} is not a question", path=path, given=value, accepted="a question object or a dict")
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in QUESTION_TYPES:
        problem = "a question needs a type" if kind is None else "unknown question type"
        raise QuestionError(problem, path=f"{path}.type", given=kind, accepted=_TYPES)
    if not all(isinstance(name, str) for name in value):
        raise QuestionError("a field name is not a string", path=path, given=list(value), accepted="the fields of this question type")
    try:
        return QUESTION_TYPES[kind](**value)
    except CloverError as error:
        raise error.at(path) from None


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
