"""Pages of the knowledge base for people: where the links of answers lead."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from troubleshoot.errors import UnknownIssueError
from troubleshoot.render.document import Document, Point, Section
from troubleshoot.render.entry import cause_document, entry_document
from troubleshoot.render.words import Words
from troubleshoot.serve.engine import Engine
from troubleshoot.serve.page_routes import knowledge_page


def pages_router(engine: Engine) -> APIRouter:
    """Return the routes of the pages."""
    router = APIRouter(include_in_schema=False)
    base = engine.public

    @router.get("/issues")
    async def issues(request: Request) -> Response:
        words = Words(_language(request, engine))
        points = tuple(
            Point(f"`{entry.id}`  {entry.zh.title if words.language == 'zh' and entry.zh else entry.title}")
            for entry in engine.public_entries()
        )
        title, count = words("Issues"), words("kb.count", n=len(points))
        listed = Document("", title, subtitle=count, sections=(Section(title, points),), language=words.language)
        return knowledge_page(request, engine, listed)

    @router.get("/issues/{issue:path}")
    async def issue(request: Request, issue: str) -> Response:
        try:
            entry = base.entry(issue)
        except UnknownIssueError as error:
            return _missing(request, engine, f"{error.args[0].partition(' See:')[0]}")
        if entry.id != issue:
            return RedirectResponse(f"{request.scope.get('root_path', '')}/issues/{entry.id}", 301)
        special = tuple(one.id for one in engine.public_entries() if entry.id in one.refines)
        return knowledge_page(request, engine, entry_document(entry, _language(request, engine), special))

    @router.get("/causes/{code:path}")
    async def cause(request: Request, code: str) -> Response:
        found = base.causes.causes.get(code)
        if found is None:
            return _missing(request, engine, f"no cause is called {code[:100]!r}")
        language = _language(request, engine)
        listed = tuple(
            (one.id, one.zh.title if language == "zh" and one.zh else one.title)
            for one in engine.public_entries()
            if one.cause == code or any(part.cause == code for part in one.causes)
        )
        return knowledge_page(request, engine, cause_document(code, found, language, listed))

    return router


def _missing(request: Request, engine: Engine, message: str) -> Response:
    return knowledge_page(request, engine, Document("", message, language=_language(request, engine)), 404)


def _language(request: Request, engine: Engine) -> str:
    """Return the language that the address asks for (``?lang=zh``), else the browser's, else the operator's."""
    asked = request.query_params.get("lang", "")
    if asked in ("en", "zh"):
        return asked
    for part in request.headers.get("accept-language", "").lower().split(",")[:10]:
        tag = part.strip().partition(";")[0].partition("-")[0]
        if tag in ("en", "zh"):
            return tag
    return engine.settings.language
