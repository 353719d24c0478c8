"""The OpenAI Decisions format: an input, questions in order (predicate, choice, score), answers in the same order."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from clover_decide.decision import Answer, Decision, Mode
from clover_decide.errors import InputError
from clover_decide.question_base import MAX_LEVELS, MAX_OPTIONS, MAX_QUESTIONS
from clover_decide.questions import AnyQuestion, Boolean, Choice, Score
from clover_decide.wire.options import Options
from clover_decide.wire.systemone import asked, extras, whole

EXAMPLE = {
    "model": "clover-mini",
    "input": "I was charged twice for my March invoice and nobody answers.",
    "questions": [
        {"type": "predicate", "name": "refund", "instructions": "The customer asks for money back."},
        {"type": "choice", "name": "team", "instructions": "Which team?", "choices": [{"value": "billing"}, {"value": "technical"}]},
    ],
}


class Part(BaseModel):
    """A part of a message. Images and files are not read."""

    model_config = ConfigDict(extra="allow")
    type: Literal["input_text", "output_text", "text", "refusal", "input_json", "json"]

    @property
    def said(self) -> str:
        extra = self.model_extra or {}
        value = next((extra[name] for name in ("text", "refusal", "json", "value", "data") if name in extra), extra)
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


Said = str | list[Part]


class Message(BaseModel):
    """A message of a conversation."""

    type: Literal["message"] = "message"
    role: Literal["user", "developer", "system", "assistant"]
    content: Said


class ToolCall(BaseModel):
    """A call of a tool."""

    type: Literal["function_call", "custom_tool_call"]
    call_id: str
    name: str
    arguments: str | None = None
    input: str | None = None


class ToolOutput(BaseModel):
    """What a tool said; the call stands before it."""

    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: str
    output: Said


class Predicate(BaseModel):
    """A statement; the answer is the probability that it is true."""

    type: Literal["predicate"]
    name: str | None = None
    instructions: Said

    def question(self) -> AnyQuestion:
        return Boolean(said(self.instructions))


class ChoiceValue(BaseModel):
    """An option: text, or true or false."""

    value: bool | str
    description: str | None = None


class ChoiceQuestion(BaseModel):
    """One of the choices."""

    type: Literal["choice"]
    name: str | None = None
    instructions: Said
    choices: list[ChoiceValue] = Field(min_length=2, max_length=MAX_OPTIONS)

    @field_validator("choices")
    @classmethod
    def _distinct(cls, choices: list[ChoiceValue]) -> list[ChoiceValue]:
        if len({(type(c.value), c.value) for c in choices}) < len(choices):
            raise ValueError("a choice is given twice")
        return choices

    @property
    def names(self) -> list[str]:
        """Each choice as an option's name; true and "true" are two."""
        texts = {c.value for c in self.choices if isinstance(c.value, str)}
        names: list[str] = []
        for choice in self.choices:
            name = choice.value if isinstance(choice.value, str) else str(choice.value).lower()
            while isinstance(choice.value, bool) and name in texts:
                name += " (boolean)"
            names.append(name)
        return names

    def question(self) -> AnyQuestion:
        options = {name: c.description or None for name, c in zip(self.names, self.choices, strict=True)}
        return Choice(said(self.instructions), options=options)


class Level(BaseModel):
    """A level of a scale."""

    label: str = Field(min_length=1)
    description: str | None = None


class ScoreQuestion(BaseModel):
    """A level, low to high."""

    type: Literal["score"]
    name: str | None = None
    instructions: Said
    levels: list[Level] = Field(min_length=2, max_length=MAX_LEVELS)

    def question(self) -> AnyQuestion:
        return Score(
            said(self.instructions), levels=[{"value": level.label, "description": level.description or None} for level in self.levels]
        )


Question = Annotated[Predicate | ChoiceQuestion | ScoreQuestion, Field(discriminator="type")]


