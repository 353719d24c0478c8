"""Quantised weights: the format round-trips, and the error stays where 4 and 8 bits put it."""

from __future__ import annotations

import torch

from clover_engine.quant import GROUP, dequantise_4bit, pack, quantise_4bit, unpack


def test_values_on_the_grid_survive_exactly() -> None:
    torch.manual_seed(0)
    scale = torch.tensor([0.5, 0.25])
    levels = torch.randint(-8, 8, (2, 2 * GROUP)).float()
    levels[:, ::GROUP] = -8
    weight = levels * scale[:, None]
    torch.testing.assert_close(dequantise_4bit(*quantise_4bit(weight)), weight)


def test_the_chosen_scale_is_no_worse_than_plain_rounding() -> None:
    torch.manual_seed(1)
    weight = torch.randn(64, 8 * GROUP) * 0.02
    error = (dequantise_4bit(*quantise_4bit(weight)) - weight).square().mean()
    groups = weight.view(64, -1, GROUP)
    plain_scale = groups.abs().amax(2, keepdim=True) / 7
    plain = ((groups / plain_scale).round() * plain_scale - groups).square().mean()
    assert error < plain
    assert error.sqrt() < 0.12 * weight.std()


def test_zero_groups_stay_zero() -> None:
    assert torch.equal(dequantise_4bit(*quantise_4bit(torch.zeros(3, GROUP))), torch.zeros(3, GROUP))


def test_a_packed_state_has_the_same_names_shapes_and_nearly_the_same_values() -> None:
    torch.manual_seed(2)
    state = {"embedding.weight": torch.randn(40, 64), "layers.0.qkv.weight": torch.randn(96, 64), "norm": torch.rand(64)}
    restored = unpack(pack(state))
    assert {k: v.shape for k, v in restored.items()} == {k: v.shape for k, v in state.items()}
    assert torch.equal(restored["norm"], state["norm"])
    assert (restored["embedding.weight"] - state["embedding.weight"]).abs().max() < 0.02
