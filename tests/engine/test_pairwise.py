"""Pairwise dependence against a joint table, and against the definition on a model without one."""

from __future__ import annotations

import math

import pytest

from clover_engine.canvas import Canvas, Slot
from clover_engine.constraint.builders import trie
from clover_engine.pairwise import pairs
from tests.engine.fakes import PlantedAdapter

CANVAS = Canvas((0, 0, 0, 0, 0, 0), (Slot(1, 1, trie([[1], [2]])), Slot(3, 1, trie([[3], [4]])), Slot(4, 2, trie([[5, 6], [6, 5]]))))


def planted(table: dict[tuple[int, int], float]) -> PlantedAdapter:
    """A model whose marginals and conditionals are those of a joint table over the first two slots."""

    def rule(block: list[int], position: int) -> dict[int, float]:
        if position not in (1, 3):
            return {5: 0.0, 6: 0.0}
        mine, other = (0, block[3]) if position == 1 else (1, block[1])
        shares: dict[int, float] = {}
        for values, p in table.items():
            if other not in (3, 4, 1, 2) or values[1 - mine] == other:
                shares[values[mine]] = shares.get(values[mine], 0.0) + p
        return {token: math.log(p) for token, p in shares.items() if p > 0}

    return PlantedAdapter(rule)


def test_a_joint_table_gives_its_mutual_information_and_no_gap() -> None:
    table = {(1, 3): 0.4, (1, 4): 0.1, (2, 3): 0.2, (2, 4): 0.3}
    expected = sum(p * math.log(p / ((0.5) * (0.6 if b == 3 else 0.4))) for (_, b), p in table.items())
    adapter = planted(table)
    found = pairs(adapter, adapter.empty(), CANVAS)
    # The slot of two tokens has no part in it.
    assert [(pair.first, pair.second) for pair in found] == [(0, 1)]
    assert found[0].information == pytest.approx(expected, abs=1e-6) and found[0].gap == pytest.approx(0.0, abs=1e-6)
    assert sum(adapter.seen) == 1 + 4


def test_independent_slots_have_no_information() -> None:
    table = {(a, b): p * q for a, p in ((1, 0.7), (2, 0.3)) for b, q in ((3, 0.2), (4, 0.8))}
    adapter = planted(table)
    found = pairs(adapter, adapter.empty(), CANVAS)
    assert found[0].information == pytest.approx(0.0, abs=1e-6) and found[0].gap == pytest.approx(0.0, abs=1e-6)


def test_conditionals_that_belong_to_no_joint_distribution_show_a_gap() -> None:
    """The second slot follows the first, the first does not care about the second."""

    def rule(block: list[int], position: int) -> dict[int, float]:
        if position == 1:
            return {1: 0.0, 2: 0.0}
        if position == 3:
            return {1: {3: 0.0, 4: -30.0}, 2: {3: -30.0, 4: 0.0}}.get(block[1], {3: 0.0, 4: 0.0})
        return {5: 0.0, 6: 0.0}

    adapter = PlantedAdapter(rule)
    # p(b) p(a|b) = 1/4 everywhere, p(a) p(b|a) = 1/2 or 0.
    assert pairs(adapter, adapter.empty(), CANVAS)[0].gap == pytest.approx(0.25, abs=1e-6)
