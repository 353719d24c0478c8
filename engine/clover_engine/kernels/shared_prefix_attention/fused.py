"""The operation of `reference.py` by torch's fused attention, which never holds a whole score matrix.

The shared keys are copied for each row: that costs R·P·d numbers a layer, far less than the R·H·T·P scores it saves.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F


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
    out = F.scaled_dot_product_attention(query.transpose(1, 2), key, value, attn_mask=mask, enable_gqa=True)
    # Only without a prefix can a query see nothing at all.
    return (out if prefix else out.nan_to_num(0.0)).transpose(1, 2)
