"""The operation of `reference.py` by torch's fused attention, which never holds a whole score matrix.

The shared keys are copied for each row: that costs R·P·d numbers a layer, far less than the R·H·T·P scores it saves. Many queries
are taken in turns, each with the keys up to the last that any of them sees: of a causal prefix half of the scores need not be computed.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

QUERIES = 256
"""Queries of a turn: fewer save more scores, and cost more calls."""


def shared_prefix_attention(
    query: torch.Tensor,
    shared_key: torch.Tensor,
    shared_value: torch.Tensor,
    own_key: torch.Tensor,
    own_value: torch.Tensor,
    own_mask: torch.Tensor,
) -> torch.Tensor:
    """Arguments and result as in `reference.shared_prefix_attention`."""
    rows, prefix = query.shape[0], shared_key.shape[1]
    key = torch.cat([shared_key.expand(rows, -1, -1, -1), own_key], dim=2)  # (R, G, P+S, d)
    value = torch.cat([shared_value.expand(rows, -1, -1, -1), own_value], dim=2)
    mask = F.pad(own_mask, (prefix, 0), value=True)[:, None]  # (R, 1, T, P+S)
    query = query.transpose(1, 2)
    turns: list[torch.Tensor] = []
    for at in range(0, query.shape[2], QUERIES):
        own = slice(at, at + QUERIES)
        seen = prefix + _reach(own_mask[:, own]) if query.shape[2] > QUERIES else key.shape[2]
        keys, values, bias = key[:, :, :seen], value[:, :, :seen], mask[:, :, own, :seen]
        turns.append(F.scaled_dot_product_attention(query[:, :, own], keys, values, attn_mask=bias, enable_gqa=True))
    out = turns[0] if len(turns) == 1 else torch.cat(turns, dim=2)
    # Only without a prefix can a query see nothing at all.
    return (out if prefix else out.nan_to_num(0.0)).transpose(1, 2)


def _reach(mask: torch.Tensor) -> int:
    """Own keys up to the last that a query sees; at least one."""
    return max(1, int(mask.any(0).any(0).nonzero()[-1:].sum()) + 1)
