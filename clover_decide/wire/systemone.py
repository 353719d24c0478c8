"""The System One format: a state, questions by id (noul, choice, score), a distribution for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from clover_decide.decision import Answer, Decision, Mode
from clover_decide.errors import CloverError
from clover_decide.question_base import MAX_LEVELS, MAX_OPTIONS, MAX_QUESTIONS
from clover_decide.questions import AnyQuestion, Boolean, Choice, Score
from clover_decide.wire.options import Options

Said = str | dict[str, Any] | list[Any] | None
EXAMPLE = {
    "model": "jev-latest",
    "state": "I was charged twice for my March invoice and nobody answers.",
    "questions": {
        "refund": {"type": "noul", "instructions": "Is the customer asking for money back?"},
        "team": {"type": "choice", "instructions": "Which team?", "criteria": {"billing": "payments, invoices", "technical": "bugs"}},
        "upset": {"type": "score", "instructions": "How upset is the customer?", "criteria": ["calm", "annoyed", "angry"]},
    },
}


class Noul(BaseModel):
    """A statement; the answer is the probability that it holds."""

    type: Literal["noul"]
    instructions: Said = None
    criteria: dict[Literal["true", "false"], Said] | None = None

    def question(self) -> AnyQuestion:
        criteria = self.criteria or {}
        told = (("yes", said(criteria.get("true"))), ("no", said(criteria.get("false"))))
        sides = [f"{word} if {when}" for word, when in told if when]
        text = said(self.instructions)
        if not text and not sides:
            return Boolean("Does this hold?")
        return Boolean(" ".join(part for part in (text, f"({'; '.join(sides)})" if sides else "") if part))


class ChoiceQuestion(BaseModel):
    """One of the options. A plain array of names is understood too."""

    type: Literal["choice"]
    instructions: Said = None
    criteria: dict[str, Said] | list[str] = Field(min_length=2, max_length=MAX_OPTIONS)

    @field_validator("criteria")
    @classmethod
    def _distinct(cls, criteria: dict[str, Said] | list[str]) -> dict[str, Said] | list[str]:
        if len(set(criteria)) < len(criteria):
            raise ValueError("an option is given twice")
        return criteria

    def question(self) -> AnyQuestion:
        criteria = self.criteria if isinstance(self.criteria, dict) else dict.fromkeys(self.criteria)
        return Choice(said(self.instructions) or "Which one?", options={name: said(told) or None for name, told in criteria.items()})


class ScoreQuestion(BaseModel):
    """A level of an ordered scale, low to high."""

    type: Literal["score"]
    instructions: Said = None
    criteria: list[str | dict[str, Any] | list[Any]] = Field(min_length=2, max_length=MAX_LEVELS)

    def question(self) -> AnyQuestion:
        text, levels = said(self.instructions) or "How much?", [said(level) for level in self.criteria]
        if len({" ".join(level.split()) for level in levels}) == len(levels):
            return Score(text, levels=levels)
        return Score(text, levels=[{"value": str(i), "description": level or None} for i, level in enumerate(levels)])


Question = Annotated[Noul | ChoiceQuestion | ScoreQuestion, Field(discriminator="type")]


class SystemOneRequest(Options):
    """A System One request. Unknown fields are ignored; `mode` and what `Options` has are extensions."""

    model_config = ConfigDict(extra="ignore", json_schema_extra={"examples": [EXAMPLE, {**EXAMPLE, "mode": "joint"}]})

    model: str = "jev-latest"
    state: str | dict[str, Any] | list[Any]
    questions: dict[Annotated[str, Field(min_length=1)], Question] = Field(min_length=1, max_length=MAX_QUESTIONS)
    assets: dict[str, Any] | None = Field(None, max_length=0, description="Images are not read.")
    mode: Mode | None = Field(None, description="By default as the service is set: independent, unless the operator chose joint.")

    def asked(self) -> dict[str, AnyQuestion]:
        """The questions.

        Raises:
            CloverError: one cannot be asked; the path is `questions.<id>` and on.
        """
        named = {"text": "instructions", "options": "criteria", "levels": "criteria"}
        return asked({key: q.question for key, q in self.questions.items()}, named, {key: f"questions.{key}" for key in self.questions})


class NoulAnswer(BaseModel):
    """P(yes)."""

    type: Literal["noul"] = "noul"
    noul: float = Field(ge=0, le=1)


class ChoiceAnswer(BaseModel):
    """The likeliest option."""

    type: Literal["choice"] = "choice"
    choice: str
    probabilities: dict[str, float]
    confidence: float = Field(ge=0, le=1)


class ScoreAnswer(BaseModel):
    """The expectation of the level."""

    type: Literal["score"] = "score"
    score: float
    legend: dict[str, Any]
    probabilities: dict[str, float]
    confidence: float = Field(ge=0, le=1)


class SystemOneUsage(BaseModel):
    """Tokens."""

    input_tokens: int
    output_tokens: int


class SystemOneResponse(BaseModel):
    """Answers by id. Everything else is prefixed x_."""

    model_config = ConfigDict(extra="allow")

    model: str
    answers: dict[str, dict[str, Any]]
    usage: SystemOneUsage


def said(value: Said) -> str:
    """Text, or JSON of what is not."""
    return "" if value is None else value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def asked(makers: Mapping[str, Callable[[], AnyQuestion]], named: Mapping[str, str], places: Mapping[str, str]) -> dict[str, AnyQuestion]:
    """Questions made one by one. Errors are told with their place in the request: `named` are its names for fields of ours, `places` where
    the questions stand in it."""
    out: dict[str, AnyQuestion] = {}
    for key, make in makers.items():
        try:
            out[key] = make()
        except CloverError as error:
            first, _, rest = error.path.partition(".")
            path = ".".join(part for part in (places[key], named.get(first, first), rest) if part)
            raise type(error)(error.problem, path=path, given=error.given, accepted=error.accepted) from None
    return out


def systemone_response(request: SystemOneRequest, decision: Decision, model: str) -> dict[str, Any]:
    """The response to a request."""
    answers = {key: {**_answer(request.questions[key], answer), **extras(decision, key)} for key, answer in decision.answers.items()}
    usage = {"input_tokens": decision.usage.input_tokens, "output_tokens": decision.usage.output_tokens}
    return {"model": model, "answers": answers, "usage": usage, **whole(decision)}


def whole(decision: Decision) -> dict[str, Any]:
    """What the compatible formats have no field for, of all answers together."""
    out: dict[str, Any] = {"x_mode": decision.mode, "x_probability": decision.probability, "x_needs_review": decision.needs_review}
    if decision.mode == "joint":
        out["x_groups"] = [list(group) for group in decision.groups]
    if decision.rules_probability is not None:
        out["x_rules_probability"] = decision.rules_probability
    if decision.violations:
        out["x_violations"] = list(decision.violations)
    if decision.alternatives:
        out["x_alternatives"] = [{"values": dict(a.values), "probability": a.probability} for a in decision.alternatives]
    return out


def extras(decision: Decision, key: str) -> dict[str, Any]:
    """What the compatible formats have no field for, of one answer."""
    answer = decision.as_dict()["answers"][key]
    out: dict[str, Any] = {"x_coverage": answer["coverage"]}
    for name in ("abstained", "evidence", "independent"):
        if name in answer:
            out[f"x_{name}"] = answer[name]
    return out


def _answer(question: Noul | ChoiceQuestion | ScoreQuestion, answer: Answer) -> dict[str, Any]:
    p = dict(answer.probabilities)
    if isinstance(question, Noul):
        return NoulAnswer(noul=p["true"]).model_dump()
    if isinstance(question, ChoiceQuestion):
        given = answer.value if answer.value is not None else answer.abstained and answer.abstained.value
        names = list(question.criteria)
        ordered = {name: p[name] for name in names}
        return ChoiceAnswer(choice=str(given), probabilities=ordered, confidence=answer.confidence).model_dump()
    levels = {str(i): p[str(i)] for i in range(len(question.criteria))}
    mean = sum(int(i) * share for i, share in levels.items()) / sum(levels.values())
    legend = {str(i): level for i, level in enumerate(question.criteria)}
    return ScoreAnswer(score=mean, legend=legend, probabilities=levels, confidence=answer.confidence).model_dump()
