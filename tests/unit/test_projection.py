"""The projection of independent answers against trying every assignment."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest

from clover_decide import Answer, Boolean, Choice, Integer, MultiChoice, QuestionSet, RuleError, Score, read_questions
from clover_decide.projection import projected
from clover_decide.questions import AnyQuestion
from clover_decide.rules import RuleSet, read_rules


def answer(question: AnyQuestion, value: Any, probability: float, probabilities: dict[str, float] | None = None) -> Answer:
    return Answer(question.type, value, probability, probabilities or {str(value): probability}, probability, 1.0)


def values(question: AnyQuestion) -> list[Any]:
    return [True, False] if isinstance(question, Boolean) else ["a", "b", "c"] if isinstance(question, Choice) else [0, 1, 2]


def keepable(rules: list[Any], questions: QuestionSet) -> RuleSet:
    """As many of the rules, from the first on, as can hold together."""
    try:
        return read_rules(rules, questions)
    except RuleError:
        return keepable(rules[:-1], questions)


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_likeliest_assignment_that_keeps_the_rules(seed: int) -> None:
    rng = random.Random(seed)
    kinds: list[AnyQuestion] = [Boolean("?"), Choice("?", options=("a", "b", "c")), Score("?", levels=("low", "mid", "high"))]
    questions = read_questions({f"q{i}": rng.choice(kinds) for i in range(rng.randint(3, 5))})

    def schema(key: str) -> dict[str, Any]:
        return {"properties": {key: {"enum": rng.sample(values(questions.questions[key]), rng.choice([1, 1, 2]))}}, "required": [key]}

    pairs = [rng.sample(sorted(questions.questions), 2) for _ in range(rng.randint(1, 5))]
    rules = keepable([{"if": schema(a), "then": schema(b)} for a, b in pairs], questions)
    shares: dict[str, dict[Any, float]] = {}
    for key, question in questions.questions.items():
        weights = [rng.random() for _ in values(question)]
        shares[key] = {value: w / sum(weights) for value, w in zip(values(question), weights, strict=True)}
    answers = {
        key: answer(
            q,
            max(shares[key], key=lambda v: shares[key][v]),
            max(shares[key].values()),
            {str(v).lower(): p for v, p in shares[key].items()},
        )
        for key, q in questions.questions.items()
    }
    combinations = [dict(zip(shares, some, strict=True)) for some in itertools.product(*shares.values())]
    legal = [some for some in combinations if not rules.violations(some)]
    best = max(math.prod(shares[key][some[key]] for key in rules.whole) for some in legal)
    moved = projected(rules, answers, {})
    assert not rules.violations({key: a.value for key, a in moved.items()})
    assert math.prod(shares[key][moved[key].value] for key in rules.whole) == pytest.approx(best)
    untouched = set(questions.questions) - set(rules.whole)
    assert all(moved[key] == answers[key] for key in untouched)


def test_a_number_moves_to_what_the_rules_leave_it_or_the_cheaper_answer_moves() -> None:
    questions = read_questions({"late": Boolean("?"), "days": Integer("?", maximum=9)})
    rules = read_rules("late == (days >= 3)", questions)
    sure = {
        "late": answer(questions.questions["late"], True, 0.95, {"true": 0.95, "false": 0.05}),
        "days": answer(questions.questions["days"], 0, 0.5),
    }
    moved = projected(rules, sure, {"days": {0: 0.5, 4: 0.3, 1: 0.2}})
    assert moved["days"].value == 4 and moved["late"].value is True
    # No likely value fits: the nearest end of what is left is taken.
    assert projected(rules, sure, {})["days"].value == 3
    unsure = {**sure, "late": answer(questions.questions["late"], True, 0.51, {"true": 0.51, "false": 0.49})}
    moved = projected(rules, {**unsure, "days": answer(questions.questions["days"], 0, 0.99)}, {})
    assert moved["late"].value is False and moved["days"].value == 0


def test_answers_that_keep_the_rules_stay() -> None:
    questions = read_questions({"m": MultiChoice("?", options=("a", "b", "c")), "late": Boolean("?")})
    rules = read_rules("late ? 'a' in m : true", questions)
    answers = {
        "m": answer(questions.questions["m"], ("a",), 0.4),
        "late": answer(questions.questions["late"], True, 0.6, {"true": 0.6, "false": 0.4}),
    }
    assert projected(rules, answers, {}) == answers
    broken = {
        **answers,
        "m": answer(questions.questions["m"], ("c",), 0.9),
        "late": answer(questions.questions["late"], True, 0.99, {"true": 0.99, "false": 0.01}),
    }
    moved = projected(rules, broken, {"m": {("c",): 0.9, ("a", "c"): 0.08}})
    assert moved["m"].value == ("a", "c") and moved["late"].value is True


def test_a_search_that_finds_nothing_says_so() -> None:
    wide = read_questions({"m": Integer("?", maximum=10**9), "n": Integer("?", maximum=10**9)})
    rules = read_rules("2 * m == 2 * n + 1", wide)
    answers = {key: answer(wide.questions[key], 5, 0.9) for key in ("m", "n")}
    with pytest.raises(RuleError, match="no independent answers that keep the rules were found"):
        projected(rules, answers, {})
