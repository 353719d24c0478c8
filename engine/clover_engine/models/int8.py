"""The network with its matrices in 8-bit integers, for CPUs: a quarter of the memory of float32 and a multiple of its speed.

What lies between the matrix products (norms, attention, the residual stream) stays in float32.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

from clover_engine.kernels.int8_linear.matmul import int8_linear
from clover_engine.kernels.int8_linear.reference import round_rows
from clover_engine.models.llama import LlamaBlockDiffusion
from clover_engine.quant import fitting, tensors

TWICE = ("qkv", "down")
"""Layers whose inputs are rounded twice: at a position of clover-mini the largest is 13 times their root mean square (elsewhere 6
and 8), and hidden states came out 0.06 off those of float32 instead of 0.11, at 1.4 times the products (bfloat16: 0.02; all layers
twice: 0.03)."""


class Int8Linear(nn.Module):
    """A linear layer without bias. Buffers: weight int8 (out, in), scales (out,)."""

    weight: torch.Tensor
    scales: torch.Tensor

    def __init__(self, weight: torch.Tensor, twice: bool) -> None:
        super().__init__()
        self.twice = twice
        # What stays is allocated before what goes: else it would lie between holes of four times its size.
        self.register_buffer("weight", torch.empty(weight.shape, dtype=torch.int8))
        rounded, scales = round_rows(weight)
        self.weight.copy_(rounded)
        self.register_buffer("scales", scales[:, 0].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        return int8_linear(flat, self.weight, self.scales, twice=self.twice).view(*x.shape[:-1], -1)


class Int8Embedding(nn.Module):
    """An embedding that is the output matrix too. Buffers: weight int8 (vocab, hidden), scales (vocab,)."""

    weight: torch.Tensor
    scales: torch.Tensor

    def __init__(self, levels: torch.Tensor, scales: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("weight", levels)
        self.register_buffer("scales", scales)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.weight[ids] * self.scales[ids][..., None]

    def head(self, hidden: torch.Tensor, allowed: torch.Tensor | None) -> torch.Tensor:
        """Logits as `kernels.allowed_head` has them."""
        weight, scales = (self.weight, self.scales) if allowed is None else (self.weight[allowed], self.scales[allowed])
        return int8_linear(hidden, weight, scales)


def fill_int8(model: LlamaBlockDiffusion, stored: Mapping[str, torch.Tensor]) -> None:
    """Give a blank model the weights of a file, one tensor at a time.

    Raises:
        ValueError: tensors are missing, unknown, or not as the network needs them.
    """
    for name, tensor in fitting(tensors(stored), model):
        owner, _, leaf = name.rpartition(".")
        parent, _, child = owner.rpartition(".")
        if leaf != "weight":
            setattr(model.get_submodule(owner), leaf, nn.Parameter(tensor))
        elif child == "embedding":
            levels, scales = round_rows(tensor)
            model.add_module("embedding", Int8Embedding(levels, scales[:, 0]))
        else:
            setattr(model.get_submodule(parent), child, Int8Linear(tensor, child in TWICE))
