"""The tree of fillings: a node is a filling with how it came about, its children are what a pass allows next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from clover_engine.constraint import lattice as exact
from clover_engine.feasibility import Guard
from clover_engine.filling import Filling, Layout, Move, read_scores
from clover_engine.kernels.allowed_head.reference import log_mass
from clover_engine.models.base import ModelAdapter

Mask = npt.NDArray[np.bool_]

MOST_TOKENS = 256
"""Alternatives kept at a position; what further ones hold counts as not looked at."""
POSITIONS = 16
"""Positions whose whole distribution is held at once."""


@dataclass(frozen=True)
class Commit:
    """One committed position: when, where (position within the slot), what, and its probability then, among what was allowed."""

    step: int
    slot: int
    position: int
    token: int
    confidence: float


@dataclass(frozen=True)
class SlotRead:
    """What a slot holds in the end.

    `tokens` are the value's ids without padding. `log_probability` is log P(value | what was committed before, legal and
    allowed), the chain rule over commits. `choices` gives, per position, the distribution at the moment that
    position was committed. `coverage` is the smallest raw probability mass the model put on legal tokens at a
    position when it was committed; a low one means the model wanted to say something else. `candidates`, where asked for, are
    the likeliest strings of the slot under the first pass that it was committed in, with their probabilities then.
    """

    tokens: tuple[int, ...]
    log_probability: float
    choices: tuple[Mapping[int, float], ...]
    coverage: float
    candidates: tuple[tuple[tuple[int, ...], float], ...] = ()


@dataclass(frozen=True)
class BlockRead:
    """A filled block: final ids, its slots in order, the commits in order, and how many passes it took.

    `kept` is the probability that each committed piece keeps the constraints, multiplied along the way; 1 without any.
    """

    ids: tuple[int, ...]
    slots: tuple[SlotRead, ...]
    commits: tuple[Commit, ...]
    steps: int
    kept: float = 1.0

    @property
    def log_probability(self) -> float:
        return sum(slot.log_probability for slot in self.slots)


@dataclass(frozen=True, eq=False)
class Taken:
    """A token taken at a move. `allowed` masks the move's tokens that constraints leave."""

    move: Move
    index: int
    allowed: Mask

    @property
    def log_kept(self) -> float:
        return min(0.0, float(np.logaddexp.reduce(self.move.logs[self.allowed])))

    @property
    def log_probability(self) -> float:
        return min(0.0, float(self.move.logs[self.index]) - self.log_kept)

    def distribution(self) -> dict[int, float]:
        """Token -> probability among the allowed ones, the likeliest first."""
        logs = np.where(self.allowed, self.move.logs, -np.inf)
        order = [i for i in np.argsort(-logs, kind="stable")[:MOST_TOKENS] if np.isfinite(logs[i])]
        return {int(self.move.tokens[i]): math.exp(min(0.0, logs[i] - self.log_kept)) for i in order}


@dataclass(frozen=True, eq=False)
class Node:
    """A filling, log P of it (constraints not imposed), and its way here: the parent, what was taken there, the pass's states."""

    filling: Filling
    log_probability: float = 0.0
    parent: Node | None = None
    taken: tuple[Taken, ...] = ()
    hidden: torch.Tensor | None = None
    depth: int = 0

    def path(self) -> list[Node]:
        """From the first node after the root to this one."""
        nodes, node = list[Node](), self
        while node.parent is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]


@dataclass
class Children:
    """Nodes that a pass allows, the likeliest string's first, and the mass of what it does not: `broken` by constraints, `cut` unseen."""

    nodes: list[Node] = field(default_factory=list)
    broken: float = 0.0
    cut: float = 0.0


def children(layout: Layout, node: Node, made: Sequence[Move], guard: Guard, hidden: torch.Tensor) -> Children:
    """All ways to follow the moves of one pass: the likeliest token each time, or another one at one of them and nothing after it."""
    out = Children()
    filling, log_probability, taken = node.filling, node.log_probability, list[Taken]()
    for move in made:
        allowed, seen = _allowed(layout, filling, move, guard)
        mass = np.exp(log_probability + move.logs)
        out.broken += float(mass[seen & ~allowed].sum())
        order = [int(i) for i in np.argsort(-move.logs, kind="stable") if allowed[i] and mass[i] > 0.0]
        out.cut += float(mass[~seen].sum()) + float(mass[order[MOST_TOKENS:]].sum())
        for i in order[:MOST_TOKENS]:
            if i != move.best:
                grown = layout.extend(filling, move.slot, int(move.tokens[i]))
                path = (*taken, Taken(move, i, allowed))
                out.nodes.append(Node(grown, log_probability + float(move.logs[i]), node, path, hidden, node.depth + 1))
        if not allowed[move.best]:
            return out
        taken.append(Taken(move, move.best, allowed))
        filling = layout.extend(filling, move.slot, int(move.tokens[move.best]))
        log_probability += float(move.logs[move.best])
    out.nodes.insert(0, Node(filling, log_probability, node, tuple(taken), hidden, node.depth + 1))
    return out


