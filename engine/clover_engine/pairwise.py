"""How slots depend on each other: each answer clamped in turn, all others read, in one batch of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clover_engine.canvas import Canvas
from clover_engine.filling import Filling, Layout, SlotScores, read_scores
from clover_engine.models.base import ModelAdapter, PrefixState

MOST = 8
"""Tokens clamped a slot, the likeliest."""
ROWS = 16
"""Rows a pass."""

Shares = Mapping[int, float]
"""Token -> probability, over the likeliest tokens of a slot, summing to one."""


@dataclass(frozen=True)
class Pair:
    """Two slots: their mutual information in nats, and the largest |p(j) p(i|j) - p(i) p(j|i)| over their values.

    The gap is 0 for a model whose conditionals belong to one joint distribution; a large one says that its answers
    depend on which is asked first.
    """

    first: int
    second: int
    information: float
    gap: float


def pairs(adapter: ModelAdapter[Any], state: PrefixState, canvas: Canvas, *, seed: int = 0) -> list[Pair]:
    """All pairs of the slots of one token, the most dependent first. Reads at most 1 + `MOST` rows a slot."""
    layout = Layout.of(canvas, adapter)
    start = layout.start()
    slots = [s for s in layout.open(start) if canvas.slots[s].length == 1]
    base = _read(adapter, state, layout, [start], seed)[0]
    alone = {s: _shares(layout, s, base[s], None) for s in slots}
    clamped = [(s, token) for s in slots for token in alone[s]]
    reads = _read(adapter, state, layout, [layout.extend(start, s, token) for s, token in clamped], seed)
    given = {
        key: {i: _shares(layout, i, read[i], alone[i]) for i in slots if i != key[0]} for key, read in zip(clamped, reads, strict=True)
    }
    found = [_pair(i, j, alone, given) for at, i in enumerate(slots) for j in slots[at + 1 :]]
    return sorted(found, key=lambda pair: -pair.information)


def _read(
    adapter: ModelAdapter[Any], state: PrefixState, layout: Layout, fillings: list[Filling], seed: int
) -> list[Mapping[int, SlotScores]]:
    out: list[Mapping[int, SlotScores]] = []
    for at in range(0, len(fillings), ROWS):
        chunk = fillings[at : at + ROWS]
        blocks = [layout.ids(filling) for filling in chunk]
        noisy = adapter.noise([ids for ids, _ in blocks], [masked for _, masked in blocks], seed)
        hidden = adapter.encode_block(state.select([0] * len(chunk)), noisy)
        out += [read_scores(adapter, layout, filling, states) for filling, states in zip(chunk, hidden, strict=True)]
    return out


def _shares(layout: Layout, slot: int, scores: SlotScores, among: Shares | None) -> dict[int, float]:
    """A slot's distribution over its likeliest tokens, or over the tokens of `among`."""
    tokens, logs = layout.lattices[slot].allowed, scores.logs[0]
    if among is None:
        chosen = np.argsort(-logs, kind="stable")[:MOST]
    else:
        chosen = np.searchsorted(tokens, np.array(list(among)))
    weights = np.exp(logs[chosen] - logs[chosen].max())
    return {int(tokens[c]): float(w / weights.sum()) for c, w in zip(chosen, weights, strict=True)}


def _pair(i: int, j: int, alone: Mapping[int, Shares], given: Mapping[tuple[int, int], Mapping[int, Shares]]) -> Pair:
    through = {(c, d): p * q for c, p in alone[j].items() for d, q in given[j, c][i].items()}
    back = {(c, d): p * q for d, p in alone[i].items() for c, q in given[i, d][j].items()}
    mixed: dict[int, float] = {}
    for (_, d), p in through.items():
        mixed[d] = mixed.get(d, 0.0) + p
    information = sum(p * math.log(p / (alone[j][c] * mixed[d])) for (c, d), p in through.items() if p > 0)
    return Pair(i, j, max(0.0, information), max(abs(p - back[key]) for key, p in through.items()))
