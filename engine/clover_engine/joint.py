"""The joint distribution of a block's slots: best-first search over the tree of fillings.

A filling's probability bounds that of everything below it, so nodes are read in order of falling probability, several to a pass,
and three things can be told apart: `exact`, all of the tree was read; `optimal`, the rest cannot hold a better assignment
than the best one found; and neither, when the budget of rows ended the search before. Constraints cut branches as soon as they
cannot be kept, and the mass that they cut is counted, so the probability that they hold of themselves comes out as well.

The distribution is that of a denoiser with a deterministic order, whose chain rule is exact (DUEL, arXiv 2603.01367).
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from clover_engine.canvas import Canvas
from clover_engine.feasibility import Feasibility, Guard
from clover_engine.filling import Filling, Layout, Scores, moves, read_scores
from clover_engine.models.base import ModelAdapter, PrefixState
from clover_engine.tree import BlockRead, Node, children, close

DIVES = 8
"""Ways followed to their end when a search that its budget stopped has found nothing complete."""


class NoAssignmentError(ValueError):
    """The search ended without an assignment that keeps the constraints. `exhausted`: there is none at all."""

    def __init__(self, exhausted: bool) -> None:
        self.exhausted = exhausted
        super().__init__("no assignment keeps the constraints" if exhausted else "no assignment that keeps the constraints was found")


@dataclass(frozen=True)
class Budget:
    """When a search may stop.

    rows: blocks read at most (a pass reads up to `width` at once), besides the first way to something complete; when they are spent and
        nothing complete was found, likely fillings are followed one by one until something is.
    unread: the search goes on, within `rows`, until no more than this share of the probability is unread; 1 stops as soon as the best
        assignment is known to be the best, 0 reads everything.
    """

    rows: int
    unread: float = 1.0
    width: int = 16


@dataclass(frozen=True)
class Assignment:
    """A value's tokens (no padding) for every slot, and log P of them all, constraints not imposed."""

    tokens: tuple[tuple[int, ...], ...]
    log_probability: float


@dataclass(frozen=True)
class JointRead:
    """What a search found.

    best: the most probable assignment, with its commits; log probabilities in it are conditional on the constraints, piece by piece.
    assignments: all that were completed, most probable first. kept: their total probability. broken: that of what
    constraints exclude. unread: the rest, neither completed nor excluded.
    """

    best: BlockRead
    assignments: tuple[Assignment, ...]
    kept: float
    broken: float
    unread: float
    exact: bool
    optimal: bool
    rows: int
    passes: int


