"""Which assignments of a block are allowed at all: the engine asks, and does not know why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from clover_engine.constraint.automaton import EmptyLanguageError, Lattice, TokenAutomaton
from clover_engine.filling import Filling, Layout

Values = Mapping[int, tuple[int, ...]]
"""Token strings, without padding, of the slots that are complete."""


class Feasibility(Protocol):
    """Constraints between the slots of one block.

    `language` and `possible` may be answered too kindly (a string that no completion allows), never too strictly, except that
    `possible` must be right once every related slot has a value.
    """

    def related(self, slot: int) -> frozenset[int]:
        """The slots, itself among them, whose values bear on what `slot` may hold; empty if it is free."""
        ...

    def language(self, slot: int, filled: Values) -> TokenAutomaton | None:
        """The strings that `slot` may still hold beside the values of related slots; None if all of its own."""
        ...

    def possible(self, filled: Values) -> bool:
        """Whether some completion of these values of related slots is allowed."""
        ...


Key = frozenset[tuple[int, tuple[int, ...]]]


class Guard:
    """A feasibility oracle over the fillings of one layout, with its answers remembered."""

    def __init__(self, layout: Layout, oracle: Feasibility | None, pad_id: int) -> None:
        self._layout, self._oracle, self._pad = layout, oracle, pad_id
        self._related = [oracle.related(s) if oracle else frozenset[int]() for s in range(len(layout.lattices))]
        self._lattices: dict[tuple[int, Key], Lattice | bool | None] = {}
        self._possible: dict[Key, bool] = {}

    def free(self, slot: int) -> bool:
        """Whether nothing constrains the slot."""
        return not self._related[slot]

    def alive(self, filling: Filling, slot: int) -> bool:
        """Whether a filling whose last change was in `slot` can still become an allowed assignment."""
        if self.free(slot):
            return True
        values = self._values(filling, slot)
        rest = {s: value for s, value in values.items() if s != slot}
        if not self._begins(slot, filling[slot], rest):
            return False
        if slot not in values:
            return True
        # A slot begun earlier must still have an ending beside what is now complete.
        begun = [s for s in self._related[slot] if filling[s] and s not in values]
        return self._can_be(values) and all(self._begins(s, filling[s], values) for s in begun)

    def _values(self, filling: Filling, slot: int) -> dict[int, tuple[int, ...]]:
        """Values of the complete slots that bear on `slot`."""
        slots = self._layout.canvas.slots
        full = {s: filling[s] for s in self._related[slot] if len(filling[s]) == slots[s].length}
        return {s: tuple(t for t in tokens if t != self._pad) for s, tokens in full.items()}

    def _can_be(self, values: Values) -> bool:
        assert self._oracle is not None
        key = frozenset(values.items())
        if key not in self._possible:
            self._possible[key] = self._oracle.possible(values)
        return self._possible[key]

    def lattice(self, filling: Filling, slot: int) -> Lattice | bool | None:
        """What the complete slots leave of an open one: None if all of it, False if nothing."""
        return None if self.free(slot) else self._narrowed(slot, self._values(filling, slot))

    def _narrowed(self, slot: int, filled: Values) -> Lattice | bool | None:
        key = slot, frozenset(filled.items())
        if key not in self._lattices:
            self._lattices[key] = self._restricted(slot, filled)
        return self._lattices[key]

    def _begins(self, slot: int, tokens: tuple[int, ...], filled: Values) -> bool:
        lattice = self._narrowed(slot, filled)
        if isinstance(lattice, Lattice):
            return lattice.state_after(tokens) is not None
        return lattice is not False

    def _restricted(self, slot: int, filled: Values) -> Lattice | bool | None:
        """The slot's lattice under the constraints; None where they do not restrict it, False where they leave nothing."""
        assert self._oracle is not None
        language = self._oracle.language(slot, filled)
        if language is None:
            return None
        try:
            return language.unroll(self._layout.canvas.slots[slot].length, self._pad)
        except EmptyLanguageError:
            return False
