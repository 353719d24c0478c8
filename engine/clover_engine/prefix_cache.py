"""A small least-recently-used cache of prefix states, keyed by the exact token ids."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from clover_engine.models.base import ModelAdapter, PrefixState

PIECE = 512
"""Tokens prefilled in a pass: a multiple of every model's grid. A piece does not score what comes after it, which saves half of the
attention of a long prefix; others get their turn between the pieces."""


class PrefixCache:
    """Prefills a prefix once and hands out its (immutable) state. Thread-safe; `entries=0` switches it off."""

    def __init__(self, adapter: ModelAdapter[Any], entries: int = 8) -> None:
        self._adapter, self.entries = adapter, entries
        self._states: OrderedDict[tuple[int, ...], PrefixState] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = self.misses = 0

    def state(self, ids: Sequence[int]) -> PrefixState:
        """The state after `ids`, prefilled now or remembered."""
        key = tuple(ids)
        with self._lock:
            if key in self._states:
                self.hits += 1
                self._states.move_to_end(key)
                return self._states[key]
        state = self._adapter.empty()
        for at in range(0, len(key), PIECE):
            state = self._adapter.extend(state, key[at : at + PIECE])
        with self._lock:
            self.misses += 1
            if self.entries:
                self._states[key] = state
                while len(self._states) > self.entries:
                    self._states.popitem(last=False)
        return state

    def clear(self) -> None:
        with self._lock:
            self._states.clear()

    def check_integrity(self) -> None:
        """Raise AssertionError if a state does not have its key's length."""
        with self._lock:
            assert len(self._states) <= max(self.entries, 0)
            for key, state in self._states.items():
                assert state.length == len(key)
