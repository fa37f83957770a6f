"""Connections that send nothing, too little, or read nothing: they end, whatever keeps them."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra serve")

import uvicorn

from troubleshoot.serve import connections
from troubleshoot.serve.connections import BoundedProtocol

pytestmark = pytest.mark.slow

LONG = 6_000_000
GET = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
POST = b"POST /refused HTTP/1.1\r\nhost: localhost\r\n"


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answer at once, before the body was read; at length under /long."""
    if scope["type"] != "http":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        return
    body = b"x" * (LONG if scope["path"] == "/long" else 2)
    head = [(b"content-length", str(len(body)).encode())]
    if scope["path"] == "/long" and scope["query_string"]:
        head.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., socket.socket]]:
    """Connect to a server whose limits are short."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(connections, "REST_SECONDS", 0.5)
    monkeypatch.setattr(connections, "READ_SECONDS", 1.0)
    config = uvicorn.Config(application, port=0, http=BoundedProtocol, log_level="error", timeout_keep_alive=1, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    opened: list[socket.socket] = []

    def begin(data: bytes, buffer: int = 0) -> socket.socket:
        one = socket.socket()
        opened.append(one)
        if buffer:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        one.settimeout(5)
        one.connect(("127.0.0.1", port))
        one.sendall(data)
        return one

    begin.server = server  # type: ignore[attr-defined]
    yield begin
    for one in opened:
        one.close()
    server.should_exit = True
    thread.join(10)


def ends(one: socket.socket, seconds: float, trickle: bytes = b"") -> bool:
    """Tell whether the other side closes a connection in time, while now and then a little is sent."""
    until = time.monotonic() + seconds
    one.settimeout(0.2)
    while time.monotonic() < until:
        try:
            if trickle:
                one.sendall(trickle)
            if not one.recv(65536):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.mark.parametrize(
    ("data", "trickle"),
    [
        (GET, b""),
        (GET + b"\r\n", b""),
        (GET, b"\r\n"),
        (GET, b"\n"),
        (GET + b"GET / HTTP", b""),
        (b"\r\n", b"\r\n"),
        (POST + b"content-length: 1000000\r\n\r\nx", b""),
        (POST + b"content-length: 1000000\r\n\r\nx", b"x"),
        (POST + b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n", b"1\r\nx\r\n"),
        (POST + b"transfer-encoding: chunked\r\n\r\n", b"ffff\r\n" + b"x" * 65535 + b"\r\n"),
        (POST + b"transfer-encoding: chunked\r\n\r\n0\r\na: b", b"b"),
        (POST + b"content-length: 1000000\r\nexpect: 100-continue\r\n\r\n", b""),
    ],
)
def test_nothing_but_a_request_keeps_a_connection(connect: Callable[..., socket.socket], data: bytes, trickle: bytes) -> None:
    """Blank lines and the rest of a body that was answered already do not count as a request."""
    assert ends(connect(data), 4, trickle)


def test_requests_keep_a_connection(connect: Callable[..., socket.socket]) -> None:
    """One after the other, also after a body that came late, and several at once."""
    one = connect(POST + b"content-length: 3\r\n\r\nx")
    time.sleep(0.2)
    one.sendall(b"yz")
    for _ in range(4):
        time.sleep(0.6)
        one.sendall(b"\r\n" + GET)
        time.sleep(0.1)
        assert one.recv(65536).endswith(b"\r\n\r\nxx")
    one.sendall(GET * 5)
    time.sleep(0.3)
    assert one.recv(65536).count(b"HTTP/1.1 200") == 5
    time.sleep(0.4)
    one.sendall(GET)
    assert one.recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("pause", [0.0, 0.2])
def test_no_body_is_read_as_a_request(connect: Callable[..., socket.socket], pause: float) -> None:
    """Where the head asks for another protocol, the parser takes what follows for the next request. Without a body all is well."""
    upgrade = b"connection: upgrade\r\nupgrade: h2c\r\n"
    one = connect(POST + upgrade + b"content-length: %d\r\n\r\n" % len(GET))
    time.sleep(pause)
    with contextlib.suppress(OSError):
        one.sendall(GET)
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := one.recv(65536):
            received += part
    assert received.startswith(b"HTTP/1.1 400") and received.count(b"HTTP/1.1") == 1
    plain = connect(GET[:-2] + upgrade + b"\r\n")
    assert plain.recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("target", [b"/long", b"/long?close"])
def test_who_reads_nothing_is_given_up(connect: Callable[..., socket.socket], target: bytes) -> None:
    """The answer is thrown away after a while; who reads slowly gets all of it."""
    asked = b"GET " + target + b" HTTP/1.1\r\nhost: localhost\r\n\r\n"
    silent = connect(asked, 2048)
    server = connect.server  # type: ignore[attr-defined]
    time.sleep(0.3)
    assert len(server.server_state.connections) == 1
    time.sleep(3)
    assert not server.server_state.connections and not BoundedProtocol._unread
    received = 0
    with contextlib.suppress(ConnectionResetError):
        while part := silent.recv(65536):
            received += len(part)
    assert received < LONG
    slow = connect(asked)
    time.sleep(0.4)
    received = 0
    while received < LONG:
        part = slow.recv(65536)
        assert part
        received += len(part)


def test_answers_that_nobody_reads_are_bounded_together(connect: Callable[..., socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit the client that has waited longest is given up."""
    monkeypatch.setattr(connections, "READ_SECONDS", 60.0)
    monkeypatch.setattr(connections, "MOST_UNREAD", 3 * LONG)
    opened = []
    for _ in range(8):
        opened.append(connect(b"GET /long HTTP/1.1\r\nhost: localhost\r\n\r\n", 2048))
        time.sleep(0.05)
    time.sleep(0.3)
    held = [one.transport.get_write_buffer_size() for one in list(BoundedProtocol._unread)]
    assert 0 < sum(held) <= 3 * LONG
    received = 0
    while received < LONG:
        part = opened[-1].recv(65536)
        assert part
        received += len(part)
