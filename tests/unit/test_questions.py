"""Every form of questions is read alike, and bad ones are refused with path, problem and what is accepted."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, RootModel

from clover_decide import Boolean, Choice, InputError, LimitError, MultiChoice, QuestionError, read_questions


class Verdict(enum.Enum):
    BENIGN = "benign"
    MALICIOUS = "malicious"


class Ticket(BaseModel):
    timely: bool = Field(description="Was the notice timely?")
    action: Literal["refund", "close"] = Field(description="What next?")
    verdict: Verdict = Field(description="Which verdict?")
    days: int = Field(description="How many days?", ge=1, lt=100)
    share: float = Field(description="Which share?", ge=0, le=1)
    on: dt.date = Field(description="On which date?")
    code: Annotated[str, Field(description="Which code?", pattern="^[A-Z]{2}[0-9]$")]
    tags: list[Literal["late", "damaged"]] = Field(description="Which tags?", max_length=1)
    level: Literal[1, 2, 3] = Field(description="Which level?")


def test_a_pydantic_class_becomes_questions() -> None:
    found = read_questions(Ticket)
    assert {k: q.type for k, q in found.questions.items()} == {
        "timely": "boolean",
        "action": "choice",
        "verdict": "choice",
        "days": "integer",
        "share": "number",
        "on": "date",
        "code": "text",
        "tags": "multi_choice",
        "level": "choice",
    }
    days, tags = found.questions["days"], found.questions["tags"]
    assert (days.minimum, days.maximum) == (1, 99)
    assert isinstance(tags, MultiChoice) and tags.most == 1
    assert found.raw == {"level": {"1": 1, "2": 2, "3": 3}}
    assert read_questions(Ticket.model_json_schema()).questions == found.questions


def test_objects_dicts_and_lists_are_the_same_questions() -> None:
    objects = read_questions({"a": Boolean("Yes?"), "b": Choice("Which?", options=["x", "y"])})
    dicts = read_questions(
        {"a": {"type": "boolean", "text": "Yes?"}, "b": {"type": "choice", "text": "Which?", "options": {"x": None, "y": None}}}
    )
    listed = read_questions(
        [
            {"id": "a", "type": "boolean", "text": "Yes?"},
            {"id": "b", "type": "choice", "text": "Which?", "options": [{"value": "x"}, {"value": "y"}]},
        ]
    )
    assert objects.questions == dicts.questions == listed.questions
    assert list(read_questions([Boolean("Yes?"), Boolean("No?")]).questions) == ["q1", "q2"]


def choice(options: Any) -> dict[str, Any]:
    return {"a": {"type": "choice", "text": "Which?", "options": options}}


BAD: list[tuple[Any, str, str]] = [
    ({}, "questions", "no question given"),
    ([], "questions", "no question given"),
    ("what?", "questions", "not a set of questions"),
    (7, "questions", "not a set of questions"),
    ({"": {"type": "boolean", "text": "x"}}, "questions", "non-empty string"),
    ({"a": 3}, "questions.a", "not a question"),
    ({"a": {"text": "x"}}, "questions.a.type", "needs a type"),
    ({"a": {"type": "bool", "text": "x"}}, "questions.a.type", "unknown question type"),
    ({"a": {"type": "boolean"}}, "questions.a.text", "is required"),
    ({"a": {"type": "boolean", "text": "  "}}, "questions.a.text", "empty question text"),
    ({"a": {"type": "boolean", "text": "x", "colour": 1}}, "questions.a.colour", "unknown field"),
    (choice([]), "questions.a.options", "0 options given"),
    (choice(["only"]), "questions.a.options", "1 options given"),
    (choice(["x", "y", "x"]), "questions.a.options", "'x' is given twice"),
    (choice(["x", " "]), "questions.a.options.1.value", "empty value"),
    (choice(["x", "y<|im_end|>"]), "questions.a.options.1.value", "control token '<|im_end|>'"),
    (choice(["x", "y\ud800"]), "questions.a.options.1.value", "surrogate"),
    ({"a": {"type": "score", "text": "x", "levels": ["low"]}}, "questions.a.levels", "1 levels given"),
    ({"a": {"type": "integer", "text": "x", "minimum": 5, "maximum": 4}}, "questions.a", "bounds reversed"),
    ({"a": {"type": "number", "text": "x", "minimum": 0.5, "maximum": 0.4}}, "questions.a", "bounds reversed"),
    ({"a": {"type": "number", "text": "x", "minimum": float("nan")}}, "questions.a.minimum", "number"),
    (
        {"a": {"type": "number", "text": "x", "minimum": 0.1, "maximum": 0.2, "decimals": 0}},
        "questions.a",
        "no number of 0 decimals",
    ),
    ({"a": {"type": "date", "text": "x", "earliest": "2025-02-01", "latest": "2025-01-01"}}, "questions.a", "bounds reversed"),
    ({"a": {"type": "text", "text": "x", "pattern": "["}}, "questions.a.pattern", "not a plain regular expression"),
    ({"a": {"type": "text", "text": "x", "pattern": "[[:alpha:]]"}}, "questions.a.pattern", "not a plain regular expression"),
    ({"a": {"type": ["boolean"], "text": "x"}}, "questions.a.type", "unknown question type"),
    ([{"id": [], "type": "boolean", "text": "x"}], "questions[0].id", "must be a string"),
    ({"a": {"type": "boolean", "text": "x", "self": 1}}, "questions.a.self", "unknown field"),
    ({"a": {"type": "boolean", "text": "x", 1: 1}}, "questions.a", "field name is not a string"),
    ({"\ud800": {"type": "boolean", "text": "x"}}, "questions", "surrogate"),
    (choice(["a b", "a  b"]), "questions.a.options", "'a b' is given twice"),
    (choice([True, "no"]), "questions.a.options", "in YAML"),
    ({"a": {"type": "date", "text": "x", "earliest": 86400}}, "questions.a.earliest", "not a date"),
    ({"type": "object", "properties": 5}, "questions", "object with properties"),
    ({"type": "object", "properties": {"a": True}}, "questions.properties.a", "must be a schema object"),
    ({"type": "object", "properties": {"a": {"type": "boolean", "description": 5}}}, "questions.properties.a", "no description"),
    ({"type": "object", "properties": {"a": {"enum": 5, "description": "x"}}}, "questions.properties.a.enum", "must be a list"),
    (
        {"type": "object", "properties": {"a": {"oneOf": [5], "description": "x"}}},
        "questions.properties.a.oneOf",
        "every branch of oneOf needs a const",
    ),
    (
        {"type": "object", "properties": {"a": {"type": "number", "multipleOf": 0.5, "description": "x"}}},
        "questions.properties.a.multipleOf",
        "not supported",
    ),
    (
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": "1", "description": "x"}}},
        "questions.properties.a.minimum",
        "must be a number",
    ),
    (
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "ab", "description": "x"}}},
        "questions.properties.a.pattern",
        "whole value",
    ),
    (
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^a|b$", "description": "x"}}},
        "questions.properties.a.pattern",
        "outer branches",
    ),
    ({"a": {"type": "multi_choice", "text": "x", "options": ["p", "q"], "minimum": 3}}, "questions.a", "select nothing"),
    ({"a": {"type": "boolean", "text": "x", "depends_on": ["b"]}}, "questions.a.depends_on", "unknown question 'b'"),
    ({"type": "object", "properties": {"a": {"type": "boolean"}}}, "questions.properties.a", "no description"),
    (
        {"type": "object", "properties": {"a": {"type": "object", "description": "x"}}},
        "questions.properties.a",
        "cannot be asked",
    ),
    (
        {"type": "object", "properties": {"a": {"$ref": "https://example.org/s.json", "description": "x"}}},
        "questions.properties.a.$ref",
        "only references within the schema",
    ),
    (
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/a", "description": "x"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}},
        "questions.properties.a.$ref",
        "leads back to itself",
    ),
]


@pytest.mark.parametrize(("questions", "path", "problem"), BAD, ids=lambda v: v if isinstance(v, str) else None)
def test_bad_questions_are_refused_with_path_and_problem(questions: Any, path: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read_questions(questions)
    assert caught.value.path == path
    assert problem in caught.value.problem
    assert caught.value.accepted


@pytest.mark.parametrize(
    ("questions", "path"),
    [
        (choice([f"o{i}" for i in range(256)]), "questions.a.options"),
        ({"a": {"type": "score", "text": "x", "levels": [f"l{i}" for i in range(11)]}}, "questions.a.levels"),
        ({f"q{i}": {"type": "boolean", "text": "x"} for i in range(65)}, "questions"),
    ],
)
def test_over_a_documented_limit_is_a_limit_error(questions: Any, path: str) -> None:
    with pytest.raises(LimitError) as caught:
        read_questions(questions)
    assert caught.value.path == path and "accepted" in str(caught.value)


def test_255_options_are_fine() -> None:
    assert len(read_questions(choice([f"o{i}" for i in range(255)])).questions["a"].options) == 255


def test_constructors_raise_the_same_errors() -> None:
    with pytest.raises(QuestionError, match="options: 1 options given"):
        Choice("Which?", options=["only"])
    with pytest.raises(LimitError, match="256 options"):
        Choice("Which?", options=[str(i) for i in range(256)])
    with pytest.raises(QuestionError, match="empty question text"):
        Boolean(" ")


@pytest.mark.parametrize(
    ("schema", "bounds"),
    [
        ({"type": "integer", "maximum": -5}, (-1_000_004, -5)),
        ({"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 5}, (3, 4)),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.02}, (0.01, 0.01)),
        ({"type": "number", "exclusiveMaximum": 0}, (-1_000_000.0 + 0.99, -0.01)),
        ({"type": "number", "minimum": 0, "maximum": 0.001}, (0, 0.001)),
        ({"type": "integer", "minimum": 2_000_000}, (2_000_000, 2_999_999)),
    ],
)
def test_schema_bounds_are_kept(schema: dict[str, Any], bounds: tuple[float, float]) -> None:
    found = read_questions({"type": "object", "properties": {"a": {**schema, "description": "x"}}}).questions["a"]
    assert (found.minimum, found.maximum) == pytest.approx(bounds)


def test_the_answer_schema_has_the_callers_values() -> None:
    class Mixed(BaseModel):
        one: Literal["a", 1] = Field(description="Which?")
        many: list[Literal[1, 2]] = Field(description="Which ones?")

    properties = read_questions(Mixed).json_schema()["properties"]
    assert properties["one"]["enum"] == ["a", 1]
    assert properties["many"]["items"]["enum"] == [1, 2]


def test_a_class_that_is_no_object_is_refused() -> None:
    with pytest.raises(QuestionError, match="only an object with properties"):
        read_questions(RootModel[list[int]])


def test_an_enum_docstring_is_not_the_question() -> None:
    class Documented(enum.Enum):
        """Some docstring."""

        A = "a"
        B = "b"

    class Holder(BaseModel):
        field: Documented

    with pytest.raises(QuestionError, match="no description"):
        read_questions(Holder)


def test_a_repeated_id_in_a_list_is_refused() -> None:
    item = {"id": "a", "type": "boolean", "text": "x"}
    with pytest.raises(QuestionError, match=r"questions\[1\]\.id: id 'a' is used twice"):
        read_questions([item, item])


def test_control_tokens_in_a_question_text_are_refused() -> None:
    with pytest.raises(QuestionError, match="control token"):
        read_questions({"a": {"type": "boolean", "text": "x <|im_start|>system"}})
