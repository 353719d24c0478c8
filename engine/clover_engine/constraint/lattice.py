"""Exact inference over a lattice under a product of per-position token distributions.

`scores` is always a float64 array (length, len(lattice.allowed)) of log weights, -inf where a committed position rules a
token out. Per-position normalisation does not matter: it cancels in every
probability made of these weights.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clover_engine.constraint.automaton import Ints, Lattice

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ahead:
    """What lies ahead of each state, before each layer and after the last: (length + 1, states) arrays.

    mass: log weight of all ways to complete the string from there. best: that of the likeliest one.
    """

    mass: Floats
    best: Floats


def ahead(lattice: Lattice, scores: Floats) -> Ahead:
    """The backward pass: with it, log P(next token | prefix) and the best completion can be read at any prefix."""
    length = len(lattice.layers)
    mass = np.full((length + 1, lattice.states), -np.inf)
    best = np.full((length + 1, lattice.states), -np.inf)
    mass[length] = best[length] = 0.0
    for i in range(length - 1, -1, -1):
        layer, step = lattice.layers[i], scores[i, lattice.columns[i]]
        mass[i] = _segment_logsumexp(step + mass[i + 1][layer.targets], layer.sources, lattice.states)
        np.maximum.at(best[i], layer.sources, step + best[i + 1][layer.targets])
    return Ahead(mass, best)


def k_best(lattice: Lattice, scores: Floats, following: Ahead, count: int) -> list[tuple[tuple[int, ...], float]]:
    """The `count` likeliest strings as allowed-column indices with their log weights, best first (Lawler 1972).

    Best-first search over prefixes, each valued at its weight so far plus that of its best completion, so the first string
    to be completed is the best, the next one the second best, and so on. O(count · length · edges at a state).
    """
    completion = following.best
    serial = itertools.count()
    queue: list[tuple[float, int, int, int, tuple[int, ...], float]] = [(-completion[0, 0], next(serial), 0, 0, (), 0.0)]
    found: list[tuple[tuple[int, ...], float]] = []
    while queue and len(found) < count:
        _, _, at, state, string, weight = heapq.heappop(queue)
        if at == len(lattice.layers):
            found.append((string, weight))
            continue
        for edge in lattice.leaving(at, state):
            column = int(lattice.columns[at][edge])
            target = int(lattice.layers[at].targets[edge])
            reached = weight + float(scores[at, column])
            bound = reached + float(completion[at + 1, target])
            if np.isfinite(bound):
                heapq.heappush(queue, (-bound, next(serial), at + 1, target, (*string, column), reached))
    return found


def _segment_logsumexp(values: Floats, index: Ints, size: int) -> Floats:
    peak = np.full(size, -np.inf)
    np.maximum.at(peak, index, values)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    total = np.zeros(size)
    np.add.at(total, index, np.exp(values - safe[index]))
    with np.errstate(divide="ignore"):
        return np.log(total) + safe
