"""Probabilities that were fitted to what happened: a line or a temperature a question type, a line for all answers together, and perhaps
what is usually answered.

A calibration belongs to one model, one mode and one effort, and perhaps to one question set; it is refused for others.
`clover-decide calibrate` fits one on labelled groups.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args

from clover_decide.confidence import confidence
from clover_decide.decision import Answer, Effort, Mode
from clover_decide.errors import FormatError, ModelError
from clover_decide.files import load_structured, short_hash
from clover_decide.frozen import FrozenMap
from clover_decide.ordering import ordered_options
from clover_decide.question_set import QuestionSet
from clover_decide.questions import QUESTION_TYPES, AnyQuestion, answer_names

SHIPPED_FILE = "calibration.json"
"""In a model's folder: what its probabilities are scaled by unless the caller says otherwise, one for each mode."""
CLOSED = ("boolean", "choice", "score")
"""Types that one of few listed answers is right of, so that their probabilities add up to 1 and have no shift."""
LARGEST = 20.0
"""Of an offset, either way."""
BOUND = 1e-6
"""Probabilities are kept this far from 0 and 1 before their odds are scaled."""


@dataclass(frozen=True)
class Calibration:
    """A fitted calibration and what it belongs to.

    temperatures, shifts: by question type; a distribution becomes p_i^(1/T), normalised (Guo et al. 2017), a single probability has its
        log odds divided by T and the shift added (Platt 1999), which a type that is wrong more often than not needs.
        The options of a multiple choice stay as they are.
    offsets: by question and answer ("true" and "false" of a yes/no question, options, numbers of levels), added to its log odds where
        it is read, before anything is scaled: what labelled groups say is usually answered (the bias of vector scaling, Guo et al. 2017).
        Unlike all else here they change answers, and rules and later answers see them.
    slope, intercept: of the log odds of the probability of all answers together (Platt 1999).
    model: fingerprint of the weights. questions: hash of the question set it was fitted for, None for any. groups: how many it was fitted
        on, of the set with the hash `data`.
    """

    model: str
    mode: Mode
    effort: Effort
    questions: str | None
    temperatures: Mapping[str, float]
    slope: float
    intercept: float
    groups: int
    data: str
    shifts: Mapping[str, float] = field(default_factory=FrozenMap[str, float])
    offsets: Mapping[str, Mapping[str, float]] = field(default_factory=FrozenMap[str, Mapping[str, float]])

    def check_model(self, fingerprint: str) -> None:
        """Raise ModelError unless it was fitted for these weights."""
        self._same("model", self.model, fingerprint)

    def check(self, questions: QuestionSet, mode: Mode, effort: Effort) -> None:
        """Raise ModelError unless it was fitted for this way of asking."""
        self._same("mode", self.mode, mode)
        self._same("effort", self.effort, effort)
        if self.questions is not None and self.questions != questions_hash(questions):
            accepted = "the ids, texts and options of the labelled groups that it was fitted to, in any order"
            raise ModelError("fitted for other questions", path="calibration", given=", ".join(questions.questions), accepted=accepted)
        for key, added in self.offsets.items():
            names = answer_names(questions.questions[key]) if key in questions.questions else tuple(added)
            unknown = next((name for name in added if name not in names), None)
            if unknown is not None:
                raise ModelError(
                    "no answer to this question", path=f"calibration.offsets.{key}.{unknown}", accepted=", ".join(names) or "none"
                )

    def _same(self, name: str, own: str, asked: str) -> None:
        if own != asked:
            raise ModelError(f"fitted for another {name}, {own}", path="calibration", given=asked, accepted=f"a calibration of this {name}")

    def answer(self, question: AnyQuestion, answer: Answer) -> Answer:
        """The answer with its probabilities scaled; its value stays."""
        temperature, shift = self.temperatures.get(question.type, 1.0), self.shifts.get(question.type, 0.0)
        if question.type in CLOSED:
            probabilities = _softened(answer.probabilities, temperature)
            probability = probabilities[_name(answer)]
        else:
            probability = scaled(answer.probability, 1.0 / temperature, shift)
            # A multiple choice lists its options one by one, of which the line of the whole answer says nothing.
            listed = answer.probabilities.items()
            own = question.type == "multi_choice"
            probabilities = {name: p if own else scaled(p, 1.0 / temperature, shift) for name, p in listed}
        sure = confidence(question, probabilities, probability)
        return replace(answer, probability=probability, probabilities=FrozenMap(probabilities), confidence=sure)

    def together(self, probability: float) -> float:
        """The probability that all answers are right."""
        return scaled(probability, self.slope, self.intercept)

    def as_dict(self) -> dict[str, Any]:
        made = {name: dict(getattr(self, name)) for name in ("temperatures", "shifts")}
        offsets = {key: dict(added) for key, added in self.offsets.items()}
        return {"calibration": 1, **{f.name: getattr(self, f.name) for f in fields(self)}, **made, "offsets": offsets}