class DecisionsRequest(Options):
    """A Decisions request. Unknown fields are ignored; `mode` and what `Options` has are extensions, ids are the questions' names, or
    q1, q2, … by place."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"examples": [EXAMPLE, {**EXAMPLE, "mode": "joint"}]})

    model: str
    input: str | list[Message | ToolCall | ToolOutput]
    questions: list[Question] = Field(min_length=1, max_length=MAX_QUESTIONS)
    safety_identifier: str | None = Field(None, max_length=128)
    mode: Mode | None = Field(None, description="By default as the service is set: independent, unless the operator chose joint.")

    @model_validator(mode="after")
    def _called(self) -> DecisionsRequest:
        calls = {item.call_id for item in self.input if isinstance(item, ToolCall)} if isinstance(self.input, list) else set()
        for item in self.input if isinstance(self.input, list) else ():
            if isinstance(item, ToolOutput) and item.call_id not in calls:
                raise ValueError(f"the output of {item.call_id!r} has no call")
        names = [question.name for question in self.questions if question.name is not None]
        if len(set(names)) < len(names):
            raise ValueError("a name is used twice")
        return self

    @property
    def keys(self) -> list[str]:
        """An id for every question."""
        names = {question.name for question in self.questions}
        keys: list[str] = []
        for place, question in enumerate(self.questions, 1):
            key = question.name or f"q{place}"
            while not question.name and key in names:
                key += "_"
            keys.append(key)
        return keys

    @property
    def material(self) -> Any:
        """The input as a material.

        Raises:
            InputError: it is empty.
        """
        if isinstance(self.input, str):
            return self.input
        if not self.input:
            raise InputError("empty", path="input", accepted="text, or at least one message")
        return [_shown(item) for item in self.input]

    def asked(self) -> dict[str, AnyQuestion]:
        """The questions by id.

        Raises:
            CloverError: one cannot be asked; the path is `questions.<id>` and on.
        """
        named = {"text": "instructions", "options": "choices"}
        places = {key: f"questions[{i}]" for i, key in enumerate(self.keys)}
        return asked({key: q.question for key, q in zip(self.keys, self.questions, strict=True)}, named, places)


class UsageBody(BaseModel):
    """Tokens."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens_details: dict[str, int]


class DecisionsResponse(BaseModel):
    """Answers in the order of the questions. Everything else is prefixed x_."""

    model_config = ConfigDict(extra="allow")

    model: str
    answers: list[dict[str, Any]]
    usage: UsageBody


def said(content: Said) -> str:
    """The text of a message or of instructions."""
    return content if isinstance(content, str) else "\n".join(part.said for part in content)


def _shown(item: Message | ToolCall | ToolOutput) -> dict[str, Any]:
    match item:
        case Message():
            return {item.role: said(item.content)}
        case ToolCall():
            return {f"call of {item.name}": item.arguments if item.arguments is not None else item.input or ""}
        case ToolOutput():
            return {"result": said(item.output)}


def decisions_response(request: DecisionsRequest, decision: Decision, model: str) -> dict[str, Any]:
    """The response to a request."""
    pairs = zip(request.keys, request.questions, strict=True)
    answers = [{**_answer(question, decision[key]), **extras(decision, key)} for key, question in pairs]
    read, written = decision.usage.input_tokens, decision.usage.output_tokens
    usage = {
        "input_tokens": read,
        "output_tokens": written,
        "total_tokens": read + written,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {"model": model, "answers": answers, "usage": usage, **whole(decision)}


def _answer(question: Predicate | ChoiceQuestion | ScoreQuestion, answer: Answer) -> dict[str, Any]:
    p = dict(answer.probabilities)
    if answer.abstained is not None:
        return {"type": "refusal", "name": question.name}
    if isinstance(question, Predicate):
        return {"type": "predicate", "name": question.name, "probability": p["true"]}
    common = {"name": question.name, "confidence": answer.confidence}
    if isinstance(question, ChoiceQuestion):
        values = {name: choice.value for name, choice in zip(question.names, question.choices, strict=True)}
        shares = [{"value": value, "probability": p[name]} for name, value in values.items()]
        return {"type": "choice", **common, "choice": values[str(answer.value)], "probabilities": shares}
    levels = [p[str(i)] for i in range(len(question.levels))]
    shares = [
        {"value": i, "label": level.label, "probability": share}
        for i, (level, share) in enumerate(zip(question.levels, levels, strict=True))
    ]
    mean = sum(i * share for i, share in enumerate(levels)) / sum(levels)
    return {"type": "score", **common, "score": mean, "probabilities": shares}
