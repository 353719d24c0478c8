"""Training rows: a material, and branches that ask something about it, packed under one attention mask.

A branch is a question set followed by noisy copies of its answer block. The branches of a row share the material, so
its tokens are paid for once: one branch asks several questions together, the others ask one, which keeps joint and
independent answering equally in distribution.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from clover_decide.facts import derive_facts
from clover_decide.material import read_material
from clover_decide.prompt import Prompter, answer_text, assign_codes, code_letters, question_line, slot_width
from clover_decide.questions import AnyQuestion, Choice, Integer, Score
from clover_engine.tokenizer import Tokenizer
from clover_train.groups import Group, World, compose

IGNORE = -100


@dataclass(frozen=True)
class Branch:
    """Question tokens, the clean answer block after them, and the (start, length) of each slot in the block.

    `hints` are (position within `questions`, token): the end of each question's line and the first token of its
    answer, for the auxiliary loss.
    """

    questions: tuple[int, ...]
    block: tuple[int, ...]
    slots: tuple[tuple[int, int], ...]
    hints: tuple[tuple[int, int], ...]

    def copies(self, most: int) -> int:
        """Noisy copies worth making: a single slot has only one masking."""
        return 1 if len(self.slots) == 1 else most

    def length(self, most: int) -> int:
        return len(self.questions) + self.copies(most) * len(self.block)


@dataclass(frozen=True)
class Row:
    """Material tokens and the branches over them."""

    material: tuple[int, ...]
    branches: tuple[Branch, ...]

    def tail(self, copies: int) -> int:
        return sum(branch.length(copies) for branch in self.branches)


class RowBuilder:
    """Groups to rows, with the shuffles that keep the model from leaning on positions or particular codes."""

    def __init__(self, tokenizer: Tokenizer, pad_id: int, rng: random.Random, *, verbatim: float = 0.9) -> None:
        self._tokenizer, self._pad, self._rng, self._verbatim = tokenizer, pad_id, rng, verbatim
        self._letters = code_letters(tokenizer)
        self._prompter = Prompter(tokenizer)

    def build(self, world: World, *, tiny: bool, least: int = 2) -> Row:
        """One row of a world.

        A tiny row asks one question (sometimes two) over just the clauses it needs: it is cheap and teaches single
        steps. The others ask `least` to 8 together, half of them over all clauses, and one of them alone as well.
        """
        rng = self._rng
        keys = list(world.questions)
        rng.shuffle(keys)
        if tiny:
            keys = keys[: 2 if rng.random() < 0.2 else 1]
        else:
            keys = keys[: rng.randint(least, min(8, len(keys)))]
        complete = not tiny and rng.random() < 0.5
        group = compose(rng, world, keys, complete=complete, distractors=rng.randint(0, 1 if tiny else 2))
        material = read_material(group.material)
        split = len(keys) > 2 and rng.random() < 0.1
        branches = [self._split(group, keys)] if split else [self._branch(group, keys)]
        if not tiny:
            branches.append(self._branch(group, [rng.choice(keys)]))
        return Row(tuple(self._prompter.material(material, derive_facts(material.text))), tuple(branches))

    def _split(self, group: Group, keys: Sequence[str]) -> Branch:
        """Two blocks in turn: the later one reads the committed earlier one, as request groups do."""
        half = len(keys) // 2
        first, second = self._branch(group, keys[:half]), self._branch(group, keys[half:])
        before = (*first.questions, *first.block, *self._prompter.next_turn)
        hints = (*first.hints, *((len(before) + at, token) for at, token in second.hints))
        return Branch((*before, *second.questions), second.block, second.slots, hints)

    def _branch(self, group: Group, keys: Sequence[str]) -> Branch:
        block: list[int] = []
        slots: list[tuple[int, int]] = []
        lines, firsts = list[str](), list[int]()
        letters = self._shuffled_letters()
        for number, key in enumerate(keys, 1):
            line, answer, width = self._ask(number, self._vary(group.questions[key]), group.answers[key], letters)
            lines.append(line)
            firsts.append(answer[0])
            block += self._tokenizer.encode_cached(f"{number}:")
            slots.append((len(block), width))
            block += [*answer, *[self._pad] * (width - len(answer)), *self._tokenizer.encode_cached("\n")]
        questions = self._prompter.questions(lines)
        newline = self._tokenizer.encode_cached("\n")[0]
        # The first line break follows the heading; then one a question.
        ends = [at for at, token in enumerate(questions) if token == newline][1:]
        return Branch(tuple(questions), tuple(block), tuple(slots), tuple(zip(ends, firsts, strict=False)))

    def _ask(self, number: int, question: AnyQuestion, value: Any, letters: Sequence[str]) -> tuple[str, tuple[int, ...], int]:
        codes = None
        if isinstance(question, (Choice, Score)):
            codes = assign_codes(question, self._tokenizer, letters, verbatim=self._rng.random() < self._verbatim)
        answer = self._tokenizer.encode_cached(answer_text(question, codes, value))
        return question_line(number, question, codes), answer, slot_width(question)

    def _shuffled_letters(self) -> list[str]:
        """Mostly the codes used at inference in their order, sometimes any of the 255 in any order."""
        rng = self._rng
        if rng.random() < 0.75:
            return self._letters
        pool = self._letters[:26] if rng.random() < 0.5 else self._letters
        return rng.sample(pool, 26)

    def _vary(self, question: AnyQuestion) -> AnyQuestion:
        """Option order and slot width are the caller's choice, so the model must not depend on them."""
        rng = self._rng
        if isinstance(question, Choice):
            options = list(question.options)
            rng.shuffle(options)
            return question.model_copy(update={"options": tuple(options)})
        if isinstance(question, Integer):
            return question.model_copy(update={"maximum": question.maximum * rng.choice([1, 1, 10, 100])})
        return question


