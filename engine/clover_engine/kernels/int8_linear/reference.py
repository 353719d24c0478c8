"""A linear layer in 8-bit integers, both sides scaled row by row.

The specification of the operation, in plain torch. Sums of integers are exact, so a position's result does not depend on what else is
in the batch, to the last bit.
"""

from __future__ import annotations

import functools

import torch

LEVELS = 127
"""Largest integer that is used; -128 has no counterpart."""


def round_rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x (n, h) float -> int8 (n, h) and float scales (n, 1): the largest of each row becomes ±127 (absmax rounding, LLM.int8(),
    arXiv 2208.07339)."""
    scales = x.abs().amax(-1, keepdim=True).div_(LEVELS).clamp_min_(torch.finfo(x.dtype).tiny)
    return (x / scales).round_().to(torch.int8), scales


def round_twice(x: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """x (n, h) as the sum of two rounded tensors: what the first rounding left lies within half of its level, and is rounded again."""
    first, scales = round_rows(x)
    finer = scales / (2 * LEVELS)
    second = ((x - first * scales) / finer).round_().clamp_(-LEVELS, LEVELS).to(torch.int8)
    return [(first, scales), (second, finer)]


def int8_linear(x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, *, twice: bool = False) -> torch.Tensor:
    """x (n, in) float times int8 weight (out, in) with a scale a row (out,): (n, out) in the dtype of x.

    `twice` rounds x twice, for inputs whose largest values are far from the rest.
    """
    terms = round_twice(x) if twice else [round_rows(x)]
    products = [(rounded.long() @ weight.long().t()).to(x.dtype) * row_scales for rounded, row_scales in terms]
    return functools.reduce(torch.add, products) * scales
