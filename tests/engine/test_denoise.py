"""Denoising over planted models: what is committed when, and that later answers see earlier ones."""

from __future__ import annotations

import math

import pytest

from clover_engine.canvas import Canvas, CanvasError, Slot, SlotTemplate, build_canvas
from clover_engine.constraint.builders import trie
from clover_engine.denoise import denoise
from clover_engine.engine import ContextError, Engine, RowRequest
from clover_engine.joint import Budget, search
from clover_engine.models.base import ModelAdapter
from clover_engine.prefix_cache import PrefixCache
from clover_engine.tokenizer import Tokenizer
from tests.engine.fakes import PAD, PlantedAdapter, RecurrentAdapter

A, B, C, X, Y = 1, 2, 3, 4, 5
TWO = Canvas((0, 0, 0, 0), (Slot(1, 1, trie([[A], [B], [C]])), Slot(3, 1, trie([[X], [Y]]))))


def logs(**p: float) -> dict[int, float]:
    names = {"a": A, "b": B, "c": C, "x": X, "y": Y}
    return {names[k]: math.log(v) for k, v in p.items()}


def coupled(block: list[int], position: int) -> dict[int, float]:
    """p(A,x) = .34, p(B,y) = .33, p(C,y) = .33: the favourites of the two marginals never occur together."""
    if position == 1:
        return {X: logs(a=1.0), Y: logs(b=0.5, c=0.5)}.get(block[3], logs(a=0.34, b=0.33, c=0.33))
    if position == 3:
        return {A: logs(x=1.0), B: logs(y=1.0), C: logs(y=1.0)}.get(block[1], logs(x=0.34, y=0.66))
    return {}


def test_one_pass_reads_marginals_that_contradict_each_other() -> None:
    adapter = PlantedAdapter(coupled)
    read = denoise(adapter, adapter.empty(), [TWO], one_pass=True)[0]
    assert [slot.tokens for slot in read.slots] == [(A,), (Y,)]
    assert read.steps == 1


def test_denoising_commits_the_sure_answer_first_and_reads_the_other_after_it() -> None:
    adapter = PlantedAdapter(coupled)
    read = denoise(adapter, adapter.empty(), [TWO])[0]
    assert [slot.tokens for slot in read.slots] == [(B,), (Y,)]
    assert [(c.step, c.slot, c.token) for c in read.commits] == [(1, 1, Y), (2, 0, B)]
    # Chain rule: p(y) p(B | y) = .66 · .5, exactly the joint probability of (B, y).
    assert math.isclose(math.exp(read.log_probability), 0.33, rel_tol=1e-6)
    assert read.slots[0].choices[0] == pytest.approx({A: 0.0, B: 0.5, C: 0.5}, abs=1e-9)


def test_everything_above_the_threshold_is_committed_at_once() -> None:
    sure = PlantedAdapter(lambda _, p: {1: logs(a=0.97, b=0.03), 3: logs(x=0.96, y=0.04)}.get(p, {}))
    assert denoise(sure, sure.empty(), [TWO], threshold=0.95)[0].steps == 1
    assert denoise(sure, sure.empty(), [TWO], threshold=0.98)[0].steps == 2


def test_a_slot_is_filled_from_left_to_right() -> None:
    """How a value begins is settled before how it ends, however sure the model is of its end."""
    legal = [[A, C], [B, C], [A, X], [B, X]]
    canvas = Canvas((0, 0, 0), (Slot(1, 2, trie(legal)),))

    def ends_in(block: list[int], position: int) -> dict[int, float]:
        if position == 1:
            return logs(a=0.6, b=0.4)
        # Once the first token is known, so is the second: X goes with A.
        return {A: logs(x=1.0), B: logs(c=1.0)}.get(block[1], logs(c=0.99, x=0.01)) if position == 2 else {}

    adapter = PlantedAdapter(ends_in)
    read = denoise(adapter, adapter.empty(), [canvas])[0]
    assert [(c.step, c.position, c.token) for c in read.commits] == [(1, 0, A), (2, 1, X)]


def test_coverage_is_the_raw_mass_on_legal_tokens() -> None:
    elsewhere = {1: {A: math.log(0.1), 9: math.log(0.9)}, 3: logs(x=0.5, y=0.5)}
    adapter = PlantedAdapter(lambda _, p: elsewhere.get(p, {}))
    read = denoise(adapter, adapter.empty(), [TWO])[0]
    assert read.slots[0].coverage == pytest.approx(0.1, abs=1e-6)
    assert math.exp(read.slots[0].log_probability) == pytest.approx(1.0)
    assert read.slots[1].coverage == pytest.approx(1.0, abs=1e-6)


def test_finished_rows_leave_the_batch() -> None:
    one = Canvas((0, 0), (Slot(1, 1, trie([[A], [B]])),))
    adapter = PlantedAdapter(lambda block, p: coupled(block, p) if len(block) > 2 else logs(a=0.9, b=0.1))
    reads = denoise(adapter, adapter.branch(adapter.empty(), [(), (), ()]), [one, TWO, one])
    assert adapter.seen == [3, 1]
    assert [read.steps for read in reads] == [1, 2, 1]


def test_values_shorter_than_the_slot_are_padded_and_separators_cost_no_pass() -> None:
    strings = [[A], [B, 7, C]]
    canvas = Canvas((0, 0, 0, 0), (Slot(1, 3, trie(strings)),))
    short = PlantedAdapter(lambda _, p: {1: logs(a=1.0), 2: {PAD: 0.0}, 3: {PAD: 0.0}}.get(p, {}))
    read = denoise(short, short.empty(), [canvas])[0]
    assert read.slots[0].tokens == (A,) and read.ids[1:] == (A, PAD, PAD)
    fixed = Canvas((0, 0, 0, 0), (Slot(1, 3, trie([[A, 7, C], [B, 7, C]])),))
    read = denoise(short, short.empty(), [fixed])[0]
    assert read.slots[0].tokens == (A, 7, C)
    assert [c.position for c in read.commits] == [0]


