"""The Model Context Protocol: diagnoses, the knowledge base and the hardware table as tools and resources for language models."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeVar

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    TextContent,
    ToolAnnotations,
)
from pydantic import Field, ValidationError

from troubleshoot.basics.redact import redact_text
from troubleshoot.reading.decode import encodable
from troubleshoot.serve import tasks
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.logs import trouble
from troubleshoot.serve.working import Work
from troubleshoot.version import __version__

T = TypeVar("T")

_INSTRUCTIONS = """\
Diagnoses precision, dtype and device failures of PyTorch programs (dtype mismatches, tensors on different devices, NaN or inf, bfloat16
or float16 on hardware without it, mixed precision, quantization) against a curated knowledge base. Call `diagnose` first, with the
error text exactly as the user pasted it. Its answer is evidence-based: where it says `unknown`, do not guess a known issue. If it
returns questions, ask the user the first one, or answer it from what you know, and call `diagnose` again with `answers`."""

_DIAGNOSE = """\
Diagnose a failing PyTorch program from what it printed. Give the whole pasted text unchanged: traceback, log lines, versions, the
user's own words; do not summarise or translate it. Returns the verdict (known, likely, unknown), the issue and its cause with evidence,
fixes in the order in which to try them (with the command or code, and whether they fit the user's versions and GPU), popular advice
that does not help, and questions whose answers would change the first fix. Nothing is run, and nothing of the server's machine is used."""
_EXPLAIN = """\
Show all that is known of one issue of the knowledge base (id such as transformers/blip2-query-tokens-fp32, as `diagnose` and
`list_issues` return it) or of a cause (such as dtype-mismatch/fp32-island): what happens, affected releases, every fix with its reason,
sources."""
_LIST = """\
List the known issues, filtered by words that the id, title, cause or model names must all hold (for example "qwen2 float16"). To find
out what a given error is, use `diagnose` instead."""
_HARDWARE = """\
Tell which number formats (float16, bfloat16, fp8, fp4, TF32, int8, float64) a GPU computes natively, emulates, or lacks, for matrix
products and convolutions, with sources. Give a name as people write it (T4, V100-16GB, "RTX 4090", MI250X, M2), a compute capability
(sm_86), or cpu; without a name, all generations are listed."""
_VERIFY = """\
Reproduce a known issue on this machine and try its fixes, each in a process of its own; says which of them work here. Takes seconds to
minutes, and needs torch. Only for an issue id that `diagnose` returned. Nothing is installed."""
_AUDIT = """\
Build a model on this machine and check its dtypes and devices before it runs: give module:factory, a function without arguments that
returns the model. Runs the user's code."""

_READ = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False, destructive_hint=False)
_RUN = ToolAnnotations(read_only_hint=False, idempotent_hint=True, open_world_hint=False, destructive_hint=False)
_TARGET = re.compile(r"[A-Za-z_][\w.]{0,200}:[A-Za-z_]\w{0,100}")
_RUN_SECONDS = 1800.0
#: Members that an object among the arguments may have, and characters where it is given as a text.
_MOST_MEMBERS, _MOST_CHARS = 200, 50_000
#: What is told of errors: the SDK's own words quote the request, with whatever secrets are in it.
_ERRORS = {
    METHOD_NOT_FOUND: "Method not found",
    INVALID_PARAMS: "Invalid request parameters",
    INTERNAL_ERROR: "The server failed to answer this; its log says more.",
}
_NO_RESOURCE = (
    "There is no such resource, and no known issue of that name. "
    "That of an issue is troubleshoot://issues/PACKAGE/NAME; the tool list_issues lists them."
)

_log = logging.getLogger("troubleshoot.serve")

Language = Annotated[Literal["en", "zh"], Field(description="The language of the answer: the user's.")]


def mcp_server(work: Work, *, allow_run: bool = False) -> MCPServer[Any]:
    """Return the server with its tools and resources; with ``allow_run`` also those that run things on this machine."""
    with _logging_untouched():
        server = _Server(
            "troubleshoot", title="troubleshoot", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING"
        )
    server._lowlevel_server.middleware.append(_quote_nothing)
    _add_tools(server, work)
    _add_resources(server, work)
    if allow_run:
        _add_running_tools(server, work)
    return server


async def serve_stdio(server: MCPServer[Any]) -> None:
    """Serve on standard input and output. What is no request is answered too: the SDK passes over it, and its client would wait."""
    lowlevel = server._lowlevel_server
    async with stdio_server() as (read, write):
        await lowlevel.run(_Answering(read, write.send), write, lowlevel.create_initialization_options())


class _Answering:
    """A stream of messages that answers those that could not be read, and gives the others."""

    def __init__(self, stream: Any, answer: Callable[[SessionMessage], Awaitable[None]]) -> None:
        self._stream = stream
        self._answer = answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> _Answering:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> _Answering:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def receive(self) -> Any:
        while isinstance(message := await self._stream.receive(), Exception):
            if (error := _unread(message)) is not None:
                await self._answer(SessionMessage(error))
        return message


