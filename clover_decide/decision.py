"""What a decision is: frozen results that can be read, printed, stored and replayed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from clover_decide.errors import ResultError
from clover_decide.facts import Fact
from clover_decide.question_set import QuestionSet

Mode = Literal["joint", "independent"]
Effort = Literal["fast", "standard", "thorough", "auto"]
Value = bool | int | float | str | dt.date | tuple[str, ...]


DOUBTFUL = 0.5
"""Probability of the rules below which a decision needs review: the model would rather have broken them."""


@dataclass(frozen=True)
class Distribution:
    """A value with its probability, and the probabilities of the alternatives that were weighed."""

    value: Value
    probability: float
    probabilities: Mapping[str, float]
    label: str | None = None


@dataclass(frozen=True)
class Abstained:
    """Why an answer was not given: `reason` is "probability", "coverage" or "gap", which was `measured` beyond the `limit`. `value` is
    what it would have been."""

    reason: Literal["probability", "coverage", "gap"]
    measured: float
    limit: float
    value: Value


@dataclass(frozen=True)
class Evidence:
    """A sentence of the material that shows an answer, with `material_text[start:end] == quote`; probability: that it does."""

    start: int
    end: int
    quote: str
    probability: float


@dataclass(frozen=True)
class Answer:
    """The answer to one question.

    value: None if it was withheld; then `abstained` says why.
    probability: P(value), renormalised over the legal values, given what had been committed before.
    probabilities: P by option, level or "true"/"false"; for other types the value alone. Keys are strings.
    confidence: boolean max(p, 1 - p); choice (m - 1/n) / (1 - 1/n) with m the largest probability; score
        max(0, 1 - Σ p_i |i - mode| / D), D = (1/n) Σ |i - (n - 1)/2|; other types the probability itself.
    coverage: raw mass the model put on legal tokens before renormalising; low means it wanted to say something else.
    label: the name of a score's level.
    span: (start, end) characters of a quote, with `material_text[start:end] == value`.
    independent: what the same model says when asked this question alone; None unless asked for.
    evidence: the sentences that show the answer, in the order of the text; empty unless asked for.
    """

    type: str
    value: Value | None
    probability: float
    probabilities: Mapping[str, float]
    confidence: float
    coverage: float
    label: str | None = None
    span: tuple[int, int] | None = None
    independent: Distribution | None = None
    abstained: Abstained | None = None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Usage:
    """Tokens of the prefix and of all blocks, and the number of model passes over blocks."""

    input_tokens: int
    output_tokens: int
    passes: int


@dataclass(frozen=True)
class Timing:
    """Wall-clock seconds: `total`, and of it `answering` (the asked mode) and `comparing` (the independent reading)."""

    total: float
    answering: float
    comparing: float


@dataclass(frozen=True)
class TraceStep:
    """One committed piece of an answer: block and pass, question, text, and its probability at that moment."""

    block: int
    step: int
    question: str
    text: str
    confidence: float


@dataclass(frozen=True)
class Alternative:
    """Another way to answer a block's questions together: JSON values by id, and the probability of all of them, given the rules."""

    values: Mapping[str, Any]
    probability: float


@dataclass(frozen=True)
class Dependence:
    """How much two answers of a block tell about each other.

    information: I(first; second) in nats, 0 if nothing. gap: the largest |p(a) p(b|a) - p(b) p(a|b)| over their values; what one answer
        says of the other should not depend on which is read first, and a large gap says that it does.
    """

    first: str
    second: str
    information: float
    gap: float


