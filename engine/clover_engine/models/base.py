"""The adapter protocol every block-diffusion model family must fit.

The engine sees a model only through `ModelAdapter`. What differs between families lives in two places:

* `ModelSpec` states conventions as data: the mask token (or its absence), the in-block logit shift, how the
  prefix is attended, which block sizes were trained and where the block grid is anchored.
* `PrefixState` is opaque. An attention model keeps keys and values in it, a recurrent or convolutional hybrid keeps
  state snapshots; the engine only asks for its length and hands it back.

A state is immutable: `extend` and `branch` return new ones. That is what lets one prefilled material serve many
question sets, many rows and many denoising steps, and it is the only contract a recurrent family can keep cheaply
(a snapshot at a block boundary), since recurrent state cannot be cropped afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Pointer:
    """Attention heads of a layer that point to evidence, and the logistic function that reads them (see `pointing`)."""

    layer: int
    heads: tuple[int, ...]
    weights: tuple[float, float, float]
    bias: float

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Pointer:
        return cls(**{**config, "heads": tuple(config["heads"]), "weights": tuple(config["weights"])})


@dataclass(frozen=True)
class ModelSpec:
    """Facts about a model family that the engine has to know to lay out and read a block."""

    name: str
    vocab_size: int
    context: int
    """Largest number of prefix plus block positions."""
    pad_id: int
    """Token that fills the rest of a slot whose value is shorter than the slot."""
    mask_id: int | None
    """Token of a masked position; None for uniform-noise models, which implement `noise`."""
    block_sizes: tuple[int, ...] = (32, 64, 128)
    """Canvas sizes the model was trained for, ascending."""
    shift: bool = False
    """True where the hidden state at position p - 1 predicts position p of the same block."""
    prefix_attention: Literal["causal", "block_causal"] = "causal"
    """How prefix positions see each other; `block_causal` grids are anchored at position 0."""
    grid: int = 1
    """Prefix lengths must be a multiple of this (the block size of block-causal families, 1 otherwise)."""

    pointer: Pointer | None = None
    """None for models that were not trained to point to evidence."""
    options_once: bool = False
    """True for models trained on questions that point to an earlier one for their options."""

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> ModelSpec:
        """The spec of a model folder's config."""
        spec = config["spec"]
        pointer = spec.get("pointer")
        return cls(**{**spec, "block_sizes": tuple(spec["block_sizes"]), "pointer": pointer and Pointer.read(pointer)})


class PrefixState(Protocol):
    """What a model remembers of a prefix; one shared part and, after `branch`, one private part a row."""

    @property
    def length(self) -> int:
        """Number of positions in the shared part."""
        ...

    @property
    def rows(self) -> int:
        """Number of rows: 1 before `branch`."""
        ...

    def select(self, rows: Sequence[int]) -> Any:
        """The state of some rows only, in the given order."""
        ...


StateT = TypeVar("StateT", bound=PrefixState)


@dataclass(frozen=True)
class Call(Generic[StateT]):
    """A call of an adapter's `extend` (one row), `branch` or `encode_block`, to be made together with others."""

    kind: Literal["extend", "branch", "encode_block"]
    state: StateT
    rows: Sequence[Sequence[int]]

    @property
    def tokens(self) -> int:
        return sum(len(row) for row in self.rows)


@runtime_checkable
class ModelAdapter(Protocol[StateT]):
    """One model family behind the engine. All tensors live on `device`; ids are int64."""

    @property
    def spec(self) -> ModelSpec: ...

    @property
    def device(self) -> torch.device: ...

    @property
    def dtype(self) -> torch.dtype: ...

    def empty(self) -> StateT:
        """The state before any token."""
        ...

    def extend(self, state: StateT, ids: Sequence[int]) -> StateT:
        """Append clean tokens to the shared part. Only legal while `state.rows == 1`."""
        ...

    def branch(self, state: StateT, rows: Sequence[Sequence[int]]) -> StateT:
        """Give each row its own continuation of the shared prefix (rows may be empty)."""
        ...

    def encode_block(self, state: StateT, blocks: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """One denoising pass: hidden states of every position of each row's block.

        `blocks[r]` continues row r of `state`. Returns one float tensor of shape (len(blocks[r]), hidden) a row,
        already aligned: entry p predicts token p of the block whatever `spec.shift` says, so entry 0 of a shifted
        model is undefined and must not be read.
        """
        ...

    def many(self, calls: Sequence[Call[StateT]]) -> list[Any]:
        """Several calls in one pass: the result of each, as it would be alone (up to rounding)."""
        ...

    def noise(self, blocks: Sequence[Sequence[int]], masked: Sequence[Sequence[int]], seed: int) -> list[list[int]]:
        """Fill masked positions with what the model takes as "unknown" (the mask token, or seeded noise)."""
        ...

    def attention(
        self, state: StateT, block: Sequence[int], positions: Sequence[int], spans: Sequence[tuple[int, int]], pointer: Pointer
    ) -> torch.Tensor:
        """Attention that goes to spans of the shared prefix when the tokens at some positions of a block are predicted: the mean over
        the pointer's heads, a float tensor (positions, spans). Only called for models whose spec has a pointer; `state` has one row."""
        ...

    def head(self, hidden: torch.Tensor, allowed: torch.Tensor | None = None) -> torch.Tensor:
        """Logits of shape (n, len(allowed)), or (n, vocab) without `allowed`, from hidden states (n, hidden)."""
        ...
