"""Intervals and tests against enumeration and against scipy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap

from clover_eval.statistics import beyond_independence, mcnemar, paired_difference, ratio


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=0, max_size=12))
def test_mcnemar_is_the_share_of_coin_tosses_at_least_as_uneven(pairs: list[tuple[bool, bool]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = mcnemar(first, second)
    discordant = found.gained + found.lost
    assert (found.gained, found.lost) == (sum(a > b for a, b in pairs), sum(b > a for a, b in pairs))
    # All 2^n ways in which the discordant pairs could have fallen.
    uneven = abs(found.gained - found.lost)
    ways = [abs(2 * sum(toss) - discordant) >= uneven for toss in itertools.product((0, 1), repeat=discordant)]
    assert found.p == pytest.approx(sum(ways) / len(ways), abs=1e-12)


def test_mcnemar_of_a_known_table() -> None:
    # Ten against two: P(X <= 2 or X >= 10), X binomial(12, 1/2), is 158 / 4096.
    found = mcnemar([True] * 10 + [False] * 2 + [True] * 30, [False] * 10 + [True] * 2 + [True] * 30)
    assert (found.gained, found.lost) == (10, 2)
    assert found.p == pytest.approx(158 / 4096)


def test_the_interval_agrees_with_scipys_percentile_bootstrap() -> None:
    rng = np.random.default_rng(3)
    part, whole = rng.integers(0, 4, 60).astype(float), rng.integers(4, 8, 60).astype(float)
    ours = ratio(part.tolist(), whole.tolist())
    theirs = bootstrap(
        (part, whole), lambda a, b, axis=-1: a.sum(axis) / b.sum(axis), paired=True, method="percentile", n_resamples=10_000, rng=1
    )
    assert ours.value == pytest.approx(part.sum() / whole.sum())
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.01)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.01)


def test_a_cluster_is_resampled_as_one() -> None:
    right = [1.0, 1.0, 0.0, 0.0] * 10
    clusters = [f"pair {i // 2}" for i in range(40)]
    alone, paired = ratio(right, [1.0] * 40), ratio(right, [1.0] * 40, clusters)
    assert alone.value == paired.value == 0.5
    # Twenty clusters of two equal results: the standard error is that of twenty draws.
    assert (paired.high - paired.low) / (alone.high - alone.low) == pytest.approx(math.sqrt(2), rel=0.1)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(3, 5)), min_size=2, max_size=20))
def test_a_difference_is_the_difference_of_the_ratios(rows: list[tuple[int, int, int]]) -> None:
    a, b, whole = ([float(x) for x in column] for column in zip(*rows, strict=True))
    found = paired_difference(a, b, whole)
    assert found.value == pytest.approx(ratio(a, whole).value - ratio(b, whole).value)
    assert found.low <= found.value + 1e-9 and found.value - 1e-9 <= found.high
    swapped = paired_difference(b, a, whole)
    assert (swapped.low, swapped.high) == pytest.approx((-found.high, -found.low), abs=1e-6)


def test_nothing_to_count_is_no_number() -> None:
    assert math.isnan(ratio([0.0], [0.0]).value)


def test_all_or_none_right_has_an_exact_bound_and_not_an_interval_without_width() -> None:
    # Rule of three, two-sided: 1 - 0.025^(1/n).
    none = ratio([0.0] * 50, [1.0] * 50)
    assert (none.value, none.low, none.high) == (0.0, 0.0, pytest.approx(1 - 0.025 ** (1 / 50)))
    every = ratio([4.0] * 20, [4.0] * 20, [f"pair {i // 2}" for i in range(20)])
    assert (every.value, every.low, every.high) == (1.0, pytest.approx(0.025 ** (1 / 10)), 1.0)
    same = paired_difference([1.0] * 9, [1.0] * 9, [1.0] * 9)
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)


def test_independent_errors_are_not_beyond_independence_and_shared_ones_are() -> None:
    rng = np.random.default_rng(5)
    sizes = rng.integers(3, 6, 3000).astype(float)
    apart = [float(sum(rng.random() < 0.8 for _ in range(int(k)))) for k in sizes]
    together = [float(k) * float(rng.random() < 0.8) for k in sizes]
    for hits, least, most in ((apart, -0.03, 0.03), (together, 0.3, 0.5)):
        whole = [float(h == k) for h, k in zip(hits, sizes, strict=True)]
        found = beyond_independence(hits, sizes.tolist(), whole)
        assert least < found.value < most and found.low < found.value < found.high


def test_a_handful_of_clusters_has_an_interval_of_all_that_is_possible() -> None:
    one = ratio([1.0, 2.0], [2.0, 2.0], ["a", "a"])
    assert (one.value, one.low, one.high) == (0.75, 0.0, 1.0)
    two = paired_difference([1.0, 1.0], [0.0, 1.0], [1.0, 1.0])
    assert (two.value, two.low, two.high) == (0.5, -1.0, 1.0)
    assert beyond_independence([1.0], [2.0], [0.0]).high == 1.0
