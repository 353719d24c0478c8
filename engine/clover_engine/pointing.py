"""Evidence: which stretches of the prefix the open slots of a block point to.

Some attention heads of a model may be trained to spread, from the position before a masked answer, over the sentences that show
it: a pointer network (Vinyals et al., arXiv 1506.03134) whose keys are those of the text, so pointing costs one pass over the
block and no token. A logistic function of what a stretch gets turns that into a probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from clover_engine.canvas import Canvas
from clover_engine.models.base import ModelAdapter, PrefixState

Span = tuple[int, int]
FLOOR = 1e-4
"""Share of attention below which differences do not count."""


class NoPointerError(ValueError):
    """The model has no heads that point."""


@dataclass(frozen=True)
class Target:
    """Prefix tokens that can be pointed to, and others that speak for them, such as a sum worked out from a sentence."""

    own: Span
    through: tuple[Span, ...] = ()


def point(adapter: ModelAdapter[Any], state: PrefixState, canvas: Canvas, targets: Sequence[Target]) -> list[list[float]]:
    """For each slot, the probability of each target. `state` has one row; all slots are masked.

    Raises:
        NoPointerError: the model was not trained to point.
    """
    pointer = adapter.spec.pointer
    if pointer is None:
        raise NoPointerError(adapter.spec.name)
    if not targets:
        return [[] for _ in canvas.slots]
    weights = torch.tensor(pointer.weights)
    return [(features @ weights + pointer.bias).sigmoid().tolist() for features in features_of(adapter, state, canvas, targets)]


def features_of(adapter: ModelAdapter[Any], state: PrefixState, canvas: Canvas, targets: Sequence[Target]) -> list[torch.Tensor]:
    """For each slot a tensor (targets, 3): logarithms of the attention on the target itself, of that on what speaks for it, and of
    the first as a share of the largest."""
    assert adapter.spec.pointer is not None
    spans = [span for target in targets for span in (target.own, *target.through)]
    owners = torch.tensor([i for i, target in enumerate(targets) for _ in (target.own, *target.through)])
    first = torch.tensor([j == 0 for target in targets for j in range(1 + len(target.through))])
    masked = [p for slot in canvas.slots for p in range(slot.start, slot.start + slot.length)]
    (block,) = adapter.noise([canvas.ids], [masked], 0)
    mass = adapter.attention(state, block, [slot.start for slot in canvas.slots], spans, adapter.spec.pointer).cpu()
    out: list[torch.Tensor] = []
    for row in mass:
        own = row[first]
        through = torch.zeros(len(targets)).index_add(0, owners[~first], row[~first])
        out.append(torch.stack([_log(own), _log(through), _log(own / own.max().clamp_min(FLOOR))], dim=1))
    return out


def _log(share: torch.Tensor) -> torch.Tensor:
    return (share + FLOOR).log() - math.log(FLOOR)
