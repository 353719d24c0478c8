"""`LlamaBlockDiffusion` behind the adapter protocol, with a key/value prefix cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from clover_engine.kernels.allowed_head.reference import allowed_head
from clover_engine.kernels.shared_prefix_attention.fused import Sight, attend
from clover_engine.models.base import Call, ModelSpec, Pointer
from clover_engine.models.int8 import Int8Embedding
from clover_engine.models.llama import LlamaBlockDiffusion

Tensors = tuple[torch.Tensor, ...]
Watch = Callable[[int, torch.Tensor, torch.Tensor], None]
"""(layer, query (R,T,H,d), own keys (R,G,S,d))."""


@dataclass(frozen=True)
class KeyValueState:
    """Per layer: shared keys and values (G, P, d) and, after `branch`, each row's own (R, G, S, d), right-padded."""

    shared_keys: Tensors
    shared_values: Tensors
    own_keys: Tensors = ()
    own_values: Tensors = ()
    own_lengths: tuple[int, ...] = (0,)

    @property
    def length(self) -> int:
        return self.shared_keys[0].shape[1]

    @property
    def rows(self) -> int:
        return len(self.own_lengths)

    def select(self, rows: Sequence[int]) -> KeyValueState:
        index = torch.tensor(rows, device=self.shared_keys[0].device)
        lengths = tuple(self.own_lengths[r] for r in rows)
        keys = tuple(k[index, :, : max(lengths)] for k in self.own_keys)
        values = tuple(v[index, :, : max(lengths)] for v in self.own_values)
        return KeyValueState(self.shared_keys, self.shared_values, keys, values, lengths)

    def check_integrity(self) -> None:
        """Raise AssertionError if shapes or contents cannot be right: a cheap corruption alarm."""
        for keys, values in zip(self.shared_keys, self.shared_values, strict=True):
            assert keys.shape == values.shape and keys.shape[1] == self.length
            assert torch.isfinite(keys).all() and torch.isfinite(values).all()
        for keys, values in zip(self.own_keys, self.own_values, strict=True):
            assert keys.shape == values.shape and keys.shape[0] == self.rows
            assert keys.shape[2] >= max(self.own_lengths)


