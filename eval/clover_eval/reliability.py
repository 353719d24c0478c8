"""Whether probabilities mean what they say, and what can be gained by leaving unsure cases to people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from clover_decide.files import short_hash
from clover_eval.statistics import Interval, ratio

BINS = 10


@dataclass(frozen=True)
class Outcome:
    """A probability that was given to an answer, whether it was right, and the cluster it belongs to."""

    probability: float
    right: bool
    cluster: str


@dataclass(frozen=True)
class Bin:
    """One bin of a reliability curve."""

    probability: float
    accuracy: float
    count: int


@dataclass(frozen=True)
class Calibration:
    """Of the answers given: Brier score and log loss of "the answer is right", and the calibration error.

    brier: mean (p - right)². log_loss: mean -log of the probability of what happened, p bounded to [1e-6, 1 - 1e-6].
    ece: Σ n_b/n · |mean p - accuracy| over ten bins of equal numbers (adaptive bins: Nguyen & O'Connor 2015).
    """

    count: int
    accuracy: float
    mean_probability: float
    brier: float
    log_loss: float
    ece: float
    curve: tuple[Bin, ...]


def calibration(outcomes: Sequence[Outcome]) -> Calibration | None:
    """None without outcomes."""
    if not outcomes:
        return None
    p = np.array([o.probability for o in outcomes])
    right = np.array([o.right for o in outcomes], float)
    bounded = np.clip(p, 1e-6, 1 - 1e-6)
    curve = reliability_curve(outcomes)
    return Calibration(
        len(outcomes),
        float(right.mean()),
        float(p.mean()),
        float(((p - right) ** 2).mean()),
        float(-(right * np.log(bounded) + (1 - right) * np.log(1 - bounded)).mean()),
        sum(b.count * abs(b.probability - b.accuracy) for b in curve) / len(outcomes),
        curve,
    )


def reliability_curve(outcomes: Sequence[Outcome], bins: int = BINS) -> tuple[Bin, ...]:
    """Bins of about equal numbers by rising probability; equal probabilities share a bin."""
    parts: list[list[Outcome]] = [[]]
    done = 0
    for _, tied in groupby(sorted(outcomes, key=lambda o: o.probability), key=lambda o: o.probability):
        parts[-1] += tied
        if done + len(parts[-1]) >= len(parts) * len(outcomes) / bins:
            done += len(parts[-1])
            parts.append([])
    return tuple(_bin(part) for part in parts if part)


def _bin(part: Sequence[Outcome]) -> Bin:
    return Bin(float(np.mean([o.probability for o in part])), float(np.mean([o.right for o in part])), len(part))


@dataclass(frozen=True)
class CoveragePoint:
    """Answering only what is at least this probable: the share that is answered, and how often it is right."""

    threshold: float
    coverage: float
    accuracy: float


def coverage_curve(outcomes: Sequence[Outcome]) -> tuple[CoveragePoint, ...]:
    """One point a distinct probability, from the surest answers on."""
    ordered = sorted(outcomes, key=lambda o: -o.probability)
    points: list[CoveragePoint] = []
    right = 0
    for number, outcome in enumerate(ordered, 1):
        right += outcome.right
        if number == len(ordered) or ordered[number].probability < outcome.probability:
            points.append(CoveragePoint(outcome.probability, number / len(ordered), right / number))
    return tuple(points)


def area_under_risk(outcomes: Sequence[Outcome]) -> float:
    """Mean risk (1 - accuracy) over all numbers of answers given, surest first; ties are taken as a whole (Geifman & El-Yaniv 2017)."""
    points = coverage_curve(outcomes)
    area = before = 0.0
    for point in points:
        area += (point.coverage - before) * (1 - point.accuracy)
        before = point.coverage
    return area


@dataclass(frozen=True)
class Threshold:
    """The lowest threshold that reached a wished accuracy on one half, and what it does on the other.

    threshold is None where no threshold reached it.
    """

    wished: float
    threshold: float | None
    coverage: float
    chosen_on: int
    held_out_accuracy: Interval | None
    held_out_coverage: float
    held_out: int


def threshold_for(outcomes: Sequence[Outcome], wished: float) -> Threshold:
    """Clusters are halved by the hash of their names, so that twins are on one side."""
    first = [o for o in outcomes if int(short_hash(o.cluster), 16) % 2 == 0]
    second = [o for o in outcomes if int(short_hash(o.cluster), 16) % 2 == 1]
    reached = [p for p in coverage_curve(first) if p.accuracy >= wished]
    if not reached:
        return Threshold(wished, None, 0.0, len(first), None, 0.0, len(second))
    chosen = reached[-1]
    kept = [o for o in second if o.probability >= chosen.threshold]
    found = ratio([float(o.right) for o in kept], [1.0] * len(kept), [o.cluster for o in kept]) if kept else None
    return Threshold(wished, chosen.threshold, chosen.coverage, len(first), found, len(kept) / max(len(second), 1), len(second))
