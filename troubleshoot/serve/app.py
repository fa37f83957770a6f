"""The application: the interfaces put together into one ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from troubleshoot.serve.chat.routes import chat_router
from troubleshoot.serve.engine import Engine
from troubleshoot.serve.errors import RequestError, error_body
from troubleshoot.serve.feedback import Feedback
from troubleshoot.serve.guard import Guard
from troubleshoot.serve.mcp_http import McpEndpoint
from troubleshoot.serve.metrics import Metrics
from troubleshoot.serve.page_routes import page_routes
from troubleshoot.serve.pages import pages_router
from troubleshoot.serve.probes import probes_router
from troubleshoot.serve.rest import rest_router
from troubleshoot.serve.settings import Settings
from troubleshoot.serve.working import Work
from troubleshoot.version import __version__

_DESCRIPTION = (
    "Diagnoses precision, dtype and device failures of PyTorch programs from what they printed. "
    "Every answer comes from a curated knowledge base; nothing of the server's own machine is looked at."
)


def create_app(settings: Settings | None = None, *, engine: type[Engine] = Engine) -> FastAPI:
    """Build the application, to run by itself or mounted into another one.

    The processes that read requests begin with the application's lifespan, or with the first request where it has none. ``engine`` is the
    class that they diagnose with; they import it by its name.

    Raises:
        KnowledgeError: there is no knowledge base to read.
        InputError: a setting cannot be used.
    """
    settings = settings or Settings()
    metrics = Metrics()
    work = Work(settings, metrics, engine)
    feedback = Feedback(settings.feedback) if settings.feedback is not None else None
    mcp = McpEndpoint(work)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            await work.start()
            yield
        finally:
            await work.end()
            await mcp.close()

    app = FastAPI(title="troubleshoot", version=__version__, description=_DESCRIPTION, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.include_router(probes_router(work, metrics))
    app.include_router(rest_router(work, feedback))
    app.include_router(chat_router(work))
    app.include_router(pages_router(work))
    app.router.routes.append(mcp.route)
    app.router.routes.extend(page_routes(work))
    app.add_middleware(Guard, settings=settings, metrics=metrics)
    _tell_errors(app)
    return app


def _tell_errors(app: FastAPI) -> None:
    """Answer every error in the one form."""

    @app.exception_handler(RequestError)
    async def refused(request: Request, error: RequestError) -> Response:
        return Response(error.body(), error.status, media_type="application/json")

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"][1:]))
        return Response(error_body(400, f"{place}: {first['msg']}", param=place or None), 400, media_type="application/json")

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        return Response(error_body(error.status_code, error.detail), error.status_code, error.headers, "application/json")
