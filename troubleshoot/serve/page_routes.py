"""The web page: static files of the package, read once, under a policy that lets nothing foreign load or run."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from troubleshoot.environment import ONE_LINE_PROBE
from troubleshoot.redact import redact_text
from troubleshoot.render.document import Document, transform
from troubleshoot.render.html import to_article
from troubleshoot.version import __version__

if TYPE_CHECKING:
    from troubleshoot.serve.engine import Engine

_FOLDER = Path(__file__).parent / "page"
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
_TAGS = {"en": "en", "zh": "zh-CN"}
_WORDS = {
    "en": {
        "name": "English",
        "tagline": "PyTorch precision, dtype and device failures",
        "onward": "Diagnose a report",
    },
    "zh": {"name": "中文", "tagline": "PyTorch 精度、dtype 与设备故障", "onward": "诊断一份报告"},
}


def page_routes(engine: Engine) -> list[BaseRoute]:
    """Return the routes of the page: ``/``, and its files under ``/page``."""
    files = {
        path.relative_to(_FOLDER).as_posix(): (path.read_bytes(), _TYPES[path.suffix])
        for path in sorted(_FOLDER.rglob("*"))
        if path.suffix in _TYPES and path.suffix != ".html"
    }
    index = (_FOLDER / "index.html").read_text(encoding="utf-8")
    tags = {name: f'"{hashlib.sha256(content).hexdigest()[:24]}"' for name, (content, _) in files.items()}

    async def page(request: Request) -> Response:
        root = _root(request, engine)
        origin = f"{request.url.scheme}://{request.url.netloc}"
        return _html(_filled(index, root=root, origin=origin, settings=_settings(engine, root)), {"Cache-Control": "no-store"})

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


def knowledge_page(request: Request, engine: Engine, document: Document, status: int = 200) -> Response:
    """Return a document of the knowledge base in the frame of the page; issues and causes that it names lead to their own pages."""
    root, language = _root(request, engine), document.language
    other = "en" if language == "zh" else "zh"
    text = _filled(
        _frame(),
        root=root,
        language=_TAGS[language],
        title=document.title,
        other=other,
        other_tag=_TAGS[other],
        other_name=_WORDS[other]["name"],
        tagline=_WORDS[language]["tagline"],
        onward=_WORDS[language]["onward"],
    )

    def linked(match: re.Match[str]) -> str:
        name = match[1]
        kind = "issues" if engine.shows(name) else "causes" if name in engine.public.causes.causes else ""
        if not kind or name == document.name:
            return match[0]
        return f'<a href="{escape(root)}/{kind}/{name}?lang={language}">{match[0]}</a>'

    article = to_article(transform(document, redact_text))
    # The article is markup, escaped where it was made.
    text = text.replace("{{article}}", re.sub(r"<code>([a-z0-9_.-]+/[a-z0-9_.-]+)</code>", linked, article))
    return _html(text, {"Cache-Control": "max-age=300" if status == 200 else "no-store", "Vary": "Accept-Language"}, status)


@cache
def _frame() -> str:
    return (_FOLDER / "issue.html").read_text(encoding="utf-8")


def _html(text: str, headers: dict[str, str], status: int = 200) -> Response:
    return Response(text, status, {**_HEADERS, **headers}, _TYPES[".html"])


def _filled(text: str, **values: str) -> str:
    """Return a page with its holes filled, escaped."""
    for name, value in values.items():
        text = text.replace("{{" + name + "}}", escape(value))
    return text


def _root(request: Request, engine: Engine) -> str:
    """Return where the application is mounted, without a slash at the end: "" at the top of its host."""
    public = engine.settings.public_url
    return (urlsplit(public).path if public else str(request.scope.get("root_path", ""))).rstrip("/")


def _settings(engine: Engine, root: str) -> str:
    """Return what the page must know of the server, as JSON."""
    settings = engine.settings
    return json.dumps(
        {
            "root": root,
            "limit": settings.max_body,
            "feedback": settings.feedback is not None,
            "stored": settings.feedback is not None and settings.store_reports,
            "hidden": bool(settings.overlays) and not settings.show_overlays,
            "tool": __version__,
            "count": len(engine.public.index.ids),
            "probe": ONE_LINE_PROBE.strip(),
        },
        ensure_ascii=False,
    )
