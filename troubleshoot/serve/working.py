"""Doing the work of a request: in a worker process, whose time and memory are bounded. See ``processes`` and ``worker``."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any, Concatenate, ParamSpec, TypeVar, get_type_hints

import msgspec

from troubleshoot.basics.errors import InputError
from troubleshoot.serve import worker
from troubleshoot.serve.consulting import UNASKED, Consultant, Said
from troubleshoot.serve.engine import Engine
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.metrics import Metrics
from troubleshoot.serve.processes import Pool
from troubleshoot.serve.settings import Settings
from troubleshoot.serve.worker import Setup

P = ParamSpec("P")
T = TypeVar("T")

#: What Python and the knowledge base take before the first report, and as much again.
_LEAST_MEMORY = 128 * 1024 * 1024

#: Messages of a conversation that are gone through; how many readings of a text cost no more than a long report may.
_MESSAGES, _CHEAPER = 40, 8

_log = logging.getLogger("troubleshoot.serve")


class Work:
    """The operator's settings, what is known of the knowledge base, and the workers that read requests."""

    def __init__(self, settings: Settings, metrics: Metrics, engine: type[Engine] = Engine) -> None:
        """Check that there is a knowledge base to read; the workers begin with :meth:`start`, or with the first request.

        Raises:
            KnowledgeError: there is no knowledge base.
            InputError: a setting cannot be used.
        """
        _check(settings)
        loaded = engine(settings)
        self.settings = settings
        self.knowledge = loaded.base.version
        self.issues = len(loaded.base.ids())
        self.shown = len(loaded.public.index.ids)
        self.metrics = metrics
        self._consultant = Consultant(settings.reader, settings.timeout) if settings.reader is not None else None
        self._pool = Pool(Setup(engine, settings, forks=True), metrics.worker_ended)
        # An application that is mounted into another one is never told that it ends.
        self._end = weakref.finalize(self, self._pool.close)

    @property
    def ready(self) -> bool:
        """Tell whether a worker can be asked."""
        return self._end.alive

    async def start(self) -> None:
        """Wait until a worker has loaded the knowledge base. Raises OSError where none can."""
        await asyncio.wrap_future(self._pool.start())

    async def do(self, task: Callable[Concatenate[Engine, P], T], *given: P.args, **named: P.kwargs) -> T:
        """Let a worker do one of the tasks of ``troubleshoot.serve.tasks``.

        Raises:
            RequestError: what the task raised; 422 where it took too much time or memory, 500 where it failed, 503 where too many wait.
        """
        assert not named
        try:
            data = msgspec.msgpack.encode((task.__name__, *given))
        except UnicodeEncodeError:
            raise RequestError(400, "The text is not valid Unicode.") from None
        reply = await asyncio.wrap_future(self._pool.submit(data, _cost(task.__name__, data)))
        kind, value = reply[:1], memoryview(reply)[2:]
        if kind == worker.DONE:
            return _decoder(task).decode(value)
        if kind == worker.REFUSED:
            status, message, param, code = msgspec.msgpack.decode(value)
            raise RequestError(status, message, param=param, code=code)
        _log.error("request failed", extra={"fields": {"task": task.__name__, **msgspec.msgpack.decode(value)}})
        raise RequestError(500, "The server failed to answer this; its log says more.", code="internal")

    async def said(self, task: Callable[Concatenate[Engine, P], bytes], *given: P.args, **named: P.kwargs) -> Said | None:
        """Return what the operator's language model says to the question that a task makes; None without one.

        No worker is busy meanwhile.

        Raises:
            RequestError: as :meth:`do`.
        """
        if self._consultant is None:
            return None
        question = await self.do(task, *given, **named)
        return await self._consultant.ask(question) if question else UNASKED

    async def end(self) -> None:
        """Close what the language model is asked through, and end the workers."""
        self.close()
        if self._consultant is not None:
            await self._consultant.close()

    def close(self) -> None:
        """End the workers, whatever they do."""
        self._end()


def _check(settings: Settings) -> None:
    """Raise InputError for a limit that is none."""
    for name, least in (("timeout", 0.001), ("cpu_limit", 0.001), ("memory_limit", _LEAST_MEMORY), ("engines", 0), ("max_requests", 1)):
        if getattr(settings, name) < least:
            raise InputError(f"{name} is {getattr(settings, name)}: it must be at least {least}")


def _cost(task: str, data: bytes) -> int:
    """Return what a task takes: with each message of a conversation its report may be read once more."""
    return len(data) * min(data.count(b'"role"'), _MESSAGES) // _CHEAPER if task == "chat" else 0


@cache
def _decoder(task: Callable[..., Any]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(get_type_hints(task)["return"])
