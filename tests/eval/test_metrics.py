"""Counting, on cases worked out by hand."""

from __future__ import annotations

import math

import pytest

from clover_decide.questions import Boolean, MultiChoice, Number, Quote, Score
from clover_eval.datasets import World
from clover_eval.metrics import accuracy, ambiguity, by_type, difference, flips, log_probability, score
from clover_eval.results import Given
from clover_eval.rules import about, violated
from clover_eval.scoring import is_right
from tests.eval.makers import GOLD, LATE_MEANS_DAYS, QUESTIONS, group, row


def given(**values: object) -> dict[str, Given]:
    return {key: Given(value, 0.7) for key, value in values.items()}


def test_accuracy_of_four_groups() -> None:
    groups = [group(f"g{i}", pair=f"p{i // 2}", rules=(LATE_MEANS_DAYS,)) for i in range(4)]
    rows = [
        row(groups[0]),
        row(groups[1]),
        row(groups[2], given(late=True, kind="b", days=0)),  # one wrong, and late without days breaks the rule
        row(groups[3], {}, failed={"error": "RunnerError"}),  # counts as three wrong
    ]
    a = accuracy([score(g, r) for g, r in zip(groups, rows, strict=True)])
    assert (a.groups, a.questions, a.failed) == (4, 12, 1)
    assert a.question.value == pytest.approx(8 / 12)
    assert a.group.value == pytest.approx(2 / 4)
    assert a.expected == pytest.approx((8 / 12) ** 3)
    assert a.beyond.value == pytest.approx(0.5 - (8 / 12) ** 3)
    assert a.beyond.low <= a.beyond.value <= a.beyond.high
    assert a.violations is not None and a.violations.value == pytest.approx(1 / 3)
    assert a.pairs is not None and a.pairs.value == pytest.approx(1 / 2)


def test_a_question_that_cannot_be_asked_counts_as_wrong_and_is_counted() -> None:
    g = group()
    a = accuracy([score(g, row(g, given(late=True, kind="b"), unsupported=("days",)))])
    assert a.question.value == pytest.approx(2 / 3) and a.unsupported == 1 and a.violations is None


def test_by_type() -> None:
    g = group()
    found = by_type([score(g, row(g, given(late=False, kind="b", days=4)))])
    assert {kind: (n, i.value) for kind, (n, i) in found.items()} == {"boolean": (1, 0.0), "choice": (1, 1.0), "integer": (1, 1.0)}


def test_a_difference_pairs_groups() -> None:
    groups = [group(f"g{i}") for i in range(3)]
    good = [score(g, row(g)) for g in groups]
    worse = [score(groups[0], row(groups[0])), *(score(g, row(g, given(late=False, kind="b", days=4))) for g in groups[1:])]
    d = difference(good, worse)
    assert (d.question.value, d.group.value) == (pytest.approx(2 / 9), pytest.approx(2 / 3))
    assert (d.test.gained, d.test.lost) == (2, 0)


def test_right_values() -> None:
    questions = {
        "b": Boolean("?"),
        "m": MultiChoice("?", options=("x", "y", "z")),
        "q": Quote("?"),
        "n": Number("?"),
        "s": Score("?", levels=("low", "high")),
    }
    g = group(questions=questions, answers={"b": True, "m": ["x", "z"], "q": "the Tannery Lofts", "n": 200.0, "s": 1}, tolerance={"n": 1.0})
    assert is_right(g, "b", True) and not is_right(g, "b", 1) and not is_right(g, "b", "true") and not is_right(g, "b", None)
    assert is_right(g, "m", ["z", "x"]) and is_right(g, "m", ("x", "z")) and not is_right(g, "m", ["x"]) and not is_right(g, "m", "x")
    assert is_right(g, "q", "Tannery lofts,") and not is_right(g, "q", "Tannery") and not is_right(g, "q", 3)
    assert is_right(g, "n", 201.0) and is_right(g, "n", 199) and not is_right(g, "n", 201.01) and not is_right(g, "n", True)
    assert is_right(g, "s", 1) and not is_right(g, "s", True) and not is_right(g, "s", 0)


def test_rules() -> None:
    assert about(LATE_MEANS_DAYS) == {"late", "days"}
    rules = (LATE_MEANS_DAYS,)
    assert not violated(rules, GOLD) and not violated(rules, {"late": False, "days": 0})
    assert violated(rules, {"late": False, "days": 2}) and violated(rules, {"late": True, "days": 0})
    assert violated(rules, {"late": True}), "a rule about an unanswered question does not hold"


