"""The REST interface: diagnoses, and the knowledge base to look things up in."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import ValidationError

from troubleshoot.errors import InputError, UnknownIssueError
from troubleshoot.knowledge.schema import Entry
from troubleshoot.serve.engine import as_data
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.feedback import Feedback
from troubleshoot.serve.hardware import device_table, support_of
from troubleshoot.serve.models import ERRORS, DiagnoseRequest, FeedbackRequest, described, invalid
from troubleshoot.serve.responses import Json
from troubleshoot.serve.working import Work

_TEXT = "model loaded with torch_dtype=torch.float16\nRuntimeError: expected scalar type Float but found Half"
_OBJECT = {"type": "object"}
_DIAGNOSIS: dict[str, Any] = {
    "type": "object",
    "required": [
        "schema", "tool", "knowledge", "verdict", "reason", "summary", "failures", "environment", "diagnoses", "questions", "culprit",
        "errors",
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
        "errors": {"type": "array", "items": {"type": "string"}, "description": "What could not be used, each in a sentence."},
    },
}  # fmt: skip
_LIST = {"type": "array", "items": _OBJECT}

Language = Annotated[Literal["en", "zh"], Query(description="The language of titles.")]


def _ok(schema: dict[str, Any], description: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"description": description, "content": {"application/json": {"schema": schema}}}, **ERRORS}


def rest_router(work: Work, feedback: Feedback | None) -> APIRouter:
    """Return the routes under /v1."""
    router = APIRouter(prefix="/v1", tags=["rest"])
    engine = work.engine

    @router.post(
        "/diagnose",
        summary="Diagnose a report",
        description="The object is that of `troubleshoot diagnose --env report --format json`: nothing of the server's machine is in it.",
        responses=_ok(_DIAGNOSIS, "The diagnosis"),
        openapi_extra=described(DiagnoseRequest, _TEXT),
    )
    async def diagnose(request: Request) -> Response:
        wanted = _wanted(request.headers.get("content-type", ""), await request.body())

        def task() -> dict[str, Any]:
            diagnosis, errors = engine.diagnose(
                wanted.report,
                environment=wanted.environment,
                answers=wanted.answers,
                gpu=wanted.gpu,
                have=wanted.have,
                language=wanted.language,
            )
            work.metrics.diagnosis(diagnosis.verdict)
            return as_data(diagnosis, errors, wanted.top)

        given = wanted.environment
        size = len(wanted.report) + (len(given) if isinstance(given, str) else 100 * len(given or ()))
        return Json(await work.do(task, size))

    @router.get("/issues", summary="List the known issues", responses=_ok(_LIST, "The issues"))
    async def issues(
        q: Annotated[str, Query(max_length=200, description="Words that id, title, cause or models must hold.")] = "",
        cause: Annotated[str, Query(max_length=100, description="Only issues of this cause.")] = "",
        language: Language = "en",
    ) -> Response:
        return Json(issue_list(engine.public_entries(), q, cause, language))

    @router.get("/issues/{issue:path}", summary="Show a known issue", responses=_ok(_OBJECT, "The entry"))
    async def issue(issue: Annotated[str, Path(examples=["transformers/blip2-query-tokens-fp32"])]) -> Response:
        return Json(msgspec.to_builtins(_entry(engine.public_entry, issue)))

    @router.get("/causes", summary="List the causes", responses=_ok(_LIST, "The causes with general advice"))
    async def causes(language: Language = "en") -> Response:
        return Json(
            [
                {
                    "cause": code,
                    "title": cause.title.zh if language == "zh" else cause.title.en,
                    "explanation": " ".join((cause.explanation.zh if language == "zh" else cause.explanation.en).split()),
                }
                for code, cause in engine.public.causes.causes.items()
            ]
        )

    @router.get("/hardware", summary="Tell which GPU has which dtype", responses=_ok(_LIST, "The devices"))
    async def hardware(
        gpu: Annotated[
            str, Query(max_length=100, description="A name such as V100-16GB, sm_86 or cpu; without it, one line per generation.")
        ] = "",
    ) -> Response:
        if not gpu.strip():
            return Json(device_table())
        try:
            return Json([support_of(gpu)])
        except InputError as error:
            raise RequestError(404, str(error), param="gpu") from None

    @router.post(
        "/feedback",
        summary="Tell whether a fix worked",
        status_code=201,
        responses={201: {"description": "It is noted", "content": {"application/json": {"schema": _OBJECT}}}, **ERRORS},
        openapi_extra=described(FeedbackRequest),
    )
    async def note(request: Request) -> Response:
        if feedback is None:
            raise RequestError(404, "This server takes no feedback: its operator can start it with --feedback FILE.")
        # Another site's page can send plain text without asking, but no JSON.
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestError(415, "Send the feedback as application/json.")
        try:
            wanted = FeedbackRequest.model_validate_json(await request.body())
        except ValidationError as error:
            raise invalid(error) from None
        entry = _entry(engine.base.entry, wanted.issue)
        if wanted.fix is not None and wanted.fix not in engine.fix_ids(entry):
            raise RequestError(404, f"{entry.id} has no fix {wanted.fix!r}.", param="fix")
        await work.do(lambda: feedback.add(entry.id, wanted.fix, wanted.worked, wanted.report), len(wanted.report or ""))
        return Json({"noted": True}, 201)

    return router


def _wanted(content_type: str, body: bytes) -> DiagnoseRequest:
    kind = content_type.partition(";")[0].strip().lower()
    if not body:
        raise RequestError(400, "The body is empty: send the report.")
    if kind == "application/json":
        try:
            return DiagnoseRequest.model_validate_json(body)
        except ValidationError as error:
            raise invalid(error) from None
    if kind in ("", "text/plain", "application/octet-stream"):
        from troubleshoot.report.decode import decode

        return DiagnoseRequest(report=decode(body))
    raise RequestError(415, "Send the report as text/plain, or as application/json with the key report.")


def issue_list(entries: list[Entry], words: str = "", cause: str = "", language: str = "en") -> list[dict[str, Any]]:
    """Return a line about each entry that holds all the words and has the cause."""
    lowered = words.lower().split()
    found = []
    for entry in entries:
        causes = [entry.cause] if entry.cause else [one.cause for one in entry.causes]
        title = entry.zh.title if language == "zh" and entry.zh else entry.title
        text = " ".join((entry.id, entry.title, title, *causes, *entry.models)).lower()
        if all(word in text for word in lowered) and (not cause or cause in causes):
            line = {"id": entry.id, "title": title, "kind": entry.kind, "causes": causes, "status": entry.status}
            found.append({**line, "models": list(entry.models), "refines": list(entry.refines)})
    return found


def _entry(get: Any, issue: str) -> Entry:
    try:
        return get(issue.strip())
    except UnknownIssueError as error:
        alike = f" Did you mean: {', '.join(error.suggestions)}?" if error.suggestions else ""
        raise RequestError(404, f"No known issue is called {issue[:200]!r}.{alike}", param="issue") from None
