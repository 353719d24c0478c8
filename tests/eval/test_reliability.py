"""Calibration and coverage against scikit-learn, and on cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from clover_eval.reliability import Outcome, area_under_risk, calibration, coverage_curve, reliability_curve, threshold_for


def outcomes(count: int, seed: int) -> list[Outcome]:
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.2, 1.0, count)
    return [Outcome(float(x), bool(rng.random() < x**1.5), f"c{i}") for i, x in enumerate(p)]


@pytest.mark.parametrize("seed", range(5))
def test_brier_and_log_loss_are_scikit_learns(seed: int) -> None:
    some = outcomes(400, seed)
    right, p = [o.right for o in some], [o.probability for o in some]
    found = calibration(some)
    assert found is not None
    assert found.brier == pytest.approx(brier_score_loss(right, p)), seed
    assert found.log_loss == pytest.approx(log_loss(right, np.clip(p, 1e-6, 1 - 1e-6))), seed


@pytest.mark.parametrize("seed", range(5))
def test_the_curve_is_scikit_learns_with_quantile_bins(seed: int) -> None:
    some = outcomes(500, seed)
    theirs_right, theirs_p = calibration_curve([o.right for o in some], [o.probability for o in some], n_bins=10, strategy="quantile")
    ours = reliability_curve(some)
    # Their bin edges are interpolated quantiles, so a case or two may lie in the neighbouring bin.
    assert [b.probability for b in ours] == pytest.approx(list(theirs_p), abs=0.01), seed
    assert [b.accuracy for b in ours] == pytest.approx(list(theirs_right), abs=0.05), seed


def test_calibration_error_by_hand() -> None:
    # Two bins: said .6, right half the time (gap .1); said .9, always right (gap .1).
    some = [Outcome(0.6, i % 2 == 0, str(i)) for i in range(10)] + [Outcome(0.9, True, str(i)) for i in range(10)]
    curve = reliability_curve(some, bins=2)
    assert [(b.probability, b.accuracy, b.count) for b in curve] == [(pytest.approx(0.6), 0.5, 10), (pytest.approx(0.9), 1.0, 10)]
    found = calibration(some)
    assert found is not None and found.ece == pytest.approx(0.1)
    assert calibration([]) is None


def test_equal_probabilities_share_a_bin_whatever_their_order() -> None:
    some = [Outcome(0.5, i < 50, str(i)) for i in range(100)]
    found = calibration(some)
    assert found is not None and found.ece == pytest.approx(0.0) and len(found.curve) == 1


def test_coverage_by_hand() -> None:
    some = [Outcome(0.9, True, "a"), Outcome(0.8, False, "b"), Outcome(0.8, True, "c"), Outcome(0.1, False, "d")]
    assert [(p.threshold, p.coverage, p.accuracy) for p in coverage_curve(some)] == [
        (0.9, 0.25, 1.0),
        (0.8, 0.75, pytest.approx(2 / 3)),
        (0.1, 1.0, 0.5),
    ]
    assert area_under_risk(some) == pytest.approx(0.25 * 0 + 0.5 * (1 / 3) + 0.25 * 0.5)


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_the_area_without_ties_is_the_mean_of_running_risks(right: list[bool]) -> None:
    some = [Outcome(1 - i / 100, r, str(i)) for i, r in enumerate(right)]
    risks = [1 - sum(right[: n + 1]) / (n + 1) for n in range(len(right))]
    assert area_under_risk(some) == pytest.approx(sum(risks) / len(risks))


def test_a_threshold_is_chosen_on_one_half_and_tried_on_the_other() -> None:
    some = outcomes(2000, 1)
    found = threshold_for(some, 0.9)
    assert found.threshold is not None and found.held_out_accuracy is not None
    assert found.chosen_on + found.held_out == 2000
    assert 800 < found.chosen_on < 1200
    assert found.held_out_accuracy.value == pytest.approx(0.9, abs=0.05)
    # The other half had no part in the choice: turning its truth round changes nothing but what is found there.
    from clover_decide.files import short_hash

    turned = [Outcome(o.probability, o.right if int(short_hash(o.cluster), 16) % 2 == 0 else not o.right, o.cluster) for o in some]
    again = threshold_for(turned, 0.9)
    assert again.threshold == found.threshold
    assert again.held_out_accuracy is not None and again.held_out_accuracy.value == pytest.approx(1 - found.held_out_accuracy.value)


def test_an_accuracy_that_is_never_reached_has_no_threshold() -> None:
    found = threshold_for([Outcome(0.5, False, str(i)) for i in range(20)], 0.95)
    assert found.threshold is None and found.held_out_accuracy is None
