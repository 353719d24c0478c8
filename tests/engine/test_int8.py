"""The network in 8-bit integers: exact where it says so, close to float32 where it rounds, and never dependent on company."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from clover_decide import Decider, load_pack
from clover_engine.engine import load_engine
from clover_engine.folder import SHIPPED
from clover_engine.kernels.int8_linear import matmul, reference
from clover_engine.models.base import Call, ModelSpec
from clover_engine.models.int8 import Int8Embedding, fill_int8
from clover_engine.models.llama import LlamaBlockDiffusion
from clover_engine.models.llama_adapter import LlamaAdapter
from clover_engine.quant import pack, unpack
from tests.conftest import random_model

pytestmark = pytest.mark.skipif(not matmul.exact(), reason="integer products overflow on this processor, so int8 is refused")


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


def bfloat16_adapter(model: LlamaBlockDiffusion, spec: ModelSpec) -> LlamaAdapter:
    return LlamaAdapter(model.to(torch.bfloat16), spec)


@pytest.mark.parametrize("make", [int8_adapter, bfloat16_adapter])
def test_a_row_does_not_depend_on_its_company_to_the_last_bit(make: Callable[[LlamaBlockDiffusion, ModelSpec], LlamaAdapter]) -> None:
    adapter = make(random_model(5, hidden=96), SPEC)
    state = adapter.extend(adapter.empty(), range(30, 130))
    blocks = [[(17 * r + i) % 3000 for i in range(length)] for r, length in enumerate((24, 24, 9, 40, 24))]
    asking = [list(range(500, 500 + length)) for length in (12, 12, 30, 0, 5)]
    together = adapter.encode_block(adapter.branch(state, asking), blocks)
    for own, block, expected in zip(asking, blocks, together, strict=True):
        assert torch.equal(adapter.encode_block(adapter.branch(state, [own]), [block])[0][1:], expected[1:])
    # Nor on the calls of others that share the pass.
    calls = [Call("encode_block", adapter.branch(state, [own]), [block]) for own, block in zip(asking, blocks, strict=True)]
    for (found,), expected in zip(adapter.many(calls), together, strict=True):
        assert torch.equal(found[1:], expected[1:])


def test_a_state_holds_its_keys_and_values_and_nothing_else() -> None:
    adapter = int8_adapter(random_model(5, hidden=96), SPEC)
    state = adapter.branch(adapter.extend(adapter.empty(), range(30, 60)), [range(5), range(9)])
    for held in (state.shared_keys, state.shared_values, state.own_keys, state.own_values):
        for tensor in held:
            assert tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()


def test_weights_that_do_not_fit_the_config_are_refused() -> None:
    model = random_model(1, hidden=96)
    stored = pack(model.state_dict())
    missing = {name: tensor for name, tensor in stored.items() if not name.startswith("layers.1.down")}
    other = {**stored, "norm": torch.ones(7)}
    unknown = {**stored, "layers.9.out.weight": torch.ones(48, 48)}
    for broken, told in ((missing, "layers.1.down.weight"), (other, r"norm has the shape \(7,\)"), (unknown, "layers.9.out.weight")):
        with pytest.raises(ValueError, match=told):
            fill_int8(LlamaBlockDiffusion(model.config, blank=True), broken)


def test_what_auto_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    from clover_decide import ModelError
    from clover_decide.loading import _chosen

    for able, processor, exact, expected in (
        ({"avx512_bf16": True}, "x86_64", True, "bfloat16"),
        ({"amx_bf16": True}, "x86_64", False, "bfloat16"),
        ({"avx512_bf16": False}, "x86_64", True, "int8"),
        ({}, "AMD64", False, "float32"),
        ({}, "arm64", True, "float32"),
    ):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda able=able: able, raising=False)
        monkeypatch.setattr("platform.machine", lambda processor=processor: processor)
        monkeypatch.setattr(matmul, "exact", lambda exact=exact: exact)
        assert _chosen("cpu") == _chosen("cpu:0") == expected
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert _chosen("cpu") == "float32" and _chosen("mps") == "float32"
    # Products that overflow would be answers that are wrong without a word.
    monkeypatch.setattr(matmul, "exact", lambda: False)
    with pytest.raises(ModelError, match="VNNI"):
        Decider("clover-mini", dtype="int8")
    with pytest.raises(ModelError, match=r"unknown dtype.*auto, int8, bfloat16, float32"):
        Decider("clover-mini", dtype="float16")


def test_a_decision_in_integers_is_that_of_float32_within_rounding(mini: Decider) -> None:
    pack = load_pack("contract")
    whole = Decider("clover-mini", dtype="int8", calibration=None)
    for mode in ("joint", "independent"):
        near, exact = (d.decide(pack.example, pack.questions, mode=mode) for d in (whole, mini))
        again = whole.decide(pack.example, pack.questions, mode=mode)
        assert {key: (a.value, a.probability) for key, a in again.answers.items()} == {
            key: (a.value, a.probability) for key, a in near.answers.items()
        }
        assert sum(abs(near[key].probability - exact[key].probability) for key in near.answers) / len(near.answers) < 0.1


def test_the_shipped_model_in_integers() -> None:
    engine = load_engine(SHIPPED / "clover-mini", dtype="int8")
    assert engine.dtype == "int8"
    table = engine.adapter.model.embedding  # pyright: ignore[reportAttributeAccessIssue]
    assert isinstance(table, Int8Embedding)
    # 8 bits on disk are 8 bits in memory: nothing is rounded twice.
    from safetensors.torch import load_file

    assert torch.equal(table.weight, load_file(SHIPPED / "clover-mini" / "model.safetensors")["embedding.weight.q8"])
