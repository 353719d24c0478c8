"""The operation of `reference.py`, as fast as torch does it.

What a query may see is the same in every layer, so it is worked out once (`Sight`). The shared keys are copied for each row, so that a
row's result does not depend on how many rows of its length there are, to the last bit. Many queries are taken in turns, each with the keys
up to the last that any of them sees: of a causal prefix nearly half of the scores need not be computed. A turn is one call of torch's
fused attention; in bfloat16 on a processor it is two plain products, rows in turns so that no more than `SCORES` are held. They take about
half the time there, more where many rows stand over thousands of keys, and round the scores to bfloat16, as training did.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F

QUERIES = 128
"""Queries of a turn: fewer save more scores, and cost more calls."""
SCORES = 1 << 23
"""Scores of plain products held at once, 16 MiB of them and as much of their weights; one row's are, however many they be."""


@dataclass(frozen=True)
class Turn:
    """Queries from `start` to `end` and the keys before `seen`, with what is added to their scores (R or 1, 1, end - start, seen); None
    where they see all."""

    start: int
    end: int
    seen: int
    bias: torch.Tensor | None


@dataclass(frozen=True)
class Sight:
    """Which keys each query may see."""

    blind: bool
    """True where a query may see nothing at all."""
    turns: tuple[Turn, ...]

    @classmethod
    def of(cls, own_mask: torch.Tensor, prefix: int, dtype: torch.dtype) -> Sight:
        """own_mask (R or 1, T, S) as in `reference.shared_prefix_attention`, after a prefix of so many keys."""
        if bool(own_mask.all()):
            return cls(False, (Turn(0, own_mask.shape[1], prefix + own_mask.shape[2], None),))
        blind = not prefix and not bool(own_mask.any(-1).all())
        bias = torch.zeros(own_mask.shape, dtype=dtype, device=own_mask.device).masked_fill_(~own_mask, float("-inf"))
        bias = F.pad(bias, (prefix, 0))[:, None]
        queries, keys = bias.shape[2:]
        if queries <= QUERIES:
            return cls(blind, (Turn(0, queries, keys, bias),))
        reach = own_mask.any(0).long().mul(torch.arange(1, own_mask.shape[2] + 1, device=own_mask.device)).amax(-1)
        turns: list[Turn] = []
        for start in range(0, queries, QUERIES):
            end = min(start + QUERIES, queries)
            seen = prefix + max(1, int(reach[start:end].max()))
            turns.append(Turn(start, end, seen, bias[:, :, start:end, :seen].contiguous()))
        return cls(blind, tuple(turns))


def attend(
    sight: Sight,
    query: torch.Tensor,
    shared_key: torch.Tensor,
    shared_value: torch.Tensor,
    own_key: torch.Tensor,
    own_value: torch.Tensor,
) -> torch.Tensor:
    """Arguments and result as in `reference.shared_prefix_attention`, the mask worked out before."""
    key, value = (_joined(*pair) for pair in ((shared_key, own_key), (shared_value, own_value)))
    query = query.transpose(1, 2)
    plain = query.dtype is torch.bfloat16 and query.device.type == "cpu"
    if plain:
        query = query * query.shape[-1] ** -0.5
    take = _products if plain else _fused
    outs = [take(query[:, :, turn.start : turn.end], key[:, :, : turn.seen], value[:, :, : turn.seen], turn.bias) for turn in sight.turns]
    out = outs[0] if len(outs) == 1 else torch.cat(outs, dim=2)
    return (out.nan_to_num(0.0) if sight.blind else out).transpose(1, 2)


def _fused(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """query (R, H, T, d), key and value (R, G, S, d), bias (R or 1, 1, T, S): (R, H, T, d)."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=bias, enable_gqa=True)


def _products(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """As `_fused`, of queries that are scaled; the H / G heads of a group are rows of one product."""
    rows, heads, length, dim = query.shape
    groups, seen = key.shape[1:3]
    some = max(1, SCORES // (heads * length * seen))
    if some < rows:
        biases = [bias] * -(-rows // some) if bias is None or len(bias) == 1 else bias.split(some)
        return torch.cat([_products(*part) for part in zip(query.split(some), key.split(some), value.split(some), biases, strict=True)])
    grouped = query.reshape(rows, groups, heads // groups * length, dim)
    scores = grouped @ key.transpose(2, 3)
    if bias is not None:
        scores.view(rows, heads, length, seen).add_(bias)
    return (scores.softmax(-1) @ value).view(rows, heads, length, dim)


def _joined(shared: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
    """shared (G, P, d) before own (R, G, S, d): (R, G, P + S, d)."""
    return torch.cat([shared.expand(own.shape[0], -1, -1, -1), own], dim=2) if shared.shape[1] else own


def shared_prefix_attention(
    query: torch.Tensor,
    shared_key: torch.Tensor,
    shared_value: torch.Tensor,
    own_key: torch.Tensor,
    own_value: torch.Tensor,
    own_mask: torch.Tensor,
) -> torch.Tensor:
    """Arguments and result as in `reference.shared_prefix_attention`, in one call."""
    sight = Sight.of(own_mask, shared_key.shape[1], query.dtype)
    return attend(sight, query, shared_key, shared_value, own_key, own_value)
