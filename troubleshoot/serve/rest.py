"""The REST interface: diagnoses, and the knowledge base to look things up in."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from anyio import CapacityLimiter, current_effective_deadline, current_time, to_thread
from fastapi import APIRouter, Path, Query, Request, Response

from troubleshoot.serve import tasks
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.feedback import Feedback
from troubleshoot.serve.models import ERRORS, STORAGE_ERRORS, DiagnoseRequest, FeedbackRequest, described
from troubleshoot.serve.responses import Json
from troubleshoot.serve.working import Work

_TEXT = "model loaded with torch_dtype=torch.float16\nRuntimeError: expected scalar type Float but found Half"
_OBJECT = {"type": "object"}
_DIAGNOSIS: dict[str, Any] = {
    "type": "object",
    "required": [
        "schema", "tool", "knowledge", "verdict", "reason", "summary", "failures", "environment", "diagnoses", "questions", "culprit",
        "place", "operands", "contrasts", "outside", "errors", "numbers", "requirements", "tried", "reader",
    ],
    "properties": {
        "schema": {"const": 1},
        "tool": {"type": "string"},
        "knowledge": {"type": "string"},
        "verdict": {"enum": ["known", "likely", "unknown"]},
        "reason": {"enum": ["out-of-scope", "no-entry", "too-little", "no-failure", None]},
        "summary": {"type": "string"},
        "failures": {"type": "array", "items": _OBJECT},
        "environment": _OBJECT,
        "diagnoses": {
            "type": "array",
            "items": {"type": "object", "required": ["issue", "cause", "title", "confidence", "cause_confidence", "evidence", "fixes"]},
        },
        "questions": {"type": "array", "items": {"type": "object", "required": ["ask", "about", "answers", "decides"]}},
        "culprit": {"type": "null"},
        "place": {
            "type": "object",
            "required": ["user", "library", "module", "operation"],
            "description": "Where it failed: the user's line, the library's line below it (file, line, function, code, at), the module.",
        },
        "operands": {
            "type": "array",
            "items": {"type": "object", "required": ["name", "role", "dtype", "device"]},
            "description": "What the failing operation was given; an empty text is unknown.",
        },
        "contrasts": {
            "type": "array",
            "items": {"type": "object", "required": ["experiment", "outcome", "value", "line"]},
            "description": "What the report says was tried, and what came out.",
        },
        "outside": {
            "type": ["object", "null"],
            "required": ["kind", "title", "next"],
            "description": "What kind of problem a report out of scope is, and the next step for that kind.",
        },
        "errors": {"type": "array", "items": {"type": "string"}, "description": "What could not be used, each in a sentence."},
        "numbers": {"type": "array", "items": _OBJECT, "description": "What the report's numbers tell of dtypes, with their lines."},
        "requirements": {"type": "array", "items": _OBJECT, "description": "What refusals accept, refuse and got, with their lines."},
        "tried": {"type": "array", "items": _OBJECT, "description": "Experiments that changed nothing: no such fix is recommended."},
        "reader": {"type": ["object", "null"], "description": "What a language model contributed; null where the operator uses none."},
    },
}  # fmt: skip
_LIST = {"type": "array", "items": _OBJECT}

Language = Annotated[Literal["en", "zh"], Query(description="The language of titles.")]


def _ok(schema: dict[str, Any], description: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"description": description, "content": {"application/json": {"schema": schema}}}, **ERRORS}


def rest_router(work: Work, feedback: Feedback | None) -> APIRouter:
    """Return the routes under /v1."""
    router = APIRouter(prefix="/v1", tags=["rest"])
    # One after the other, as the file takes them, and beside the event loop: a disk may be slow.
    writing = CapacityLimiter(1)

    @router.post(
        "/diagnose",
        summary="Diagnose a report",
        description="The object is that of `troubleshoot diagnose --env report --format json`: nothing of the server's machine is in it.",
        responses=_ok(_DIAGNOSIS, "The diagnosis"),
        openapi_extra=described(DiagnoseRequest, _TEXT),
    )
    async def diagnose(request: Request) -> Response:
        kind, body = request.headers.get("content-type", ""), await request.body()
        said = await work.said(tasks.question, kind, body)
        answer, verdict = await work.do(tasks.diagnose, kind, body, said)
        work.metrics.diagnosis(verdict)
        return _json(answer)

    @router.get("/issues", summary="List the known issues", responses=_ok(_LIST, "The issues"))
    async def issues(
        q: Annotated[str, Query(max_length=200, description="Words that id, title, cause or models must hold.")] = "",
        cause: Annotated[str, Query(max_length=100, description="Only issues of this cause.")] = "",
        language: Language = "en",
    ) -> Response:
        return _json(await work.do(tasks.issues, q, cause, language))

    @router.get("/issues/{issue:path}", summary="Show a known issue", responses=_ok(_OBJECT, "The entry"))
    async def issue(issue: Annotated[str, Path(examples=["transformers/blip2-query-tokens-fp32"])]) -> Response:
        return _json(await work.do(tasks.issue, issue))

    @router.get("/causes", summary="List the causes", responses=_ok(_LIST, "The causes with general advice"))
    async def causes(language: Language = "en") -> Response:
        return _json(await work.do(tasks.causes, language))

    @router.get("/hardware", summary="Tell which GPU has which dtype", responses=_ok(_LIST, "The devices"))
    async def hardware(
        gpu: Annotated[
            str, Query(max_length=100, description="A name such as V100-16GB, sm_86 or cpu; without it, one line per generation.")
        ] = "",
    ) -> Response:
        return _json(await work.do(tasks.hardware, gpu))

    @router.post(
        "/feedback",
        summary="Tell whether a fix worked",
        status_code=201,
        responses={201: {"description": "It is noted", "content": {"application/json": {"schema": _OBJECT}}}, **ERRORS, **STORAGE_ERRORS},
        openapi_extra=described(FeedbackRequest),
    )
    async def note(request: Request) -> Response:
        if feedback is None:
            raise RequestError(404, "This server takes no feedback: its operator can start it with --feedback FILE.")
        # Another site's page can send plain text without asking, but no JSON.
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestError(415, "Send the feedback as application/json.")
        noted = await work.do(tasks.feedback, await request.body())
        until = time.monotonic() + current_effective_deadline() - current_time()
        await to_thread.run_sync(lambda: feedback.add(*noted, until=until), limiter=writing, abandon_on_cancel=True)
        return Json({"noted": True}, 201)

    return router


def _json(answer: bytes) -> Response:
    return Response(answer, media_type="application/json")
