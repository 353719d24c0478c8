"""The network in 8-bit integers: exact where it says so, close to float32 where it rounds, and never dependent on company."""

from __future__ import annotations

import pytest
import torch

from clover_engine.engine import load_engine
from clover_engine.folder import SHIPPED
from clover_engine.kernels.int8_linear import matmul, reference
from clover_engine.models.base import ModelSpec
from clover_engine.models.int8 import Int8Embedding, fill_int8
from clover_engine.models.llama import LlamaBlockDiffusion
from clover_engine.models.llama_adapter import LlamaAdapter
from clover_engine.quant import pack, unpack
from tests.conftest import random_model


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 32, 8), (3, 96, 40), (24, 576, 960), (100, 64, 1)])
def test_the_fast_product_is_the_reference_to_the_last_bit(rows: int, inputs: int, outputs: int) -> None:
    torch.manual_seed(rows)
    weight, scales = reference.round_rows(torch.randn(outputs, inputs))
    x = torch.randn(rows, inputs) * 10.0 ** torch.randint(-3, 4, (rows, 1))
    for twice in (False, True):
        fast, plain = (kernel.int8_linear(x, weight, scales[:, 0], twice=twice) for kernel in (matmul, reference))
        assert torch.equal(fast, plain)


def test_rounding_twice_is_finer_by_two_orders() -> None:
    torch.manual_seed(1)
    x = torch.randn(20, 64) * torch.tensor([30.0, *[1.0] * 63])
    (first, scales), (second, finer) = reference.round_twice(x)
    assert ((first * scales + second * finer - x).abs() <= scales / 500).all()
    weight, of_rows = reference.round_rows(torch.randn(16, 64))
    exact = x @ (weight * of_rows).t()
    once, twice = ((matmul.int8_linear(x, weight, of_rows[:, 0], twice=t) - exact).norm() for t in (False, True))
    assert twice < once / 50


def test_rounding_is_off_by_half_a_level_at_most_and_zero_stays_zero() -> None:
    torch.manual_seed(0)
    x = torch.cat([torch.randn(50, 48), torch.zeros(1, 48)])
    rounded, scales = reference.round_rows(x)
    assert ((rounded * scales - x).abs() <= scales / 2 + 1e-7).all()
    assert rounded.abs().amax(1)[:-1].eq(127).all() and not rounded[-1].any()
    assert torch.isfinite(reference.int8_linear(x, rounded, scales[:, 0])).all()


def int8_adapter(model: LlamaBlockDiffusion, spec: ModelSpec) -> LlamaAdapter:
    empty = LlamaBlockDiffusion(model.config, blank=True)
    fill_int8(empty, pack(model.state_dict()))
    return LlamaAdapter(empty, spec)


SPEC = ModelSpec("random", 49152, 512, pad_id=0, mask_id=1, shift=True)


def test_hidden_states_and_logits_are_close_to_those_of_float32() -> None:
    model = random_model(3, hidden=96)
    lowered = int8_adapter(model, SPEC)
    model.load_state_dict(unpack(pack(model.state_dict())))
    plain = LlamaAdapter(model, SPEC)
    block = [list(range(200, 220))]
    exact, near = (a.encode_block(a.branch(a.extend(a.empty(), range(30, 90)), [()]), block)[0][1:] for a in (plain, lowered))
    assert (exact - near).abs().mean() < 0.1 * exact.abs().mean()
    allowed = torch.tensor([5, 900, 40_000])
    wanted = plain.head(exact, allowed)
    assert (lowered.head(exact, allowed) - wanted).abs().max() < 0.03 * wanted.abs().max()
    assert torch.equal(lowered.head(exact)[:, allowed], lowered.head(exact, allowed))


def test_a_row_does_not_depend_on_its_company_to_the_last_bit() -> None:
    adapter = int8_adapter(random_model(5, hidden=96), SPEC)
    state = adapter.extend(adapter.empty(), range(30, 130))
    blocks = [[(17 * r + i) % 3000 for i in range(24)] for r in range(5)]
    together = adapter.encode_block(adapter.branch(state, [()] * 5), blocks)
    for block, expected in zip(blocks, together, strict=True):
        assert torch.equal(adapter.encode_block(adapter.branch(state, [()]), [block])[0][1:], expected[1:])


def test_the_shipped_model_in_integers() -> None:
    engine = load_engine(SHIPPED / "clover-mini", dtype="int8")
    assert engine.dtype == "int8"
    table = engine.adapter.model.embedding  # pyright: ignore[reportAttributeAccessIssue]
    assert isinstance(table, Int8Embedding)
    # 8 bits on disk are 8 bits in memory: nothing is rounded twice.
    from safetensors.torch import load_file

    assert torch.equal(table.weight, load_file(SHIPPED / "clover-mini" / "model.safetensors")["embedding.weight.q8"])
