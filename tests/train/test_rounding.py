"""Rounding that makes up for its errors: on a grid, and closer than the nearest grid point where inputs go together."""

from __future__ import annotations

import torch

from clover_engine.quant import GROUP, dequantise_4bit, quantise_4bit
from clover_train.rounding import rounded


def inputs(columns: int, seed: int) -> torch.Tensor:
    """Rows of inputs that mostly go together, as those of a language model do."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(400, 3, generator=generator) @ torch.randn(3, columns, generator=generator) + 0.02 * torch.randn(
        400, columns, generator=generator
    )


def lost(weight: torch.Tensor, other: torch.Tensor, x: torch.Tensor) -> float:
    return (x @ (weight - other).T).square().sum().item()


def test_a_small_update_of_rounded_weights_survives() -> None:
    for seed in range(3):
        generator = torch.Generator().manual_seed(100 + seed)
        before = dequantise_4bit(*quantise_4bit(torch.randn(48, 4 * GROUP, generator=generator)))
        after = before + 0.02 * torch.randn(48, 4 * GROUP, generator=generator)
        x = inputs(4 * GROUP, seed)
        nearest = dequantise_4bit(*quantise_4bit(after))
        kept = rounded(after, x.T @ x)
        update = lost(after, before, x)
        assert lost(after, nearest, x) > 0.8 * update, seed
        assert lost(after, kept, x) < 0.5 * update, seed
        # What is stored is what was rounded, but for its scales.
        assert lost(after, dequantise_4bit(*quantise_4bit(kept)), x) < 0.55 * update, seed


def test_every_group_has_at_most_sixteen_values() -> None:
    weight, x = torch.randn(8, 2 * GROUP, generator=torch.Generator().manual_seed(1)), inputs(2 * GROUP, 1)
    for row in rounded(weight, x.T @ x).view(8, 2, GROUP).flatten(0, 1):
        assert len(row.unique()) <= 16


def test_inputs_that_never_vary_do_no_harm() -> None:
    weight = torch.randn(8, GROUP, generator=torch.Generator().manual_seed(2))
    moment = torch.zeros(GROUP, GROUP)
    moment[0, 0] = 1e6
    assert torch.isfinite(rounded(weight, moment)).all()
