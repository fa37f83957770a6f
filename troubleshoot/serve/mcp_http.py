"""``/mcp``: the protocol over streamable HTTP, without sessions, so that any worker can answer any request."""

from __future__ import annotations

import asyncio
import json
import re
from functools import cache

import msgspec
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from troubleshoot.serve.errors import error_body
from troubleshoot.serve.guard import replayed
from troubleshoot.serve.hosts import same_origin
from troubleshoot.serve.mcp_server import mcp_server
from troubleshoot.serve.working import Work

_NO_MESSAGE = "Invalid request: send one JSON-RPC 2.0 request."
_NO_OBJECT = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": _NO_MESSAGE}})
_TOO_MANY = "Invalid request: it holds too many values. Give a report, and what a program printed, as one text."
_TOO_MUCH = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": _TOO_MANY}})
_NO_JSON = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error: this is no JSON."}})
#: Values that a request may hold, at most. Each becomes an object of Python, several times: a megabyte of them takes 30 times as much.
_MOST_VALUES = 4000
#: What of a request and of its parameters is handed on; the rest means nothing here.
_MEMBERS = ("jsonrpc", "id", "method", "params", "result", "error")
_PARAMETERS = (
    "_meta", "name", "arguments", "uri", "cursor", "protocolVersion", "capabilities", "clientInfo", "requestId", "reason", "level", "ref",
    "argument", "context", "progressToken", "progress", "total", "message", "notifications", "requestState", "inputResponses",
)  # fmt: skip
#: Half of a character above U+FFFF, as an escape without its other half. No text of ours can hold it.
_HALF = re.compile(rb"(?<!\\)((?:\\\\)*)(?:\\u[dD][89abAB]\w\w(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]\w\w)\\u[dD][c-fC-F]\w\w)")
#: Seconds that requests in work get when the server ends; it has waited for them before.
_CLOSING = 1.0


class McpEndpoint:
    """The protocol as an ASGI application.

    The SDK's manager lives in a task of its own, begun with the first request: an application that is mounted into another one is never
    told that it starts.
    """

    def __init__(self, work: Work) -> None:
        self._server = mcp_server(work)
        self._manager: StreamableHTTPSessionManager | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop: asyncio.Event | None = None
        self._arguments: _Members = {}
        self._max_body = work.settings.max_body
        self.route = Route("/mcp", endpoint=self, include_in_schema=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. A web page of another site is refused, whatever name its address was given."""
        scope["route"] = self.route
        request = Request(scope, receive)
        origin = request.headers.get("origin")
        if origin is not None and not same_origin(origin, request.headers.get("host", "")):
            refused = Response(error_body(403, "Web pages of other sites may not use this."), 403, media_type="application/json")
            await refused(scope, receive, send)
            return
        if request.method != "POST":
            # Without sessions nothing could ever come on the stream that GET asks for.
            refused = Response(error_body(405, "Send requests with POST."), 405, {"allow": "POST"}, "application/json")
            await refused(scope, receive, send)
            return
        body = await request.body()
        if not body.lstrip().startswith(b"{"):
            # The SDK would compare each member of a list with every kind of message.
            refused = Response(_NO_OBJECT, 400, media_type="application/json")
            await refused(scope, receive, send)
            return
        manager = await self._started()
        try:
            body = _bounded(_whole_characters(body), self._arguments)
        except (msgspec.DecodeError, RecursionError):
            await Response(_NO_JSON, 400, media_type="application/json")(scope, receive, send)
            return
        except _TooManyError:
            await Response(_TOO_MUCH, 413, media_type="application/json")(scope, receive, send)
            return
        await manager.handle_request(scope, replayed(body, receive), _quoting_nothing(send))

    async def _started(self) -> StreamableHTTPSessionManager:
        if self._manager is None or self._task is None or self._task.done() or self._task.get_loop() is not asyncio.get_running_loop():
            started: asyncio.Event = asyncio.Event()
            self._stop = asyncio.Event()
            self._manager = StreamableHTTPSessionManager(
                self._server._lowlevel_server, json_response=True, stateless=True, max_request_body_size=self._max_body
            )
            tools = await self._server.list_tools()
            self._arguments = dict.fromkeys(name for tool in tools for name in tool.input_schema["properties"])
            self._task = asyncio.create_task(self._live(self._manager, started, self._stop))
            await started.wait()
        return self._manager

    async def _live(self, manager: StreamableHTTPSessionManager, started: asyncio.Event, stop: asyncio.Event) -> None:
        async with manager.run():
            started.set()
            await stop.wait()

    async def close(self) -> None:
        """End the manager's task."""
        if self._stop is not None and self._task is not None:
            self._stop.set()
            await asyncio.wait({self._task}, timeout=_CLOSING)


def _whole_characters(body: bytes) -> bytes:
    return _HALF.sub(rb"\1\\ufffd", body) if b"\\ud" in body or b"\\uD" in body else body


class _TooManyError(ValueError):
    """A request that would become too many objects."""


#: The members of an object that are handed on, and of each of them that is an object itself, where not all of its own are.
_Members = dict[str, "_Members | None"]


def _bounded(body: bytes, arguments: _Members) -> bytes:
    """Return a request with the members that mean something here.

    What is in them is looked at without making an object of it. Raises _TooManyError, msgspec.DecodeError, RecursionError.
    """
    parameters: _Members = {**dict.fromkeys(_PARAMETERS), "arguments": arguments}
    left = _MOST_VALUES

    def kept(raw: bytes, members: _Members | None) -> bytes:
        nonlocal left
        if members and raw.startswith(b"{"):
            given = msgspec.json.decode(raw, type=_shape(tuple(members)))
            found = {name: getattr(given, f"m{at}") for at, name in enumerate(members)}
            texts = {name: kept(bytes(one).strip(), members[name]) for name, one in found.items() if one is not msgspec.UNSET}
            return b"{" + b",".join(msgspec.json.encode(name) + b":" + text for name, text in texts.items()) + b"}"
        if not raw.startswith(b'"'):
            # Those within texts count too: that is no more than a few in what is no report.
            left -= sum(map(raw.count, (b",", b":", b"[", b"{")))
            if left < 0:
                raise _TooManyError
        return raw

    return kept(body.strip(), {**dict.fromkeys(_MEMBERS), "params": parameters})


@cache
def _shape(names: tuple[str, ...]) -> type[msgspec.Struct]:
    """Return what reads the members with these names of an object, and passes over all others."""
    fields = [(f"m{at}", msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for at in range(len(names))]
    return msgspec.defstruct("Members", fields, rename={f"m{at}": name for at, name in enumerate(names)})


def _quoting_nothing(send: Send) -> Send:
    """Return what sends answers on, and words of our own where the SDK would quote what is no JSON-RPC, with whatever secrets are in it."""
    start: Message | None = None
    parts: list[bytes] = []

    async def sent(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start" and message["status"] == 400:
            start = message
            return
        if start is None:
            await send(message)
            return
        parts.append(message.get("body", b""))
        if message.get("more_body", False):
            return
        body = b"".join(parts)
        if b"input_value=" in body:
            answer = json.loads(body)
            answer["error"] = {"code": answer["error"]["code"], "message": _NO_MESSAGE}
            body = json.dumps(answer).encode()
        headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
        await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
        await send({"type": "http.response.body", "body": body})

    return sent
