"""Variants of the recipe change what they say, and nothing else."""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import islice

import pytest
import torch

from clover_decide.questions import Choice
from clover_engine.tokenizer import Tokenizer
from clover_train.ablate import FAMILIES, VARIANTS, groups
from clover_train.packing import IGNORE, Batch
from clover_train.recipe import SHIPPED, Recipe
from clover_train.rows import RowBuilder
from clover_train.run import _recipe
from clover_train.stream import batches, cases
from tests.conftest import MASK, PAD

SMALL = replace(SHIPPED, families=("alert",))


def drawn(tokenizer: Tokenizer, recipe: Recipe, count: int = 6) -> list[Batch]:
    return list(islice(batches(tokenizer, 3, tokenizer.special(MASK), tokenizer.special(PAD), recipe=recipe), count))


def test_every_variant_is_a_recipe_and_has_a_name_of_its_own() -> None:
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS)
    assert Recipe(**VARIANTS[0].recipe) == SHIPPED and not VARIANTS[0].options
    changed = [(Recipe(**variant.recipe), variant.options, variant.one_pass_first) for variant in VARIANTS]
    assert len(set(changed)) == len(VARIANTS)


def test_what_is_no_recipe_is_refused() -> None:
    assert _recipe('{"copies": 4}') == replace(SHIPPED, copies=4)
    for text in ('{"copy": 4}', "[4]", "copies=4"):
        with pytest.raises(argparse.ArgumentTypeError, match="whole_slots"):
            _recipe(text)


def test_copies_are_so_many_after_the_updates_that_see_one(tokenizer: Tokenizer) -> None:
    """The fully masked copy has as many targets whatever other copies there are; with one copy there are no others."""
    one, four, late = (
        drawn(tokenizer, replace(SMALL, **change)) for change in ({"copies": 1}, {"copies": 4}, {"copies": 4, "one_step": 3})
    )
    for i, (a, b, c) in enumerate(zip(one, four, late, strict=True)):
        assert (a.targets != IGNORE).sum() == a.full.sum() == b.full.sum()
        assert (b.targets != IGNORE).sum() > b.full.sum()
        assert torch.equal(c.ids, a.ids if i < 3 else b.ids), i


@pytest.mark.parametrize("whole", [0.0, 1.0])
def test_slots_are_masked_as_a_whole_or_token_by_token(tokenizer: Tokenizer, whole: float) -> None:
    from random import Random

    from clover_train.packing import masked_positions

    slots = [(2, 6), (12, 6), (22, 6)]
    # Of a slot masked in part, a share that inference makes (the end of it) or any other.
    ragged = 0
    for seed in range(100):
        masked = set(masked_positions(slots, 1, Random(seed), [], whole))
        for start, length in slots:
            own = [p for p in range(start, start + length) if p in masked]
            ragged += bool(own) and own != list(range(own[0], start + length))
    assert (ragged == 0) == (whole == 1.0), ragged


def test_nothing_is_shuffled_where_it_is_not_to_be(tokenizer: Tokenizer) -> None:
    """Options stand as the world has them, in every block."""
    from random import Random

    pad = tokenizer.special(PAD)
    (world,) = cases("contract", "train", "order", 1)
    question = next(q for q in world.questions.values() if isinstance(q, Choice) and len(q.options) > 2)

    def orders(shuffled: bool) -> set[tuple[str, ...]]:
        builders = [RowBuilder(tokenizer, pad, Random(seed), shuffled=shuffled) for seed in range(12)]
        varied = [builder._vary(question, {}) for builder in builders]
        return {tuple(o.value for o in q.options) for q in varied if isinstance(q, Choice)}

    assert orders(False) == {tuple(o.value for o in question.options)}
    assert len(orders(True)) > 1


def test_all_variants_are_asked_the_same_groups() -> None:
    first, again = list(groups(6)), list(groups(6))
    assert first == again and len(first) == 6 // len(FAMILIES) * len(FAMILIES)
    assert {row["family"] for row in first} == set(FAMILIES)
