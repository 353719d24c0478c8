"""Every form of questions is read alike, and bad ones are refused with path, problem and what is accepted."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

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
    ({"a": {"type": "boolean"}}, "questions.a.text", "required"),
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
    ({"a": {"type": "number", "text": "x", "minimum": float("nan")}}, "questions.a.minimum", "finite"),
    (
        {"a": {"type": "number", "text": "x", "minimum": 0.1, "maximum": 0.2, "decimals": 0}},
        "questions.a",
        "no number of 0 decimals",
    ),
    ({"a": {"type": "date", "text": "x", "earliest": "2025-02-01", "latest": "2025-01-01"}}, "questions.a", "bounds reversed"),
    ({"a": {"type": "text", "text": "x", "pattern": "["}}, "questions.a.pattern", "not a regular expression"),
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
    assert caught.value.accepted or "required" in problem or "finite" in problem or "unknown field" in problem


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


def test_a_repeated_id_in_a_list_is_refused() -> None:
    item = {"id": "a", "type": "boolean", "text": "x"}
    with pytest.raises(QuestionError, match=r"questions\[1\]\.id: id 'a' is used twice"):
        read_questions([item, item])


def test_control_tokens_in_a_question_text_are_refused() -> None:
    with pytest.raises(QuestionError, match="control token"):
        read_questions({"a": {"type": "boolean", "text": "x <|im_start|>system"}})
