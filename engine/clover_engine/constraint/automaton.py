"""Finite automata over token ids, and their unrolling to the fixed length of a slot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class EmptyLanguageError(ValueError):
    """No token string of the automaton fits the slot."""


@dataclass(frozen=True, eq=False)
class TokenAutomaton:
    """A deterministic automaton: edge e goes from `sources[e]` to `targets[e]` on token `tokens[e]`.

    States are 0 .. `states` - 1 and 0 is the start. `finals` holds the accepting states.
    """

    states: int
    sources: Ints
    tokens: Ints
    targets: Ints
    finals: frozenset[int]

    @classmethod
    def from_edges(cls, states: int, edges: Iterable[tuple[int, int, int]], finals: Iterable[int]) -> TokenAutomaton:
        """Edges as (source, token, target)."""
        table = np.array(list(edges), dtype=np.int64).reshape(-1, 3)
        return cls(states, table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy(), frozenset(finals))

    @cached_property
    def transitions(self) -> Mapping[tuple[int, int], int]:
        """(state, token) -> state."""
        pairs = zip(self.sources.tolist(), self.tokens.tolist(), strict=True)
        return dict(zip(pairs, self.targets.tolist(), strict=True))

    def accepts(self, string: Sequence[int]) -> bool:
        """Whether the token string, without padding, is in the language."""
        state: int | None = 0
        for token in string:
            state = self.transitions.get((state, token))
            if state is None:
                return False
        return state in self.finals

    def intersect(self, other: TokenAutomaton) -> TokenAutomaton:
        """The automaton of the strings both accept (product construction over reachable pairs)."""
        outgoing: dict[int, list[tuple[int, int]]] = {}
        for (source, token), target in self.transitions.items():
            outgoing.setdefault(source, []).append((token, target))
        names = {(0, 0): 0}
        edges: list[tuple[int, int, int]] = []
        queue = [(0, 0)]
        for pair in queue:
            for token, mine in outgoing.get(pair[0], []):
                theirs = other.transitions.get((pair[1], token))
                if theirs is None:
                    continue
                if (mine, theirs) not in names:
                    names[mine, theirs] = len(names)
                    queue.append((mine, theirs))
                edges.append((names[pair], token, names[mine, theirs]))
        finals = [n for (a, b), n in names.items() if a in self.finals and b in other.finals]
        return TokenAutomaton.from_edges(len(names), edges, finals)

    def unroll(self, length: int, pad_id: int) -> Lattice:
        """Layers of exactly `length` tokens: a string of the language, then pad tokens.

        Edges from which the slot cannot be completed are pruned, so no dead end is ever entered.

        Raises:
            EmptyLanguageError: no string fits.
        """
        if np.any(self.tokens == pad_id):
            raise ValueError("the pad token cannot occur inside a value")
        sink = self.states
        finals = np.array(sorted(self.finals), dtype=np.int64)
        sources = np.concatenate([self.sources, finals, [sink]])
        tokens = np.concatenate([self.tokens, np.full(len(finals) + 1, pad_id)])
        targets = np.concatenate([self.targets, np.full(len(finals) + 1, sink)])
        size = self.states + 1
        ahead = [np.zeros(size, dtype=bool)]
        ahead[0][[*finals, sink]] = True
        for _ in range(length):
            able = np.zeros(size, dtype=bool)
            able[sources[ahead[-1][targets]]] = True
            ahead.append(able)
        ahead.reverse()
        reach = np.zeros(size, dtype=bool)
        reach[0] = ahead[0][0]
        if not reach[0]:
            raise EmptyLanguageError(f"no value of the pattern fits {length} tokens")
        layers: list[Layer] = []
        for i in range(length):
            keep = reach[sources] & ahead[i + 1][targets]
            layers.append(Layer(sources[keep], tokens[keep], targets[keep]))
            reach = np.zeros(size, dtype=bool)
            reach[targets[keep]] = True
        return Lattice(size, tuple(layers))


@dataclass(frozen=True, eq=False)
class Layer:
    """The usable edges of one position."""

    sources: Ints
    tokens: Ints
    targets: Ints


@dataclass(frozen=True, eq=False)
class Lattice:
    """An unrolled automaton: every path from state 0 through all layers is a legal filling of the slot."""

    states: int
    layers: tuple[Layer, ...]

    @cached_property
    def allowed(self) -> Ints:
        """All tokens that occur, ascending: the rows of the output matrix the slot needs."""
        return np.unique(np.concatenate([layer.tokens for layer in self.layers]))

    @cached_property
    def columns(self) -> tuple[Ints, ...]:
        """Per layer, the index into `allowed` of each edge's token."""
        return tuple(np.searchsorted(self.allowed, layer.tokens) for layer in self.layers)

    @cached_property
    def forced(self) -> Mapping[int, int]:
        """Positions where only one token is possible, with that token."""
        return {i: int(layer.tokens[0]) for i, layer in enumerate(self.layers) if np.unique(layer.tokens).size == 1}

    def leaving(self, position: int, state: int) -> Ints:
        """Indices of the edges that leave `state` in the layer of `position`."""
        return self._by_source[position].get(state, _NONE)

    def state_after(self, prefix: Sequence[int]) -> int | None:
        """The state that a token prefix leads to; None if no filling begins so."""
        state: int | None = 0
        for i, token in enumerate(prefix):
            state = self._moves(i, state).get(token)
            if state is None:
                return None
        return state

    def _moves(self, position: int, state: int) -> Mapping[int, int]:
        """Token -> next state."""
        known = self._known.get((position, state))
        if known is None:
            edges, layer = self.leaving(position, state), self.layers[position]
            known = dict(zip(layer.tokens[edges].tolist(), layer.targets[edges].tolist(), strict=True))
            self._known[position, state] = known
        return known

    @cached_property
    def _known(self) -> dict[tuple[int, int], Mapping[int, int]]:
        return {}

    @cached_property
    def _by_source(self) -> tuple[Mapping[int, Ints], ...]:
        return tuple(_grouped(layer.sources) for layer in self.layers)


_NONE = np.zeros(0, dtype=np.int64)


def _grouped(sources: Ints) -> Mapping[int, Ints]:
    """Edge indices by source state."""
    order = np.argsort(sources, kind="stable")
    states, begins = np.unique(sources[order], return_index=True)
    return dict(zip(states.tolist(), np.split(order, begins[1:]), strict=True))
