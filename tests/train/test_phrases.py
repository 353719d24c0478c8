"""Wording is held out: no sentence skeleton, name or question wording is shared between two splits."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Any

import pytest

from clover_train.groups import Split, phrases
from clover_train.stream import WORLDS, cases, families, worlds

PAIRS: list[tuple[Split, Split]] = [("train", "val"), ("train", "heldout"), ("val", "heldout")]


def skeleton(template: str) -> str:
    """The words of a template without placeholders, case and punctuation."""
    return re.sub(r"[^a-z ]+", " ", re.sub(r"\{[^}]*\}", " ", template.lower())).strip()


def sentences(book: Any) -> Iterator[str]:
    """All sentences of a phrasebook, without the values and the ways to name a record that they are filled with."""
    if isinstance(book, str):
        yield book
    elif isinstance(book, list):
        yield from book
    else:
        for key, part in book.items():
            if key not in ("subject", "values", "type", "noun"):
                yield from sentences(part)


def strings(part: Any) -> Iterator[str]:
    """Every string of a book, wherever it stands."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, (dict, list)):
        for one in part.values() if isinstance(part, dict) else part:
            yield from strings(one)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("family", families("val"))
def test_no_skeleton_is_shared(family: str, pair: tuple[Split, Split]) -> None:
    first, second = ({" ".join(skeleton(t).split()) for t in sentences(phrases(split, family))} for split in pair)
    shared = sorted(first & second)
    assert not shared, f"in both splits: {shared}"  # and not a word of the rest: training is written without sight of it


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("kind", list(phrases("heldout", "names")))
def test_no_name_is_shared(kind: str, pair: tuple[Split, Split]) -> None:
    first, second = (set(phrases(split, "names")[kind]) for split in pair)
    shared = sorted(first & second)
    assert not shared, f"in both splits: {shared}"


@pytest.mark.parametrize("family", [family for family in families("val") if family != "record"])
def test_all_splits_word_the_same_clauses_with_the_same_placeholders(family: str) -> None:
    def fields(templates: list[str]) -> set[str]:
        return {name for t in templates for _, name, _, _ in string.Formatter().parse(t) if name}

    train = phrases("train", family)
    for other in (phrases("val", family), phrases("heldout", family)):
        assert set(train) == set(other)
        for clause, templates in other.items():
            agree = fields(templates) <= fields(train[clause]) or fields(train[clause]) <= fields(templates)
            assert agree, clause


@pytest.mark.parametrize(("split", "family"), [(split, family) for split in ("train", "val", "heldout") for family in families(split)])
def test_gold_answers_are_legal_values_of_their_questions(split: str, family: str) -> None:
    from jsonschema import Draft202012Validator

    for world in worlds(11, split, 60, family):  # pyright: ignore[reportArgumentType]
        assert set(world.questions) == set(world.answers) == set(world.needs)
        for key, question in world.questions.items():
            value = world.answers[key]
            Draft202012Validator(question.json_schema()).validate(
                value.isoformat() if question.type == "date" else list(value) if question.type == "multi_choice" else value
            )
            assert world.needs[key] <= set(world.clauses)


@pytest.mark.parametrize("family", list(WORLDS))
def test_cases_share_their_rules_word_for_word_and_differ_in_answers(family: str) -> None:
    differ = 0
    for number in range(20):
        first, *others = cases(family, "train", f"shared-{number}", 3)
        for other in others:
            # A board of orders has no rules of its own.
            assert (first.rules or family == "board") and first.rules == other.rules
            assert {k: first.clauses[k] for k in first.rules} == {k: other.clauses[k] for k in first.rules}
            assert first.distractors == other.distractors
            differ += first.answers != other.answers
    assert differ >= 20, f"{family}: only {differ} of 40 cases differ from their sibling"


@pytest.mark.parametrize("own_family", ["scenario", "board", "tool"])
def test_books_of_training_alone_say_nothing_that_stands_in_another_split(own_family: str) -> None:
    own = {" ".join(skeleton(t).split()) for t in strings(phrases("train", own_family))}
    for split in ("val", "heldout"):
        for family in families(split):
            shared = own & {" ".join(skeleton(t).split()) for t in sentences(phrases(split, family))}
            assert not {text for text in shared if " " in text}, split
