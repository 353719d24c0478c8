"""Wires the steps of a look-up into a path along which a name travels from the sentence that says it to the slot that needs it.

Look losses teach heads where to look. What a head brings along is up to its value and output weights, and three such maps in
a row, each of no use without the others, are hardly learned: train/README.md has the figures. The base model has heads that
write the word they look at. Their maps are lent to the path: its first step encodes a name as they do and writes the code
into directions that the residual stream leaves empty, where the next step reads it; the last one decodes it as they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F

from clover_engine.models.llama import Layer, LlamaBlockDiffusion
from clover_train.packing import Batch

Group = tuple[int, int]
"""Layer, and the key/value head with the query heads that share it."""
SHARE = 0.5
"""Length of a code in the residual stream, relative to that of the stream."""
GAIN = 4.0
"""Of the last step's output, relative to that of the heads it is taken from."""


def wire(model: LlamaBlockDiffusion, batches: Sequence[Batch], path: Sequence[Group], copier: Group) -> None:
    """Overwrites value and output weights of the path's heads. batches: text to find the empty directions with."""
    streams = [_streams(model, batches, layer) for layer, _ in path]
    encode, decode = _value(model, copier).clone(), _output(model, copier).clone()
    norm = _layer(model, copier[0]).attention_norm
    fan = model.config.heads // model.config.kv_heads
    with torch.no_grad():
        codes = F.rms_norm(streams[0], streams[0].shape[-1:], norm, model.config.norm_eps) @ encode.t()
        read = encode * norm / _layer(model, path[0][0]).attention_norm
        for here, after, stream in zip(path, path[1:], streams[1:], strict=False):
            empty = _empty_directions(stream, model.config.head_dim)
            size = SHARE * _length(stream) / _length(codes)
            _value(model, here).copy_(read)
            _output(model, here).copy_((empty * size / fan).repeat(1, fan))
            scale = _length(stream) * (1 + SHARE**2) ** 0.5 / stream.shape[-1] ** 0.5
            read = empty.t() * (scale / size) / _layer(model, after[0]).attention_norm
        _value(model, path[-1]).copy_(read)
        _output(model, path[-1]).copy_(decode * GAIN)


def _layer(model: LlamaBlockDiffusion, index: int) -> Layer:
    return cast(Layer, model.layers[index])


def _value(model: LlamaBlockDiffusion, group: Group) -> torch.Tensor:
    """(head_dim, hidden), a view."""
    c, (layer, head) = model.config, group
    start = c.hidden_size + (c.kv_heads + head) * c.head_dim
    return _layer(model, layer).qkv.weight.data[start : start + c.head_dim]


def _output(model: LlamaBlockDiffusion, group: Group) -> torch.Tensor:
    """(hidden, heads of the group * head_dim), a view."""
    c, (layer, head) = model.config, group
    width = c.heads // c.kv_heads * c.head_dim
    return _layer(model, layer).out.weight.data[:, head * width : (head + 1) * width]


def _streams(model: LlamaBlockDiffusion, batches: Sequence[Batch], layer: int) -> torch.Tensor:
    """What goes into a layer, (positions, hidden), without the few positions of extreme length."""
    caught: list[torch.Tensor] = []
    hook = model.layers[layer].register_forward_pre_hook(lambda _, given: caught.append(given[0][0].detach()))
    with torch.no_grad():
        for batch in batches:
            model.packed(batch.ids, batch.positions, batch.parts)
    hook.remove()
    stream = torch.cat(caught)
    lengths = stream.norm(dim=-1)
    return stream[lengths < 4 * lengths.median()]


def _empty_directions(stream: torch.Tensor, count: int) -> torch.Tensor:
    """Orthonormal columns (hidden, count) along which the stream varies least."""
    return torch.linalg.eigh(stream.t() @ stream)[1][:, :count]


def _length(vectors: torch.Tensor) -> float:
    return vectors.norm(dim=-1).mean().item()