class LlamaAdapter:
    """Runs prefixes and blocks through one network. Inference only; results do not depend on what shares a batch."""

    def __init__(self, model: LlamaBlockDiffusion, spec: ModelSpec) -> None:
        self.model = model.eval().requires_grad_(False)
        self.spec = spec

    @property
    def device(self) -> torch.device:
        return self.model.norm.device

    @property
    def dtype(self) -> torch.dtype:
        return self.model.embedding.weight.dtype

    def empty(self) -> KeyValueState:
        c = self.model.config
        nothing = torch.zeros(c.kv_heads, 0, c.head_dim, device=self.device, dtype=self.model.norm.dtype)
        return KeyValueState((nothing,) * c.layers, (nothing,) * c.layers)

    def extend(self, state: KeyValueState, ids: Sequence[int]) -> KeyValueState:
        return self.many([Call("extend", state, [ids])])[0]

    def branch(self, state: KeyValueState, rows: Sequence[Sequence[int]]) -> KeyValueState:
        return self.many([Call("branch", state, rows)])[0]

    def encode_block(self, state: KeyValueState, blocks: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        return self.many([Call("encode_block", state, blocks)])[0]

    @torch.inference_mode()
    def many(self, calls: Sequence[Call[KeyValueState]]) -> list[Any]:
        for call in calls:
            self._check(call)
        parts = [part for i, call in enumerate(calls) for part in _parts(i, call, self.spec)]
        reads = self._run(parts) if parts else []
        found: list[list[tuple[_Part, _Read]]] = [[] for _ in calls]
        for part, read in zip(parts, reads, strict=True):
            found[part.call].append((part, read))
        return [self._result(call, own) for call, own in zip(calls, found, strict=True)]

    def _check(self, call: Call[KeyValueState]) -> None:
        if call.kind == "encode_block":
            assert len(call.rows) == call.state.rows
        else:
            assert not call.state.own_keys, f"{call.kind}: a state is extended before it branches, and branches once"
            assert all(len(row) % self.spec.grid == 0 for row in call.rows), "a block-causal prefix grows by whole blocks"

    def _result(self, call: Call[KeyValueState], found: list[tuple[_Part, _Read]]) -> Any:
        if call.kind == "encode_block":
            rows = {row: read.hidden[i] for part, read in found for i, row in enumerate(part.rows)}
            return [torch.cat([rows[r][:1], rows[r][:-1]]) if self.spec.shift else rows[r] for r in range(len(call.rows))]
        state = call.state
        if call.kind == "branch":
            own = (_padded(call, found, "keys"), _padded(call, found, "values")) if found else ((), ())
            return KeyValueState(state.shared_keys, state.shared_values, *own, tuple(len(row) for row in call.rows))
        if not found:
            return state
        ((_, read),) = found
        shared_keys = tuple(torch.cat([old, new[0]], 1) for old, new in zip(state.shared_keys, read.keys, strict=True))
        shared_values = tuple(torch.cat([old, new[0]], 1) for old, new in zip(state.shared_values, read.values, strict=True))
        return KeyValueState(shared_keys, shared_values)

    @torch.inference_mode()
    def attention(
        self, state: KeyValueState, block: Sequence[int], positions: Sequence[int], spans: Sequence[tuple[int, int]], pointer: Pointer
    ) -> torch.Tensor:
        at = torch.tensor(positions, device=self.device) - int(self.spec.shift)
        starts, ends = torch.tensor(spans, device=self.device).T
        fan = self.model.config.heads // self.model.config.kv_heads
        groups = [head // fan for head in pointer.heads]
        found: list[torch.Tensor] = []

        def watch(layer: int, q: torch.Tensor, own_keys: torch.Tensor) -> None:
            if layer == pointer.layer:
                query = q[0, at][:, list(pointer.heads)].float().transpose(0, 1) * q.shape[-1] ** -0.5  # (heads, positions, d)
                shared = query @ state.shared_keys[layer][groups].float().transpose(1, 2)
                own = query @ own_keys[0, groups].float().transpose(1, 2)
                mass = torch.cat([shared, own], dim=-1).softmax(-1).mean(0)
                before = F.pad(mass.cumsum(-1), (1, 0))
                found.append(before[:, ends] - before[:, starts])

        self._run(_parts(0, Call("encode_block", state, [block]), self.spec), watch)
        return found[0]

    def noise(self, blocks: Sequence[Sequence[int]], masked: Sequence[Sequence[int]], seed: int) -> list[list[int]]:
        """Masked positions become the mask token; `seed` is not used."""
        assert self.spec.mask_id is not None
        return [
            [self.spec.mask_id if p in hidden else t for p, t in enumerate(block)]
            for block, hidden in zip(blocks, (set(m) for m in masked), strict=True)
        ]

    def head(self, hidden: torch.Tensor, allowed: torch.Tensor | None = None) -> torch.Tensor:
        table = self.model.embedding
        return table.head(hidden, allowed) if isinstance(table, Int8Embedding) else allowed_head(hidden, table.weight, allowed)

    def _run(self, parts: Sequence[_Part], watch: Watch | None = None) -> list[_Read]:
        """One pass over some parts. All that is done token by token is done to all of them at once; attention is taken part by part, each
        over its own prefix, so that none is padded to another's length."""
        sizes = [part.ids.numel() for part in parts]
        ids = torch.cat([part.ids.reshape(1, -1) for part in parts], 1)
        positions = torch.cat([part.positions.expand_as(part.ids).reshape(1, -1) for part in parts], 1)
        keys: list[list[torch.Tensor]] = [[] for _ in parts]
        values: list[list[torch.Tensor]] = [[] for _ in parts]
        sights = [Sight.of(part.mask, part.state.length, self.model.norm.dtype) for part in parts]

        def attend_parts(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            outs: list[torch.Tensor] = []
            for i, (part, *qkv) in enumerate(zip(parts, *(x.split(sizes, 1) for x in (q, k, v)), strict=True)):
                own_q, own_k, own_v = (x.reshape(*part.ids.shape, *x.shape[2:]) for x in qkv)
                own_k, own_v, state = own_k.transpose(1, 2), own_v.transpose(1, 2), part.state
                if part.keeps:
                    # Copied: they are slices of far larger tensors, which would be held as long.
                    keys[i].append(own_k.clone(memory_format=torch.contiguous_format))
                    values[i].append(own_v.clone(memory_format=torch.contiguous_format))
                if state.own_keys:
                    own_k, own_v = torch.cat([state.own_keys[layer], own_k], 2), torch.cat([state.own_values[layer], own_v], 2)
                if watch is not None:
                    watch(layer, own_q, own_k)
                out = attend(sights[i], own_q, state.shared_keys[layer], state.shared_values[layer], own_k, own_v)
                outs.append(out.reshape(1, -1, *out.shape[2:]))
            return torch.cat(outs, 1)

        hidden = self.model(ids, positions, attend_parts).split(sizes, 1)
        return [_Read(h.reshape(*part.ids.shape, -1), keys[i], values[i]) for i, (part, h) in enumerate(zip(parts, hidden, strict=True))]


@dataclass(frozen=True)
class _Part:
    """Rows of a call that are all of one length, as tensors: ids (R,T), positions (T,), and which own keys they may see, (1,T,S+T).

    Rows of unlike lengths are parts of their own: padding changes the order in which attention adds, and so the last bits.
    """

    call: int
    rows: tuple[int, ...]
    state: KeyValueState
    ids: torch.Tensor
    positions: torch.Tensor
    mask: torch.Tensor
    keeps: bool
    """Whether keys and values are wanted."""


def _parts(number: int, call: Call[KeyValueState], spec: ModelSpec) -> list[_Part]:
    """A call's rows by their lengths; those without tokens need no pass."""
    alike: dict[tuple[int, int], list[int]] = {}
    for r, row in enumerate(call.rows):
        before = call.state.own_lengths[r] if call.kind == "encode_block" else 0
        if len(row):
            alike.setdefault((before, len(row)), []).append(r)
    return [_part(number, call, rows, before, length, spec) for (before, length), rows in alike.items()]


def _part(number: int, call: Call[KeyValueState], rows: list[int], before: int, length: int, spec: ModelSpec) -> _Part:
    device, state, block = call.state.shared_keys[0].device, call.state, call.kind == "encode_block"
    if block and len(rows) < len(call.rows):
        state = state.select(rows)
    positions = torch.arange(length, device=device) + state.length + before
    mask = torch.ones(length, before + length, dtype=torch.bool, device=device)
    if not block and spec.prefix_attention == "causal":
        mask = mask.tril()
    elif not block:
        mask = positions // spec.grid <= (positions // spec.grid)[:, None]
    ids = torch.tensor([list(call.rows[r]) for r in rows], device=device)
    return _Part(number, tuple(rows), state, ids, positions, mask[None], not block)


def _padded(call: Call[KeyValueState], found: list[tuple[_Part, _Read]], name: str) -> Tensors:
    """Keys or values of the rows of a call, per layer (R,G,S,d), right-padded to the longest."""
    if len(found) == 1 and len(found[0][0].rows) == len(call.rows):
        return tuple(getattr(found[0][1], name))
    longest, out = max(len(row) for row in call.rows), list[torch.Tensor]()
    for layers in zip(*(getattr(read, name) for _, read in found), strict=True):
        whole = layers[0].new_zeros(len(call.rows), layers[0].shape[1], longest, layers[0].shape[3])
        for (part, _), own in zip(found, layers, strict=True):
            whole[list(part.rows), :, : own.shape[2]] = own
        out.append(whole)
    return tuple(out)


@dataclass(frozen=True)
class _Read:
    """What a pass gives a part: hidden states (R,T,hidden), and keys and values (R,G,T,d) per layer where they are wanted."""

    hidden: torch.Tensor
    keys: list[torch.Tensor]
    values: list[torch.Tensor]