@dataclass(frozen=True)
class Batch:
    """A packed batch of R rows: P material positions (right-padded), then T - P tail positions.

    ids, positions, targets: (R, T) int64, targets IGNORE except at masked slot tokens. tail_mask: (R, 1, T - P, T) bool.
    full: (R, T) bool, True at targets of fully masked copies. hints: (R, T) int64, IGNORE except at the ends of question
    lines, where the first token of the answer is the target of the auxiliary loss.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    tail_mask: torch.Tensor
    targets: torch.Tensor
    full: torch.Tensor
    hints: torch.Tensor
    prefix: int


def masked_positions(slots: Sequence[tuple[int, int]], copy: int, rng: random.Random, previous: Sequence[int]) -> list[int]:
    """Which block positions a copy masks: copy 0 all slots, odd copies some slots, even ones the complement."""
    everything = [p for start, length in slots for p in range(start, start + length)]
    if copy == 0:
        return everything
    if copy % 2 == 0:
        rest = [p for p in everything if p not in set(previous)]
        if rest:
            return rest
    rate = rng.random()
    if rng.random() < 0.75 or len(everything) == len(slots):
        chosen = [s for s in slots if rng.random() < rate] or [rng.choice(slots)]
        return [p for start, length in chosen for p in range(start, start + length)]
    return [p for p in everything if rng.random() < rate] or [rng.choice(everything)]


def collate(rows: Sequence[Row], copies: int, mask_id: int, rng: random.Random) -> Batch:
    """Pack rows as [material | questions, copy 0, copy 1, … | questions, copy 0, …]."""
    prefix = max(len(row.material) for row in rows)
    length = prefix + max(row.tail(copies) for row in rows)
    shape = (len(rows), length)
    ids, positions = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
    targets, full = torch.full(shape, IGNORE), torch.zeros(shape, dtype=torch.bool)
    hints = torch.full(shape, IGNORE)
    mask = torch.zeros(len(rows), 1, length - prefix, length, dtype=torch.bool)
    mask[:, 0, :, prefix:].diagonal(dim1=1, dim2=2).fill_(True)
    for r, row in enumerate(rows):
        m = len(row.material)
        ids[r, :m], positions[r, :m] = torch.tensor(row.material), torch.arange(m)
        at = prefix
        for branch in row.branches:
            q, b = len(branch.questions), len(branch.block)
            start = at
            ids[r, at : at + q], positions[r, at : at + q] = torch.tensor(branch.questions), torch.arange(m, m + q)
            mask[r, 0, at - prefix : at - prefix + q, :m] = True
            mask[r, 0, at - prefix : at - prefix + q, at : at + q] = torch.ones(q, q, dtype=torch.bool).tril()
            for where, token in branch.hints:
                hints[r, at + where] = token
            at += q
            clean, chosen = torch.tensor(branch.block), list[int]()
            for k in range(branch.copies(copies)):
                chosen = masked_positions(branch.slots, k, rng, chosen)
                where = at + torch.tensor(chosen)
                ids[r, at : at + b], positions[r, at : at + b] = clean, torch.arange(m + q, m + q + b)
                ids[r, where] = mask_id
                targets[r, where] = clean[torch.tensor(chosen)]
                full[r, where] = k == 0
                for seen in (slice(0, m), slice(start, start + q), slice(at, at + b)):
                    mask[r, 0, at - prefix : at - prefix + b, seen] = True
                at += b
    return Batch(ids, positions, mask, targets, full, hints, prefix)
