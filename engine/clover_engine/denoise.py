"""Threshold denoising of rows of blocks over one shared prefix.

Every masked position starts unknown. A pass of the model gives each slot a token distribution a position; the slot's
lattice turns it into exact constrained marginals. Positions of the most likely legal string whose marginal exceeds the
threshold are committed, in a slot up to the first that does not; where a row has none, the most confident of the slots'
first open positions is. Committed tokens are seen by the next pass, so answers that build on others are read after them.
All tokens that one step commits in a slot come from one legal string, hence no illegal value can ever be assembled,
whatever the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np
import torch

from clover_engine.canvas import Canvas
from clover_engine.constraint import lattice as exact
from clover_engine.constraint.automaton import Lattice
from clover_engine.kernels.allowed_head.reference import log_mass
from clover_engine.models.base import ModelAdapter, PrefixState

DEFAULT_THRESHOLD = 0.95


@dataclass(frozen=True)
class Commit:
    """One committed position: when, where (position within the slot), what, and its constrained marginal then."""

    step: int
    slot: int
    position: int
    token: int
    confidence: float


@dataclass(frozen=True)
class SlotRead:
    """What a slot holds after denoising.

    `tokens` are the value's ids without padding. `log_probability` is log P(value | what was committed before, legal),
    the chain rule over commits. `choices` gives, per position, the constrained distribution at the moment that
    position was committed. `coverage` is the smallest raw probability mass the model put on legal tokens at a
    position when it was committed; a low one means the model wanted to say something else.
    """

    tokens: tuple[int, ...]
    log_probability: float
    choices: tuple[dict[int, float], ...]
    coverage: float


@dataclass(frozen=True)
class BlockRead:
    """A denoised block: final ids, its slots in order, the commits in order, and how many passes it took."""

    ids: tuple[int, ...]
    slots: tuple[SlotRead, ...]
    commits: tuple[Commit, ...]
    steps: int

    @property
    def log_probability(self) -> float:
        return sum(slot.log_probability for slot in self.slots)


@dataclass
class _Slot:
    lattice: Lattice
    start: int
    allowed: torch.Tensor
    tokens: dict[int, int]
    log_probability: float = 0.0
    choices: dict[int, dict[int, float]] = field(default_factory=dict)
    hidden: dict[int, torch.Tensor] = field(default_factory=dict)

    @property
    def open(self) -> list[int]:
        return [i for i in range(len(self.lattice.layers)) if i not in self.tokens]


@dataclass
class _Row:
    ids: list[int]
    slots: list[_Slot]
    commits: list[Commit] = field(default_factory=list)
    steps: int = 0

    def masked(self) -> list[int]:
        return [slot.start + i for slot in self.slots for i in slot.open]


def denoise(
    adapter: ModelAdapter[Any],
    state: PrefixState,
    canvases: Sequence[Canvas],
    *,
    threshold: float = DEFAULT_THRESHOLD,
    one_pass: bool = False,
    seed: int = 0,
) -> list[BlockRead]:
    """Fill every slot of every canvas; row r continues row r of `state`.

    Rows are independent of each other: finished ones leave the batch. At most one pass a masked position is made.

    Args:
        adapter: the model.
        state: a prefix of as many rows as there are canvases.
        canvases: the blocks to fill.
        threshold: constrained marginal above which a position is committed, if all before it in its slot are; in (0, 1].
        one_pass: commit everything after the first pass (each slot its most likely legal string).
        seed: noise of models without a mask token; unused otherwise.

    Raises:
        EmptyLanguageError: a slot's automaton has no string that fits the slot.
    """
    rows = [_open_row(canvas, adapter) for canvas in canvases]
    active = [r for r, row in enumerate(rows) if row.masked()]
    current = state.select(active) if 0 < len(active) < len(rows) else state
    while active:
        noisy = adapter.noise([rows[r].ids for r in active], [rows[r].masked() for r in active], seed)
        for r, hidden in zip(active, adapter.encode_block(current, noisy), strict=True):
            _advance(adapter, rows[r], hidden, 0.0 if one_pass else threshold)
        left = [i for i, r in enumerate(active) if rows[r].masked()]
        if len(left) < len(active):
            active = [active[i] for i in left]
            current = current.select(left) if active else current
    return [_close_row(row, adapter) for row in rows]


def _open_row(canvas: Canvas, adapter: ModelAdapter[Any]) -> _Row:
    row = _Row(list(canvas.ids), [])
    for slot in canvas.slots:
        lattice = slot.automaton.unroll(slot.length, adapter.spec.pad_id)
        # Positions with one legal token (separators) are part of the skeleton: they cost no pass.
        forced = dict(lattice.forced)
        for i, token in forced.items():
            row.ids[slot.start + i] = token
        allowed = torch.as_tensor(lattice.allowed, device=adapter.device)
        row.slots.append(_Slot(lattice, slot.start, allowed, forced, choices={i: {t: 1.0} for i, t in forced.items()}))
    return row


def _advance(adapter: ModelAdapter[Any], row: _Row, hidden: torch.Tensor, threshold: float) -> None:
    """Commit what one pass allows."""
    row.steps += 1
    reads = {s: _read_slot(adapter, slot, hidden) for s, slot in enumerate(row.slots) if slot.open}
    # Within a slot from left to right: what a later token should be depends on the value that the earlier ones begin.
    chosen = {s: list(takewhile(partial(_sure, read, threshold), row.slots[s].open)) for s, (read, _) in reads.items()}
    if not any(chosen.values()):
        # max() keeps the first of equals, so ties break by slot and position: deterministic.
        top = max(
            ((s, row.slots[s].open[0]) for s in reads),
            key=lambda at: reads[at[0]][0].marginals[at[1], reads[at[0]][0].best[at[1]]],
        )
        chosen = {top[0]: [top[1]]}
    for s, positions in chosen.items():
        if positions:
            _commit(row, s, positions, *reads[s], hidden)


def _sure(read: exact.LatticeRead, threshold: float, position: int) -> bool:
    return bool(read.marginals[position, read.best[position]] > threshold)


def _read_slot(adapter: ModelAdapter[Any], slot: _Slot, hidden: torch.Tensor) -> tuple[exact.LatticeRead, exact.Floats]:
    length = len(slot.lattice.layers)
    logits = adapter.head(hidden[slot.start : slot.start + length], slot.allowed)
    scores = torch.log_softmax(logits, dim=-1).double().cpu().numpy()
    for i, token in slot.tokens.items():
        scores[i] = np.where(slot.lattice.allowed == token, 0.0, -np.inf)
    return exact.read(slot.lattice, scores), scores


def _commit(row: _Row, s: int, positions: list[int], read: exact.LatticeRead, scores: exact.Floats, hidden: torch.Tensor) -> None:
    slot = row.slots[s]
    for i in positions:
        column = read.best[i]
        token = int(slot.lattice.allowed[column])
        slot.tokens[i] = token
        slot.choices[i] = _distribution(slot.lattice, read, i)
        slot.hidden[i] = hidden[slot.start + i]
        row.ids[slot.start + i] = token
        row.commits.append(Commit(row.steps, s, i, token, float(read.marginals[i, column])))
        scores[i] = np.where(np.arange(scores.shape[1]) == column, scores[i], -np.inf)
    # Exact under this pass: the share of legal strings that agree with what was committed now.
    slot.log_probability += min(0.0, exact.log_z(slot.lattice, scores) - read.log_z)


def _distribution(lattice: Lattice, read: exact.LatticeRead, position: int, most: int = 256) -> dict[int, float]:
    marginals = read.marginals[position]
    order = np.argsort(-marginals, kind="stable")[:most]
    return {int(lattice.allowed[c]): float(marginals[c]) for c in order if marginals[c] > 0}


def _close_row(row: _Row, adapter: ModelAdapter[Any]) -> BlockRead:
    slots: list[SlotRead] = []
    for slot in row.slots:
        full = [slot.tokens[i] for i in range(len(slot.lattice.layers))]
        value = tuple(t for t in full if t != adapter.spec.pad_id)
        choices = tuple(slot.choices[i] for i in range(len(full)))
        slots.append(SlotRead(value, slot.log_probability, choices, _coverage(slot, adapter)))
    return BlockRead(tuple(row.ids), tuple(slots), tuple(row.commits), row.steps)


def _coverage(slot: _Slot, adapter: ModelAdapter[Any]) -> float:
    if not slot.hidden:
        return 1.0
    positions = sorted(slot.hidden)
    hidden = torch.stack([slot.hidden[i] for i in positions])
    total = log_mass(adapter.head(hidden), adapter.spec.mask_id)
    lowest = 0.0
    for row, i in enumerate(positions):
        legal = torch.as_tensor(np.unique(slot.lattice.layers[i].tokens), device=hidden.device)
        mass = torch.logsumexp(adapter.head(hidden[row : row + 1], legal), dim=-1)[0] - total[row]
        lowest = min(lowest, float(mass))
    return math.exp(lowest)