@dataclass
class _Search:
    """The state of one search."""

    layout: Layout
    guard: Guard
    threshold: float
    queue: list[tuple[float, int, Node]] = field(default_factory=list)
    serial: Iterator[int] = field(default_factory=itertools.count)
    leaves: list[Node] = field(default_factory=list)
    broken: float = 0.0
    cut: float = 0.0
    rows: int = 0
    passes: int = 0

    def push(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if self.layout.open(node.filling):
                heapq.heappush(self.queue, (-node.log_probability, next(self.serial), node))
            else:
                self.leaves.append(node)

    def pop(self, count: int) -> list[Node]:
        return [heapq.heappop(self.queue)[2] for _ in range(min(count, len(self.queue)))]

    @property
    def optimal(self) -> bool:
        best = max((leaf.log_probability for leaf in self.leaves), default=-math.inf)
        # What was cut at a position is less probable than everything that was kept there, but not than the best leaf.
        bound = max(-self.queue[0][0] if self.queue else -math.inf, math.log(self.cut) if self.cut > 0 else -math.inf)
        return bool(self.leaves) and best >= bound

    @property
    def unread(self) -> float:
        return self.cut + sum(math.exp(-cost) for cost, _, _ in self.queue)

    def done(self, budget: Budget) -> bool:
        if not self.queue:
            return True
        kept = sum(math.exp(leaf.log_probability) for leaf in self.leaves)
        return self.optimal and self.unread <= budget.unread * (kept + self.unread)


def search(
    adapter: ModelAdapter[Any],
    state: PrefixState,
    canvas: Canvas,
    budget: Budget,
    *,
    threshold: float,
    oracle: Feasibility | None = None,
    seed: int = 0,
) -> JointRead:
    """Read the joint distribution of one canvas over the one row of `state`.

    Args:
        threshold: as in `denoise`; slots that are surer are read in one pass. 1 reads one piece at a time.

    Raises:
        EmptyLanguageError: a slot has no legal value. NoAssignmentError: nothing was found that the oracle allows.
    """
    layout = Layout.of(canvas, adapter)
    run = _Search(layout, Guard(layout, oracle, adapter.spec.pad_id), threshold)
    run.push([Node(layout.start())])
    # The way that `denoise` goes first, so that no effort ends with a worse answer than that, and the search has something to beat.
    _dive(run, adapter, state, seed)
    while not run.done(budget) and run.rows < budget.rows:
        _read(run, adapter, state, run.pop(min(budget.width, budget.rows - run.rows)), seed)
    for _ in range(DIVES):
        _dive(run, adapter, state, seed)
    if not run.leaves:
        raise NoAssignmentError(exhausted=not run.queue and run.cut == 0.0)
    return _result(run, adapter)


def _read(run: _Search, adapter: ModelAdapter[Any], state: PrefixState, nodes: Sequence[Node], seed: int) -> Node | None:
    """One pass over some nodes; their children join the search. Returns where the last of them leads by the likeliest way, if that is
    not complete."""
    blocks = [run.layout.ids(node.filling) for node in nodes]
    noisy = adapter.noise([ids for ids, _ in blocks], [masked for _, masked in blocks], seed)
    hidden = adapter.encode_block(state.select([0] * len(nodes)), noisy)
    run.rows, run.passes = run.rows + len(nodes), run.passes + 1
    following: Node | None = None
    for node, states in zip(nodes, hidden, strict=True):
        following = _expand(run, node, read_scores(adapter, run.layout, node.filling, states), states)
    return following


def _expand(run: _Search, node: Node, scores: Scores, hidden: torch.Tensor) -> Node | None:
    found = children(run.layout, node, moves(run.layout, node.filling, scores, run.threshold), run.guard, hidden)
    run.broken, run.cut = run.broken + found.broken, run.cut + found.cut
    run.push(found.nodes)
    # All moves as they are likeliest if constraints allow it, else the way that goes along with most of them.
    best = max(found.nodes, key=lambda child: (len(child.taken), child.log_probability), default=None)
    return best if best is not None and run.layout.open(best.filling) else None


def _dive(run: _Search, adapter: ModelAdapter[Any], state: PrefixState, seed: int) -> None:
    """From the most probable filling along the likeliest way to its end, unless something complete is known or nothing is left."""
    if run.leaves or not run.queue:
        return
    node: Node | None = run.pop(1)[0]
    while node is not None and not run.leaves:
        node = _read(run, adapter, state, [node], seed)
        if node is not None:
            run.queue = [entry for entry in run.queue if entry[2] is not node]
            heapq.heapify(run.queue)


def _result(run: _Search, adapter: ModelAdapter[Any]) -> JointRead:
    leaves = sorted(run.leaves, key=lambda leaf: (-leaf.log_probability, leaf.filling))
    kept = sum(math.exp(leaf.log_probability) for leaf in leaves)
    pad = adapter.spec.pad_id
    assignments = tuple(Assignment(_values(leaf.filling, pad), leaf.log_probability) for leaf in leaves)
    exact = not run.queue and run.cut == 0.0
    best = close(run.layout, leaves[0], adapter)
    return JointRead(best, assignments, kept, run.broken, run.unread, exact, run.optimal, run.rows, run.passes)


def _values(filling: Filling, pad: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(t for t in tokens if t != pad) for tokens in filling)