def test_worlds() -> None:
    worlds = (
        World(0.5, {"late": True, "kind": "b", "days": 4}),
        World(0.3, {"late": False, "kind": "a", "days": 0}),
        World(0.2, {"late": False, "kind": "c", "days": 0}),
    )
    answers = [dict(worlds[0].answers), dict(worlds[1].answers), {"late": False, "kind": "b", "days": 4}]
    groups = [group(f"g{i}", worlds=worlds, answers=worlds[0].answers) for i in range(3)]
    a = ambiguity([score(g, row(g, given(**values))) for g, values in zip(groups, answers, strict=True)])
    assert a is not None
    assert (a.consistent.value, a.likeliest.value) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert a.scored == 0 and a.log_probability is None, "no distributions were given"
    with_all = Given(True, 0.9, {"true": 0.9, "false": 0.1}), Given("b", 0.5, {"a": 0.3, "b": 0.5, "c": 0.2})
    a = ambiguity([score(groups[0], row(groups[0], {"late": with_all[0], "kind": with_all[1], "days": Given(4, 0.4)}))])
    assert a is not None and a.log_probability == pytest.approx(math.log(0.9 * 0.5)) and a.stated == pytest.approx(math.log(0.5))
    assert ambiguity([score(group(), row(group()))]) is None


def test_worlds_fit_by_the_same_rules_as_answers_are_right() -> None:
    questions = {"m": MultiChoice("?", options=("x", "y")), "q": Quote("?")}
    worlds = (World(1.0, {"m": ["x", "y"], "q": "the Tannery"}),)
    g = group(questions=questions, answers=worlds[0].answers, worlds=worlds)
    a = ambiguity([score(g, row(g, given(m=["y", "x"], q="Tannery")))])
    assert a is not None and a.consistent.value == 1.0


def test_log_probability_takes_the_questions_with_a_distribution() -> None:
    questions = {**QUESTIONS, "grade": Score("?", levels=("low", "high"))}
    g = group(questions=questions, answers={**GOLD, "grade": 1})
    answers = {
        "late": Given(False, 0.6, {"true": 0.4, "false": 0.6}),
        "kind": Given("b", 0.5, {"a": 0.3, "b": 0.5, "c": 0.2}),
        "days": Given(7, 0.9, {"7": 0.9}),
        "grade": Given(0, 0.7, {"0": 0.7, "1": 0.3}),
    }
    assert log_probability(score(g, row(g, answers))) == pytest.approx(math.log(0.4) + math.log(0.5) + math.log(0.3))
    assert log_probability(score(g, row(g, {**answers, "late": Given(True, None)}))) is None


@pytest.mark.parametrize("value", [[{"x": 1}], 10**400, float("nan"), "\ud800", {"a": 1}, [None], ["x", "x"]])
def test_any_nonsense_is_merely_wrong(value: object) -> None:
    questions = {"m": MultiChoice("?", options=("x", "y")), "n": Number("?"), "q": Quote("?"), "b": Boolean("?")}
    g = group(questions=questions, answers={"m": ["x"], "n": 2.5, "q": "word", "b": True})
    assert not any(is_right(g, key, value) for key in questions)


def test_flips_count_changed_answers_without_failed_groups() -> None:
    groups = [group(f"g{i}") for i in range(3)]
    base = [score(g, row(g)) for g in groups]
    varied = [
        score(groups[0], row(groups[0], given(late=True, kind="c", days=4))),
        score(groups[1], row(groups[1])),
        score(groups[2], row(groups[2], {}, failed={"error": "x"})),
    ]
    f = flips(base, varied, "order")
    assert f.questions.value == pytest.approx(1 / 6) and f.groups.value == pytest.approx(1 / 2)


def test_only_questions_in_another_form_can_flip() -> None:
    g = group(paraphrases={"late": "Was it too late?"})
    base, varied = score(g, row(g)), score(g, row(g, given(late=False, kind="c", days=4)))
    assert flips([base], [varied], "paraphrase").questions.value == 1.0, "of one paraphrased question one flips"
    assert flips([base], [varied], "options").questions.value == 1.0, "of one choice one flips"
    assert flips([base], [varied], "order").questions.value == pytest.approx(2 / 3)
    plain = group()
    assert math.isnan(flips([score(plain, row(plain))], [score(plain, row(plain))], "paraphrase").questions.value)


def test_the_order_of_a_multiple_choice_is_no_flip() -> None:
    questions = {"m": MultiChoice("?", options=("x", "y")), "b": QUESTIONS["late"]}
    g = group(questions=questions, answers={"m": ["x", "y"], "b": True})
    f = flips([score(g, row(g, given(m=["x", "y"], b=True)))], [score(g, row(g, given(m=["y", "x"], b=True)))], "order")
    assert f.questions.value == 0.0
