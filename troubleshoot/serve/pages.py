"""Pages of the knowledge base for people: where the links of answers lead. And what the page to paste a report into shows of it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from troubleshoot.serve import tasks
from troubleshoot.serve.page_routes import knowledge_page, root_of
from troubleshoot.serve.working import Work


def pages_router(work: Work) -> APIRouter:
    """Return the routes of the pages."""
    router = APIRouter(include_in_schema=False)
    settings = work.settings

    @router.get("/issues")
    async def issues(request: Request) -> Response:
        root = root_of(request, settings)
        return knowledge_page(await work.do(tasks.issues_page, _language(request, settings.language), root), root)

    @router.get("/issues/{issue:path}")
    async def issue(request: Request, issue: str) -> Response:
        root = root_of(request, settings)
        page = await work.do(tasks.issue_page, issue, _language(request, settings.language), root)
        return knowledge_page(page, str(request.scope.get("root_path", "")))

    @router.get("/causes/{code:path}")
    async def cause(request: Request, code: str) -> Response:
        root = root_of(request, settings)
        return knowledge_page(await work.do(tasks.cause_page, code, _language(request, settings.language), root), root)

    @router.post("/page/diagnose")
    async def diagnose(request: Request) -> Response:
        kind, root = request.headers.get("content-type", ""), root_of(request, settings)
        body = await request.body()
        said = await work.said(tasks.question, kind, body)
        answer, verdict = await work.do(tasks.diagnose_page, kind, body, root, said)
        work.metrics.diagnosis(verdict)
        return Response(answer, media_type="application/json")

    return router


def _language(request: Request, default: str) -> str:
    """Return the language that the address asks for (``?lang=zh``), else the browser's, else the operator's."""
    asked = request.query_params.get("lang", "")
    if asked in ("en", "zh"):
        return asked
    for part in request.headers.get("accept-language", "").lower().split(",")[:10]:
        tag = part.strip().partition(";")[0].partition("-")[0]
        if tag in ("en", "zh"):
            return tag
    return default