def _unread(error: Exception) -> JSONRPCError | None:
    """Return the answer to what could not be read, with its id where it has one; None for a blank line."""
    wrong = error.errors(include_url=False, include_context=False) if isinstance(error, ValidationError) else []
    if any(one["type"] == "json_invalid" for one in wrong):
        if not str(wrong[0]["input"]).strip():
            return None
        return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=PARSE_ERROR, message="Parse error: this is no JSON."))
    given = (one["input"].get("id") for one in wrong if isinstance(one["input"], dict) and not one["loc"][1:-1])
    number = next((one for one in given if isinstance(one, str | int) and not isinstance(one, bool)), None)
    told = ErrorData(code=INVALID_REQUEST, message="Invalid request: send one JSON-RPC 2.0 request on a line.")
    return JSONRPCError(jsonrpc="2.0", id=encodable(number) if isinstance(number, str) else number, error=told)


class _Server(MCPServer[Any]):
    """Checks arguments itself, and stops at the first that is wrong: the SDK tells of each one, and quotes it."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool. Raises ToolError for arguments that it does not take; the message holds nothing of them."""
        schemas = {tool.name: tool.input_schema for tool in await self.list_tools()}
        if name not in schemas:
            raise ToolError(f"There is no such tool. The tools are: {', '.join(schemas)}.")
        try:
            return await super().call_tool(name, _checked(schemas[name], arguments), context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                # The SDK's own words quote the arguments.
                raise ToolError(f"The arguments of {name} cannot be used.") from None
            raise


def _checked(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a tool knows; null counts as not given. Raises ToolError for the first that it does not take."""
    known: Mapping[str, Mapping[str, Any]] = schema["properties"]
    found: dict[str, Any] = {}
    for name, shape in known.items():
        value = arguments.get(name)
        if value is None:
            if name in schema.get("required", ()):
                raise ToolError(f"The argument {name} is needed: {shape.get('description', 'give a text.')}")
            continue
        shapes = shape.get("anyOf", [shape])
        found[name] = _members(name, value) if any(one.get("type") == "object" for one in shapes) else _text(name, value, shape)
    return found


def _text(name: str, value: Any, shape: Mapping[str, Any]) -> str:
    if not isinstance(value, str):
        raise ToolError(f"The argument {name} must be a text.")
    if len(value) > shape.get("maxLength", len(value)):
        raise ToolError(f"The argument {name} may have {shape['maxLength']} characters.")
    if value not in shape.get("enum", (value,)):
        raise ToolError(f"The argument {name} must be one of: {', '.join(shape['enum'])}.")
    return encodable(value)


def _members(name: str, value: Any) -> dict[str, str]:
    """Return an object with texts; some clients give it as JSON in a text."""
    if isinstance(value, str) and len(value) <= _MOST_CHARS:
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not isinstance(value, dict):
        raise ToolError(f"The argument {name} must be an object with texts.")
    if len(value) > _MOST_MEMBERS:
        raise ToolError(f"The argument {name} may have {_MOST_MEMBERS} members.")
    if not all(isinstance(one, str) for one in value.values()):
        raise ToolError(f"Every member of the argument {name} must be a text.")
    return {encodable(key): encodable(one) for key, one in value.items()}


async def _quote_nothing(ctx: Any, call_next: Any) -> Any:
    """Let the errors of a request tell what was wrong in words of our own."""
    if ctx.method == "prompts/get":
        raise MCPError(code=INVALID_PARAMS, message="This server has no prompts.")
    if ctx.method.startswith("subscriptions/"):
        # Nothing here changes, so that nothing could ever come on the stream, which would count as a request in work.
        raise MCPError(code=METHOD_NOT_FOUND, message=_ERRORS[METHOD_NOT_FOUND])
    try:
        return await call_next(ctx)
    except MCPError as error:
        code = error.error.code
        if code not in _ERRORS:
            raise
        told = _NO_RESOURCE if ctx.method == "resources/read" and code == INVALID_PARAMS else _ERRORS[code]
        raise MCPError(code=code, message=told) from None
    except ValidationError:
        raise MCPError(code=INVALID_PARAMS, message=_ERRORS[INVALID_PARAMS]) from None
    except Exception as error:
        _log.error("request failed", extra={"fields": trouble(error)})
        raise MCPError(code=INTERNAL_ERROR, message=_ERRORS[INTERNAL_ERROR]) from None


@contextlib.contextmanager
def _logging_untouched() -> Iterator[None]:
    """The SDK sets up the root logger; that is the program's to decide, not a library's."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _add_tools(server: MCPServer[Any], work: Work) -> None:

    @server.tool(description=_DIAGNOSE, annotations=_READ, structured_output=False)
    async def diagnose(
        report: Annotated[str, Field(description="The pasted text, unchanged: traceback, log, description.", max_length=1_000_000)],
        # No "str | None": the SDK would take a text that is JSON, such as that of `pip list --format json`, for a list.
        environment: Annotated[
            str, Field(description="Output of pip list, collect_env, nvidia-smi or the like, if there is any beside the report.")
        ] = "",
        answers: Annotated[
            dict[str, str] | None,
            Field(description='Answers to questions of an earlier call, by their `about`: {"package.apex": "absent"}.'),
        ] = None,
        gpu: Annotated[str, Field(description='The GPU, if known: "T4", "A100-80GB", "sm_86", or "none".')] = "",
        have: Annotated[dict[str, str] | None, Field(description='Package versions, if known: {"torch": "2.3.0"}.')] = None,
        language: Language = "en",
    ) -> CallToolResult:
        known = (report, environment or None, answers, gpu or None, have)
        said = await _done(work.said(tasks.tool_question, *known))
        text, data, verdict = await _done(work.do(tasks.tool_diagnose, *known, language, said))
        work.metrics.diagnosis(verdict)
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=data)

    @server.tool(description=_EXPLAIN, annotations=_READ, structured_output=False)
    async def explain(
        issue: Annotated[str, Field(description="The id of an issue, or the code of a cause.", max_length=200)], language: Language = "en"
    ) -> str:
        return await _done(work.do(tasks.tool_explain, issue.strip(), language))

    @server.tool(description=_LIST, annotations=_READ, structured_output=False)
    async def list_issues(
        words: Annotated[str, Field(description="Words to look for; empty lists everything.", max_length=200)] = "",
        cause: Annotated[str, Field(description="Only issues of this cause, such as numerics/fp16-overflow.", max_length=100)] = "",
        language: Language = "en",
    ) -> str:
        return await _done(work.do(tasks.tool_list, words, cause, language))

    @server.tool(description=_HARDWARE, annotations=_READ, structured_output=False)
    async def hardware_support(
        gpu: Annotated[
            str, Field(description="The name of a GPU, a compute capability, or cpu; empty lists everything.", max_length=100)
        ] = "",
    ) -> str:
        return (await _done(work.do(tasks.hardware, gpu))).decode()


def _add_resources(server: MCPServer[Any], work: Work) -> None:
    @server.resource(
        "troubleshoot://issues", name="issues", title="Known issues", description="A line per known issue.", mime_type="text/plain"
    )
    async def issues() -> str:
        return await work.do(tasks.tool_list, "", "", "en")

    @server.resource(
        "troubleshoot://issues/{package}/{name}",
        name="issue",
        title="A known issue",
        description="All that is known of one issue, as Markdown: troubleshoot://issues/transformers/blip2-query-tokens-fp32",
        mime_type="text/markdown",
    )
    async def issue(package: str, name: str) -> str:
        try:
            return await work.do(tasks.tool_explain, f"{package}/{name}", "en")
        except RequestError as error:
            raise ResourceNotFoundError(error.message) from None


def _add_running_tools(server: MCPServer[Any], work: Work) -> None:
    @server.tool(description=_VERIFY, annotations=_RUN, structured_output=False)
    async def verify(issue: Annotated[str, Field(description="The id of a known issue that has a case.", max_length=200)]) -> str:
        return await _run("verify", await _done(work.do(tasks.entry_id, issue)))

    @server.tool(description=_AUDIT, annotations=_RUN, structured_output=False)
    async def audit(target: Annotated[str, Field(description="module:factory", max_length=300)]) -> str:
        if not _TARGET.fullmatch(target):
            raise ToolError("Give module:factory, for example my_package.models:build.")
        return await _run("audit", target)


async def _run(command: str, argument: str) -> str:
    """Run one of the program's commands in a process of its own: what user code prints must not get into the protocol."""
    try:
        with anyio.fail_after(_RUN_SECONDS):
            done = await anyio.run_process(
                # Without -P a file in the working folder could take the program's place.
                [sys.executable, "-P", "-m", "troubleshoot", command, argument, "--format", "json"], check=False, stdin=-3
            )  # fmt: skip
    except TimeoutError:
        raise ToolError(f"{command} took longer than {_RUN_SECONDS:g} s and was stopped.") from None
    output = done.stdout.decode("utf-8", "replace").strip()
    if not output:
        raise ToolError(redact_text(done.stderr.decode("utf-8", "replace").strip())[-2000:] or f"{command} printed nothing.")
    return output


async def _done(work: Awaitable[T]) -> T:
    """Return what a worker did; what was wrong with the request is told as the protocol tells it."""
    try:
        return await work
    except RequestError as error:
        raise ToolError(error.message) from None