def test_tokens_of_one_slot_always_form_a_legal_value() -> None:
    # Position by position the model prefers A then C, which is no value at all.
    adapter = PlantedAdapter(lambda _, p: {1: logs(a=0.9, b=0.1), 2: logs(c=0.9, x=0.1)}.get(p, {}))
    canvas = Canvas((0, 0, 0), (Slot(1, 2, trie([[A, X], [B, C]])),))
    for one_pass in (True, False):
        read = denoise(adapter, adapter.empty(), [canvas], one_pass=one_pass)[0]
        assert read.slots[0].tokens in {(A, X), (B, C)}


def test_a_model_without_a_mask_token_gets_seeded_noise() -> None:
    # Position 3 copies whatever noise stands at position 1 of the block.
    adapter = PlantedAdapter(lambda block, p: {1: logs(a=0.5, b=0.5), 3: logs(x=0.9, y=0.1)}.get(p, {}), mask_id=None)
    assert isinstance(adapter, ModelAdapter)
    first, again = (denoise(adapter, adapter.empty(), [TWO], seed=5)[0] for _ in range(2))
    assert first == again
    assert adapter.noise([[0, 0, 0, 0]], [[1, 3]], 1) != adapter.noise([[0, 0, 0, 0]], [[1, 3]], 2)


def test_a_recurrent_family_fits_with_state_snapshots() -> None:
    adapter = RecurrentAdapter()
    assert isinstance(adapter, ModelAdapter)
    piecewise = adapter.branch(adapter.extend(adapter.extend(adapter.empty(), [1, 2]), [3]), [(4,), (5, 6)])
    whole = adapter.branch(adapter.extend(adapter.empty(), [1, 2, 3]), [(4,), (5, 6)])
    together = denoise(adapter, piecewise, [TWO, TWO])
    assert together == denoise(adapter, whole, [TWO, TWO])
    for r, row in enumerate([(4,), (5, 6)]):
        state = adapter.branch(adapter.extend(adapter.empty(), [1, 2, 3]), [row])
        assert denoise(adapter, state, [TWO])[0].slots == together[r].slots


def test_the_prefix_cache_remembers_and_evicts(tokenizer: Tokenizer) -> None:
    adapter = PlantedAdapter(coupled)
    cache = PrefixCache(adapter, 2)
    for ids in ([1], [2], [1], [3], [2]):
        assert cache.state(ids).length == 1
    assert (cache.hits, cache.misses) == (1, 4)
    cache.check_integrity()
    assert PrefixCache(adapter, 0).state([1, 2]).length == 2


def test_a_row_that_does_not_fit_the_context_is_refused(tokenizer: Tokenizer) -> None:
    engine = Engine(PlantedAdapter(coupled), tokenizer)
    with pytest.raises(ContextError, match="600 tokens are needed, the model's context holds 512"):
        engine.run([1] * 590, [RowRequest((1,) * 6, TWO)])


def test_more_rows_than_a_pass_takes_run_in_turns(tokenizer: Tokenizer) -> None:
    adapter = PlantedAdapter(coupled)
    reads = Engine(adapter, tokenizer).run([1], [RowRequest((r % 7,), TWO) for r in range(40)])
    assert len(reads) == 40 and max(adapter.seen) == 16


def test_canvas_boundaries_are_checked_on_the_filled_template(tokenizer: Tokenizer) -> None:
    yes = tuple(tokenizer.encode(" yes"))
    good = SlotTemplate("1:", "\n", trie([yes]), 1, yes)
    canvas = build_canvas([good, SlotTemplate("2:", "\n", trie([yes]), 1, yes)], tokenizer, 32)
    assert [slot.start for slot in canvas.slots] == [2, 6]
    with pytest.raises(CanvasError, match="boundaries"):
        build_canvas([SlotTemplate("1:y", "s\n", trie([yes]), 1, tuple(tokenizer.encode("e")))], tokenizer, 32)
    with pytest.raises(CanvasError, match="allows 6"):
        build_canvas([good, good], tokenizer, 6)


def test_likely_strings_are_favoured_by_log_odds_where_they_could_be_left() -> None:
    """Pieces a or b, then x or y; (b, y) is likely. The favoured token's odds grow by e^2 at each piece while the string is followed."""
    odds = math.exp(2.0)
    adapter = PlantedAdapter(lambda _, p: {1: logs(a=0.7, b=0.3), 2: logs(x=0.6, y=0.4)}.get(p, {}))
    slot = Slot(1, 2, trie([[A, X], [A, Y], [B, X], [B, Y]]), likely=((B, Y), (A, PAD)), favour=2.0)
    canvas = Canvas((0, 0, 0), (slot,))
    first, second = 0.3 * odds / (0.7 + 0.3 * odds), 0.4 * odds / (0.6 + 0.4 * odds)
    read = denoise(adapter, adapter.empty(), [canvas])[0]
    assert read.slots[0].tokens == (B, Y)
    assert math.isclose(math.exp(read.log_probability), first * second, rel_tol=1e-6)
    found = search(adapter, adapter.empty(), canvas, Budget(100, 0.0), threshold=1.0)
    shares = {a.tokens[0]: math.exp(a.log_probability) for a in found.assignments}
    expected = {(B, Y): first * second, (B, X): first * (1 - second), (A, X): (1 - first) * 0.6, (A, Y): (1 - first) * 0.4}
    assert found.exact and shares == pytest.approx(expected, abs=1e-6)
