"""The network: cached equals uncached, rows equal single rows, training pass equals inference pass."""

from __future__ import annotations

import random

import pytest
import torch

from clover_decide import Decider
from clover_engine.models.llama import LlamaBlockDiffusion
from clover_engine.models.llama_adapter import LlamaAdapter
from tests.conftest import MASK


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
        return model.packed(ids, torch.arange(total)[None], mask[None, None, 1:])[0, start:]


def draw(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(20, 40_000) for _ in range(count)]


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
        torch.testing.assert_close(together_r, expected, atol=1e-4, rtol=1e-4)
        alone = adapter.encode_block(branched.select([r]), [block])[0]
        torch.testing.assert_close(together[r], alone, atol=1e-4, rtol=1e-4)


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
