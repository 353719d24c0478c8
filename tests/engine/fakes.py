"""Adapters whose answers are planted, and toy families that differ from Llama in every convention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from clover_engine.models.base import Call, ModelSpec, Pointer

VOCAB, MASK, PAD = 24, 22, 23


@dataclass(frozen=True)
class TokenState:
    """A prefix remembered as its tokens."""

    shared: tuple[int, ...] = ()
    own: tuple[tuple[int, ...], ...] = ((),)

    @property
    def length(self) -> int:
        return len(self.shared)

    @property
    def rows(self) -> int:
        return len(self.own)

    def select(self, rows: Sequence[int]) -> TokenState:
        return TokenState(self.shared, tuple(self.own[r] for r in rows))


class PlantedAdapter:
    """`rule(block, position)` gives the logits of a position, as {token: logit}; everything else is -30.

    Hidden states are the logits themselves. `seen` records the batch size of every pass.
    """

    device = torch.device("cpu")
    dtype = torch.float32

    def __init__(self, rule: Callable[[list[int], int], dict[int, float]], *, mask_id: int | None = MASK) -> None:
        self.rule = rule
        self.spec = ModelSpec("planted", VOCAB, 512, PAD, mask_id)
        self.seen: list[int] = []

    def empty(self) -> TokenState:
        return TokenState()

    def extend(self, state: TokenState, ids: Sequence[int]) -> TokenState:
        return TokenState((*state.shared, *ids))

    def branch(self, state: TokenState, rows: Sequence[Sequence[int]]) -> TokenState:
        return TokenState(state.shared, tuple(tuple(row) for row in rows))

    def encode_block(self, state: TokenState, blocks: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        self.seen.append(len(blocks))
        out = []
        for block in blocks:
            logits = torch.full((len(block), VOCAB), -30.0)
            for p in range(len(block)):
                for token, value in self.rule(list(block), p).items():
                    logits[p, token] = value
            out.append(logits)
        return out

    def many(self, calls: Sequence[Call[Any]]) -> list[Any]:
        return [getattr(self, c.kind)(c.state, c.rows[0] if c.kind == "extend" else c.rows) for c in calls]

    def noise(self, blocks: Sequence[Sequence[int]], masked: Sequence[Sequence[int]], seed: int) -> list[list[int]]:
        if self.spec.mask_id is not None:
            return [[MASK if p in m else t for p, t in enumerate(b)] for b, m in zip(blocks, masked, strict=True)]
        generator = torch.Generator().manual_seed(seed)
        filled = []
        for block, hidden in zip(blocks, masked, strict=True):
            draws = torch.randint(0, 20, (len(block),), generator=generator).tolist()
            filled.append([draws[p] if p in hidden else t for p, t in enumerate(block)])
        return filled

    def attention(
        self, state: TokenState, block: Sequence[int], positions: Sequence[int], spans: Sequence[tuple[int, int]], pointer: Pointer
    ) -> torch.Tensor:
        raise AssertionError("a planted model has no pointer")

    def head(self, hidden: torch.Tensor, allowed: torch.Tensor | None = None) -> torch.Tensor:
        return hidden if allowed is None else hidden[:, allowed]


@dataclass(frozen=True)
class RecurrentState:
    """Snapshots only: a running vector after the shared prefix and one a row. It cannot be cropped or inspected."""

    length: int
    shared: torch.Tensor
    own: tuple[torch.Tensor, ...]

    @property
    def rows(self) -> int:
        return len(self.own)

    def select(self, rows: Sequence[int]) -> RecurrentState:
        return RecurrentState(self.length, self.shared, tuple(self.own[r] for r in rows))


class RecurrentAdapter(PlantedAdapter):
    """A linear-recurrent hybrid in miniature: s <- 0.9 s + e(token); a block position reads s plus the block's mean."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(lambda _, __: {})
        generator = torch.Generator().manual_seed(seed)
        self.embedding = torch.randn(VOCAB, VOCAB, generator=generator)

    def _advance(self, vector: torch.Tensor, ids: Sequence[int]) -> torch.Tensor:
        for token in ids:
            vector = 0.9 * vector + self.embedding[token]
        return vector

    def empty(self) -> RecurrentState:  # pyright: ignore[reportIncompatibleMethodOverride]
        zero = torch.zeros(VOCAB)
        return RecurrentState(0, zero, (zero,))

    def extend(self, state: RecurrentState, ids: Sequence[int]) -> RecurrentState:  # pyright: ignore[reportIncompatibleMethodOverride]
        vector = self._advance(state.shared, ids)
        return RecurrentState(state.length + len(ids), vector, (vector,))

    def branch(self, state: RecurrentState, rows: Sequence[Sequence[int]]) -> RecurrentState:  # pyright: ignore[reportIncompatibleMethodOverride]
        return RecurrentState(state.length, state.shared, tuple(self._advance(state.shared, row) for row in rows))

    def encode_block(self, state: RecurrentState, blocks: Sequence[Sequence[int]]) -> list[torch.Tensor]:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.seen.append(len(blocks))
        out = []
        for vector, block in zip(state.own, blocks, strict=True):
            tokens = self.embedding[torch.tensor(list(block))]
            out.append(tokens + tokens.mean(0) + vector + torch.arange(len(block))[:, None] * self.embedding[0])
        return out
