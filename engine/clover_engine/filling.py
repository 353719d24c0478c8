"""Partial fillings of a canvas, and what one pass of the model says may come next.

A filling holds, for every slot, the tokens committed so far, from left to right. A pass turns a filling into moves: the
positions that this pass settles, each with the distribution of its token given the moves before it. Following the likeliest
token of every move is denoising; leaving a move by another token opens an alternative, which is read again by a pass
of its own. So the moves of all passes form a tree whose leaves are the assignments, with the chain rule as their probability.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from clover_engine.canvas import Canvas, Slot
from clover_engine.constraint import lattice as exact
from clover_engine.constraint.automaton import Ints, Lattice
from clover_engine.models.base import ModelAdapter

Filling = tuple[tuple[int, ...], ...]
"""Committed tokens a slot, a prefix of the slot's full length, pad tokens included."""


@dataclass(frozen=True, eq=False)
class Move:
    """One position that a pass settles. `logs[i]` is log P(`tokens[i]`) given the moves before it; `best` indexes the likeliest
    string's token."""

    slot: int
    position: int
    tokens: Ints
    logs: exact.Floats
    best: int

    @property
    def confidence(self) -> float:
        return float(np.exp(self.logs[self.best]))


@dataclass(frozen=True, eq=False)
class Bonus:
    """Tokens that are likelier than the model has it, by so much in log odds."""

    tokens: Ints
    log_odds: float


@dataclass(frozen=True, eq=False)
class Layout:
    """A canvas ready to be filled: each slot's lattice, and on the model's device its allowed tokens and what is added to their logits."""

    canvas: Canvas
    lattices: tuple[Lattice, ...]
    allowed: tuple[torch.Tensor, ...]
    offsets: tuple[torch.Tensor | None, ...]
    favoured: tuple[Mapping[tuple[int, ...], Ints], ...]
    """For each slot, by what has been committed in it, the tokens with which one of its likely strings goes on."""

    @classmethod
    def of(cls, canvas: Canvas, adapter: ModelAdapter[Any]) -> Layout:
        """Raises EmptyLanguageError if a slot's automaton has no string that fits the slot."""
        lattices = tuple(slot.automaton.unroll(slot.length, adapter.spec.pad_id) for slot in canvas.slots)
        allowed = tuple(torch.as_tensor(lattice.allowed, device=adapter.device) for lattice in lattices)
        offsets = tuple(_offsets(slot, lattice, adapter.device) for slot, lattice in zip(canvas.slots, lattices, strict=True))
        favoured = tuple(_favoured(slot, lattice, adapter.spec.pad_id) for slot, lattice in zip(canvas.slots, lattices, strict=True))
        return cls(canvas, lattices, allowed, offsets, favoured)

    def start(self) -> Filling:
        """Nothing committed but what is forced."""
        return tuple(self._forced(s, ()) for s in range(len(self.lattices)))

    def extend(self, filling: Filling, slot: int, token: int) -> Filling:
        """One token more, and the separators behind it: positions with one legal token cost no pass."""
        grown = self._forced(slot, (*filling[slot], token))
        return (*filling[:slot], grown, *filling[slot + 1 :])

    def bonus(self, slot: int, tokens: tuple[int, ...]) -> Bonus | None:
        """What is added to tokens that go on as a likely string of the slot does."""
        favoured = self.favoured[slot].get(tokens)
        return None if favoured is None else Bonus(favoured, self.canvas.slots[slot].favour)

    def _forced(self, slot: int, tokens: tuple[int, ...]) -> tuple[int, ...]:
        forced = self.lattices[slot].forced
        while len(tokens) in forced:
            tokens = (*tokens, forced[len(tokens)])
        return tokens

    def open(self, filling: Filling) -> list[int]:
        """Slots that are not complete."""
        return [s for s, slot in enumerate(self.canvas.slots) if len(filling[s]) < slot.length]

    def ids(self, filling: Filling) -> tuple[list[int], list[int]]:
        """The block's token ids with what is committed or forced in place, and the positions still masked."""
        ids, masked = list(self.canvas.ids), list[int]()
        for slot, lattice, tokens in zip(self.canvas.slots, self.lattices, filling, strict=True):
            for i in range(slot.length):
                token = tokens[i] if i < len(tokens) else lattice.forced.get(i)
                if token is None:
                    masked.append(slot.start + i)
                else:
                    ids[slot.start + i] = token
        return ids, masked


