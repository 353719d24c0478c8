"""Held-out wording is held out: no sentence skeleton, name or question wording is shared with training."""

from __future__ import annotations

import re
import string

import pytest

from clover_train.groups import phrases
from clover_train.stream import WORLDS, cases, worlds


def skeleton(template: str) -> str:
    """The words of a template without placeholders, case and punctuation."""
    return re.sub(r"[^a-z ]+", " ", re.sub(r"\{\w+\}", " ", template.lower())).strip()


@pytest.mark.parametrize("family", list(WORLDS))
def test_no_skeleton_is_shared(family: str) -> None:
    splits = [
        {" ".join(skeleton(t).split()) for templates in phrases(split, family).values() for t in templates}
        for split in ("train", "heldout")
    ]
    shared = sorted(splits[0] & splits[1])
    assert not shared, f"in both splits: {shared}"  # and not a word of the rest: training is written without sight of it


@pytest.mark.parametrize("kind", list(phrases("heldout", "names")))
def test_no_name_is_shared(kind: str) -> None:
    assert not set(phrases("train", "names")[kind]) & set(phrases("heldout", "names")[kind])


@pytest.mark.parametrize("family", list(WORLDS))
def test_both_splits_word_the_same_clauses_with_the_same_placeholders(family: str) -> None:
    def fields(templates: list[str]) -> set[str]:
        return {name for t in templates for _, name, _, _ in string.Formatter().parse(t) if name}

    train, heldout = phrases("train", family), phrases("heldout", family)
    assert set(train) == set(heldout)
    for clause, templates in heldout.items():
        assert fields(templates) <= fields(train[clause]) or fields(train[clause]) <= fields(templates), clause


@pytest.mark.parametrize("split", ["train", "heldout"])
@pytest.mark.parametrize("family", list(WORLDS))
def test_gold_answers_are_legal_values_of_their_questions(split: str, family: str) -> None:
    from jsonschema import Draft202012Validator

    for world in worlds(11, split, 60, family):  # pyright: ignore[reportArgumentType]
        assert set(world.questions) == set(world.answers) == set(world.needs)
        for key, question in world.questions.items():
            value = world.answers[key]
            Draft202012Validator(question.json_schema()).validate(value.isoformat() if question.type == "date" else value)
            assert world.needs[key] <= set(world.clauses)


@pytest.mark.parametrize("family", list(WORLDS))
def test_cases_share_their_rules_word_for_word_and_differ_in_answers(family: str) -> None:
    differ = 0
    for number in range(20):
        first, *others = cases(family, "train", f"shared-{number}", 3)
        for other in others:
            assert first.rules and first.rules == other.rules
            assert {k: first.clauses[k] for k in first.rules} == {k: other.clauses[k] for k in first.rules}
            assert first.distractors == other.distractors
            differ += first.answers != other.answers
    assert differ >= 20, f"{family}: only {differ} of 40 cases differ from their sibling"
