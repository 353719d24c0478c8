"""Accuracy with intervals. Clusters are the unit: a group, or a pair of twins, is resampled whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

RESAMPLES = 10_000
FEWEST = 6
"""Clusters below which resampling says nothing; the interval is then everything that is possible."""


@dataclass(frozen=True)
class Interval:
    """A value with the bounds of its 95% interval: percentile bootstrap, or exact where all or none are right."""

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
        seed: of the resampling. The interval is that of the ratio of resampled sums (percentiles 2.5 and 97.5). Where all or none are
            right every resample is the same, and the exact binomial bound over clusters is given (Clopper & Pearson 1934).
    """
    p, w = _summed(part, whole, clusters=clusters)
    if w.sum() <= 0:
        return Interval(float("nan"), float("nan"), float("nan"))
    if len(p) < FEWEST:
        return Interval(float(p.sum() / w.sum()), 0.0, 1.0)
    bound = 0.025 ** (1.0 / int((w > 0).sum()))
    if (p == 0).all():
        return Interval(0.0, 0.0, 1.0 - bound)
    if (p == w).all():
        return Interval(1.0, bound, 1.0)
    return _interval(p, w, seed)


def _summed(*columns: Sequence[float], clusters: Sequence[str] | None) -> list[np.ndarray]:
    """Columns of numbers a group, summed over clusters."""
    arrays = [np.asarray(column, float) for column in columns]
    if clusters is None:
        return arrays
    index = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
    place = np.array([index[name] for name in clusters], dtype=int)
    return [np.bincount(place, column, len(index)) for column in arrays]


def _interval(p: np.ndarray, w: np.ndarray, seed: int) -> Interval:
    counts = _resampled(len(p), seed)
    tops, bottoms = counts @ p, counts @ w
    # A resample without any question of the kind says nothing.
    draws = (tops[bottoms > 0]) / bottoms[bottoms > 0]
    low, high = np.percentile(draws, [2.5, 97.5])
    return Interval(float(p.sum() / w.sum()), float(low), float(high))


def beyond_independence(
    hits: Sequence[float], sizes: Sequence[float], whole: Sequence[float], clusters: Sequence[str] | None = None, seed: int = 0
) -> Interval:
    """Group accuracy minus what independent errors would give, the mean over groups of p^k.

    Args:
        hits, sizes, whole: questions right, questions asked (k), and whether all were right, one number a group.
        clusters, seed: as in `ratio`; p is that of each resample.
    """
    kinds = sorted(set(sizes))
    of_size = [[float(size == kind) for size in sizes] for kind in kinds]
    right, asked, all_right, *numbers = _summed(hits, sizes, whole, *of_size, clusters=clusters)
    weights = np.vstack([np.ones(len(right)), _resampled(len(right), seed)])
    groups = [weights @ number for number in numbers]
    p = (weights @ right) / np.maximum(weights @ asked, 1e-12)
    expected = sum(n * p**kind for n, kind in zip(groups, kinds, strict=True))
    draws = (weights @ all_right - expected) / np.maximum(sum(groups), 1e-12)
    low, high = np.percentile(draws[1:], [2.5, 97.5]) if len(right) >= FEWEST else (-1.0, 1.0)
    return Interval(float(draws[0]), float(low), float(high))


def paired_difference(
    a: Sequence[float], b: Sequence[float], whole: Sequence[float], clusters: Sequence[str] | None = None, seed: int = 0
) -> Interval:
    """(Σ a - Σ b) / Σ whole, both modes resampled on the same clusters."""
    first, second, w = _summed(a, b, whole, clusters=clusters)
    if len(w) < FEWEST and w.sum() > 0:
        return Interval(float((first - second).sum() / w.sum()), -1.0, 1.0)
    return _interval(first - second, w, seed)


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
