"""Continuous batching: several threads, one model, the answers that each would get alone."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from clover_decide import Boolean, Choice, Decider, InputError, Integer
from clover_engine.batching import BatchingAdapter
from clover_engine.models.base import Call
from tests.conftest import make_engine
from tests.engine.test_llama import adapter_of, assert_same_reading, draw

QUESTIONS = {
    "timely": Boolean("Was the notice timely?"),
    "days": Integer("How many days?", maximum=999),
    "who": Choice("Who gave it?", options=("Ines", "Otis", "Wilma")),
}
MATERIALS = [f"Notice {i} was given by Ines {20 + i} days before the end." + " It was long." * i for i in range(6)]


@pytest.mark.parametrize("seed", range(4))
def test_calls_of_different_kinds_and_lengths_share_a_pass(any_decider: Decider, seed: int) -> None:
    adapter, rng = adapter_of(any_decider), random.Random(seed)
    states = [adapter.extend(adapter.empty(), draw(rng, rng.randint(1, 40))) for _ in range(3)]
    rows = [[draw(rng, rng.randint(1, 12)) for _ in range(rng.randint(1, 3))] for _ in states]
    branched = [adapter.branch(state, own) for state, own in zip(states, rows, strict=True)]
    calls: list[Call[Any]] = [Call("encode_block", state, [draw(rng, 9) for _ in own]) for state, own in zip(branched, rows, strict=True)]
    calls += [
        Call("extend", adapter.empty(), [draw(rng, 30)]),
        Call("branch", states[0], [draw(rng, 5), ()]),
        Call("extend", states[1], [()]),
    ]
    together = adapter.many(calls)
    for call, read in zip(calls[:3], together, strict=False):
        for own, alone in zip(read, adapter.encode_block(call.state, call.rows), strict=True):
            assert_same_reading(adapter, own, alone)
    for call, state in zip(calls[3:], together[3:], strict=True):
        alone = getattr(adapter, call.kind)(call.state, call.rows[0] if call.kind == "extend" else call.rows)
        state.check_integrity()
        assert (state.length, state.rows, state.own_lengths) == (alone.length, alone.rows, alone.own_lengths)
        block = [draw(rng, 7) for _ in range(state.rows)]
        for own, expected in zip(adapter.encode_block(state, block), adapter.encode_block(alone, block), strict=True):
            assert_same_reading(adapter, own, expected)


@pytest.mark.parametrize("effort", ["standard", "fast", "thorough"])
@pytest.mark.parametrize("mode", ["joint", "independent"])
def test_answers_do_not_depend_on_what_shares_a_batch(tokenizer: Any, mode: Any, effort: Any) -> None:
    alone, shared = Decider.from_engine(make_engine(tokenizer)), Decider.from_engine(make_engine(tokenizer), batch=4)
    expected = [alone.decide(m, QUESTIONS, mode=mode, effort=effort) for m in MATERIALS]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda m: shared.decide(m, QUESTIONS, mode=mode, effort=effort), MATERIALS))
    for one, other in zip(expected, found, strict=True):
        assert one.values() == other.values()
        assert one.probability == pytest.approx(other.probability, abs=1e-4)


def test_passes_are_shared_and_none_is_lost(tokenizer: Any) -> None:
    passes: list[int] = []
    decider = Decider.from_engine(make_engine(tokenizer, cached=0))
    adapter = BatchingAdapter(decider.engine.adapter, lambda calls, tokens, seconds: passes.append(calls))
    start, rng = threading.Barrier(5), random.Random(0)

    def ask(ids: Sequence[int]) -> int:
        with adapter.session():
            start.wait()
            return adapter.extend(adapter.empty(), ids).length

    texts = [draw(rng, n) for n in (3, 9, 27, 5, 11)]
    with ThreadPoolExecutor(5) as pool:
        assert list(pool.map(ask, texts)) == [3, 9, 27, 5, 11]
    assert sum(passes) == 5 and max(passes) > 1


def test_a_call_that_fails_fails_alone(tokenizer: Any) -> None:
    engine = make_engine(tokenizer)
    adapter, start = BatchingAdapter(engine.adapter), threading.Barrier(3)

    def ask(token: int) -> int:
        with adapter.session():
            start.wait()
            return adapter.extend(adapter.empty(), [token]).length

    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(ask, token) for token in (5, 10**9, 7)]
        assert futures[0].result() == futures[2].result() == 1
        with pytest.raises(IndexError):
            futures[1].result()


@pytest.mark.parametrize("batch", [1, 4])
def test_a_check_ends_a_call_and_the_next_one_goes_on(tokenizer: Any, batch: int) -> None:
    decider = Decider.from_engine(make_engine(tokenizer), batch=batch)

    def gone() -> None:
        raise TimeoutError("gone")

    with pytest.raises(TimeoutError):
        decider.decide("A text.", QUESTIONS, check=gone)
    assert decider.decide("A text.", QUESTIONS).values()


def test_watch_tells_every_commit_as_it_happens(any_decider: Decider) -> None:
    for options in ({}, {"mode": "independent"}, {"effort": "fast"}, {"effort": "thorough"}, {"rules": "days >= 5"}):
        told: list[Any] = []
        decision = any_decider.decide(MATERIALS[0], QUESTIONS, watch=told.append, **options)
        assert sorted(told, key=repr) == sorted(decision.trace, key=repr)


@pytest.mark.parametrize("batch", [0, 65, True, "4"])
def test_a_bad_batch_is_refused(tokenizer: Any, batch: Any) -> None:
    with pytest.raises(InputError, match="batch: out of range"):
        Decider.from_engine(make_engine(tokenizer), batch=batch)
