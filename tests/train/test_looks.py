"""Where a slot and a visible answer are taught to look, on a block made by hand."""

from __future__ import annotations

import random
from dataclasses import replace

import torch

from clover_decide.material import read_material
from clover_decide.slots import quote_source
from clover_engine.tokenizer import Tokenizer
from clover_train.groups import later
from clover_train.packing import BUILD_COPY, BUILD_READ, COPY, LOOKUP, OWN, STEPS, Look, collate, slot_looks
from clover_train.rows import Branch, Row, RowBuilder
from clover_train.stream import cases
from clover_train.worlds.dispatch import time_of

PREFIX, START = 20, 10
# "1:15_\n2:Ann\n": a number copied from prompt tokens 1 and 2, which builds on the name in the second slot.
BRANCH = Branch(
    questions=tuple(range(START)),
    block=(31, 32, 41, 45, 5, 33, 34, 32, 50, 33),
    slots=((2, 3), (8, 1)),
    hints=((4, 41), (9, 50)),
    evidence=(((0, 4), (1, 3)), ()),
    subjects=(None, None),
    lookup=None,
    looked_up=(False, False),
    builds=(((1, False),), ()),
    next_steps=(None, (6, 7)),
    copied=((1, 3), None),
)
SHOWN = torch.tensor([True] * 2 + [False] * 3 + [True] * 5)
NAME = (PREFIX + START + 8, PREFIX + START + 9)


def looks(branch: Branch, shown: torch.Tensor = SHOWN) -> list[Look]:
    return sorted(slot_looks(branch, 1, PREFIX, START, shown), key=lambda look: (look.step, look.row))


def test_each_digit_of_a_copied_number_looks_again_and_the_last_sees_what_follows() -> None:
    own, other = (PREFIX + 4, PREFIX + 5), (PREFIX + 9, PREFIX + 10)
    assert looks(BRANCH) == [
        *(Look(1, row, STEPS, (1, 3)) for row in (11, 12)),
        Look(1, 18, LOOKUP, (6, 7)),
        *(Look(1, row, COPY, (row - 10, row - 9)) for row in (11, 12, 13)),
        *(Look(1, row, OWN, own) for row in (11, 12)),
        *(Look(1, row, OWN, other) for row in (17, 18)),
        *(Look(1, row, BUILD_READ, NAME) for row in (11, 12)),
    ]


def test_a_number_that_fills_its_slot_looks_no_further() -> None:
    full = replace(BRANCH, block=(31, 32, 41, 45, 33, 34, 32, 50, 33, 33), slots=((2, 2), (7, 1)))
    assert [look.row for look in looks(full, torch.tensor([True] * 2 + [False] * 2 + [True] * 6)) if look.step == COPY] == [11, 12]


def test_a_masked_answer_is_not_built_on() -> None:
    assert {look.step for look in looks(BRANCH, torch.zeros(10, dtype=torch.bool))} == {STEPS, COPY, OWN}


def test_a_repeated_answer_is_copied_unless_another_code_stands_for_it() -> None:
    repeated = replace(BRANCH, slots=((2, 1), (8, 1)), builds=(((1, True),), ()), copied=(None, None))
    shown = torch.tensor([True] * 2 + [False] + [True] * 7)
    assert not {BUILD_COPY, BUILD_READ} & {look.step for look in looks(repeated, shown)}
    same = replace(repeated, block=(31, 32, 50, *BRANCH.block[3:]))
    assert [look for look in looks(same, shown) if look.step in (BUILD_COPY, BUILD_READ)] == [Look(1, 11, BUILD_COPY, NAME)]


def test_the_second_of_two_blocks_looks_at_its_own_questions(tokenizer: Tokenizer) -> None:
    """Both number their questions from 1."""
    world, rng = cases("chain", "train", "split", 1)[0], random.Random(2)
    builder = RowBuilder(tokenizer, tokenizer.special("<file_sep>"), rng)
    branch = builder._split(
        world, list(world.questions), lambda step: None, quote_source(read_material(" ".join(world.clauses.values())), tokenizer)
    )
    batch = collate([Row((), (branch,), ((),), ((),))], 1, tokenizer.special("<empty_output>"), rng)
    own = {look.row + 1 - len(branch.questions): look.span for look in batch.looks if look.step == OWN}
    assert own == {slot: (hint, hint + 1) for (slot, _), (hint, _) in zip(branch.slots, branch.hints, strict=False)}


def test_the_later_mention_is_a_whole_word_or_number() -> None:
    assert later("c", "Ann reports to Anna.", "Ann", "Anna") == "c#Anna"
    assert later("c", "Urgent 6, emergency 26.", "6", "emergency") == "c#emergency"


def test_the_minutes_of_a_unit_are_not_its_name() -> None:
    assert time_of("Engine 9 is free, 9 minutes away.", "Engine 9", 9) == "9 minutes"
    assert time_of("Out by 9: Engine 9.", "Engine 9", 9) == "9"
