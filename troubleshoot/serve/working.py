"""Doing the work of a request: short reports at once, long ones in threads, and never more than was allowed.

A diagnosis is work for the processor under Python's lock, so that a thread makes none of it faster, and handing it over and back costs. A
report of a few kilobytes is therefore done where it arrives. A long one may take up to a second, during which other requests must be
answered: it goes to a few threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from troubleshoot.serve.engine import Engine
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.metrics import Metrics

T = TypeVar("T")

#: Characters that are dealt with where they arrive.
_AT_ONCE = 16_384
#: Long reports that may wait for each thread.
_WAITING = 8


class Work:
    """The engine, and the threads that long reports go to."""

    def __init__(self, engine: Engine, metrics: Metrics) -> None:
        self.engine = engine
        self.metrics = metrics
        self._threads = ThreadPoolExecutor(engine.settings.threads, thread_name_prefix="diagnose")
        self._most = engine.settings.threads * (1 + _WAITING)
        self._running = 0
        self.ready = True

    async def do(self, task: Callable[[], T], size: int) -> T:
        """Return what a task returns; ``size`` is the length of its texts in characters.

        Raises:
            RequestError: 503 where too many long reports are waiting.
        """
        if size <= _AT_ONCE:
            return task()
        if self._running >= self._most:
            raise RequestError(503, "Too many long reports are being read. Try again in a moment.", code="overloaded")
        self._running += 1
        future = self._threads.submit(task)
        future.add_done_callback(self._finished)
        return await asyncio.wrap_future(future)

    def _finished(self, _: object) -> None:
        # A thread goes on after its request was given up: it counts until it is done.
        self._running -= 1

    def close(self) -> None:
        """Let the threads end; what has not begun is dropped."""
        self.ready = False
        self._threads.shutdown(wait=False, cancel_futures=True)
