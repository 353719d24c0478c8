"""Lattice inference against enumeration of every path."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest

from clover_engine.constraint import lattice as exact
from clover_engine.constraint.automaton import EmptyLanguageError, Lattice, TokenAutomaton

CASES = 500


def random_automaton(rng: random.Random) -> TokenAutomaton:
    states, tokens = rng.randint(1, 5), rng.randint(1, 4)
    table = {(s, t): rng.randrange(states) for s, t in product(range(states), range(tokens)) if rng.random() < 0.6}
    finals = [s for s in range(states) if rng.random() < 0.5]
    return TokenAutomaton.from_edges(states, [(s, t, d) for (s, t), d in table.items()], finals)


def paths(lattice: Lattice) -> list[tuple[int, ...]]:
    """Every filling, as columns of `allowed`."""
    found = [(0, ())]
    for layer, columns in zip(lattice.layers, lattice.columns, strict=True):
        edges = list(zip(layer.sources.tolist(), columns.tolist(), layer.targets.tolist(), strict=True))
        found = [(d, (*string, c)) for state, string in found for s, c, d in edges if s == state]
    return [string for _, string in found]


def test_against_enumeration_of_random_automata() -> None:
    checked = 0
    for seed in range(CASES):
        rng = random.Random(seed)
        automaton, length = random_automaton(rng), rng.randint(1, 4)
        try:
            lattice = automaton.unroll(length, pad_id=99)
        except EmptyLanguageError:
            continue
        strings = paths(lattice)
        assert len(strings) == len(set(strings)), seed
        scores = np.random.default_rng(seed).normal(0, 3, (length, len(lattice.allowed)))
        if rng.random() < 0.5:
            # Commit one position to a token that some string has there.
            position, string = rng.randrange(length), rng.choice(strings)
            keep = np.arange(scores.shape[1]) == string[position]
            scores[position] = np.where(keep, scores[position], -np.inf)
        weights = {s: sum(scores[i, c] for i, c in enumerate(s)) for s in strings}
        following = exact.ahead(lattice, scores)
        total = np.logaddexp.reduce(list(weights.values()))
        assert math.isclose(following.mass[0, 0], total, abs_tol=1e-9), seed
        assert math.isclose(following.best[0, 0], max(weights.values()), abs_tol=1e-9), seed
        ranked = sorted(((w, s) for s, w in weights.items() if np.isfinite(w)), reverse=True)
        found = exact.k_best(lattice, scores, following, 5)
        assert [w for _, w in found] == [pytest.approx(w, abs=1e-9) for w, _ in ranked[:5]], seed
        assert all(math.isclose(weights[string], w, abs_tol=1e-9) for string, w in found), seed
        _check_prefixes(lattice, scores, weights, following, seed)
        checked += 1
    assert checked > CASES / 2


def _check_prefixes(
    lattice: Lattice, scores: exact.Floats, weights: Mapping[tuple[int, ...], float], following: exact.Ahead, seed: int
) -> None:
    """A prefix's own weight and the mass ahead of where it leads are the mass of all strings that begin so."""
    for prefix in {string[:length] for string in weights for length in range(len(string) + 1)}:
        state = lattice.state_after([int(lattice.allowed[c]) for c in prefix])
        assert state is not None, seed
        begun = np.logaddexp.reduce([w for string, w in weights.items() if string[: len(prefix)] == prefix])
        own = sum(scores[i, c] for i, c in enumerate(prefix))
        assert math.isclose(own + following.mass[len(prefix), state], begun, abs_tol=1e-9) or not np.isfinite(begun), seed
    assert lattice.state_after([98]) is None
