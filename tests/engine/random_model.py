"""A model of random features over a real vocabulary: cheap, and every distribution depends on all that is visible."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from clover_engine.models.base import ModelSpec
from tests.engine.fakes import PlantedAdapter, TokenState


class RandomFeatures(PlantedAdapter):
    """Hidden states are seeded by the visible block; logits are their products with a fixed random table."""

    def __init__(self, seed: int, spec: ModelSpec, sharpness: float = 3.0) -> None:
        super().__init__(lambda _, __: {})
        self.spec, self._seed, self._sharpness = spec, seed, sharpness
        self._table = torch.randn(spec.vocab_size, 8, generator=torch.Generator().manual_seed(7))

    def encode_block(self, state: TokenState, blocks: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        out: list[torch.Tensor] = []
        for own, block in zip(state.own, blocks, strict=True):
            seed = hash((self._seed, (*state.shared, *own), tuple(block))) % 2**31
            out.append(torch.randn(len(block), 8, generator=torch.Generator().manual_seed(seed)) * self._sharpness)
        return out

    def noise(self, blocks: Sequence[Sequence[int]], masked: Sequence[Sequence[int]], seed: int) -> list[list[int]]:
        mask = self.spec.mask_id
        assert mask is not None
        return [[mask if p in set(m) else t for p, t in enumerate(b)] for b, m in zip(blocks, masked, strict=True)]

    def head(self, hidden: torch.Tensor, allowed: torch.Tensor | None = None) -> torch.Tensor:
        return hidden @ (self._table if allowed is None else self._table[allowed]).T
