"""A Llama-family block-diffusion model: causal prefix, bidirectional block, grouped-query attention, rotary positions.

One set of weights, two ways to run it. Training packs a clean prefix and several noisy copies of its block into one
sequence under explicit masks (`packed`); inference keeps keys and values of the prefix and runs blocks against them
(`LlamaAdapter`). Both go through the same layers and differ only in the attention function handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

Attend = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""(layer, query (R,T,H,d), key (R,T,G,d), value (R,T,G,d)) -> (R,T,H,d)."""


@dataclass(frozen=True)
class LlamaConfig:
    """Sizes of the network; the defaults are SmolLM2-135M's."""

    vocab_size: int = 49152
    hidden_size: int = 576
    layers: int = 30
    heads: int = 9
    kv_heads: int = 3
    mlp_size: int = 1536
    rope_theta: float = 100_000.0
    norm_eps: float = 1e-5

    @property
    def head_dim(self) -> int:
        return self.hidden_size // self.heads


class _Blank(nn.Linear):
    """A linear layer whose memory is not touched before it is given its weights."""

    def reset_parameters(self) -> None:
        pass


class Layer(nn.Module):
    """Pre-norm transformer layer with fused query/key/value and gate/up projections."""

    def __init__(self, config: LlamaConfig, index: int, blank: bool = False) -> None:
        super().__init__()
        linear = _Blank if blank else nn.Linear
        self.config, self.index = config, index
        hidden, kv = config.hidden_size, config.kv_heads * config.head_dim
        self.attention_norm = nn.Parameter(torch.ones(hidden))
        self.mlp_norm = nn.Parameter(torch.ones(hidden))
        self.qkv = linear(hidden, hidden + 2 * kv, bias=False)
        self.out = linear(hidden, hidden, bias=False)
        self.gate_up = linear(hidden, 2 * config.mlp_size, bias=False)
        self.down = linear(config.mlp_size, hidden, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, attend: Attend) -> torch.Tensor:
        """x (R,T,hidden); cos, sin (R,T,1,head_dim) as `_rotate` takes them."""
        c = self.config
        rows, length, hidden = x.shape
        normed = F.rms_norm(x, (hidden,), self.attention_norm, c.norm_eps)
        qkv = self.qkv(normed).view(rows, length, -1, c.head_dim)
        v = qkv[:, :, c.heads + c.kv_heads :]
        q, k = _rotate(qkv[:, :, : c.heads + c.kv_heads], cos, sin).split([c.heads, c.kv_heads], dim=2)
        x = x + self.out(attend(self.index, q, k, v).reshape(rows, length, hidden))
        normed = F.rms_norm(x, (hidden,), self.mlp_norm, c.norm_eps)
        gate, up = self.gate_up(normed).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


def _rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding, half-split convention (RoFormer, arXiv 2104.09864); the first half of `sin` comes negated."""
    half = x.shape[-1] // 2
    return torch.addcmul(x * cos, torch.cat([x[..., half:], x[..., :half]], dim=-1), sin)


@dataclass(frozen=True)
class Part:
    """A stretch of a packed sequence that sees itself, and the part numbered `sees` before it, as far as the mask allows.

    mask: (1,1,own,own) bool, or (1,1,own,before + own) with an earlier part; True where a position may look.
    """

    mask: torch.Tensor
    sees: int | None = None


class LlamaBlockDiffusion(nn.Module):
    """The network. The output matrix is the embedding matrix. `blank`: its weights come later, and hold anything until then."""

    def __init__(self, config: LlamaConfig, blank: bool = False) -> None:
        super().__init__()
        self.config = config
        size = config.vocab_size, config.hidden_size
        self.embedding = nn.Embedding(*size, _weight=torch.empty(size) if blank else None)
        self.layers = nn.ModuleList(Layer(config, i, blank) for i in range(config.layers))
        self.norm = nn.Parameter(torch.ones(config.hidden_size))

    def forward(self, ids: torch.Tensor, positions: torch.Tensor, attend: Attend) -> torch.Tensor:
        """Hidden states (R,T,hidden) after the final norm. ids, positions: (R,T) int64."""
        x = self.embedding(ids)
        dim = self.config.head_dim
        frequency = self.config.rope_theta ** (-torch.arange(0, dim, 2, device=ids.device).float() / dim)
        angle = positions[..., None].float() * frequency
        angle = torch.cat([-angle, angle], dim=-1)[:, :, None]
        dtype = torch.get_autocast_dtype(ids.device.type) if torch.is_autocast_enabled(ids.device.type) else x.dtype
        cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
        for layer in self.layers:
            x = layer(x, cos, sin, attend)
        return F.rms_norm(x, (x.shape[-1],), self.norm, self.config.norm_eps)

    def packed(
        self, ids: torch.Tensor, positions: torch.Tensor, parts: Sequence[Part], watch: dict[int, list[torch.Tensor]] | None = None
    ) -> torch.Tensor:
        """Training pass over a packed sequence. ids, positions: (1,T) int64; the parts cover the T positions in order.

        Attention is taken part by part, which spares each the quadratic cost of those it cannot see. The attention
        weights of the layers that are keys of `watch` are appended to it, (1,H,own,seen) a part.
        """
        biases, lengths = [_bias(part.mask) for part in parts], [part.mask.shape[2] for part in parts]

        def attend(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            queries, keys, values = (x.split(lengths, dim=1) for x in (q, k, v))
            outs: list[torch.Tensor] = []
            for own, (part, bias) in enumerate(zip(parts, biases, strict=True)):
                seen = [own] if part.sees is None else [part.sees, own]
                k_seen, v_seen = (torch.cat([x[i] for i in seen], dim=1) for x in (keys, values))
                out, weights = _masked_attention(queries[own], k_seen, v_seen, bias)
                outs.append(out)
                if watch is not None and layer in watch:
                    watch[layer].append(weights)
            return torch.cat(outs, dim=1)

        return self(ids, positions, attend)


def _bias(mask: torch.Tensor) -> torch.Tensor:
    return torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, float("-inf"))


def _masked_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """q (R,T,H,d), k, v (R,S,G,d), bias (R or 1,1,T,S) -> output (R,T,H,d) and weights (R,H,T,S).

    Plain matrix products: on a CPU their backward pass is much faster than that of the fused kernel, and training
    sequences are short.
    """
    rows, length, heads, dim = q.shape
    groups, keys = k.shape[2], k.shape[1]
    fan = heads // groups
    grouped = q.view(rows, length, groups, fan, dim).permute(0, 2, 3, 1, 4).reshape(rows, groups, fan * length, dim)
    scores = (grouped * dim**-0.5) @ k.permute(0, 2, 3, 1)
    weights = (scores.view(rows, heads, length, keys) + bias.to(scores.dtype)).softmax(-1)
    out = weights.view(rows, groups, fan * length, keys) @ v.transpose(1, 2)
    return out.view(rows, heads, length, dim).transpose(1, 2), weights
