"""Rules hold in every joint answer, at every effort, whatever the model; and no set that can be kept is called impossible."""

from __future__ import annotations

import os
import random
from typing import Any, get_args

import pytest

from clover_decide import (
    Boolean,
    Choice,
    Date,
    Decider,
    Decision,
    Integer,
    MultiChoice,
    Number,
    QuestionSet,
    Quote,
    RuleError,
    Score,
    Text,
    read_questions,
)
from clover_decide.decision import Effort
from clover_decide.rules import read_rules
from clover_engine.engine import Engine
from clover_engine.models.base import ModelSpec
from clover_engine.tokenizer import Tokenizer
from tests.engine.random_model import RandomFeatures

SETS = int(os.environ.get("CLOVER_RULE_SETS", "100"))
"""Random rule sets tried; more by the environment variable."""
MATERIAL = "Anna rented the loader to Bob on 3 May 2025. The deposit is 40 dollars. Bob returned it on 9 May 2025."
MAKERS: dict[str, Any] = {
    "late": lambda rng: Boolean("Was it late?"),
    "paid": lambda rng: Boolean("Was it paid?"),
    "kind": lambda rng: Choice("Which kind?", options=["loader", "truck", "crane", "other"][: rng.randint(2, 4)]),
    "level": lambda rng: Score("How bad?", levels=["low", "mid", "high"]),
    "days": lambda rng: Integer("How many days?", minimum=rng.choice([0, -5]), maximum=rng.choice([9, 40, 999_999])),
    "more": lambda rng: Integer("How many more?", maximum=rng.choice([9, 1_000])),
    "fee": lambda rng: Number("How much?", maximum=rng.choice([5, 500]), decimals=rng.choice([0, 2])),
    "start": lambda rng: Date("From when?", earliest="2025-01-01", latest="2025-12-31"),
    "end": lambda rng: Date("Until when?", earliest="2025-01-01", latest=rng.choice(["2025-12-31", "2026-02-01"])),
    "points": lambda rng: MultiChoice("What applies?", options=["damage", "arrears", "noise"], minimum=rng.randint(0, 1)),
    "who": lambda rng: Text("Who?", pattern="Anna|Bob|Carol|[A-Z][a-z]{2}"),
    "words": lambda rng: Quote("Which words?", max_tokens=4),
}
EXPRESSIONS = [
    ("days > 4", "days"),
    ("days + more == 7", "days", "more"),
    ("days * 2 <= more", "days", "more"),
    ("days % 3 == 1", "days"),
    ("fee >= 1 && fee < 4", "fee"),
    ("end >= start", "start", "end"),
    ("end - start == duration('48h')", "start", "end"),
    ("start > '2025-06-01'", "start"),
    ("end.getDayOfWeek() == 1", "end"),
    ("late != paid", "late", "paid"),
    ("late ? level == 2 : level < 2", "late", "level"),
    ("kind == 'loader' || days < 3", "kind", "days"),
    ("'damage' in points || paid", "points", "paid"),
    ("size(points) == 1", "points"),
    ("who == 'Bob' || late", "who", "late"),
    ("who != 'Anna' && who != 'Bob'", "who"),
    ("words == 'Bob' || paid", "words", "paid"),
    ("words != 'Bob'", "words"),
    ("level <= days", "level", "days"),
]


