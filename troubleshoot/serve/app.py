"""``create_app()``: the interfaces put together into one ASGI application."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from troubleshoot.serve.engine import Engine
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.page_routes import page_routes
from troubleshoot.serve.rest import rest_router
from troubleshoot.serve.settings import Settings
from troubleshoot.version import __version__


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the application; it runs by itself or mounted into another one.

    Raises:
        KnowledgeError: there is no knowledge base to read.
        InputError: a setting cannot be used.
    """
    engine = Engine(settings or Settings())
    app = FastAPI(title="troubleshoot", version=__version__, docs_url=None, redoc_url=None)
    app.state.engine = engine
    app.include_router(rest_router(engine))
    app.router.routes.extend(page_routes())

    @app.exception_handler(RequestError)
    async def tell(request: Request, error: RequestError) -> Response:
        return Response(error.body(), error.status, media_type="application/json")

    return app
