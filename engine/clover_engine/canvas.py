"""The canvas of one block: skeleton tokens and the slots between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clover_engine.constraint.automaton import TokenAutomaton
from clover_engine.tokenizer import Tokenizer


class CanvasError(ValueError):
    """The template does not tokenise into skeleton and slots, or does not fit."""


@dataclass(frozen=True)
class Slot:
    """The masked positions `start` .. `start + length` of one answer, and the token strings it may hold.

    Strings shorter than the slot are filled with the model's pad token. `likely` are strings of which the caller knows that they are
    likelier than the model may have it, by `favour` in log odds at every piece where something else could be said. `offsets` are
    added to the logits of single tokens wherever in the slot they may stand.
    """

    start: int
    length: int
    automaton: TokenAutomaton
    likely: tuple[tuple[int, ...], ...] = ()
    favour: float = 0.0
    offsets: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Canvas:
    """Token ids of one block with its slots, in order. Ids at slot positions are placeholders."""

    ids: tuple[int, ...]
    slots: tuple[Slot, ...]

    def masked_positions(self) -> list[int]:
        return [p for slot in self.slots for p in range(slot.start, slot.start + slot.length)]


@dataclass(frozen=True)
class SlotTemplate:
    """A slot to be laid out: literal text around it, its automaton and width, and a legal value as token ids.

    Without an `example` (free strings) the boundary check covers the literals alone.
    """

    before: str
    after: str
    automaton: TokenAutomaton
    length: int
    example: tuple[int, ...]
    likely: tuple[tuple[int, ...], ...] = ()
    favour: float = 0.0
    offsets: tuple[tuple[int, float], ...] = ()


def build_canvas(templates: Sequence[SlotTemplate], tokenizer: Tokenizer, largest: int) -> Canvas:
    """Lay out slots in order.

    The filled template is tokenised as one text and compared with the pieces, so a boundary that a tokenizer would
    merge away is found here and not in a wrong answer.

    Raises:
        CanvasError: boundaries merge, or the block exceeds `largest` positions.
    """
    ids: list[int] = []
    slots: list[Slot] = []
    for template in templates:
        before, after = tokenizer.encode_cached(template.before), tokenizer.encode_cached(template.after)
        filled = template.before + tokenizer.decode(template.example) + template.after
        if template.example and tokenizer.encode_cached(filled) != (*before, *template.example, *after):
            raise CanvasError(f"slot boundaries of {filled!r} do not survive tokenisation")
        ids.extend(before)
        slots.append(Slot(len(ids), template.length, template.automaton, template.likely, template.favour, template.offsets))
        ids.extend([0] * template.length)
        ids.extend(after)
    if len(ids) > largest:
        raise CanvasError(f"the block needs {len(ids)} positions; the model allows {largest}")
    return Canvas(tuple(ids), tuple(slots))