def random_schema(rng: random.Random, keys: list[str]) -> dict[str, Any] | None:
    atoms: dict[str, Any] = {
        "late": {"const": rng.random() < 0.5},
        "paid": {"const": rng.random() < 0.5},
        "kind": {"enum": rng.sample(["loader", "truck"], rng.randint(1, 2))},
        "level": {rng.choice(["minimum", "maximum", "const"]): rng.randint(0, 2)},
        "days": {rng.choice(["minimum", "exclusiveMaximum"]): rng.randint(1, 8)},
        "more": {"not": {"const": rng.randint(0, 9)}},
        "fee": {"maximum": rng.randint(1, 5)},
        "start": {"enum": ["2025-05-03", "2025-05-09"]},
        "points": {"contains": {"const": rng.choice(["damage", "noise"])}},
    }
    usable = [key for key in keys if key in atoms]
    if len(usable) < 2:
        return None
    parts = [{"properties": {key: atoms[key]}, "required": [key]} for key in rng.sample(usable, min(3, len(usable)))]
    return rng.choice(
        [{"if": parts[0], "then": parts[-1]}, {"oneOf": parts}, {"not": {"allOf": parts}}, {"anyOf": parts}, {"allOf": parts}]
    )


def random_case(seed: int) -> tuple[QuestionSet, list[Any]]:
    rng = random.Random(seed)
    keys = rng.sample(list(MAKERS), rng.randint(2, 6))
    questions = read_questions({key: MAKERS[key](rng) for key in keys})
    usable = [source for source, *needed in EXPRESSIONS if set(needed) <= set(keys)]
    rules: list[Any] = rng.sample(usable, min(len(usable), rng.randint(0, 3)))
    rules += [schema for _ in range(rng.randint(0, 2)) if (schema := random_schema(rng, keys)) is not None]
    return questions, rules


def fits(questions: QuestionSet, rules: list[Any]) -> bool:
    """Options that a rule names exist (a smaller choice may lack one)."""
    try:
        read_rules(rules, questions)
    except RuleError as error:
        return "hold" in error.problem
    return True


def decide_or_refusal(decider: Decider, questions: QuestionSet, rules: list[Any], effort: Effort) -> Decision | RuleError:
    try:
        return decider.decide(MATERIAL, questions, rules=rules, effort=effort, facts="off")
    except RuleError as error:
        return error


def test_rules_hold_in_every_joint_answer(tokenizer: Tokenizer, random_engine: Engine) -> None:
    spec: ModelSpec = random_engine.spec
    asked = impossible = changed = 0
    for seed in range(SETS):
        questions, rules = random_case(seed)
        if not rules or not fits(questions, rules):
            continue
        decider = Decider.from_engine(Engine(RandomFeatures(seed, spec), tokenizer))
        effort: Effort = get_args(Effort)[seed % 4]
        decision = decide_or_refusal(decider, questions, rules, effort)
        if isinstance(decision, RuleError):
            # The only refusal is a proof, made before the model ran.
            assert "cannot hold together" in decision.problem or "can never hold" in decision.problem, (seed, effort, rules, str(decision))
            impossible += 1
            continue
        asked += 1
        checked = read_rules(rules, questions)
        assert checked.violations({key: answer.value for key, answer in decision.answers.items()}) == (), (seed, effort, rules)
        assert decision.violations == (), (seed, effort)
        assert decision.rules_probability is not None and 0.0 <= decision.rules_probability <= 1.0 + 1e-9, (seed, effort)
        free = decider.decide(MATERIAL, questions, effort=effort, facts="off")
        changed += free.values() != decision.values()
    assert asked > SETS / 2 and changed > asked / 3, (asked, impossible, changed)


@pytest.mark.parametrize("seed", range(25))
def test_projected_independent_answers_keep_the_rules(seed: int, tokenizer: Tokenizer, random_engine: Engine) -> None:
    questions, rules = random_case(seed)
    decider = Decider.from_engine(Engine(RandomFeatures(seed, random_engine.spec), tokenizer))
    try:
        decision = decider.decide(MATERIAL, questions, mode="independent", rules=rules, facts="off")
    except RuleError:
        return
    checked = read_rules(rules, questions)
    told = checked.violations({key: answer.value for key, answer in decision.answers.items() if key in checked.whole})
    assert decision.violations == told
    moved = decider.decide(MATERIAL, questions, mode="independent", rules=rules, project=True, facts="off")
    assert moved.violations == ()
    if not told:
        assert moved.answers == decision.answers
