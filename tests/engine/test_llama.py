"""The network: cached equals uncached, rows equal single rows, training pass equals inference pass."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

from clover_decide import Decider
from clover_engine.models.llama import LlamaBlockDiffusion, Part
from clover_engine.models.llama_adapter import LlamaAdapter
from clover_engine.tokenizer import Tokenizer
from tests.conftest import MASK, make_engine


def adapter_of(decider: Decider) -> LlamaAdapter:
    adapter = decider._engine.adapter
    assert isinstance(adapter, LlamaAdapter)
    return adapter


def uncached(model: LlamaBlockDiffusion, prefix: list[int], own: list[int], block: list[int]) -> torch.Tensor:
    """One whole sequence through plain masked attention, nothing remembered."""
    ids = torch.tensor([prefix + own + block])
    total, start = ids.shape[1], len(prefix) + len(own)
    mask = torch.ones(total, total, dtype=torch.bool).tril()
    mask[start:, start:] = True
    with torch.inference_mode():
        return model.packed(ids, torch.arange(total)[None], [Part(mask[None, None])])[0, start:]


def draw(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(20, 40_000) for _ in range(count)]


def assert_same_reading(adapter: LlamaAdapter, hidden: torch.Tensor, expected: torch.Tensor) -> None:
    """Hidden states within 1e-4 of their norm, and every token probability within 1e-4.

    Element by element would measure float32 rounding of a trained network's few huge activations, not the cache.
    """
    assert (hidden - expected).norm(dim=-1).div(expected.norm(dim=-1)).max() < 1e-4
    difference = torch.softmax(adapter.head(hidden), -1) - torch.softmax(adapter.head(expected), -1)
    assert difference.abs().max() < 1e-4


@pytest.mark.parametrize("seed", range(4))
def test_cached_equals_uncached(any_decider: Decider, seed: int) -> None:
    adapter, rng = adapter_of(any_decider), random.Random(seed)
    prefix, rows = draw(rng, rng.randint(5, 60)), [draw(rng, rng.randint(0, 9)) for _ in range(3)]
    mask = any_decider._engine.tokenizer.special(MASK)
    blocks = [[mask if rng.random() < 0.5 else t for t in draw(rng, rng.randint(2, 20))] for _ in range(3)]
    # The prefix is prefilled in two pieces: extending a state is the same as prefilling at once.
    cut = rng.randrange(1, len(prefix))
    state = adapter.extend(adapter.extend(adapter.empty(), prefix[:cut]), prefix[cut:])
    branched = adapter.branch(state, rows)
    branched.check_integrity()
    together = adapter.encode_block(branched, blocks)
    for r, (own, block) in enumerate(zip(rows, blocks, strict=True)):
        expected = uncached(adapter.model, prefix, own, block)
        if adapter.spec.shift:
            together_r, expected = together[r][1:], expected[:-1]
        else:
            together_r = together[r]
        assert_same_reading(adapter, together_r, expected)
        alone = adapter.encode_block(branched.select([r]), [block])[0]
        assert_same_reading(adapter, together[r][1:], alone[1:])


def test_packing_in_parts_equals_whole_sequences(random_decider: Decider) -> None:
    """Two branches after a shared prefix, packed side by side, read as each would alone."""
    model, rng = adapter_of(random_decider).model, random.Random(5)
    prefix, branches = draw(rng, 9), [draw(rng, 6), draw(rng, 4)]
    ids = torch.tensor([prefix + branches[0] + branches[1]])
    where = torch.tensor([[*range(9), *range(9, 15), *range(9, 13)]])
    full = torch.ones(19, 19, dtype=torch.bool).tril()
    parts = [Part(full[None, None, :9, :9]), *(Part(full[None, None, 9 : 9 + n, : 9 + n], sees=0) for n in (6, 4))]
    with torch.inference_mode():
        packed = model.packed(ids, where, parts)[0]
        for branch, start in zip(branches, (9, 15), strict=True):
            n = 9 + len(branch)
            alone = model.packed(torch.tensor([prefix + branch]), torch.arange(n)[None], [Part(full[None, None, :n, :n])])[0]
            torch.testing.assert_close(packed[start : start + len(branch)], alone[9:], atol=1e-5, rtol=1e-5)


def test_a_block_sees_all_of_itself_and_the_prefix_sees_nothing_later(random_decider: Decider) -> None:
    adapter = adapter_of(random_decider)
    state = adapter.extend(adapter.empty(), [100, 200, 300])
    longer = adapter.extend(state, [400])
    # Causal prefix: what was computed for the first tokens does not change when more follow.
    torch.testing.assert_close(longer.shared_keys[-1][:, :3], state.shared_keys[-1], atol=1e-6, rtol=1e-5)
    # Bidirectional block: changing the last token changes the first position.
    one = adapter.encode_block(state, [[5000, 6000, 7000]])[0]
    two = adapter.encode_block(state, [[5000, 6000, 8000]])[0]
    assert (one[1] - two[1]).abs().max() > 1e-3


def test_a_block_causal_prefix_sees_whole_blocks(tokenizer: Tokenizer) -> None:
    """The SDAR convention: a prefix position sees its own block and all earlier ones; the grid starts at position 0."""
    base = adapter_of(Decider.from_engine(make_engine(tokenizer)))
    adapter = LlamaAdapter(base.model, replace(base.spec, prefix_attention="block_causal", grid=4, shift=False))
    prefix, block = draw(random.Random(1), 12), draw(random.Random(2), 4)
    state = adapter.extend(adapter.extend(adapter.empty(), prefix[:4]), prefix[4:])
    hidden = adapter.encode_block(state, [block])[0]
    ids, where = torch.tensor([prefix + block]), torch.arange(16)
    mask = where[None, :] // 4 <= where[:, None] // 4
    with torch.inference_mode():
        expected = adapter.model.packed(ids, where[None], [Part(mask[None, None])])[0, 12:]
    torch.testing.assert_close(hidden, expected, atol=1e-4, rtol=1e-4)
    with pytest.raises(AssertionError, match="whole blocks"):
        adapter.extend(adapter.empty(), prefix[:5])


def test_without_the_shift_a_position_predicts_itself(tokenizer: Tokenizer) -> None:
    shifted, plain = (adapter_of(Decider.from_engine(make_engine(tokenizer, shift=flag))) for flag in (True, False))
    state = plain.extend(plain.empty(), [100, 200])
    one, other = shifted.encode_block(state, [[7, 8, 9]])[0], plain.encode_block(state, [[7, 8, 9]])[0]
    torch.testing.assert_close(one[1:], other[:-1])
