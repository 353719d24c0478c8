"""References against the plainest possible computation."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from clover_engine.kernels.allowed_head.reference import allowed_head, log_mass
from clover_engine.kernels.shared_prefix_attention import fused, reference

IMPLEMENTATIONS = [reference.shared_prefix_attention, fused.shared_prefix_attention]


@pytest.mark.parametrize("shared_prefix_attention", IMPLEMENTATIONS)
@pytest.mark.parametrize(
    ("rows", "length", "prefix", "own"),
    [(1, 1, 0, 1), (3, 5, 7, 6), (2, 4, 0, 9), (4, 2, 33, 2), (1, 40, 300, 40), (2, 130, 7, 130), (1, 65, 0, 65)],
)
def test_shared_prefix_attention_is_attention_over_the_concatenation(
    rows: int, length: int, prefix: int, own: int, shared_prefix_attention: Any
) -> None:
    torch.manual_seed(rows * 100 + prefix)
    heads, groups, dim = 6, 2, 8
    query = torch.randn(rows, length, heads, dim)
    shared_k, shared_v = torch.randn(groups, prefix, dim), torch.randn(groups, prefix, dim)
    own_k, own_v = torch.randn(rows, groups, own, dim), torch.randn(rows, groups, own, dim)
    mask = torch.rand(rows, length, own) < 0.6
    mask[:, :, 0] = True
    # Keys a query must not see are poisoned: any leak shows as NaN.
    hidden = ~mask.any(1)
    own_k[hidden[:, None, :].expand(-1, groups, -1)] = 1e30
    own_v[hidden[:, None, :].expand(-1, groups, -1)] = 7e7
    out = shared_prefix_attention(query, shared_k, shared_v, own_k, own_v, mask)
    for r in range(rows):
        for h in range(heads):
            g = h // (heads // groups)
            keys = torch.cat([shared_k[g], own_k[r, g]])
            values = torch.cat([shared_v[g], own_v[r, g]])
            for t in range(length):
                seen = torch.cat([torch.ones(prefix, dtype=torch.bool), mask[r, t]])
                weights = torch.softmax(keys[seen] @ query[r, t, h] * dim**-0.5, 0)
                torch.testing.assert_close(out[r, t, h], weights @ values[seen], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("length", "prefix", "own"), [(1, 40, 1), (50, 350, 50), (300, 0, 300), (290, 65, 290)])
def test_in_bfloat16_attention_is_the_same_but_for_rounding_and_whatever_other_rows_there_are(
    length: int, prefix: int, own: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(length)
    rows, heads, groups, dim = 5, 9, 3, 64
    query = torch.randn(rows, length, heads, dim).bfloat16()
    shared_k, shared_v = torch.randn(2, groups, prefix, dim).bfloat16()
    own_k, own_v = torch.randn(2, rows, groups, own, dim).bfloat16()
    mask = torch.ones(1, length, own, dtype=torch.bool).tril()
    found = fused.shared_prefix_attention(query, shared_k, shared_v, own_k, own_v, mask)
    exact = reference.shared_prefix_attention(*(x.float() for x in (query, shared_k, shared_v, own_k, own_v)), mask)
    torch.testing.assert_close(found.float(), exact, atol=0.04, rtol=0.02)
    monkeypatch.setattr(fused, "SCORES", 2 * heads * min(length, fused.QUERIES) * (prefix + own))
    assert torch.equal(fused.shared_prefix_attention(query, shared_k, shared_v, own_k, own_v, mask), found), "rows in turns"
    for row in range(rows):
        alone = fused.shared_prefix_attention(query[row : row + 1], shared_k, shared_v, own_k[row : row + 1], own_v[row : row + 1], mask)
        assert torch.equal(alone[0], found[row]), row


@pytest.mark.parametrize("shared_prefix_attention", IMPLEMENTATIONS)
def test_a_query_that_sees_nothing_yields_zeros(shared_prefix_attention: Any) -> None:
    out = shared_prefix_attention(
        torch.randn(1, 1, 2, 4),
        torch.zeros(1, 0, 4),
        torch.zeros(1, 0, 4),
        torch.randn(1, 1, 3, 4),
        torch.randn(1, 1, 3, 4),
        torch.zeros(1, 1, 3, dtype=torch.bool),
    )
    assert torch.equal(out, torch.zeros(1, 1, 2, 4))


def test_allowed_head_is_the_full_head_on_the_allowed_rows() -> None:
    torch.manual_seed(0)
    hidden, weight = torch.randn(3, 16), torch.randn(50, 16)
    allowed = torch.tensor([4, 7, 31])
    torch.testing.assert_close(allowed_head(hidden, weight, allowed), allowed_head(hidden, weight)[:, allowed])
    logits = allowed_head(hidden, weight)
    keep = torch.arange(50) != 4
    torch.testing.assert_close(log_mass(logits, 4), torch.logsumexp(logits[:, keep], -1))
