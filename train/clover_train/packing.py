"""Packing rows into one sequence: noisy copies, what sees what, and where to look."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from clover_engine.models.llama import Part
from clover_train.evidence import Span
from clover_train.recipe import SHIPPED
from clover_train.rows import Branch, Row

IGNORE = -100
BEGUN = 0.6
"""Share of slots of several tokens, otherwise visible, of which only a beginning is."""


@dataclass(frozen=True)
class Look:
    """Position `row` of part `part` should look at `span` of what that part sees, or at `more`, in the layer that takes `step`."""

    part: int
    row: int
    step: int
    span: Span
    more: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Pointing:
    """Position `row` of part `part`, before a masked answer, should spread over the sentences that show it."""

    part: int
    row: int
    spans: tuple[Span, ...]


STEPS, LOOKUP, COPY, READ, RELATE, OWN, BUILD_READ, BUILD_COPY = 3, 4, 5, 6, 7, 8, 9, 10
"""Steps at the end of a question's line: its evidence in turn, the last one repeated, or its subject. Before each token of an
answer, step number STEPS looks at the last evidence. LOOKUP: the subject and every visible answer find where they are looked
up, and mentions in facts find their source. COPY: each token of a copied answer, and the end of its question's line, finds what
it copies, and after the last one what follows it. READ takes what a look-up has brought, the end of a line from its subject, a slot
from any mention of it. RELATE: the later of two related mentions, where look-ups end, finds the first token of the one that they
want. OWN: a slot and a visible answer find the end of their own question's line, so that answers can be told apart by what they
answer. Of the visible answer that a slot builds on, BUILD_READ takes what its look-up has brought or concludes from it, BUILD_COPY
repeats it."""


@dataclass(frozen=True)
class Batch:
    """Rows packed into one sequence of T positions, without padding.

    ids, positions, targets: (1, T) int64, targets IGNORE except at masked slot tokens. parts: what sees what. full: (1, T)
    bool, True at targets of fully masked copies. hints: (1, T) int64, IGNORE except at the ends of question lines, where
    the first token of the answer is the target of the auxiliary loss. looks: which part should look where. pointings: the
    evidence of masked answers. groups: number of joint branches.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    parts: tuple[Part, ...]
    targets: torch.Tensor
    full: torch.Tensor
    hints: torch.Tensor
    looks: tuple[Look, ...]
    pointings: tuple[Pointing, ...]
    groups: int


def masked_positions(
    slots: Sequence[tuple[int, int]], copy: int, rng: random.Random, previous: Sequence[int], whole: float = SHIPPED.whole_slots
) -> list[int]:
    """Which block positions a copy masks: copy 0 all slots, odd copies some, even ones the complement if there is any.

    A share `whole` of the odd ones masks slots as a whole, the rest token by token. Of the slots that an odd copy does not mask as a whole,
    some of several tokens are begun: inference fills them from left to right.
    """
    everything = [p for start, length in slots for p in range(start, start + length)]
    if copy == 0:
        return everything
    if copy % 2 == 0:
        rest = [p for p in everything if p not in set(previous)]
        if rest:
            return rest
    rate = rng.random()
    if rng.random() < whole or len(everything) == len(slots):
        chosen = [s for s in slots if rng.random() < rate] or [rng.choice(slots)]
        begun = [s for s in slots if s not in chosen and s[1] > 1 and rng.random() < BEGUN]
        # Mostly short beginnings: the rest of a wide slot is padding.
        cuts = [(start + 1 + int((length - 1) * rng.random() ** 2), start + length) for start, length in begun]
        return [p for begin, end in [*((s, s + n) for s, n in chosen), *cuts] for p in range(begin, end)]
    return [p for p in everything if rng.random() < rate] or [rng.choice(everything)]


def collate(rows: Sequence[Row], copies: int, mask_id: int, rng: random.Random, whole: float = SHIPPED.whole_slots) -> Batch:
    """Pack rows as [shared | questions, copy 0, copy 1, … | questions, copy 0, …], one after the other."""
    packed = [_pack(row, copies, mask_id, rng, whole) for row in rows]
    parts: list[Part] = []
    looks: list[Look] = []
    pointings: list[Pointing] = []
    for row, (_, _, targets, *_) in zip(rows, packed, strict=True):
        shared = len(parts)
        parts.append(Part(_causal(len(row.material))[None, None]))
        at = len(row.material)
        for branch, same, relations in zip(row.branches, row.same, row.relations, strict=True):
            pairs = [(LOOKUP, pair) for pair in same] + [(RELATE, (last, (first, first + 1))) for last, (first, _) in relations]
            for step, ((_, last), source) in pairs:
                # What a case says stands in its branch, or in the shared part: rules, and everything if the row has one case.
                part = shared if last <= len(row.material) else len(parts)
                looks.append(Look(part, last - 1 - (0 if part == shared else len(row.material)), step, source))
            end = at + branch.length(copies)
            visible = targets[at + len(branch.questions) : end] == IGNORE
            looks.extend(_looks(branch, len(parts), len(row.material), visible))
            pointings.extend(_pointings(branch, len(parts), visible))
            at = end
            parts.append(Part(_sight(branch, len(row.material), copies), shared))
    ids, positions, targets, full, hints = (torch.cat(column)[None] for column in zip(*packed, strict=True))
    groups = sum(len(branch.slots) > 1 for row in rows for branch in row.branches)
    return Batch(ids, positions, tuple(parts), targets, full, hints, tuple(looks), tuple(pointings), groups)


