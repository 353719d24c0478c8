"""What of the training recipe can be varied; the defaults are what clover-mini was trained with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """Choices that `ablate` compares.

    Attributes:
        copies: noisy copies of a joint block, in the first of which every slot is masked.
        whole_slots: share of the other copies that mask slots as a whole; the rest mask token by token.
        full_weight: weight of the fully masked copy's tokens in the loss, against 1 of the others'.
        one_step: so many updates at first see fully masked copies alone, as one pass of denoising does.
        shuffled: order of questions and options, codes and slot widths are drawn anew for every block.
        hint_weight, look_weight: of the auxiliary losses (see `run.losses`).
        families: worlds that rows are drawn from, at most two cases a row; none for the shipped mixture.
    """

    copies: int = 2
    whole_slots: float = 0.75
    full_weight: float = 1.0
    one_step: int = 0
    shuffled: bool = True
    hint_weight: float = 0.5
    look_weight: float = 3.0
    families: tuple[str, ...] = ()

    def copies_at(self, update: int) -> int:
        """Noisy copies of a block in this update."""
        return 1 if update < self.one_step else self.copies


SHIPPED = Recipe()
