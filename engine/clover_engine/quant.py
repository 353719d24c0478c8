"""Weights on disk: 4-bit group-wise linear layers, 8-bit embeddings, half-precision scales.

A linear row is cut into groups of 32; each stores signed integers -8..7 and one scale, chosen among candidates by
squared error. An embedding row stores signed bytes and one scale. Norms stay in float32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import torch

GROUP = 32
_PART = 4096
_DIVISORS = [6.5 + i / 16 for i in range(33)]


def quantise_4bit(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """weight (out, in) -> packed uint8 (out, in / 2), low nibble first, and float16 scales (out, in / 32)."""
    groups = weight.float().view(weight.shape[0], -1, GROUP)
    peak = groups.gather(2, groups.abs().argmax(2, keepdim=True))
    # The extreme value may take the longer side of the asymmetric range -8..7.
    best = torch.full(groups.shape[:2], float("inf"))
    scales = torch.zeros(groups.shape[:2])
    for divisor in _DIVISORS:
        scale = (peak[..., 0] / -divisor).half().float()
        error = (_levels(groups, scale) * scale[..., None] - groups).square().sum(2)
        better = error < best
        best, scales = torch.where(better, error, best), torch.where(better, scale, scales)
    levels = (_levels(groups, scales) + 8).to(torch.uint8).view(weight.shape[0], -1)
    return levels[:, 0::2] | (levels[:, 1::2] << 4), scales.half()


def _levels(groups: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    safe = torch.where(scale == 0, torch.ones_like(scale), scale)
    return (groups / safe[..., None]).round().clamp(-8, 7)


def dequantise_4bit(packed: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """The float32 weight (out, in)."""
    out, half = packed.shape
    levels = torch.empty(out, half, 2, dtype=torch.int8)
    levels[..., 0], levels[..., 1] = packed & 15, packed >> 4
    return (levels.sub_(8).view(out, -1, GROUP) * scales.float()[..., None]).view(out, -1)


def quantise_8bit(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """weight (rows, n) -> int8 (rows, n) and float16 scales (rows,)."""
    scales = (weight.float().abs().amax(1) / 127).clamp_min(1e-8).half()
    return (weight.float() / scales.float()[:, None]).round().clamp(-127, 127).to(torch.int8), scales


def pack(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A model's state as what goes to disk."""
    out: dict[str, torch.Tensor] = {}
    for name, tensor in state.items():
        if name == "embedding.weight":
            out[f"{name}.q8"], out[f"{name}.scale"] = quantise_8bit(tensor)
        elif name.endswith(".weight"):
            out[f"{name}.q4"], out[f"{name}.scale"] = quantise_4bit(tensor)
        else:
            out[name] = tensor.float()
    return {name: tensor.contiguous() for name, tensor in out.items()}


def dequantise_8bit(levels: torch.Tensor, scales: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The weight (rows, n)."""
    out = torch.empty(levels.shape, dtype=dtype)
    # A part at a time: embeddings are large, and need not be held in float32 on the way to a shorter type.
    for part in range(0, len(levels), _PART):
        rows = slice(part, part + _PART)
        out[rows] = levels[rows] * scales[rows].float()[:, None]
    return out


def tensors(stored: Mapping[str, torch.Tensor], dtype: torch.dtype = torch.float32) -> Iterator[tuple[str, torch.Tensor]]:
    """The inverse of `pack`, one tensor after another: a whole model in float32 need not be held.

    Raises:
        ValueError: a tensor is of another type, has no scales, or holds numbers that are not finite.
    """
    for name, tensor in stored.items():
        kind = {".q4": torch.uint8, ".q8": torch.int8}.get(name[-3:])
        if kind is not None and (tensor.dtype != kind or name[:-3] + ".scale" not in stored):
            raise ValueError(f"{name} is {tensor.dtype}, or has no scales; accepted: {kind} and {name[:-3]}.scale")
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise ValueError(f"{name} holds numbers that are not finite")
        if name.endswith(".q4"):
            yield name[:-3], dequantise_4bit(tensor, stored[name[:-3] + ".scale"]).to(dtype)
        elif name.endswith(".q8"):
            yield name[:-3], dequantise_8bit(tensor, stored[name[:-3] + ".scale"], dtype)
        elif not name.endswith(".scale"):
            yield name, tensor.to(dtype)


def fitting(made: Iterable[tuple[str, torch.Tensor]], model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors by name, passed on as they are the ones that a network needs.

    Raises:
        ValueError: one is missing, unknown or of another shape.
    """
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    for name, tensor in made:
        shape = expected.pop(name, None)
        if shape != tensor.shape:
            raise ValueError(f"{name} has the shape {tuple(tensor.shape)}; accepted: {shape or 'no such tensor'}")
        yield name, tensor
    if expected:
        raise ValueError(f"{', '.join(expected)} missing")


def unpack(stored: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The inverse of `pack`, in float32."""
    return dict(tensors(stored))
