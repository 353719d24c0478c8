"""The engine: one loaded model, its tokenizer and its prefix cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from clover_engine.canvas import Canvas
from clover_engine.denoise import DEFAULT_THRESHOLD, Watch, denoise
from clover_engine.feasibility import Feasibility
from clover_engine.folder import ModelFilesError, fingerprint, read_config
from clover_engine.joint import Budget, JointRead, search
from clover_engine.models.base import ModelAdapter, ModelSpec, PrefixState
from clover_engine.pairwise import Pair, pairs
from clover_engine.pointing import Target, point
from clover_engine.prefix_cache import PrefixCache
from clover_engine.product import likeliest
from clover_engine.tokenizer import Tokenizer
from clover_engine.tree import BlockRead

MAX_ROWS = 16
"""Rows a pass; more are run in turns, which bounds memory."""


DTYPES = ("int8", "bfloat16", "float32")


class ContextError(ValueError):
    """Prefix and block do not fit the model's context."""

    def __init__(self, needed: int, limit: int) -> None:
        self.needed, self.limit = needed, limit
        super().__init__(f"{needed} tokens are needed, the model's context holds {limit}")


@dataclass(frozen=True)
class RowRequest:
    """One row: its own continuation of the shared prefix, then a block to fill."""

    continuation: tuple[int, ...]
    canvas: Canvas


class Engine:
    """Runs rows of blocks over shared prefixes. Callers serialise (one model, one device), unless the adapter takes calls of several
    threads (`batching`)."""

    def __init__(self, adapter: ModelAdapter[Any], tokenizer: Tokenizer, *, fingerprint: str = "", cached_prefixes: int = 8) -> None:
        self.adapter, self.tokenizer, self.fingerprint = adapter, tokenizer, fingerprint
        self.prefixes = PrefixCache(adapter, cached_prefixes)

    @property
    def spec(self) -> ModelSpec:
        return self.adapter.spec

    @property
    def dtype(self) -> str:
        """The number type of the network, such as "float32"."""
        return str(self.adapter.dtype).removeprefix("torch.")

    def over(self, adapter: ModelAdapter[Any]) -> Engine:
        """The same model behind another adapter, with an empty prefix cache of the same size."""
        return Engine(adapter, self.tokenizer, fingerprint=self.fingerprint, cached_prefixes=self.prefixes.entries)

    def with_cache(self, entries: int) -> Engine:
        """The same model with a prefix cache of its own."""
        return Engine(self.adapter, self.tokenizer, fingerprint=self.fingerprint, cached_prefixes=entries)

    def run(
        self,
        prefix: Sequence[int],
        rows: Sequence[RowRequest],
        *,
        threshold: float = DEFAULT_THRESHOLD,
        one_pass: bool = False,
        oracle: Feasibility | None = None,
        candidates: int = 0,
        watch: Watch | None = None,
        seed: int = 0,
    ) -> list[BlockRead]:
        """Fill each row's block (see `denoise`); the prefix is prefilled once and remembered.

        Raises:
            ContextError: a row does not fit the context.
        """
        self._fit(prefix, rows)
        shared = self.prefixes.state(prefix)
        out: list[BlockRead] = []
        for at in range(0, len(rows), MAX_ROWS):
            chunk = rows[at : at + MAX_ROWS]
            state: PrefixState = self.adapter.branch(shared, [row.continuation for row in chunk])
            canvases = [row.canvas for row in chunk]
            told: Watch | None = None if watch is None else lambda r, commits, first=at: watch(first + r, commits)
            how = {"threshold": threshold, "one_pass": one_pass, "oracle": oracle, "candidates": candidates, "seed": seed}
            out += denoise(self.adapter, state, canvases, **how, watch=told)
        return out

    def search(
        self,
        prefix: Sequence[int],
        row: RowRequest,
        budget: Budget,
        *,
        threshold: float = DEFAULT_THRESHOLD,
        oracle: Feasibility | None = None,
        seed: int = 0,
    ) -> JointRead:
        """The joint distribution of one row's slots (see `joint.search`).

        Raises:
            ContextError: the row does not fit the context.
            NoAssignmentError: nothing was found that the oracle allows.
        """
        return search(self.adapter, self.state(prefix, row), row.canvas, budget, threshold=threshold, oracle=oracle, seed=seed)

    def likeliest(self, prefix: Sequence[int], row: RowRequest, oracle: Feasibility, *, count: int = 1, seed: int = 0) -> list[BlockRead]:
        """The likeliest allowed assignments under one pass (see `product.likeliest`).

        Raises:
            ContextError: the row does not fit the context.
            NoAssignmentError: nothing was found that the oracle allows.
        """
        return likeliest(self.adapter, self.state(prefix, row), row.canvas, oracle, count=count, seed=seed)

    def pairs(self, prefix: Sequence[int], row: RowRequest, *, seed: int = 0) -> list[Pair]:
        """How the row's one-token slots depend on each other (see `pairwise.pairs`).

        Raises:
            ContextError: the row does not fit the context.
        """
        return pairs(self.adapter, self.state(prefix, row), row.canvas, seed=seed)

    def point(self, prefix: Sequence[int], row: RowRequest, targets: Sequence[Target]) -> list[list[float]]:
        """Which parts of the prefix each slot of a row points to as its evidence (see `pointing.point`).

        Raises:
            ContextError: the row does not fit the context.
            NoPointerError: the model was not trained to point.
        """
        return point(self.adapter, self.state(prefix, row), row.canvas, targets)

    def state(self, prefix: Sequence[int], row: RowRequest) -> PrefixState:
        """The state of one row whose continuation is shared as well: many blocks will be read over it."""
        self._fit(prefix, [row])
        return self.adapter.branch(self.adapter.extend(self.prefixes.state(prefix), row.continuation), [()])

    def _fit(self, prefix: Sequence[int], rows: Sequence[RowRequest]) -> None:
        longest = max(len(r.continuation) + len(r.canvas.ids) for r in rows)
        if len(prefix) + longest > self.spec.context:
            raise ContextError(len(prefix) + longest, self.spec.context)