def questions_hash(questions: QuestionSet) -> str:
    """Identifies a question set, in whatever order its questions and options are."""
    listed = [(key, ordered_options(question).model_dump(mode="json")) for key, question in questions.questions.items()]
    return short_hash(json.dumps(sorted(listed, key=lambda item: item[0]), sort_keys=True))


def scaled(probability: float, slope: float, intercept: float) -> float:
    """A probability whose log odds are scaled and shifted."""
    p = min(max(probability, BOUND), 1.0 - BOUND)
    odds = slope * math.log(p / (1.0 - p)) + intercept
    return 1.0 / (1.0 + math.exp(-max(min(odds, 500.0), -500.0)))


def _softened(probabilities: Mapping[str, float], temperature: float) -> dict[str, float]:
    weights = {name: max(p, BOUND) ** (1.0 / temperature) for name, p in probabilities.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def _name(answer: Answer) -> str:
    return str(answer.value).lower() if answer.type == "boolean" else str(answer.value)


def read_calibration(given: Calibration | Mapping[str, Any] | str | Path) -> Calibration:
    """A calibration, its dict, or its file.

    Raises:
        FormatError: not a calibration of this version.
    """
    if isinstance(given, Calibration):
        return given
    data = load_structured(Path(given)) if isinstance(given, (str, Path)) else given
    path = str(given) if isinstance(given, (str, Path)) else "calibration"
    if isinstance(data, Mapping) and "calibrations" in data:
        raise FormatError("holds those that ship with a model", path=path, accepted="'shipped', or a file of `clover-decide calibrate`")
    if not isinstance(data, Mapping) or data.get("calibration") != 1:
        raise FormatError("not a calibration of version 1", path=path, accepted="a file that `clover-decide calibrate` wrote")
    try:
        made = Calibration(**{name: value for name, value in data.items() if name != "calibration"})
        if not all(isinstance(mapping, Mapping) for mapping in (made.temperatures, made.shifts, made.offsets)):
            raise TypeError
        if not all(isinstance(added, Mapping) and all(isinstance(name, str) for name in added) for added in made.offsets.values()):
            raise TypeError
        temperatures, shifts = dict(made.temperatures), dict(made.shifts)
        offsets = {key: FrozenMap(added) for key, added in made.offsets.items()}
    except (TypeError, ValueError):
        raise FormatError(
            "fields are missing, unknown or of the wrong type", path=path, accepted=", ".join(Calibration.__annotations__)
        ) from None
    for name, good, accepted in (
        ("model", isinstance(made.model, str), "a fingerprint"),
        ("mode", made.mode in get_args(Mode), ", ".join(get_args(Mode))),
        ("effort", made.effort in get_args(Effort), ", ".join(get_args(Effort))),
        ("questions", isinstance(made.questions, str | None), "a hash, or null"),
        ("temperatures", not set(temperatures) - set(QUESTION_TYPES), ", ".join(QUESTION_TYPES)),
        ("temperatures", all(_number(t, 0.01, 100.0) for t in temperatures.values()), "numbers from 0.01 to 100"),
        ("shifts", not set(shifts) - (set(QUESTION_TYPES) - set(CLOSED)), ", ".join(t for t in QUESTION_TYPES if t not in CLOSED)),
        ("shifts", all(_number(s, -100.0, 100.0) for s in shifts.values()), "numbers from -100 to 100"),
        ("offsets", all(_number(o, -LARGEST, LARGEST) for added in offsets.values() for o in added.values()), "numbers from -20 to 20"),
        ("slope", _number(made.slope, 0.0, 100.0), "a number from 0 to 100"),
        ("intercept", _number(made.intercept, -100.0, 100.0), "a number from -100 to 100"),
        ("groups", isinstance(made.groups, int) and not isinstance(made.groups, bool) and made.groups >= 0, "a whole number from 0"),
        ("data", isinstance(made.data, str), "a hash"),
    ):
        if not good:
            raise FormatError("not a value of a calibration", path=f"{path}.{name}", given=data.get(name), accepted=accepted)
    return replace(made, temperatures=FrozenMap(temperatures), shifts=FrozenMap(shifts), offsets=FrozenMap(offsets))


def shipped_calibrations(folder: Path, fingerprint: str) -> tuple[Calibration, ...]:
    """The calibrations that lie beside a model, none if there is no file.

    Raises:
        FormatError: not a file of calibrations. ModelError: they are of other weights.
    """
    path = folder / SHIPPED_FILE
    if not path.is_file():
        return ()
    data = load_structured(path)
    if not isinstance(data, Mapping) or not isinstance(data.get("calibrations"), list):
        raise FormatError("holds no calibrations", path=str(path), accepted='{"calibrations": [...]}')
    found = tuple(read_calibration(item) for item in data["calibrations"])
    for calibration in found:
        calibration.check_model(fingerprint)
    return found


def _number(value: Any, low: float, high: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high
