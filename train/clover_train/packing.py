"""Packing rows into one sequence: noisy copies, what sees what, and where to look."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from clover_engine.models.llama import Part
from clover_train.evidence import Span
from clover_train.rows import Branch, Row

IGNORE = -100


@dataclass(frozen=True)
class Look:
    """Position `row` of part `part` should look at `span` of what that part sees, in the layer that takes `step`."""

    part: int
    row: int
    step: int
    span: Span


STEPS, LOOKUP = 3, 4
"""Steps at the end of a question's line: its evidence in turn, the last one repeated; with a subject, that one twice and then
the last piece of evidence. Before a slot, step 1 looks at a visible answer this one builds on, and one more step, number
STEPS, at the last evidence. In step LOOKUP the subject and every visible answer find where they are looked up, and mentions
in facts find their source."""


@dataclass(frozen=True)
class Batch:
    """Rows packed into one sequence of T positions, without padding.

    ids, positions, targets: (1, T) int64, targets IGNORE except at masked slot tokens. parts: what sees what. full: (1, T)
    bool, True at targets of fully masked copies. hints: (1, T) int64, IGNORE except at the ends of question lines, where
    the first token of the answer is the target of the auxiliary loss. looks: which part should look where. groups: number
    of joint branches.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    parts: tuple[Part, ...]
    targets: torch.Tensor
    full: torch.Tensor
    hints: torch.Tensor
    looks: tuple[Look, ...]
    groups: int


def masked_positions(slots: Sequence[tuple[int, int]], copy: int, rng: random.Random, previous: Sequence[int]) -> list[int]:
    """Which block positions a copy masks: copy 0 all slots, odd copies some, even ones the complement if there is any."""
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
    looks: list[Look] = []
    for row, (_, _, targets, _, _) in zip(rows, packed, strict=True):
        shared = len(parts)
        parts.append(Part(_causal(len(row.material))[None, None]))
        at = len(row.material)
        for branch, same in zip(row.branches, row.same, strict=True):
            for (_, last), source in same:
                # A fact stands with its case: in the branch, or in the shared part if the row has one case.
                part = shared if last <= len(row.material) else len(parts)
                looks.append(Look(part, last - 1 - (0 if part == shared else len(row.material)), LOOKUP, source))
            end = at + branch.length(copies)
            visible = targets[at + len(branch.questions) : end] == IGNORE
            looks.extend(_looks(branch, len(parts), len(row.material), visible))
            at = end
            parts.append(Part(_sight(branch, len(row.material), copies), shared))
    ids, positions, targets, full, hints = (torch.cat(column)[None] for column in zip(*packed, strict=True))
    groups = sum(len(branch.slots) > 1 for row in rows for branch in row.branches)
    return Batch(ids, positions, tuple(parts), targets, full, hints, tuple(looks), groups)


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


def _looks(branch: Branch, part: int, prefix: int, visible: torch.Tensor) -> list[Look]:
    """Where a branch should look. visible: bool over the positions of its copies, False where masked."""
    out: list[Look] = []
    q, b = len(branch.questions), len(branch.block)

    def own(start: int, end: int) -> Span:
        return prefix + start, prefix + end

    for (row, _), steps, subject in zip(branch.hints, branch.evidence, branch.subjects, strict=True):
        path = [own(*subject), own(*subject), *steps[-1:]] if subject else steps
        out += [Look(part, row, step, path[min(step, len(path) - 1)]) for step in range(STEPS) if path]
        if subject and branch.lookup:
            out.append(Look(part, subject[1] - 1, LOOKUP, branch.lookup))
    for copy in range(0, len(visible), b):
        shown = [(copy + start, copy + start + length) for start, length in branch.slots]
        shown = [span if visible[slice(*span)].all() else None for span in shown]
        for i, (steps, builds, next_step) in enumerate(zip(branch.evidence, branch.builds, branch.next_steps, strict=False)):
            row = q + copy + branch.slots[i][0]
            if steps:
                out.append(Look(part, row - 1, STEPS, steps[-1]))
            if next_step and shown[i]:
                out.append(Look(part, row, LOOKUP, next_step))
            known = [span for span in (shown[j] for j in builds) if span]
            if known:
                out.append(Look(part, row - 1, 1, own(q + known[0][0], q + known[0][1])))
    return out


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
