"""The allowed-ids head: logits of the tokens a slot may hold, without the rest of the vocabulary.

The specification of the operation, in torch, and the CPU path.
"""

from __future__ import annotations

import torch


def allowed_head(hidden: torch.Tensor, weight: torch.Tensor, allowed: torch.Tensor | None = None) -> torch.Tensor:
    """hidden (n, h) times the rows `allowed` (a,) of weight (vocab, h): float32 logits (n, a).

    Without `allowed` the whole vocabulary is used.
    """
    rows = weight if allowed is None else weight[allowed]
    return (hidden @ rows.t()).float()


def log_mass(logits: torch.Tensor, excluded: int | None = None) -> torch.Tensor:
    """log Σ exp over the last axis of full-vocabulary logits (n, vocab), leaving out one token (the mask)."""
    if excluded is not None:
        logits = logits.clone()
        logits[:, excluded] = float("-inf")
    return torch.logsumexp(logits, dim=-1)
