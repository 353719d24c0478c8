"""Attention of R rows over one shared prefix, each row's own continuation, and the row's block.

The specification of the operation, in torch, and the CPU path. The shared keys are never copied per row: all R·T
queries of a key/value head meet the prefix in one matrix product, which is what makes rows cheap.
"""

from __future__ import annotations

import torch


def shared_prefix_attention(
    query: torch.Tensor,
    shared_key: torch.Tensor,
    shared_value: torch.Tensor,
    own_key: torch.Tensor,
    own_value: torch.Tensor,
    own_mask: torch.Tensor,
) -> torch.Tensor:
    """Softmax attention over the concatenation [shared, own], grouped queries.

    Args:
        query: (R, T, H, d); H is a multiple of the G key/value heads.
        shared_key, shared_value: (G, P, d), seen by every query of every row.
        own_key, own_value: (R, G, S, d), private to a row.
        own_mask: (R, T, S) bool, True where query t may see own position s. A query that sees nothing at all
            (P = 0 and an all-false row, as padding can be) yields zeros.

    Returns:
        (R, T, H, d) in the dtype of `query`; scores and softmax are computed in float32.
    """
    rows, length, heads, dim = query.shape
    groups, prefix, _ = shared_key.shape
    fan = heads // groups
    scale = dim**-0.5
    # (G, R, fan, T, d): query heads of one key/value head lie together
    grouped = query.view(rows, length, groups, fan, dim).permute(2, 0, 3, 1, 4)
    flat = grouped.reshape(groups, rows * fan * length, dim)
    far = (flat @ shared_key.transpose(1, 2)).view(groups, rows, fan, length, prefix)
    # (G, R, fan·T, d) @ (G, R, d, S)
    own_k = own_key.transpose(0, 1)
    near = grouped.reshape(groups, rows, fan * length, dim) @ own_k.transpose(2, 3)
    near = near.view(groups, rows, fan, length, -1).float() * scale
    near = near.masked_fill(~own_mask[None, :, None], float("-inf"))
    scores = torch.cat([far.float() * scale, near], dim=-1)
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0).to(query.dtype)
    out = weights[..., :prefix].reshape(groups, rows * fan * length, prefix) @ shared_value
    out = out.view(groups, rows, fan * length, dim)
    out = out + weights[..., prefix:].reshape(groups, rows, fan * length, -1) @ own_value.transpose(0, 1)
    return out.view(groups, rows, fan, length, dim).permute(1, 3, 0, 2, 4).reshape(rows, length, heads, dim)
