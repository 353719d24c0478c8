"""Training rows: a material, and branches that ask something about it, packed under one attention mask.

A branch is what follows the shared text: the rest of a case's material, its question set, and noisy copies of its
answer block. Shared tokens are paid for once. A row holds either one case, asked jointly and one question of it alone,
which keeps joint and independent answering equally in distribution; or several cases under the same rules, each asked
jointly, so that one update contrasts what differs between them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import torch

from clover_decide.facts import derive_facts
from clover_decide.material import read_material
from clover_decide.prompt import Prompter, answer_text, assign_codes, code_letters, question_line, slot_width
from clover_decide.questions import AnyQuestion, Choice, Integer, Score
from clover_engine.models.llama import Part
from clover_engine.tokenizer import Tokenizer
from clover_train.groups import Group, World, compose

IGNORE = -100
COPIED = frozenset({"days", "count", "seen", "notice_date", "patients"})
"""Questions whose answer stands in the text: learned early, and then asked less often."""


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

    def after(self, text: Sequence[int]) -> Branch:
        """The same branch with text before its questions."""
        return replace(self, questions=(*text, *self.questions), hints=tuple((len(text) + at, t) for at, t in self.hints))

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

    def __init__(self, tokenizer: Tokenizer, pad_id: int, rng: random.Random, *, verbatim: float = 0.92) -> None:
        self._tokenizer, self._pad, self._rng, self._verbatim = tokenizer, pad_id, rng, verbatim
        self._letters = code_letters(tokenizer)
        self._prompter = Prompter(tokenizer)

    def build(self, cases: Sequence[World]) -> Row:
        """One row of one case, or of several under one setting."""
        rng = self._rng
        several, seed = len(cases) > 1, rng.random()
        complete, distractors = several or rng.random() < 0.5, rng.randint(0, 2)
        rules_first = several or rng.random() < 0.2
        prompts: list[tuple[int, ...]] = []
        branches: list[Branch] = []
        for case in cases:
            keys = self._keys(case)
            # The same seed shuffles the shared clauses of every case alike.
            order = random.Random(seed)
            group = compose(order, case, keys, complete=complete, distractors=distractors, rules_first=rules_first)
            material = read_material(group.material)
            prompts.append(tuple(self._prompter.material(material, derive_facts(material.text))))
            halves = len(keys) > 3 and rng.random() < 0.05
            branches.append(self._split(group, keys) if halves else self._branch(group, keys))
            if not several:
                prompts.append(prompts[0])
                branches.append(self._branch(group, [rng.choice(keys)]))
        shared = _common(prompts)
        rest = [branch.after(prompt[shared:]) for prompt, branch in zip(prompts, branches, strict=True)]
        return Row(prompts[0][:shared], tuple(rest))

    def _keys(self, world: World) -> list[str]:
        """3 to 8 questions in random order, those learned early less often."""
        rng = self._rng
        keys = [key for key in world.questions if key not in COPIED or rng.random() < 0.35]
        rng.shuffle(keys)
        return keys[: rng.randint(min(4, len(keys)), min(8, len(keys)))]

    def _split(self, group: Group, keys: Sequence[str]) -> Branch:
        """Two blocks in turn: the later one reads the committed earlier one, as request groups do."""
        half = len(keys) // 2
        first, second = self._branch(group, keys[:half]), self._branch(group, keys[half:])
        before = (*first.questions, *first.block, *self._prompter.next_turn)
        later = second.after(before)
        return replace(later, hints=(*first.hints, *later.hints))

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


def _common(prompts: Sequence[Sequence[int]]) -> int:
    """Length of the longest common prefix."""
    columns = zip(*prompts, strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


@dataclass(frozen=True)
class Batch:
    """Rows packed into one sequence of T positions, without padding.

    ids, positions, targets: (1, T) int64, targets IGNORE except at masked slot tokens. parts: what sees what. full: (1, T)
    bool, True at targets of fully masked copies. hints: (1, T) int64, IGNORE except at the ends of question lines, where
    the first token of the answer is the target of the auxiliary loss. groups: number of joint branches.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    parts: tuple[Part, ...]
    targets: torch.Tensor
    full: torch.Tensor
    hints: torch.Tensor
    groups: int


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
    """Pack rows as [shared | questions, copy 0, copy 1, … | questions, copy 0, …], one after the other."""
    packed = [_pack(row, copies, mask_id, rng) for row in rows]
    parts: list[Part] = []
    for row in rows:
        shared = len(parts)
        parts.append(Part(_causal(len(row.material))[None, None]))
        parts.extend(Part(_sight(branch, len(row.material), copies), shared) for branch in row.branches)
    ids, positions, targets, full, hints = (torch.cat(column)[None] for column in zip(*packed, strict=True))
    groups = sum(len(branch.slots) > 1 for row in rows for branch in row.branches)
    return Batch(ids, positions, tuple(parts), targets, full, hints, groups)


def _pack(row: Row, copies: int, mask_id: int, rng: random.Random) -> tuple[torch.Tensor, ...]:
    """ids, positions, targets, full and hints of one row, each (T,)."""
    prefix = len(row.material)
    length = prefix + row.tail(copies)
    ids, positions = torch.zeros(length, dtype=torch.long), torch.zeros(length, dtype=torch.long)
    targets, full, hints = torch.full((length,), IGNORE), torch.zeros(length, dtype=torch.bool), torch.full((length,), IGNORE)
    ids[:prefix], positions[:prefix] = torch.tensor(row.material), torch.arange(prefix)
    at = prefix
    for branch in row.branches:
        q, b = len(branch.questions), len(branch.block)
        ids[at : at + q], positions[at : at + q] = torch.tensor(branch.questions), torch.arange(prefix, prefix + q)
        for where, token in branch.hints:
            hints[at + where] = token
        at += q
        clean, chosen = torch.tensor(branch.block), list[int]()
        for k in range(branch.copies(copies)):
            chosen = masked_positions(branch.slots, k, rng, chosen)
            where = at + torch.tensor(chosen)
            ids[at : at + b], positions[at : at + b] = clean, torch.arange(prefix + q, prefix + q + b)
            ids[where] = mask_id
            targets[where] = clean[torch.tensor(chosen)]
            full[where] = k == 0
            at += b
    return ids, positions, targets, full, hints


def _causal(length: int) -> torch.Tensor:
    return torch.ones(length, length, dtype=torch.bool).tril()


def _sight(branch: Branch, prefix: int, copies: int) -> torch.Tensor:
    """What each position of a branch may see: the shared text; earlier question tokens, or all of them and its own copy."""
    q, b, length = len(branch.questions), len(branch.block), branch.length(copies)
    mask = torch.zeros(1, 1, length, prefix + length, dtype=torch.bool)
    mask[..., :prefix] = True
    mask[..., :q, prefix : prefix + q] = _causal(q)
    mask[..., q:, prefix : prefix + q] = True
    for start in range(q, length, b):
        mask[..., start : start + b, prefix + start : prefix + start + b] = True
    return mask