@dataclass(frozen=True)
class Decision:
    """Answers to one question set about one material. Frozen; `decision["id"]` is an answer.

    probability: joint mode, P(all answers | the rules hold) by the chain rule over commits: the product of each committed
        piece's probability given the pieces before it. What a search has not looked at counts against it. Independent mode,
        the product of the answers' probabilities.
    model, fingerprint, dtype: which weights answered, and the number type that they were computed in; with all three and the same
        input the answers are the same on the same kind of processor.
    rules_probability: how probable it was that the rules would hold, before they were imposed; low means that the model disagrees
        with the rules. Exact where `exact`; by default an estimate along the way to the answers. None without rules.
    violations: rules that the answers break, by their text. Empty in joint mode; in independent mode unless projected.
    calibrated: whether the probabilities were fitted to labelled data (see `Calibration`); those of the trace are
        never scaled, only offsets are in them.
    exact: the whole joint distribution was read. optimal: no other assignment can be more probable than this one.
    alternatives: the most probable other assignments that were found, of each block, by efforts that search (`thorough` and `auto`).
    dependence: pairs of answers of one token (not numbers, dates or texts), the most dependent first, if asked for.
    """

    answers: Mapping[str, Answer]
    probability: float
    mode: Mode
    effort: Effort
    model: str
    fingerprint: str
    dtype: str
    facts: tuple[Fact, ...]
    groups: tuple[tuple[str, ...], ...]
    usage: Usage
    timing: Timing
    trace: tuple[TraceStep, ...]
    rules_probability: float | None
    violations: tuple[str, ...]
    calibrated: bool
    exact: bool
    optimal: bool
    alternatives: tuple[Alternative, ...]
    dependence: tuple[Dependence, ...]
    material_text: str = field(repr=False)
    questions: QuestionSet = field(repr=False)

    def __getitem__(self, key: str) -> Answer:
        return self.answers[key]

    @property
    def needs_review(self) -> bool:
        """Whether people should look: an answer was withheld, a rule is broken, or the rules were improbable before they were imposed."""
        doubtful = self.rules_probability is not None and self.rules_probability < DOUBTFUL
        return doubtful or bool(self.violations) or any(answer.abstained for answer in self.answers.values())

    def values(self) -> dict[str, Any]:
        """Answer values by id, as JSON would have them; valid against `questions.json_schema()`, withheld ones (None) aside."""
        return {key: self.questions.plain(key, answer.value) for key, answer in self.answers.items()}

    def as_model(self, model: type[BaseModel] | None = None) -> BaseModel:
        """The answers as the caller's pydantic class (the one the questions came from by default).

        Raises:
            ResultError: no class is known, or its own validators refuse the answers.
        """
        target = model or self.questions.model
        if target is None:
            raise ResultError("the questions did not come from a pydantic class", accepted="as_model(YourModel)")
        withheld = [key for key, answer in self.answers.items() if answer.abstained]
        if withheld:
            raise ResultError(f"answers were withheld: {', '.join(withheld)}", accepted="values(), where they are None, or no thresholds")
        try:
            return target.model_validate(self.values())
        except ValidationError as error:
            raise ResultError(f"{target.__name__} refuses the answers: {error.errors(include_url=False)[0]['msg']}") from None

    def as_dict(self) -> dict[str, Any]:
        """A JSON-ready dict of everything but the material."""
        answers = {key: self._answer_dict(key, answer) for key, answer in self.answers.items()}
        return {
            "answers": answers,
            "probability": self.probability,
            "needs_review": self.needs_review,
            "rules_probability": self.rules_probability,
            "violations": list(self.violations),
            "calibrated": self.calibrated,
            "exact": self.exact,
            "optimal": self.optimal,
            "alternatives": [{"values": dict(a.values), "probability": a.probability} for a in self.alternatives],
            "dependence": [dict(vars(pair)) for pair in self.dependence],
            "mode": self.mode,
            "effort": self.effort,
            "model": self.model,
            "fingerprint": self.fingerprint,
            "dtype": self.dtype,
            "facts": [{"kind": f.kind, "text": f.text, "value": f.value, "at": list(f.at)} for f in self.facts],
            "groups": [list(group) for group in self.groups],
            "usage": dict(vars(self.usage)),
            "timing": {key: round(value, 4) for key, value in vars(self.timing).items()},
            "trace": [dict(vars(step)) for step in self.trace],
        }

    def _answer_dict(self, key: str, answer: Answer) -> dict[str, Any]:
        out: dict[str, Any] = {
            "type": answer.type,
            "value": self.questions.plain(key, answer.value),
            "probability": answer.probability,
            "probabilities": dict(answer.probabilities),
            "confidence": answer.confidence,
            "coverage": answer.coverage,
        }
        if answer.label is not None:
            out["label"] = answer.label
        if answer.span is not None:
            out["span"] = list(answer.span)
        if answer.abstained is not None:
            out["abstained"] = {**vars(answer.abstained), "value": self.questions.plain(key, answer.abstained.value)}
        if answer.evidence:
            out["evidence"] = [dict(vars(sentence)) for sentence in answer.evidence]
        if answer.independent is not None:
            solo = answer.independent
            out["independent"] = {
                "value": self.questions.plain(key, solo.value),
                "probability": solo.probability,
                "probabilities": dict(solo.probabilities),
                **({"label": solo.label} if solo.label is not None else {}),
            }
        return out

    def explain(self) -> str:
        """How the answers came about, as text: what each pass settled and how sure, the answers alone, rules, what else was likely."""
        from clover_decide.explain import explain

        return explain(self)

    def _repr_html_(self) -> str:
        compared = any(answer.independent for answer in self.answers.values())
        head = "<th>question</th><th>answer</th><th>probability</th>" + ("<th>alone</th>" if compared else "")
        rows = []
        for key, answer in self.answers.items():
            cells = [escape(key), f"<b>{escape(shown(answer.value, answer.label))}</b>", f"{answer.probability:.2f}"]
            if compared and answer.independent:
                cells.append(f"{escape(shown(answer.independent.value, answer.independent.label))} {answer.independent.probability:.2f}")
            rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        caption = f"{self.mode}, all together {self.probability:.2f}, {escape(self.model)}"
        details = f"<details><summary>how the answers came about</summary><pre>{escape(self.explain())}</pre></details>"
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{''.join(rows)}</table>{details}"


def shown(value: Value | None, label: str | None = None) -> str:
    """A value as people read it."""
    if value is None:
        return "withheld"
    if label is not None:
        return label
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    return str(value)
