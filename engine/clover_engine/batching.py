"""Continuous batching: calls of several threads go through the model together.

Every request runs its own denoising in a thread of its own and calls the adapter as if it were alone. What threads ask for while
a pass runs makes up the next pass, so the batch is formed anew at every denoising step: finished blocks leave it, new requests
enter it (iteration-level scheduling; Orca, OSDI 2022). Blocks and prefixes of any lengths share a pass.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from clover_engine.models.base import Call, ModelAdapter, ModelSpec, Pointer

PATIENCE = 0.01
"""Seconds that a pass waits for threads that are between two of theirs."""
MOST_TOKENS = 4096
"""Tokens of a pass; a longer call goes alone."""


@dataclass
class _Waiting:
    """What a thread waits for: a call that can share a pass, or work that cannot."""

    call: Call[Any] | None
    work: Callable[[], Any] | None = None
    done: Future[Any] = field(default_factory=Future)


class BatchingAdapter:
    """An adapter whose calls may come from several threads at once; a thread of its own runs the passes, one at a time.

    `watch` is told of every pass: calls in it, tokens in it, seconds.
    """

    def __init__(self, adapter: ModelAdapter[Any], watch: Callable[[int, int, float], None] | None = None) -> None:
        self._adapter, self._watch = adapter, watch
        self._changed = threading.Condition()
        self._queue: list[_Waiting] = []
        self._sessions = 0
        self._local = threading.local()
        self._thread = threading.Thread(target=self._serve, name="model", daemon=True)
        self._thread.start()

    @property
    def spec(self) -> ModelSpec:
        return self._adapter.spec

    @property
    def device(self) -> torch.device:
        return self._adapter.device

    @property
    def dtype(self) -> torch.dtype:
        return self._adapter.dtype

    @contextmanager
    def session(self, check: Callable[[], None] = lambda: None) -> Iterator[None]:
        """From its first call on, passes wait a little for this thread. `check` is called before each of its calls, and may raise."""
        self._local.check, self._local.joined = check, False
        try:
            yield
        finally:
            self._local.check = None
            with self._changed:
                self._sessions -= self._local.joined
                self._changed.notify_all()

    def empty(self) -> Any:
        return self._adapter.empty()

    def extend(self, state: Any, ids: Sequence[int]) -> Any:
        return self._submit(_Waiting(Call("extend", state, [ids])))

    def branch(self, state: Any, rows: Sequence[Sequence[int]]) -> Any:
        return self._submit(_Waiting(Call("branch", state, rows)))

    def encode_block(self, state: Any, blocks: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        return self._submit(_Waiting(Call("encode_block", state, blocks)))

    def many(self, calls: Sequence[Call[Any]]) -> list[Any]:
        return self._submit(_Waiting(None, lambda: self._adapter.many(calls)))

    def attention(
        self, state: Any, block: Sequence[int], positions: Sequence[int], spans: Sequence[tuple[int, int]], pointer: Pointer
    ) -> torch.Tensor:
        return self._submit(_Waiting(None, lambda: self._adapter.attention(state, block, positions, spans, pointer)))

    def noise(self, blocks: Sequence[Sequence[int]], masked: Sequence[Sequence[int]], seed: int) -> list[list[int]]:
        return self._adapter.noise(blocks, masked, seed)

    def head(self, hidden: torch.Tensor, allowed: torch.Tensor | None = None) -> torch.Tensor:
        return self._adapter.head(hidden, allowed)

    def _submit(self, waiting: _Waiting) -> Any:
        check = getattr(self._local, "check", None)
        if check is not None:
            check()
        with self._changed:
            if check is not None and not self._local.joined:
                self._local.joined = True
                self._sessions += 1
            self._queue.append(waiting)
            self._changed.notify_all()
        return waiting.done.result()

    def _serve(self) -> None:
        while True:
            batch = self._next()
            start = time.perf_counter()
            _answer(self._adapter, batch)
            if self._watch is not None:
                tokens = sum(waiting.call.tokens for waiting in batch if waiting.call)
                self._watch(len(batch), tokens, time.perf_counter() - start)

    def _next(self) -> list[_Waiting]:
        """What the next pass is made of: all that is asked for, in order, as far as it fits."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue)
            self._changed.wait_for(lambda: len(self._queue) >= self._sessions, PATIENCE)
            count, tokens = 0, 0
            for waiting in self._queue:
                if waiting.call is None:
                    break
                tokens += waiting.call.tokens
                if count and tokens > MOST_TOKENS:
                    break
                count += 1
            batch, self._queue = self._queue[: max(count, 1)], self._queue[max(count, 1) :]
            return batch


def _answer(adapter: ModelAdapter[Any], batch: Sequence[_Waiting]) -> None:
    """Run a batch. If it fails, each call is run alone, so that one that cannot be answered fails alone."""
    if len(batch) > 1:
        try:
            results = adapter.many([waiting.call for waiting in batch if waiting.call])
        except Exception:
            for waiting in batch:
                _answer(adapter, [waiting])
        else:
            for waiting, result in zip(batch, results, strict=True):
                waiting.done.set_result(result)
        return
    (waiting,) = batch
    try:
        waiting.done.set_result(waiting.work() if waiting.work else adapter.many([waiting.call])[0])  # pyright: ignore[reportArgumentType]
    except Exception as error:
        waiting.done.set_exception(error)