def _offsets(slot: Slot, lattice: Lattice, device: torch.device) -> torch.Tensor | None:
    if not slot.offsets:
        return None
    added = dict(slot.offsets)
    return torch.tensor([added.get(int(token), 0.0) for token in lattice.allowed], device=device)


def _favoured(slot: Slot, lattice: Lattice, pad: int) -> Mapping[tuple[int, ...], Ints]:
    table: dict[tuple[int, ...], set[int]] = {}
    for string in slot.likely:
        whole = (*string, *[pad] * (slot.length - len(string)))
        if len(whole) == slot.length and lattice.state_after(whole) is not None:
            for i, token in enumerate(whole):
                table.setdefault(whole[:i], set()).add(token)
    return {prefix: np.array(sorted(tokens)) for prefix, tokens in table.items()}


@dataclass(frozen=True, eq=False)
class SlotScores:
    """What a pass says of one slot: log P over its allowed tokens, shape (length, allowed), and what lies ahead in its lattice."""

    logs: exact.Floats
    ahead: exact.Ahead


Scores = Mapping[int, SlotScores]
"""Of every open slot."""


def read_scores(adapter: ModelAdapter[Any], layout: Layout, filling: Filling, hidden: torch.Tensor) -> Scores:
    """Token distributions of every open slot from the hidden states of a block."""
    out: dict[int, SlotScores] = {}
    for s in layout.open(filling):
        slot = layout.canvas.slots[s]
        logits = adapter.head(hidden[slot.start : slot.start + slot.length], layout.allowed[s])
        added = layout.offsets[s]
        logs = torch.log_softmax(logits if added is None else logits + added, dim=-1).double().cpu().numpy()
        out[s] = SlotScores(logs, exact.ahead(layout.lattices[s], logs))
    return out


def moves(layout: Layout, filling: Filling, scores: Scores, threshold: float) -> list[Move]:
    """What this pass settles: all slots whose every open position is sure; where there is none, a piece of one slot.

    Sure means that the token of the likeliest string has more than `threshold`. The piece is the sure beginning of the
    slot with the surest first position (the first of equals); at least one position. A slot that has been begun is completed
    before any other, so no more than one is ever incomplete.

    Within a slot the distributions are exact under this pass: the mass of all legal strings that go on so, by a backward pass
    through the lattice.
    """
    open_slots = layout.open(filling)
    runs = {s: list(_sure_run(layout, filling, s, scores[s], threshold)) for s in open_slots}
    start = layout.start()
    begun = [s for s in open_slots if len(filling[s]) > len(start[s])]
    whole = [s for s in (*begun, *(s for s in open_slots if s not in begun)) if runs[s][-1].confidence > threshold]
    if whole and (not begun or whole[0] == begun[0]):
        return [move for s in whole for move in runs[s]]
    chosen = begun[0] if begun else max(open_slots, key=lambda s: runs[s][0].confidence)
    sure = [move for move in runs[chosen] if move.confidence > threshold]
    return sure or runs[chosen][:1]


def move_at(lattice: Lattice, slot: int, prefix: Sequence[int], scores: SlotScores, bonus: Bonus | None = None) -> Move:
    """The move at the position after `prefix`: every token that may follow, with its probability.

    `bonus` adds to the logarithms of some tokens, before they are normalised again.
    """
    i, state = len(prefix), lattice.state_after(prefix)
    assert state is not None, "a filling left its language"
    edges, layer = lattice.leaving(i, state), lattice.layers[i]
    targets, step = layer.targets[edges], scores.logs[i, lattice.columns[i][edges]]
    logs = step + scores.ahead.mass[i + 1][targets] - scores.ahead.mass[i, state]
    best = step + scores.ahead.best[i + 1][targets]
    if bonus is not None:
        added = np.where(np.isin(layer.tokens[edges], bonus.tokens), bonus.log_odds, 0.0)
        logs, best = logs + added, best + added
        logs = logs - np.logaddexp.reduce(logs)
    return Move(slot, i, layer.tokens[edges], np.minimum(logs, 0.0), int(np.argmax(best)))


def _sure_run(layout: Layout, filling: Filling, slot: int, scores: SlotScores, threshold: float) -> Iterator[Move]:
    """Moves of one slot from its first open position on, up to and including the first that is not sure."""
    lattice, tokens = layout.lattices[slot], filling[slot]
    while len(tokens) < len(lattice.layers):
        move = move_at(lattice, slot, tokens, scores, layout.bonus(slot, tokens))
        if move.position not in lattice.forced:
            yield move
            if not move.confidence > threshold:
                return
        tokens = (*tokens, int(move.tokens[move.best]))
