"""Requests in turn: a bounded queue, so many at once, a deadline each, and an end when nobody waits for the answer."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import Request

from clover_decide.service.metrics import Metrics
from clover_decide.service.problems import Problem, Style, overloaded, too_late

T = TypeVar("T")
Check = Callable[[], None]


class Runner:
    """Runs work of requests in threads, first come first served."""

    def __init__(self, batch: int, queue: int, deadline: float, metrics: Metrics) -> None:
        self._pool = ThreadPoolExecutor(batch, thread_name_prefix="decide")
        self._batch, self._queue, self._deadline, self._metrics = batch, queue, deadline, metrics
        self._inside = self._abandoned = 0

    @property
    def full(self) -> bool:
        """Whether one more request would be refused, or find nobody who could answer it."""
        return self._inside >= self._batch + self._queue or self._abandoned >= self._batch

    async def run(self, request: Request, work: Callable[[Check], T], style: Style) -> T:
        """What `work` returns. It is handed a check that raises once the request has become pointless.

        Raises:
            Problem: the queue is full, the deadline has passed, or the client went away. What `work` raises.
        """
        if self.full:
            raise overloaded(style)
        end, stopped = time.monotonic() + self._deadline, threading.Event()

        def check() -> None:
            if stopped.is_set() or time.monotonic() > end:
                raise too_late(self._deadline)

        self._enter(1)
        begun = self._pool.submit(self._work, work, check)
        future = asyncio.wrap_future(begun)
        future.add_done_callback(lambda _: self._enter(-1))
        gone = asyncio.create_task(_gone(request))
        try:
            done, _ = await asyncio.wait({future, gone}, timeout=self._deadline, return_when=asyncio.FIRST_COMPLETED)
            if future in done:
                return future.result()
            if gone in done:
                raise Problem(499, "client_closed_request", "the client went away")
            raise too_late(self._deadline)
        finally:
            stopped.set()
            gone.cancel()
            if not future.done() and not begun.cancel():
                self._abandon(future)

    def _abandon(self, future: asyncio.Future[Any]) -> None:
        """Work that nobody waits for goes on until its next check."""
        self._abandoned += 1

        def ended(_: asyncio.Future[Any]) -> None:
            self._abandoned -= 1
            # What it raises is nobody's.
            if not future.cancelled():
                future.exception()

        future.add_done_callback(ended)

    def _work(self, work: Callable[[Check], T], check: Check) -> T:
        self._metrics.running.inc()
        self._metrics.waiting.dec()
        try:
            check()
            return work(check)
        finally:
            self._metrics.running.dec()
            self._metrics.waiting.inc()

    def _enter(self, change: int) -> None:
        self._inside += change
        self._metrics.waiting.inc(change)

    def close(self) -> None:
        """No new work; what runs is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)


async def _gone(request: Request) -> None:
    """Ends when the client does."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
