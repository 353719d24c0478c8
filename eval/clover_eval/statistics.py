"""Accuracy with intervals. Clusters are the unit: a group, or a pair of twins, is resampled whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

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


def ratio(part: Sequence[float], whole: Sequence[float], clusters: Sequence[str] | None = None, seed: int = 0) -> Interval:
    """Σ part / Σ whole: question accuracy with the questions right and asked of each group, group accuracy with wholes of 1.

    Args:
        part, whole: one number a group.
        clusters: the cluster of each group; by default each is its own.
        seed: of the resampling. The interval is that of the ratio of resampled sums (percentiles 2.5 and 97.5).
    """
    p, w = np.asarray(part, float), np.asarray(whole, float)
    if clusters is not None:
        index = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
        place = np.array([index[name] for name in clusters], dtype=int)
        p, w = np.bincount(place, p, len(index)), np.bincount(place, w, len(index))
    if w.sum() <= 0:
        return Interval(float("nan"), float("nan"), float("nan"))
    counts = _resampled(len(p), seed)
    tops, bottoms = counts @ p, counts @ w
    # A resample without any question of the kind says nothing.
    draws = (tops[bottoms > 0]) / bottoms[bottoms > 0]
    low, high = np.percentile(draws, [2.5, 97.5])
    return Interval(float(p.sum() / w.sum()), float(low), float(high))


def paired_difference(
    a: Sequence[float], b: Sequence[float], whole: Sequence[float], clusters: Sequence[str] | None = None, seed: int = 0
) -> Interval:
    """(Σ a - Σ b) / Σ whole, both modes resampled on the same clusters."""
    return ratio(np.asarray(a, float) - np.asarray(b, float), whole, clusters, seed)  # pyright: ignore[reportArgumentType]


@lru_cache(maxsize=16)
def _resampled(count: int, seed: int) -> np.ndarray:
    """How often each of `count` clusters is drawn, in each of the resamples (resamples × count)."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(count, np.full(count, 1.0 / count), size=RESAMPLES).astype(np.float32)


@dataclass(frozen=True)
class McNemar:
    """Exact two-sided test of paired rights and wrongs: `gained` right only in the first mode, `lost` only in the second."""

    gained: int
    lost: int
    p: float


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """The exact McNemar test: under no difference, each discordant pair falls either way with probability 1/2.

    Twice the smaller binomial tail, at most 1 (McNemar 1947; exact form as in Agresti, Categorical Data Analysis, 10.1).
    """
    from scipy.stats import binomtest

    gained = sum(a and not b for a, b in zip(first, second, strict=True))
    lost = sum(b and not a for a, b in zip(first, second, strict=True))
    return McNemar(gained, lost, float(binomtest(gained, gained + lost, 0.5).pvalue) if gained + lost else 1.0)
