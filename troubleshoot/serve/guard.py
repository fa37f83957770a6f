"""What every request passes before and after its route: who asks, how much, how long; headers, metrics and the log on the way back.

Plain ASGI: the class-based middleware of Starlette costs a task and two queues per request.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from typing import Any

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from troubleshoot.serve.errors import error_body
from troubleshoot.serve.hosts import host_name
from troubleshoot.serve.logs import trouble
from troubleshoot.serve.metrics import Metrics
from troubleshoot.serve.settings import Settings

_log = logging.getLogger("troubleshoot.serve")

#: Bodies that are being received may take so many times the longest body in all.
_BODIES = 64
_RETRY_AFTER = b"1"
#: Nothing may be loaded, run, framed or sent anywhere, whatever an escape might ever miss. A route may set its own policy.
_POLICY = b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
#: Probes, and the pages that links lead people to: they show the public knowledge base and take nothing.
_OPEN = frozenset({"/", "/healthz", "/readyz", "/favicon.ico", "/issues"})
#: Answered however much there is to do: they cost nothing, and who asks would else restart the server.
_PROBES = frozenset({"/healthz", "/readyz"})
_OPEN_BELOW = ("/issues/", "/causes/", "/page/")


class _RefusedError(Exception):
    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        self.status, self.message, self.code = status, message, code


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._digests = tuple(hashlib.sha256(token.encode()).digest() for token in settings.tokens)
        # A name that is none is told when the server starts: see the command's options.
        self._hosts = frozenset(host_name(host) or host.lower() for host in settings.allowed_hosts)
        self._running = 0
        self._buffered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        sent = _Sent(send)
        size = 0
        self._running += 1
        try:
            headers = dict(scope["headers"])
            self._admit(scope, headers)
            with anyio.move_on_after(self._settings.timeout) as limit:
                # No route reads a body that comes with GET: waiting for it would keep others out.
                body = await self._body(headers, receive) if scope["method"] == "POST" else b""
                size = len(body)
                self._buffered += size
                try:
                    await self._app(scope, replayed(body, receive), sent)
                finally:
                    self._buffered -= size
            if limit.cancelled_caught:
                waited = _RefusedError(503, f"This took longer than {self._settings.timeout:g} s. Send a shorter report.", "timeout")
                raise waited if size or not _has_body(headers) else _RefusedError(408, "The body did not arrive in time.", "timeout")
        except _RefusedError as refused:
            await self._refuse(sent, refused)
        except Exception as error:
            _log.error("request failed", extra={"fields": trouble(error)})
            await self._refuse(sent, _RefusedError(500, "The server failed to answer this; its log says more.", "internal"))
        finally:
            self._running -= 1
            self._told(scope, sent.status, time.perf_counter() - began, size)

    def _admit(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Raise _RefusedError for a request that may not pass."""
        host = _host(scope)
        if self._hosts and host not in self._hosts:
            named = f"not called {host!r}" if host else "called by a name, and the request has none"
            raise _RefusedError(421, f"This server is {named}: its operator can allow a name with --allow-host.")
        if self._digests and not self._open(scope) and not self._authorised(headers.get(b"authorization", b"")):
            raise _RefusedError(401, "A token is needed: send the header Authorization: Bearer TOKEN.", "invalid_api_key")
        if self._running > self._settings.max_requests and scope["path"] not in _PROBES:
            raise _RefusedError(503, "Too many requests at a time. Try again in a moment.", "overloaded")
        if headers.get(b"content-encoding", b"identity").strip().lower() not in (b"identity", b""):
            raise _RefusedError(415, "Send the body as it is, without Content-Encoding.")
        if headers.get(b"transfer-encoding", b"chunked").strip().lower() != b"chunked":
            raise _RefusedError(501, "Send the body as it is, or in chunks: no other Transfer-Encoding is known.")
        length = headers.get(b"content-length")
        if length is not None and (not length.isdigit() or int(length[:20]) > self._settings.max_body):
            raise self._too_long()

    def _open(self, scope: Scope) -> bool:
        path: str = scope["path"]
        root: str = scope.get("root_path", "")
        path = path[len(root) :] if root and path.startswith(root) else path
        return scope["method"] in ("GET", "HEAD") and (path in _OPEN or path.startswith(_OPEN_BELOW))

    def _authorised(self, header: bytes) -> bool:
        """Compare with every token, in the time that this takes whatever was sent."""
        kind, _, token = header.partition(b" ")
        digest = hashlib.sha256(token.strip()).digest()
        found = False
        for known in self._digests:
            found |= hmac.compare_digest(digest, known)
        return found and kind.lower() == b"bearer"

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        if not _has_body(headers):
            return b""
        parts: list[bytes] = []
        size = 0
        try:
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise _RefusedError(400, "The client went away.")
                part = message.get("body", b"")
                size += len(part)
                self._buffered += len(part)
                if size > self._settings.max_body:
                    raise self._too_long()
                if self._buffered > _BODIES * self._settings.max_body:
                    raise _RefusedError(503, "Too many long requests at a time. Try again in a moment.", "overloaded")
                parts.append(part)
                if not message.get("more_body", False):
                    return parts[0] if len(parts) == 1 else b"".join(parts)
        finally:
            self._buffered -= size

    def _too_long(self) -> _RefusedError:
        most = self._settings.max_body
        return _RefusedError(413, f"The body may have {most} bytes. Cut the report to the part around its first traceback.", "too_long")

    async def _refuse(self, sent: _Sent, refused: _RefusedError) -> None:
        if sent.status:
            # The answer has begun: only breaking the connection off can tell.
            raise ConnectionAbortedError(refused.message)
        body = error_body(refused.status, refused.message, code=refused.code)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if refused.status == 503:
            headers.append((b"retry-after", _RETRY_AFTER))
        if refused.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if refused.status in (400, 408, 413):
            # What is left of the body is not read.
            headers.append((b"connection", b"close"))
        await sent({"type": "http.response.start", "status": refused.status, "headers": headers})
        await sent({"type": "http.response.body", "body": body})

    def _told(self, scope: Scope, status: int, seconds: float, size: int) -> None:
        route = getattr(scope.get("route"), "path", None) or "other"
        self._metrics.request(route, status, seconds)
        if self._settings.log_requests:
            fields = {"method": scope["method"], "route": route, "status": status, "ms": round(seconds * 1000, 2), "bytes": size}
            _log.info("request", extra={"fields": fields})


