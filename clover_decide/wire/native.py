"""The native format: every option of `Decider.decide`, and the whole decision back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from clover_decide.decision import (
    Abstained,
    Alternative,
    Answer,
    Decision,
    Dependence,
    Distribution,
    Effort,
    Evidence,
    Mode,
    Timing,
    TraceStep,
    Usage,
    Value,
)
from clover_decide.errors import FormatError, QuestionError
from clover_decide.facts import Fact
from clover_decide.frozen import FrozenMap
from clover_decide.material import read_material
from clover_decide.options import THRESHOLD
from clover_decide.packs import Pack, load_pack
from clover_decide.question_set import QuestionSet, read_questions
from clover_decide.questions import Boolean, Choice, Date, MultiChoice, Number
from clover_decide.wire.options import Options, Probability

MAX_MATERIALS = 32
"""Materials of a batch request."""
LEASE = (
    "The studio is let until 30 June 2025. Notice must be given at least 30 days before the end of the term. "
    "Notice was received on 26 May 2025."
)
QUESTIONS = {
    "timely": {"type": "boolean", "text": "Was the notice timely?"},
    "days": {"type": "integer", "text": "How many days before the end of the term was notice given?", "maximum": 999},
}
EXAMPLE = {"material": LEASE, "questions": QUESTIONS, "mode": "joint", "rules": "timely == (days >= 30)"}

Material = str | dict[str, Any] | list[Any]


class Asking(Options):
    """What may be asked of a decision."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = Field(None, description="The name of the served model; may be left out.")
    mode: Mode = Field("joint", description="joint: the answers see each other. independent: each question is asked alone.")
    threshold: float = Field(THRESHOLD, gt=0.0, le=1.0, description="Probability above which a piece of an answer is committed in a pass.")
    project: bool = Field(False, description="Independent mode: move the answers to the likeliest ones that keep the rules.")
    dependence: bool = Field(False, description="Joint mode: also tell how much each pair of answers depends on each other.")

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `Decider.decide`."""
        return {**self.chosen(self.mode), "threshold": self.threshold, "project": self.project, "dependence": self.dependence}


class Questioning(Asking):
    """Questions of the caller's own, or those of a pack."""

    questions: dict[str, Any] | list[Any] | None = Field(
        None, description="Questions by id, each with `type` and `text`; a list of them; or a JSON Schema object. See docs/questions.md."
    )
    pack: str | None = Field(None, description="The name of a shipped question pack, in place of questions.")

    def chosen_pack(self) -> Pack:
        """The questions and the rules between them: those of the request, those of the pack where it has none.

        Raises:
            QuestionError: neither or both are given. InputError: they cannot be asked.
        """
        if (self.questions is None) == (self.pack is None):
            raise QuestionError("ask once", path="questions", accepted="either questions or pack")
        return load_pack(self.pack) if self.pack is not None else Pack("questions", "", read_questions(self.questions), "")

    def decision_options(self, pack: Pack) -> dict[str, Any]:
        """Keyword arguments of `Decider.decide`; the pack's rules hold unless the request has its own."""
        options = self.options()
        return {**options, "rules": pack.rules} if options["rules"] is None else options


class DecideRequest(Questioning):
    """One material."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    material: Material = Field(description="What the questions are about: text, or an object or array that is read as text.")


class BatchRequest(Questioning):
    """The same questions about many materials."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"materials": [LEASE], "questions": QUESTIONS}]})

    materials: list[Any] = Field(min_length=1, max_length=MAX_MATERIALS, description="Each text, an object or an array.")


class ContractRequest(Asking):
    """A contract and what happened under it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"contract": "The studio is let until 30 June 2025. ...", "correspondence": ["..."]}]},
    )

    contract: str = Field(min_length=1, description="The contract; it must state its rules.")
    correspondence: list[str] = Field(default_factory=list, max_length=64, description="Letters and notes, in order of time.")

    @property
    def material(self) -> str:
        return "\n\n".join([self.contract, *self.correspondence])


class AlertRequest(Asking):
    """A security alert and the policy that it is judged by."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"alert": {"host": "fin-db-1", "failed_logins": 23}, "policy": "The detection fires on more than 20."}]
        },
    )

    alert: Material = Field(description="The alert: text, or the event as JSON.")
    policy: str | None = Field(None, description="The rules of severity and response, where the alert does not state them.")

    @property
    def material(self) -> Material:
        if self.policy is None:
            return self.alert
        return f"{read_material(self.alert).text}\n\n{self.policy}"


class Withheld(BaseModel):
    """Why an answer was not given."""

    reason: str
    measured: float
    limit: float
    value: Any


