"""The web page: static files of the package, read once."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

_FOLDER = Path(__file__).parent / "page"


def page_routes() -> list[BaseRoute]:
    """Return the routes of the page; none where the package holds no page."""
    index = _FOLDER / "index.html"
    if not index.is_file():
        return []
    text = index.read_text(encoding="utf-8")

    async def page(request: Request) -> Response:
        return HTMLResponse(text)

    return [Route("/", page, methods=["GET"])]
