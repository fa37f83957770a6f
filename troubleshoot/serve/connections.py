"""uvicorn's connections with the limits that it leaves open: heads, idle clients, answers that nobody reads, how many may be open.

Requests that another program may read otherwise are refused: with a target that names a host of its own, with headers after the body, or
with a body where they ask for another protocol.
"""

from __future__ import annotations

import asyncio
from asyncio import TimerHandle
from typing import ClassVar, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

#: Seconds until a connection must have sent a whole head, from when it opened or began to.
HEAD_SECONDS = 10.0
#: Bytes that the request line and the headers may have.
MOST_HEAD = 32 * 1024
#: Headers of a request.
MOST_HEADERS = 100
MOST_CONNECTIONS = 4096
#: Seconds in which the rest of a request may still come that was answered before its body was there. It is thrown away.
REST_SECONDS = 2.0
#: Seconds until a client must have read what it asked for.
READ_SECONDS = 30.0
#: Bytes that answers which clients do not read may take in all; the one that waits longest is given up first.
MOST_UNREAD = 64 * 1024 * 1024


class BoundedProtocol(HttpToolsProtocol):
    """A connection that is closed where it sends nothing, or a head that is too long or too slow, or does not read.

    While no request is in work a timer runs. Only a request that begins stops it: uvicorn's own is stopped by any byte, as a blank line
    or the rest of a body that was refused.
    """

    _timer: TimerHandle | None = None
    _reading: TimerHandle | None = None
    _head = 0
    _in_head = True
    _in_message = False
    _idle = False
    _refused = False
    #: The connections of this process whose clients do not read, in the order in which they stopped.
    _unread: ClassVar[dict[BoundedProtocol, None]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first head."""
        super().connection_made(cast("asyncio.Transport", transport))
        if len(self.connections) > MOST_CONNECTIONS:
            transport.close()
        else:
            self._wait(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers."""
        self._stop_waiting()
        self._stop_reading()
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
        if self.transport.is_closing():
            self._end()

    def pause_writing(self) -> None:
        """Wait for a client that does not read; give up those that wait longest where there are too many."""
        super().pause_writing()
        self._unread[self] = None
        if self._reading is None:
            self._reading = self.loop.call_later(READ_SECONDS, self.transport.abort)
        while sum(one.transport.get_write_buffer_size() for one in self._unread) > MOST_UNREAD:
            given_up = next(iter(self._unread))
            given_up._stop_reading()
            given_up.transport.abort()

    def resume_writing(self) -> None:
        """The client has read."""
        if not self.transport.is_closing():
            self._stop_reading()
        super().resume_writing()

    def on_message_begin(self) -> None:
        """Wait for the whole head of another request."""
        if not self._in_head:
            self._in_head, self._head = True, 0
        self._in_message = True
        if self._timer is None or self._idle:
            self._wait(HEAD_SECONDS)
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
        elif not self.url.startswith(b"/") or self._upgrades():
            self._refuse(400)
        elif not self._refused:
            super().on_headers_complete()

    def _upgrades(self) -> bool:
        """Tell whether the head asks for another protocol and a body follows, which the parser would take for the next request."""
        names = {name for name, _ in self.headers}
        return self.parser.should_upgrade() and bool(names & {b"content-length", b"transfer-encoding"})

    def on_body(self, body: bytes) -> None:
        """Hand the body on."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Hand the end on."""
        self._in_message = False
        if not self._refused:
            super().on_message_complete()
            if self.cycle.response_complete:
                self._wait(self.timeout_keep_alive, idle=True)

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of this one."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._end()
        elif self.cycle.response_complete and not self._in_head:
            self._wait(REST_SECONDS if self._in_message else self.timeout_keep_alive, idle=True)

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: what a client asks for is no trouble of the server's."""

    def _wait(self, seconds: float, *, idle: bool = False) -> None:
        self._stop_waiting()
        self._idle = idle
        self._timer = self.loop.call_later(seconds, self._end)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_reading(self) -> None:
        self._unread.pop(self, None)
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _end(self) -> None:
        """Close the connection: at once where everything was read, else when it was, or when the time for that is over."""
        self._stop_waiting()
        self.transport.close()
        if self._reading is None:
            self._reading = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def _refuse(self, status: int) -> None:
        self._refused = True
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self._end()