class Sentence(BaseModel):
    """A sentence of the material that shows an answer; offsets are characters of the material as text."""

    start: int
    end: int
    quote: str
    probability: Probability


class Alone(BaseModel):
    """The answer to a question asked alone."""

    value: Any
    probability: Probability
    probabilities: dict[str, Probability]
    label: str | None = None


class AnswerBody(BaseModel):
    """An answer. Fields that say nothing are left out."""

    type: str
    value: Any
    probability: Probability
    probabilities: dict[str, Probability]
    confidence: Probability
    coverage: Probability
    label: str | None = None
    span: tuple[int, int] | None = None
    abstained: Withheld | None = None
    evidence: list[Sentence] | None = None
    independent: Alone | None = None


class UsageBody(BaseModel):
    """Tokens and passes."""

    input_tokens: int
    output_tokens: int
    passes: int


class DecideResponse(BaseModel):
    """A decision, as `Decision.as_dict()` has it; docs/joint.md and docs/confidence.md say what the fields mean."""

    answers: dict[str, AnswerBody]
    probability: Probability
    needs_review: bool
    rules_probability: Probability | None
    violations: list[str]
    calibrated: bool
    exact: bool
    optimal: bool
    alternatives: list[dict[str, Any]]
    dependence: list[dict[str, Any]]
    mode: Mode
    effort: Effort
    model: str
    fingerprint: str
    dtype: str
    facts: list[dict[str, Any]]
    groups: list[list[str]]
    usage: UsageBody
    timing: dict[str, float]
    trace: list[dict[str, Any]]


class BatchResponse(BaseModel):
    """For each material its decision, or what was wrong with it; in order."""

    results: list[dict[str, Any]]


def decision_of(data: Mapping[str, Any], material: Any, questions: QuestionSet) -> Decision:
    """The decision that `Decision.as_dict()` gave.

    Raises:
        FormatError: it is not one.
    """
    try:
        answers = {key: _answer(questions, key, answer) for key, answer in data["answers"].items()}
        return Decision(
            answers=FrozenMap(answers),
            probability=data["probability"],
            mode=data["mode"],
            effort=data["effort"],
            model=data["model"],
            fingerprint=data["fingerprint"],
            dtype=data["dtype"],
            facts=tuple(Fact(f["kind"], f["text"], f["value"], tuple(f["at"])) for f in data["facts"]),
            groups=tuple(tuple(group) for group in data["groups"]),
            usage=Usage(**data["usage"]),
            timing=Timing(**data["timing"]),
            trace=tuple(TraceStep(**step) for step in data["trace"]),
            rules_probability=data["rules_probability"],
            violations=tuple(data["violations"]),
            calibrated=data["calibrated"],
            exact=data["exact"],
            optimal=data["optimal"],
            alternatives=tuple(Alternative(FrozenMap(a["values"]), a["probability"]) for a in data["alternatives"]),
            dependence=tuple(Dependence(**pair) for pair in data["dependence"]),
            material_text=read_material(material).text,
            questions=questions,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"not a decision ({type(error).__name__}: {error})", path="response", accepted="an answer of this version"
        ) from None


def _answer(questions: QuestionSet, key: str, data: Mapping[str, Any]) -> Answer:
    alone, withheld = data.get("independent"), data.get("abstained")
    return Answer(
        type=data["type"],
        value=_value(questions, key, data["value"]),
        probability=data["probability"],
        probabilities=FrozenMap(data["probabilities"]),
        confidence=data["confidence"],
        coverage=data["coverage"],
        label=data.get("label"),
        span=tuple(data["span"]) if data.get("span") else None,
        independent=Distribution(
            _value(questions, key, alone["value"]), alone["probability"], FrozenMap(alone["probabilities"]), alone.get("label")
        )
        if alone
        else None,
        abstained=Abstained(**{**withheld, "value": _value(questions, key, withheld["value"])}) if withheld else None,
        evidence=tuple(Evidence(**sentence) for sentence in data.get("evidence", ())),
    )


def _value(questions: QuestionSet, key: str, plain: Any) -> Any:
    """The value that `QuestionSet.plain` made plain; None of a withheld one, or of an option that stands for null."""
    names = {repr(raw): name for name, raw in questions.raw.get(key, {}).items()}
    if plain is None:
        return names.get("None")
    match questions.questions[key]:
        case Date():
            return dt.date.fromisoformat(plain)
        case MultiChoice():
            return tuple(names.get(repr(item), item) for item in plain)
        case Choice():
            return names.get(repr(plain), plain)
        case Number():
            return float(plain)
        case Boolean():
            return bool(plain)
        case _:
            value: Value = plain
            return value