class _Sent:
    """The way out: adds the headers that every response has, and keeps the status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            headers += _HEADERS
            names = {name for name, _ in headers}
            if b"content-security-policy" not in names:
                headers.append((b"content-security-policy", _POLICY))
            if b"cache-control" not in names:
                headers.append((b"cache-control", b"no-store"))
            if self.status == 503 and b"retry-after" not in names:
                headers.append((b"retry-after", _RETRY_AFTER))
            message = {**message, "headers": headers}
        await self._send(message)


def _has_body(headers: dict[bytes, bytes]) -> bool:
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return what hands the body on, and then whatever comes after it."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _host(scope: Scope) -> str:
    """Return the name that the server was asked under, "" where the request has none. Raises _RefusedError where it cannot be one."""
    given = [value for name, value in scope["headers"] if name == b"host"]
    if len(given) > 1:
        raise _RefusedError(400, "The request names more than one host.")
    if not given:
        return ""
    host = host_name(given[0].decode("latin-1"))
    if host is None:
        raise _RefusedError(400, "The Host header names no host.")
    return host


def loopback_names(public_url: str | None) -> tuple[str, ...]:
    """Return the names by which a server that listens on this machine alone may be asked: a page elsewhere cannot rebind its name to it."""
    from urllib.parse import urlsplit

    named: Any = urlsplit(public_url).hostname if public_url else None
    return ("localhost", "127.0.0.1", "[::1]", *((named,) if named else ()))
