"""The endless, seeded stream of training batches."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from clover_engine.tokenizer import Tokenizer
from clover_train import public
from clover_train.groups import PHRASES, Split, World, Writer
from clover_train.packing import Batch, collate
from clover_train.recipe import SHIPPED, Recipe
from clover_train.rows import Row, RowBuilder
from clover_train.worlds import alert, board, chain, contract, dispatch, record, scenario, tool

WORLDS: dict[str, Callable[[Writer, Writer], World]] = {
    "contract": contract.world,
    "alert": alert.world,
    "dispatch": dispatch.world,
    "chain": chain.world,
    "record": record.world,
    "scenario": scenario.world,
    "board": board.world,
    "tool": tool.world,
}
ROWS = (
    (("scenario", "chain"), 2),
    (("chain", "alert", "contract"), 2),
    (("contract", "board", "scenario", "dispatch"), 2),
    (("alert", "chain", "tool", "dispatch", "contract", "record"), 1),
)
"""The rows of a batch: families that take turns at it, and how many cases share the setting of a row that has several."""
SEVERAL = 0.8
"""Share of rows with several cases; the others have one."""
PUBLIC_ROWS = 4
"""Rows of public groups in a batch, of any set as often as of any other; the batch then has every other entry of ROWS in turn."""


def families(split: Split) -> list[str]:
    """The families that a split has a book of: scenarios, boards and tools are for training alone."""
    return [family for family in WORLDS if (PHRASES / split / f"{family}.yaml").is_file() or (PHRASES / split / family).is_dir()]


def cases(family: str, split: Split, seed: str, number: int) -> list[World]:
    """Cases under one setting: the same names, rules and thresholds in the same words, everything else drawn anew."""
    return [
        WORLDS[family](
            Writer(random.Random(f"{split}-{family}-{seed}"), split, family),
            Writer(random.Random(f"{split}-{family}-{seed}-{case}"), split, family),
        )
        for case in range(number)
    ]


def worlds(seed: int, split: Split, total: int, family: str) -> list[World]:
    """`total` worlds of a family, each with a setting of its own."""
    return [cases(family, split, f"alone-{seed}-{number}", 1)[0] for number in range(total)]


def batches(
    tokenizer: Tokenizer,
    seed: int,
    mask_id: int,
    pad_id: int,
    start: int = 0,
    groups: Sequence[tuple[str, World]] = (),
    recipe: Recipe = SHIPPED,
) -> Iterator[Batch]:
    """Batches of one row for each entry of ROWS, or each of the recipe's families; where there are public groups, for every other entry,
    and PUBLIC_ROWS of those.

    Batch i is a function of the seed, the groups, the recipe and i alone: a resumed run goes on from `start` at once.
    """
    mixture = tuple(((family,), 2) for family in recipe.families) or ROWS
    sets: dict[str, list[tuple[str, World]]] = {}
    for group in groups:
        sets.setdefault(group[1].family, []).append(group)
    for index in count(start):
        rng = random.Random(f"rows-{seed}-{index}")
        builder = RowBuilder(tokenizer, pad_id, rng, shuffled=recipe.shuffled)
        rows: list[Row] = []
        step, turn = (2, index // 2) if groups else (1, index)
        for number, (families, most) in list(enumerate(mixture))[index % step :: step]:
            family = families[turn % len(families)]
            together = cases(family, "train", f"{seed}-{index}-{number}", most if rng.random() < SEVERAL else 1)
            rows.append(builder.build(together))
        if groups:
            drawn = [rng.choice(sets[rng.choice(list(sets))]) for _ in range(PUBLIC_ROWS)]
            rows += [public.row(builder, tokenizer, *group, rng) for group in drawn]
        yield collate(rows, recipe.copies_at(index), mask_id, rng, recipe.whole_slots)
