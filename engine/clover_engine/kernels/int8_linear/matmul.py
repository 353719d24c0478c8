"""The operation of `reference.py` by torch's 8-bit matrix product, which uses the integer instructions of the processor (oneDNN)."""

from __future__ import annotations

import functools

import torch

from clover_engine.kernels.int8_linear.reference import LEVELS, round_rows, round_twice


@functools.cache
def exact() -> bool:
    """Whether this processor's integer products are. Those without VNNI instructions add pairs of products in 16 bits, which overflow."""
    most = torch.full((16, 64), LEVELS, dtype=torch.int8)
    return bool((torch.ops.aten._int_mm(most, most.t()) == LEVELS * LEVELS * 64).all())


def int8_linear(x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, *, twice: bool = False) -> torch.Tensor:
    """Arguments and result as in `reference.int8_linear`."""
    terms = round_twice(x) if twice else [round_rows(x)]
    products = [torch.ops.aten._int_mm(rounded, weight.t()) * row_scales for rounded, row_scales in terms]
    return functools.reduce(torch.add, products).mul_(scales)
