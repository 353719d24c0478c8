"""Exact inference over a lattice under a product of per-position token distributions.

`scores` is always a float64 array (length, len(lattice.allowed)) of log weights, -inf where a committed position rules a
token out. Per-position normalisation does not matter: it cancels in every quantity returned here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clover_engine.constraint.automaton import Ints, Lattice

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LatticeRead:
    """log_z: log weight of the whole language. best: allowed-column index per position of the most likely string.
    best_log: its log weight. marginals: (length, allowed) exact probabilities of each token at each position."""

    log_z: float
    best: Ints
    best_log: float
    marginals: Floats


def read(lattice: Lattice, scores: Floats) -> LatticeRead:
    """Forward-backward and Viterbi in O(length · edges)."""
    length = len(lattice.layers)
    forward = _start(lattice)
    value = _start(lattice)
    alphas, choices = [forward], list[Ints]()
    for i, layer in enumerate(lattice.layers):
        step = scores[i, lattice.columns[i]]
        forward = _segment_logsumexp(alphas[-1][layer.sources] + step, layer.targets, lattice.states)
        alphas.append(forward)
        reached = value[layer.sources] + step
        value = np.full(lattice.states, -np.inf)
        np.maximum.at(value, layer.targets, reached)
        choices.append(_argmax_edges(reached, value, layer.targets, lattice.states))
    log_z = float(_logsumexp(forward))
    best = _trace(lattice, value, choices)
    marginals = np.zeros((length, len(lattice.allowed)))
    beta = np.where(np.isfinite(forward), 0.0, -np.inf)
    for i in range(length - 1, -1, -1):
        layer = lattice.layers[i]
        through = scores[i, lattice.columns[i]] + beta[layer.targets]
        np.add.at(marginals[i], lattice.columns[i], np.exp(alphas[i][layer.sources] + through - log_z))
        beta = _segment_logsumexp(through, layer.sources, lattice.states)
    return LatticeRead(log_z, best, float(value.max()), marginals)


def log_z(lattice: Lattice, scores: Floats) -> float:
    """Log weight of all strings: the forward pass alone."""
    forward = _start(lattice)
    for i, layer in enumerate(lattice.layers):
        forward = _segment_logsumexp(forward[layer.sources] + scores[i, lattice.columns[i]], layer.targets, lattice.states)
    return float(_logsumexp(forward))


def _start(lattice: Lattice) -> Floats:
    start = np.full(lattice.states, -np.inf)
    start[0] = 0.0
    return start


def _trace(lattice: Lattice, value: Floats, choices: list[Ints]) -> Ints:
    state = int(value.argmax())
    best = np.zeros(len(lattice.layers), dtype=np.int64)
    for i in range(len(lattice.layers) - 1, -1, -1):
        edge = choices[i][state]
        best[i] = lattice.columns[i][edge]
        state = int(lattice.layers[i].sources[edge])
    return best


def _argmax_edges(reached: Floats, value: Floats, targets: Ints, states: int) -> Ints:
    """For each state the first edge that attains its value (deterministic under ties)."""
    winners = np.flatnonzero(reached == value[targets])[::-1]
    choice = np.zeros(states, dtype=np.int64)
    choice[targets[winners]] = winners
    return choice


def _segment_logsumexp(values: Floats, index: Ints, size: int) -> Floats:
    peak = np.full(size, -np.inf)
    np.maximum.at(peak, index, values)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    total = np.zeros(size)
    np.add.at(total, index, np.exp(values - safe[index]))
    with np.errstate(divide="ignore"):
        return np.log(total) + safe


def _logsumexp(values: Floats) -> float:
    peak = values.max()
    return float(peak + np.log(np.exp(values - peak).sum())) if np.isfinite(peak) else float("-inf")
