"""Rounding weights to 4 bits so that what layers compute stays, by what they see in training (GPTQ, arXiv 2210.17323).

Nearest rounding loses what training did: most updates are smaller than half a step of the grid that the weights stood on before. Here
the error of every column is made up for by the columns that are not rounded yet, as far as their inputs go together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from clover_engine.models.llama import LlamaBlockDiffusion
from clover_engine.quant import GROUP, quantise_4bit
from clover_train.packing import Batch

DAMPING = 0.01
"""Share of the mean of the diagonal that is added to it: inputs that never vary must not be divided by."""


@torch.inference_mode()
def second_moments(model: LlamaBlockDiffusion, batches: Sequence[Batch]) -> dict[str, torch.Tensor]:
    """Sum of x x^T over the inputs of every linear layer, (in, in) by the name of its weight."""
    found: dict[str, torch.Tensor] = {}

    def watch(name: str) -> torch.utils.hooks.RemovableHandle:
        def hook(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            x = inputs[0].reshape(-1, inputs[0].shape[-1]).float()
            found[name] = found.get(name, torch.zeros(x.shape[1], x.shape[1])) + x.T @ x

        return model.get_submodule(name.removesuffix(".weight")).register_forward_pre_hook(hook)

    linear = [f"{name}.weight" for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)]
    handles = [watch(name) for name in linear]
    for batch in batches:
        with torch.autocast("cpu", torch.bfloat16):
            model.packed(batch.ids, batch.positions, batch.parts)
    for handle in handles:
        handle.remove()
    return found


def rounded(weight: torch.Tensor, moment: torch.Tensor) -> torch.Tensor:
    """A weight (out, in) on a 4-bit grid in groups of 32: `quant.pack` stores it as it is."""
    left, out = weight.float().clone(), torch.empty_like(weight, dtype=torch.float32)
    inverse = _inverse_factor(moment.double())
    for start in range(0, left.shape[1], GROUP):
        end = start + GROUP
        _, scales = quantise_4bit(left[:, start:end])
        scale = scales.float()[:, 0]
        safe = torch.where(scale == 0, torch.ones_like(scale), scale)
        errors = torch.empty(left.shape[0], GROUP)
        for column in range(start, end):
            value = left[:, column]
            out[:, column] = (value / safe).round().clamp(-8, 7) * scale
            error = (value - out[:, column]) / inverse[column, column]
            errors[:, column - start] = error
            left[:, column:end] -= error[:, None] * inverse[column, column:end]
        left[:, end:] -= errors @ inverse[start:end, end:]
    return out


def _inverse_factor(moment: torch.Tensor) -> torch.Tensor:
    """The upper Cholesky factor of the inverse, damped as much as it takes: a few inputs are far larger than the rest."""
    added = DAMPING * moment.diagonal().mean()
    while True:
        lower, failed = torch.linalg.cholesky_ex(moment + added * torch.eye(len(moment), dtype=moment.dtype))
        if not failed:
            return torch.linalg.cholesky(torch.cholesky_inverse(lower), upper=True).float()
        added = added * 10


def round_all(state: Mapping[str, torch.Tensor], moments: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The state with every linear weight rounded."""
    return {name: rounded(tensor, moments[name]) if name in moments else tensor for name, tensor in state.items()}
