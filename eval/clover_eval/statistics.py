"""Accuracy with intervals. Groups are the unit: they are resampled whole, and modes are compared group by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000


@dataclass(frozen=True)
class Interval:
    """A value with the bounds of its 95% percentile-bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def ratio(right: Sequence[float], total: Sequence[float], seed: int = 0) -> Interval:
    """Σ right / Σ total over groups: question accuracy with clusters, or group accuracy with totals of 1."""
    r, t = np.asarray(right, float), np.asarray(total, float)
    return _bootstrap(r, t, seed)


def paired_difference(a: Sequence[float], b: Sequence[float], total: Sequence[float], seed: int = 0) -> Interval:
    """(Σ a - Σ b) / Σ total, both modes resampled on the same groups."""
    return _bootstrap(np.asarray(a, float) - np.asarray(b, float), np.asarray(total, float), seed)


def _bootstrap(numerator: np.ndarray, denominator: np.ndarray, seed: int) -> Interval:
    rng = np.random.default_rng(seed)
    count = len(numerator)
    draws = np.empty(RESAMPLES)
    for i in range(RESAMPLES):
        pick = rng.integers(0, count, count)
        draws[i] = numerator[pick].sum() / max(denominator[pick].sum(), 1e-12)
    low, high = np.percentile(draws, [2.5, 97.5])
    return Interval(float(numerator.sum() / denominator.sum()), float(low), float(high))