def follow(layout: Layout, node: Node, made: Sequence[Move], guard: Guard, hidden: torch.Tensor) -> Node | None:
    """The likeliest way alone: each move's best token while constraints allow it, then the best allowed one. None at a dead end."""
    filling, log_probability, taken = node.filling, node.log_probability, list[Taken]()
    for move in made:
        allowed, _ = _allowed(layout, filling, move, guard)
        if not allowed.any():
            break
        index = move.best if allowed[move.best] else int(np.argmax(np.where(allowed, move.logs, -np.inf)))
        taken.append(Taken(move, index, allowed))
        filling = layout.extend(filling, move.slot, int(move.tokens[index]))
        log_probability += float(move.logs[index])
        if index != move.best:
            break
    return Node(filling, log_probability, node, tuple(taken), hidden, node.depth + 1) if taken else None


def _allowed(layout: Layout, filling: Filling, move: Move, guard: Guard) -> tuple[Mask, Mask]:
    """Which of a move's tokens the constraints allow, and which were looked at: the likeliest, until enough were and some is allowed."""
    count = len(move.tokens)
    allowed, seen = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    if guard.free(move.slot):
        return ~allowed, ~seen
    for rank, i in enumerate(np.argsort(-move.logs, kind="stable")):
        if rank >= MOST_TOKENS and allowed.any():
            break
        seen[i] = True
        allowed[i] = guard.alive(layout.extend(filling, move.slot, int(move.tokens[i])), move.slot)
    return allowed, seen


def commits_of(node: Node) -> list[Commit]:
    """What was committed on the way from a node's parent to it."""
    return [Commit(node.depth, t.move.slot, t.move.position, int(t.move.tokens[t.index]), math.exp(t.log_probability)) for t in node.taken]


def close(layout: Layout, leaf: Node, adapter: ModelAdapter[Any], candidates: int = 0) -> BlockRead:
    """The block that a complete filling stands for, with its way there and so many `candidates` a slot."""
    steps = [(node, taken) for node in leaf.path() for taken in node.taken]
    commits = [commit for node in leaf.path() for commit in commits_of(node)]
    ids, masked = layout.ids(leaf.filling)
    assert not masked, "an incomplete filling"
    masses = _masses(layout, steps, adapter)
    slots: list[SlotRead] = []
    for s, tokens in enumerate(leaf.filling):
        own = [step for step in steps if step[1].move.slot == s]
        coverage = min((mass for (_, taken), mass in zip(steps, masses, strict=True) if taken.move.slot == s), default=1.0)
        slots.append(_close_slot(layout, s, tokens, own, adapter, candidates, coverage))
    kept = math.exp(sum(taken.log_kept for _, taken in steps))
    return BlockRead(tuple(ids), tuple(slots), tuple(commits), max((c.step for c in commits), default=0), kept)


def _close_slot(
    layout: Layout,
    s: int,
    tokens: tuple[int, ...],
    steps: Sequence[tuple[Node, Taken]],
    adapter: ModelAdapter[Any],
    candidates: int,
    coverage: float,
) -> SlotRead:
    choices: dict[int, Mapping[int, float]] = {i: {token: 1.0} for i, token in enumerate(tokens)}
    choices |= {taken.move.position: taken.distribution() for _, taken in steps}
    value = tuple(t for t in tokens if t != adapter.spec.pad_id)
    log_probability = sum(taken.log_probability for _, taken in steps)
    ordered = tuple(choices[i] for i in range(len(tokens)))
    likely = _candidates(layout, s, steps[0][0], adapter, candidates) if candidates and steps else ()
    return SlotRead(value, log_probability, ordered, coverage, likely)


def _candidates(layout: Layout, s: int, first: Node, adapter: ModelAdapter[Any], count: int) -> tuple[tuple[tuple[int, ...], float], ...]:
    """The likeliest strings of a slot under the pass that first committed something in it."""
    assert first.parent is not None and first.hidden is not None
    lattice = layout.lattices[s]
    scores = read_scores(adapter, layout, first.parent.filling, first.hidden)[s]
    total = scores.ahead.mass[0, 0]
    found = exact.k_best(lattice, scores.logs, scores.ahead, count)
    strings = [(tuple(int(lattice.allowed[column]) for column in columns), math.exp(min(0.0, weight - total))) for columns, weight in found]
    return tuple((tuple(t for t in tokens if t != adapter.spec.pad_id), probability) for tokens, probability in strings)


def _masses(layout: Layout, steps: Sequence[tuple[Node, Taken]], adapter: ModelAdapter[Any]) -> list[float]:
    """Of every committed position, the model's raw probability of the tokens that were legal there.

    The whole vocabulary is multiplied, which takes as long for a few positions as for one, so they are taken together.
    """
    out: list[float] = []
    for at in range(0, len(steps), POSITIONS):
        some = steps[at : at + POSITIONS]
        hidden = torch.stack([_state(layout, *step) for step in some])
        logits = adapter.head(hidden)
        total = log_mass(logits, adapter.spec.mask_id)
        for row, (_, taken) in enumerate(some):
            lattice = layout.lattices[taken.move.slot]
            legal = torch.as_tensor(np.unique(lattice.layers[taken.move.position].tokens), device=hidden.device)
            out.append(min(1.0, float(torch.exp(torch.logsumexp(logits[row, legal], dim=-1) - total[row]))))
    return out


def _state(layout: Layout, node: Node, taken: Taken) -> torch.Tensor:
    """The hidden state that a committed position was read from."""
    assert node.hidden is not None, "a commit without its pass"
    return node.hidden[layout.canvas.slots[taken.move.slot].start + taken.move.position]
