"""The likeliest allowed assignments under one pass: each slot's distribution as the pass gives it, their product, and the constraints.

Best-first over slots: each takes one of the likeliest strings of its lattice narrowed to what the constraints leave it, and what is
still open is bounded by each slot's likeliest string of all. So the first complete assignment is the likeliest (A*).
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from clover_engine.canvas import Canvas
from clover_engine.constraint import lattice as exact
from clover_engine.constraint.automaton import Lattice
from clover_engine.feasibility import Feasibility, Guard
from clover_engine.filling import Layout, SlotScores, move_at, read_scores
from clover_engine.joint import NoAssignmentError
from clover_engine.models.base import ModelAdapter, PrefixState
from clover_engine.tree import BlockRead, Node, Taken, close

STEPS = 500
"""Partial assignments looked at."""
STRINGS = 64
"""Strings of a slot tried at each of them."""


@dataclass(frozen=True)
class _Pass:
    """One pass and what it says of every slot."""

    layout: Layout
    guard: Guard
    scores: dict[int, SlotScores]
    hidden: torch.Tensor


def likeliest(
    adapter: ModelAdapter[Any], state: PrefixState, canvas: Canvas, oracle: Feasibility, *, count: int = 1, seed: int = 0
) -> list[BlockRead]:
    """Up to `count` allowed assignments of one canvas over the one row of `state`, the likeliest first.

    Raises:
        EmptyLanguageError: a slot has no legal value. NoAssignmentError: nothing was found that the oracle allows.
    """
    layout = Layout.of(canvas, adapter)
    root = Node(layout.start())
    ids, masked = layout.ids(root.filling)
    hidden = adapter.encode_block(state, adapter.noise([ids], [masked], seed))[0]
    read = _Pass(layout, Guard(layout, oracle, adapter.spec.pad_id), dict(read_scores(adapter, layout, root.filling, hidden)), hidden)
    # Constrained slots first: what is free does not need a second look.
    order = sorted(read.scores, key=read.guard.free)
    best = {s: float(scores.ahead.best[0, 0] - scores.ahead.mass[0, 0]) for s, scores in read.scores.items()}
    serial = itertools.count()
    queue: list[tuple[float, int, int, Node]] = [(-sum(best.values()), next(serial), 0, root)]
    leaves: list[Node] = []
    for _ in range(STEPS):
        if not queue or len(leaves) == count:
            break
        _, _, done, node = heapq.heappop(queue)
        if done == len(order):
            leaves.append(node)
            continue
        rest = sum(best[s] for s in order[done + 1 :])
        for grown in _grown(read, node, order[done]):
            heapq.heappush(queue, (-(grown.log_probability + rest), next(serial), done + 1, grown))
    if not leaves:
        leaves = _dive(read, order, [(done, node) for _, _, done, node in sorted(queue)])
    return [close(layout, leaf, adapter) for leaf in leaves]


def _dive(read: _Pass, order: Sequence[int], open_nodes: Sequence[tuple[int, Node]]) -> list[Node]:
    """One assignment, by taking the likeliest string of every slot that is left: for distributions too flat to be searched.

    Nodes with most slots done first; no more than `STEPS` more are looked at.
    """
    likely = list(reversed(open_nodes))
    # Of equals the likeliest is last.
    stack = sorted(likely, key=lambda entry: entry[0])
    for _ in range(STEPS):
        if not stack:
            break
        done, node = stack.pop()
        if done == len(order):
            return [node]
        # The likeliest is pushed last, so it is looked at next.
        stack += [(done + 1, grown) for grown in reversed(_grown(read, node, order[done]))]
    raise NoAssignmentError(exhausted=False)


def _grown(read: _Pass, node: Node, slot: int) -> list[Node]:
    """The node with each of the slot's likeliest allowed strings."""
    own, scores = read.layout.lattices[slot], read.scores[slot]
    narrowed = read.guard.lattice(node.filling, slot)
    if narrowed is False:
        return []
    lattice = narrowed if isinstance(narrowed, Lattice) else own
    logs = scores.logs[:, np.searchsorted(own.allowed, lattice.allowed)]
    found = exact.k_best(lattice, logs, exact.ahead(lattice, logs), 1 if read.guard.free(slot) else STRINGS)
    nodes = [_take(read, node, slot, lattice, [int(lattice.allowed[column]) for column in columns]) for columns, _ in found]
    return [grown for grown in nodes if read.guard.alive(grown.filling, slot)]


def _take(read: _Pass, node: Node, slot: int, lattice: Lattice, tokens: Sequence[int]) -> Node:
    """The node with one more slot filled, its tokens told as the moves of this pass."""
    own, taken = read.layout.lattices[slot], list[Taken]()
    for i, token in enumerate(tokens):
        if i not in own.forced:
            move = move_at(own, slot, tokens[:i], read.scores[slot])
            state = lattice.state_after(tokens[:i])
            assert state is not None
            allowed = np.isin(move.tokens, lattice.layers[i].tokens[lattice.leaving(i, state)])
            taken.append(Taken(move, int(np.flatnonzero(move.tokens == token)[0]), allowed))
    filling = (*node.filling[:slot], tuple(tokens), *node.filling[slot + 1 :])
    log_probability = node.log_probability + sum(float(t.move.logs[t.index]) for t in taken)
    return Node(filling, log_probability, node, tuple(taken), read.hidden, 1)
