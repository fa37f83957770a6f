"""uvicorn's connections with the limits that it leaves open: how long a request's head may take and be, and how many may be open.

Requests that another program may read otherwise are refused: with a target that names a host of its own, or with headers after the body.
"""

from __future__ import annotations

import asyncio
from asyncio import TimerHandle
from typing import cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

#: Seconds until a connection must have sent a whole head, from when it opened or began to.
HEAD_SECONDS = 10.0
#: Bytes that the request line and the headers may have.
MOST_HEAD = 32 * 1024
#: Headers of a request.
MOST_HEADERS = 100
MOST_CONNECTIONS = 4096


class BoundedProtocol(HttpToolsProtocol):
    """A connection that is closed where it sends nothing, or a head that is too long or too slow."""

    _timer: TimerHandle | None = None
    _head = 0
    _in_head = True
    _refused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first head."""
        super().connection_made(cast("asyncio.Transport", transport))
        if len(self.connections) > MOST_CONNECTIONS:
            transport.close()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the head while it comes."""
        if self._refused:
            return
        if self._in_head:
            self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > MOST_HEAD and not self._refused:
            self._refuse(431)

    def on_message_begin(self) -> None:
        """Wait for the whole head of another request."""
        if not self._in_head:
            self._in_head, self._head = True, 0
        self._wait()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header of the head; what comes after the body was not there when the request was admitted."""
        if self._in_head:
            super().on_header(name, value)
        elif not self._refused:
            self._refuse(400)

    def on_headers_complete(self) -> None:
        """Hand a head of bearable length on."""
        self._in_head = False
        self._stop_waiting()
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > MOST_HEAD or len(self.headers) > MOST_HEADERS:
            self._refuse(431)
        elif not self.url.startswith(b"/"):
            self._refuse(400)
        elif not self._refused:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Hand the body on."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Hand the end on."""
        if not self._refused:
            super().on_message_complete()

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._too_slow)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()

    def _refuse(self, status: int) -> None:
        self._refused = True
        self._stop_waiting()
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()