def load_engine(folder: Path, *, device: str = "cpu", dtype: str = "float32", cached_prefixes: int = 8) -> Engine:
    """Load a model folder whose weights are packed by `quant.pack` or plain.

    Args:
        folder: a model folder.
        device: where it runs; "int8" needs a CPU whose integer products are exact.
        dtype: "int8", "bfloat16" or "float32".
        cached_prefixes: how many prefixes to remember.

    Raises:
        ModelFilesError: files are missing or broken, do not fit each other, or are of an unknown family.
        ValueError: another dtype, or int8 where it cannot be had.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from clover_engine.kernels.int8_linear.matmul import exact
    from clover_engine.models.int8 import fill_int8
    from clover_engine.models.llama import LlamaBlockDiffusion, LlamaConfig
    from clover_engine.models.llama_adapter import LlamaAdapter
    from clover_engine.quant import fitting, tensors

    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}; accepted: {', '.join(DTYPES)}")
    if dtype == "int8" and not (torch.device(device).type == "cpu" and exact()):
        raise ValueError("int8 needs a CPU with VNNI instructions; accepted here: bfloat16, float32")
    config = read_config(folder)
    model = LlamaBlockDiffusion(LlamaConfig(**config["network"]), blank=True)
    path = folder / "model.safetensors"
    try:
        stored = load_file(path)
        if dtype == "int8":
            fill_int8(model, stored)
        else:
            made = fitting(tensors(stored, getattr(torch, dtype)), model)
            model.load_state_dict({name: tensor.to(device) for name, tensor in made}, assign=True)
    except (ValueError, RuntimeError, SafetensorError) as error:
        raise ModelFilesError(f"{path}: {error}") from None
    adapter = LlamaAdapter(model, ModelSpec.read(config))
    path = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer(path)
    except Exception as error:
        raise ModelFilesError(f"{path}: {error}") from None
    return Engine(adapter, tokenizer, fingerprint=fingerprint(folder), cached_prefixes=cached_prefixes)
