"""The web page: static files of the package, read once, under a policy that lets nothing foreign load or run."""

from __future__ import annotations

import hashlib
import json
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from troubleshoot.serve.articles import FOLDER, STYLE, filled
from troubleshoot.serve.links import address_of
from troubleshoot.serve.settings import Settings
from troubleshoot.serve.working import Work
from troubleshoot.version import __version__

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
#: Nothing but the page's own files, and requests to the server that it came from.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def page_routes(work: Work) -> list[BaseRoute]:
    """Return the routes of the page: ``/``, and its files under ``/page``."""
    files = {
        path.relative_to(FOLDER).as_posix(): (path.read_bytes(), _TYPES[path.suffix])
        for path in sorted(FOLDER.rglob("*"))
        if path.suffix in _TYPES and path.suffix != ".html"
    }
    files["article.css"] = (STYLE.encode(), _TYPES[".css"])
    index = (FOLDER / "index.html").read_text(encoding="utf-8")
    tags = {name: f'"{hashlib.sha256(content).hexdigest()[:24]}"' for name, (content, _) in files.items()}

    async def page(request: Request) -> Response:
        root = root_of(request, work.settings)
        origin = address_of(request)
        return _html(filled(index, root=root, origin=origin, settings=_settings(work, root)), {"Cache-Control": "no-store"})

    async def file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            return Response("There is no such file.\n", 404, _HEADERS, "text/plain")
        content, kind = files[name]
        headers = {**_HEADERS, "ETag": tags[name], "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tags[name]:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)

    return [
        Route("/", page, methods=["GET"], include_in_schema=False),
        Route("/page/{name:path}", file, methods=["GET"], include_in_schema=False),
    ]


def knowledge_page(page: tuple[int, str, str], root: str) -> Response:
    """Return the response with a page of the knowledge base, or with the address where it is."""
    status, text, moved = page
    if moved:
        return RedirectResponse(f"{root}/issues/{moved}", status)
    return _html(text, {"Cache-Control": "max-age=300" if status == 200 else "no-store", "Vary": "Accept-Language"}, status)


def _html(text: str, headers: dict[str, str], status: int = 200) -> Response:
    return Response(text, status, {**_HEADERS, **headers}, _TYPES[".html"])


def root_of(request: Request, settings: Settings) -> str:
    """Return where the application is mounted, without a slash at the end: "" at the top of its host."""
    public = settings.public_url
    return (urlsplit(public).path if public else str(request.scope.get("root_path", ""))).rstrip("/")


def _settings(work: Work, root: str) -> str:
    """Return what the page must know of the server, as JSON."""
    settings = work.settings
    return json.dumps(
        {
            "root": root,
            "limit": settings.max_body,
            "stored": settings.feedback is not None and settings.store_reports,
            "reader": settings.reader.model if settings.reader is not None else "",
            "tool": __version__,
            "count": work.shown,
        },
        ensure_ascii=False,
    )
