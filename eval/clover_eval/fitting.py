"""Calibrations fitted to labelled groups, and how good they are on groups that they were not fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from clover_decide import Decider, Decision
from clover_decide.calibration import BOUND, CLOSED, Calibration, questions_hash, scaled
from clover_decide.decision import Effort, Mode
from clover_decide.errors import InputError
from clover_decide.files import short_hash
from clover_decide.frozen import FrozenMap
from clover_eval.datasets import LabelledGroup
from clover_eval.reliability import Outcome, calibration
from clover_eval.scoring import is_right
from clover_eval.sets import LoadedSet

LEAST = 20
"""Answers of a type that a temperature, or a line, is fitted to; types with fewer keep their probabilities."""
SLOPES, INTERCEPTS = (0.02, 50.0), (-50.0, 50.0)
"""What a line may be: a probability that says nothing of what is right, or the opposite, comes to be the share that is right."""


@dataclass(frozen=True)
class Asked:
    """One group with its decision: which answers are right."""

    group: LabelledGroup
    decision: Decision
    right: Mapping[str, bool]

    @property
    def side(self) -> int:
        """Clusters are halved by the hash of their names, so that twins are on one side."""
        return int(short_hash(self.group.cluster), 16) % 2


@dataclass(frozen=True)
class Check:
    """The expected calibration error of the answers, and of all of a group together, before and after, on held-out halves."""

    answers: int
    groups: int
    before: float
    after: float
    before_groups: float
    after_groups: float


def ask_all(decider: Decider, groups: Iterable[LabelledGroup], mode: Mode, effort: Effort, **options: Any) -> Iterator[Asked]:
    """Every group asked in one way."""
    for group in groups:
        decision = decider.decide(group.material, group.questions, mode=mode, effort=effort, **options)
        values = decision.values()
        yield Asked(group, decision, {key: is_right(group, key, values[key]) for key in group.questions.questions})


def fit(asked: Sequence[Asked], source: LoadedSet, offsets: Mapping[str, Mapping[str, float]] | None = None) -> Calibration:
    """By least log loss a temperature for every closed type, and a logistic line for every other one and for all answers together.

    offsets: what the calibration is to have besides. It then belongs to the question set, if all groups have the same one.

    Raises:
        InputError: nothing to fit to.
    """
    if not asked:
        raise InputError("no groups to fit to", path="SET", accepted="labelled groups")
    first = asked[0].decision
    types = sorted({question.type for item in asked for question in item.group.questions.questions.values()})
    temperatures = {kind: _temperature([*_answers(asked, kind)]) for kind in types if kind in CLOSED}
    shifts: dict[str, float] = {}
    for kind in types:
        found = [(shares[1], right == 1) for shares, right in _answers(asked, kind)] if kind not in CLOSED else []
        if len(found) >= LEAST:
            slope, shifts[kind] = _line(found)
            temperatures[kind] = 1.0 / slope
    slope, intercept = _line([(item.decision.probability, all(item.right.values())) for item in asked])
    hashes = {questions_hash(item.group.questions) for item in asked}
    return Calibration(
        model=first.fingerprint,
        mode=first.mode,
        effort=first.effort,
        questions=hashes.pop() if offsets and len(hashes) == 1 else None,
        temperatures=FrozenMap(temperatures),
        slope=slope,
        intercept=intercept,
        groups=len(asked),
        data=source.sha256[:16],
        shifts=FrozenMap(shifts),
        offsets=FrozenMap(offsets or {}),
    )


def check(asked: Sequence[Asked], source: LoadedSet) -> Check:
    """Fitted to one half and applied to the other, both ways round."""
    before: list[Outcome] = []
    after: list[Outcome] = []
    whole_before: list[Outcome] = []
    whole_after: list[Outcome] = []
    for side in (0, 1):
        held = [item for item in asked if item.side == side]
        rest = [item for item in asked if item.side != side]
        if not held or not rest:
            raise InputError("too few groups for a held-out check", path="SET", accepted="groups of several materials")
        made = fit(rest, source)
        for item in held:
            cluster, all_right = item.group.cluster, all(item.right.values())
            for key, question in item.group.questions.questions.items():
                answer = item.decision[key]
                before.append(Outcome(answer.probability, item.right[key], cluster))
                after.append(Outcome(made.answer(question, answer).probability, item.right[key], cluster))
            whole_before.append(Outcome(item.decision.probability, all_right, cluster))
            whole_after.append(Outcome(made.together(item.decision.probability), all_right, cluster))
    found = [calibration(outcomes) for outcomes in (before, after, whole_before, whole_after)]
    a, b, c, d = (result.ece if result else 0.0 for result in found)
    return Check(len(before), len(whole_before), a, b, c, d)


def distributions(item: Asked) -> Iterator[tuple[str, Mapping[str, float], int]]:
    """Of every closed question whose right answer is among its options: its id, distribution, and the place of the right answer in it."""
    for key, question in item.group.questions.questions.items():
        gold, shares = item.group.answers[key], item.decision[key].probabilities
        name = str(gold).lower() if question.type == "boolean" else str(gold)
        if question.type in CLOSED and name in shares:
            yield key, shares, list(shares).index(name)


def _answers(asked: Sequence[Asked], kind: str) -> Iterator[tuple[list[float], int]]:
    """Of every answer of a type: its distribution and which of it is right, or [not right, right] with its probability."""
    for item in asked:
        closed = {key: ([*shares.values()], right) for key, shares, right in distributions(item)}
        for key, question in item.group.questions.questions.items():
            if question.type == kind:
                p = item.decision[key].probability
                yield closed.get(key, ([1.0 - p, p], int(item.right[key])))


def _temperature(answers: Sequence[tuple[list[float], int]]) -> float:
    if len(answers) < LEAST:
        return 1.0

    def loss(log_t: float) -> float:
        total = 0.0
        for shares, right in answers:
            logs = np.log(np.clip(shares, BOUND, 1.0)) / np.exp(log_t)
            total -= logs[right] - np.logaddexp.reduce(logs)
        return total

    found: Any = minimize_scalar(loss, bounds=(-3.0, 4.0), method="bounded")
    return float(np.exp(found.x))


def _line(groups: Sequence[tuple[float, bool]]) -> tuple[float, float]:
    """Slope and intercept of the log odds; a weak pull towards (1, 0) keeps them finite where all or no groups are right."""

    def loss(x: np.ndarray) -> float:
        p = np.array([scaled(probability, x[0], x[1]) for probability, _ in groups])
        right = np.array([whole for _, whole in groups])
        return float(-np.log(np.clip(np.where(right, p, 1 - p), 1e-12, 1.0)).sum() + 0.01 * ((x[0] - 1) ** 2 + x[1] ** 2))

    options = {"maxiter": 2_000, "xatol": 1e-4, "fatol": 1e-6}
    found = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead", bounds=[SLOPES, INTERCEPTS], options=options)
    return float(found.x[0]), float(found.x[1])
