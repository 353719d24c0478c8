"""The projection against trying every assignment."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clover_decide.questions import AnyQuestion, Boolean, Choice, Integer, MultiChoice, Score
from clover_eval.datasets import LabelledGroup
from clover_eval.results import Given
from clover_eval.rules import AnswerRule, violated
from clover_eval.runners.projection import best_first, candidates, project
from tests.eval.makers import GOLD, LATE_MEANS_DAYS, group


def made(seed: int) -> tuple[LabelledGroup, dict[str, Given]]:
    """Three to five closed questions with random marginals and random implications between them."""
    rng = random.Random(seed)
    kinds: list[AnyQuestion] = [Boolean("?"), Choice("?", options=("a", "b", "c")), Score("?", levels=("low", "mid", "high"))]
    questions = {f"q{i}": rng.choice(kinds) for i in range(rng.randint(3, 5))}

    def values(question: AnyQuestion) -> list[object]:
        return [True, False] if isinstance(question, Boolean) else ["a", "b", "c"] if isinstance(question, Choice) else [0, 1, 2]

    def schema(key: str) -> dict[str, object]:
        return {"properties": {key: {"enum": rng.sample(values(questions[key]), rng.choice([1, 1, 2]))}}, "required": [key]}

    rules = tuple(
        AnswerRule(f"{a} and {b}", {"if": schema(a), "then": schema(b)})
        for a, b in (rng.sample(sorted(questions), 2) for _ in range(rng.randint(1, 5)))
    )
    answers: dict[str, Given] = {}
    for key, question in questions.items():
        names = {"boolean": ["true", "false"], "choice": ["a", "b", "c"], "score": ["0", "1", "2"]}[question.type]
        weights = [rng.random() for _ in names]
        shares = {name: w / sum(weights) for name, w in zip(names, weights, strict=True)}
        best = max(shares, key=lambda name: shares[name])
        value = best == "true" if isinstance(question, Boolean) else names.index(best) if isinstance(question, Score) else best
        answers[key] = Given(value, shares[best], shares)
    return group(questions=questions, answers={key: g.value for key, g in answers.items()}, rules=rules), answers


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_likeliest_assignment_that_keeps_the_rules(seed: int) -> None:
    g, answers = made(seed)
    options = {key: candidates(g, key, answers[key]) for key in answers}
    best = -1.0
    for combination in itertools.product(*options.values()):
        if not violated(g.rules, {key: value for key, (value, _) in zip(options, combination, strict=True)}):
            best = max(best, math.prod(p for _, p in combination))
    projected, found = project(g, answers)
    assert found == (best >= 0), f"seed {seed}"
    if found:
        assert not violated(g.rules, {key: given_.value for key, given_ in projected.items()}), f"seed {seed}"
        probability = math.prod({repr(v): p for v, p in options[key]}[repr(projected[key].value)] for key in options)
        assert probability == pytest.approx(best), f"seed {seed}"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=4), min_size=1, max_size=4))
def test_combinations_come_best_first_and_all_of_them(shares: list[list[float]]) -> None:
    options = [[(i, p) for i, p in enumerate(some)] for some in shares]
    listed = list(best_first(options))
    products = [math.prod(p for _, p in combination) for combination in listed]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(products))
    assert len({tuple(v for v, _ in c) for c in listed}) == math.prod(len(some) for some in shares)


def test_answers_that_keep_the_rules_stay() -> None:
    g = group(rules=(LATE_MEANS_DAYS,))
    answers = {key: Given(value, 0.6) for key, value in GOLD.items()}
    assert project(g, answers) == (answers, True)


def test_a_number_moves_to_a_value_that_a_rule_names() -> None:
    g = group(rules=(LATE_MEANS_DAYS,))
    answers = {"late": Given(True, 0.95, {"true": 0.95, "false": 0.05}), "kind": Given("b", 0.9), "days": Given(0, 0.5)}
    projected, found = project(g, answers)
    assert found and projected["days"].value == 1 and projected["late"].value is True
    sure = {**answers, "late": Given(True, 0.51, {"true": 0.51, "false": 0.49}), "days": Given(0, 0.99)}
    projected, _ = project(g, sure)
    assert projected["late"].value is False and projected["days"].value == 0


def test_rules_that_cannot_hold_leave_the_answers() -> None:
    never = AnswerRule("never", {"properties": {"late": {"enum": []}}, "required": ["late"]})
    g = group(rules=(never,))
    answers = {"late": Given(True, 0.9, {"true": 0.9, "false": 0.1}), "kind": Given("b", 0.9), "days": Given(4, 0.5)}
    assert project(g, answers) == (answers, False)


def test_an_option_that_a_rule_asks_for_joins_the_ones_that_were_sure() -> None:
    questions = {"m": MultiChoice("?", options=("a", "b", "c"))}
    must = AnswerRule("a applies", {"properties": {"m": {"contains": {"const": "a"}}}, "required": ["m"]})
    g = group(questions=questions, answers={"m": ["a", "c"]}, rules=(must,))
    for listed in ({"a": 0.49, "b": 0.02, "c": 0.98}, None):
        projected, found = project(g, {"m": Given(["c"], 0.5, listed)})
        assert found and projected["m"].value == ["a", "c"], listed
    only_one = {"m": MultiChoice("?", options=("a", "b", "c"), maximum=1)}
    projected, _ = project(group(questions=only_one, answers={"m": ["a"]}, rules=(must,)), {"m": Given(["c"], 0.9)})
    assert projected["m"].value == ["a"]


def test_no_value_outside_the_bounds_of_its_question_is_offered() -> None:
    rule = AnswerRule("ten or more", {"properties": {"n": {"minimum": 10}, "k": {"enum": [5]}}, "required": ["n"]})
    questions = {"n": Integer("?", maximum=7), "k": Integer("?", maximum=7)}
    g = group(questions=questions, answers={"n": 7, "k": 5}, rules=(rule,))
    answers = {"n": Given(3, 0.6), "k": Given(4, 0.6)}
    assert candidates(g, "n", answers["n"]) == [(3, 0.6)]
    assert [value for value, _ in candidates(g, "k", answers["k"])] == [4, 5]
    assert project(g, answers) == (answers, False)