def _pack(row: Row, copies: int, mask_id: int, rng: random.Random, whole: float) -> tuple[torch.Tensor, ...]:
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
            chosen = masked_positions(branch.slots, k, rng, chosen, whole)
            where = at + torch.tensor(chosen)
            ids[at : at + b], positions[at : at + b] = clean, torch.arange(prefix + q, prefix + q + b)
            ids[where] = mask_id
            targets[where] = clean[torch.tensor(chosen)]
            full[where] = k == 0
            at += b
    return ids, positions, targets, full, hints


def _looks(branch: Branch, part: int, prefix: int, visible: torch.Tensor) -> list[Look]:
    """Where a branch should look. visible: bool over the positions of its copies, False where masked."""
    b = len(branch.block)
    copies = [visible[at : at + b] for at in range(0, len(visible), b)]
    out = _line_looks(branch, part, prefix)
    for number, shown in enumerate(copies):
        out += slot_looks(branch, part, prefix, len(branch.questions) + number * b, shown)
    return out


def _pointings(branch: Branch, part: int, visible: torch.Tensor) -> list[Pointing]:
    """visible: as for `_looks`. A slot that is masked as a whole points."""
    q, b = len(branch.questions), len(branch.block)
    return [
        Pointing(part, q + at + start - 1, spans)
        for at in range(0, len(visible), b)
        for (start, width), spans in zip(branch.slots, branch.shown, strict=False)
        if spans and not visible[at + start : at + start + width].any()
    ]


def _line_looks(branch: Branch, part: int, prefix: int) -> list[Look]:
    """Looks of the questions' lines."""
    out: list[Look] = []
    for (row, _), steps, subject in zip(branch.hints, branch.evidence, branch.subjects, strict=True):
        path = steps or ([_shift(subject, prefix)] if subject else [])
        out += [Look(part, row, step, path[min(step, len(path) - 1)]) for step in range(STEPS) if path]
        if subject and branch.lookup:
            out.append(Look(part, subject[1] - 1, LOOKUP, branch.lookup))
    # What belongs to slots: lines of an earlier block, at the end of `hints`, have none.
    for i, source in enumerate(branch.copied):
        row, subject = branch.hints[i][0], branch.subjects[i]
        if source:
            out.append(Look(part, row, COPY, (source[0], source[0] + 1)))
        if subject and branch.looked_up[i]:
            out.append(Look(part, row, READ, _shift(subject, prefix)))
    return out


def slot_looks(branch: Branch, part: int, prefix: int, start: int, visible: torch.Tensor) -> list[Look]:
    """Looks of one copy of the block, which begins at position `start` of the branch."""
    out: list[Look] = []
    slots = [(start + at, start + at + width) for at, width in branch.slots]
    shown = [
        _shift(slot, prefix) if visible[at : at + width].all() else None for slot, (at, width) in zip(slots, branch.slots, strict=True)
    ]
    mentions = [_shift(subject, prefix) for subject in branch.subjects if subject]
    for i, (row, end) in enumerate(slots):
        steps, next_step, source = branch.evidence[i], branch.next_steps[i], branch.copied[i]
        known = next(((span, _build_step(branch, i, j, repeats)) for j, repeats in branch.builds[i] if (span := shown[j])), None)
        # Every token is predicted at the position before it, and those of a copied number each look again.
        before = range(row - 1, row - 1 + (min(end - row, source[1] - source[0]) if source else 1))
        line = (prefix + branch.hints[i][0], prefix + branch.hints[i][0] + 1)
        out += [Look(part, at, OWN, line) for at in (*before, *([row] if shown[i] and row not in before else []))]
        if steps:
            out += [Look(part, at, STEPS, steps[-1]) for at in before]
        if mentions and branch.looked_up[i]:
            out.append(Look(part, row - 1, READ, mentions[0], tuple(mentions[1:])))
        if known and known[1] is not None:
            out += [Look(part, at, known[1], known[0]) for at in before]
        if next_step and shown[i]:
            out.append(Look(part, row, LOOKUP, next_step))
        if source:
            # After the last digit it sees that no other follows.
            reach = min(end - row, len(before) + 1)
            out += [Look(part, row - 1 + k, COPY, (source[0] + k, source[0] + k + 1)) for k in range(reach)]
    return out


def _shift(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by


def _build_step(branch: Branch, slot: int, source: int, repeats: bool) -> int | None:
    """How a slot takes the answer it builds on; None where it repeats one that another code stands for."""
    same = branch.block[branch.slots[slot][0]] == branch.block[branch.slots[source][0]]
    return BUILD_READ if not repeats else BUILD_COPY if same else None


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
