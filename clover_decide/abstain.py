"""When to say nothing: thresholds under which an answer is left to people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clover_decide.decision import Abstained, Answer, Dependence
from clover_decide.errors import InputError
from clover_decide.frozen import FrozenMap

_FIELDS = ("probability", "coverage", "gap", "questions")


@dataclass(frozen=True)
class Abstain:
    """An answer less probable than `probability` (or its own in `questions`), with less `coverage`, or in a pair with a larger `gap`
    than this, is not given. `gap` needs the dependence of answers to be read."""

    probability: float = 0.0
    coverage: float = 0.0
    gap: float | None = None
    questions: Mapping[str, float] = field(default_factory=lambda: FrozenMap[str, float]())


def read_abstain(given: Any, ids: Mapping[str, Any]) -> Abstain:
    """Thresholds given as a probability, as a mapping of `Abstain`'s fields, or as one.

    Raises:
        InputError: not thresholds, or for questions that are not asked.
    """
    if given is None:
        return Abstain()
    if isinstance(given, Abstain):
        given = {"probability": given.probability, "coverage": given.coverage, "gap": given.gap, "questions": dict(given.questions)}
    elif isinstance(given, (int, float)) and not isinstance(given, bool):
        given = {"probability": given}
    if not isinstance(given, Mapping) or set(given) - set(_FIELDS):
        raise InputError("not thresholds", path="abstain", given=given, accepted=f"a probability, or some of {', '.join(_FIELDS)}")
    questions = given.get("questions", {})
    if not isinstance(questions, Mapping):
        raise InputError(
            "not thresholds by question", path="abstain.questions", given=questions, accepted="question ids with probabilities"
        )
    unknown = next((key for key in questions if key not in ids), None)
    if unknown is not None:
        raise InputError("an unknown question", path="abstain.questions", given=unknown, accepted=", ".join(ids))
    named = {name: given[name] for name in _FIELDS[:3] if given.get(name) is not None}
    for path, value in [*named.items(), *((f"questions.{key}", value) for key, value in questions.items())]:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
            raise InputError("out of range", path=f"abstain.{path}", given=value, accepted="a number from 0 to 1")
    return Abstain(**named, questions=FrozenMap(dict(questions)))


def withheld(answers: Mapping[str, Answer], limits: Abstain, dependence: tuple[Dependence, ...]) -> dict[str, Answer]:
    """The answers, those under a threshold without their value and with the reason."""
    gaps = {key: max((pair.gap for pair in dependence if key in (pair.first, pair.second)), default=0.0) for key in answers}
    return {key: _checked(answer, limits, limits.questions.get(key, limits.probability), gaps[key]) for key, answer in answers.items()}


def _checked(answer: Answer, limits: Abstain, probability: float, gap: float) -> Answer:
    assert answer.value is not None, "withheld twice"
    if answer.probability < probability:
        reason = Abstained("probability", answer.probability, probability, answer.value)
    elif answer.coverage < limits.coverage:
        reason = Abstained("coverage", answer.coverage, limits.coverage, answer.value)
    elif limits.gap is not None and gap > limits.gap:
        reason = Abstained("gap", gap, limits.gap, answer.value)
    else:
        return answer
    return replace(answer, value=None, label=None, span=None, abstained=reason)
