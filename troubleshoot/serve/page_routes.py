"""The web page: static files of the package, read once, under a policy that lets nothing foreign load or run."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from troubleshoot.environment import ONE_LINE_PROBE
from troubleshoot.redact import redact_text
from troubleshoot.render.document import transform
from troubleshoot.render.entry import entry_document
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
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_TAGS = {"en": "en", "zh": "zh-CN"}
_WORDS = {
    "en": {
        "name": "English",
        "tagline": "PyTorch precision, dtype and device failures",
        "onward": "Diagnose a report",
        "missing": "There is no known issue of this name",
    },
    "zh": {"name": "中文", "tagline": "PyTorch 精度、dtype 与设备故障", "onward": "诊断一份报告", "missing": "没有这个名称的已知问题"},
}


def page_routes(engine: Engine) -> list[BaseRoute]:
    """Return the routes of the page: ``/``, its files under ``/page``, and one page for each issue that is shown."""
    files = {
        path.relative_to(_FOLDER).as_posix(): (path.read_bytes(), _TYPES[path.suffix])
        for path in sorted(_FOLDER.rglob("*"))
        if path.suffix in _TYPES
    }
    index, issue_page = (files.pop(name)[0].decode() for name in ("index.html", "issue.html"))
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

    @lru_cache(maxsize=512)
    def article(id_: str, language: str, root: str) -> tuple[str, str]:
        return _article(engine, id_, language, root)

    async def issue(request: Request) -> Response:
        root, language, id_ = _root(request, engine), _language(request), request.path_params["issue"]
        words, known = _WORDS[language], engine.shows(id_)
        markup, title = await run_in_threadpool(article, id_, language, root) if known else ("", words["missing"])
        other = "en" if language == "zh" else "zh"
        text = _filled(
            issue_page,
            root=root,
            language=_TAGS[language],
            title=title,
            other=other,
            other_tag=_TAGS[other],
            other_name=_WORDS[other]["name"],
            tagline=words["tagline"],
            onward=words["onward"],
        )
        # The article is markup, escaped where it was made.
        text = text.replace("{{article}}", markup or f"<h1>{escape(title)}</h1>")
        return _html(text, {"Cache-Control": "no-cache", "Vary": "Accept-Language"}, 200 if known else 404)

    return [
        Route("/", page, methods=["GET"], include_in_schema=False),
        Route("/page/{name:path}", file, methods=["GET"], include_in_schema=False),
        Route("/issues/{issue:path}", issue, methods=["GET"], include_in_schema=False),
    ]


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
            "tool": __version__,
            "count": len(engine.public.index.ids),
            "probe": ONE_LINE_PROBE.strip(),
        },
        ensure_ascii=False,
    )


def _language(request: Request) -> str:
    """Return the language asked for in the address, or that which the browser prefers."""
    asked = request.query_params.get("lang", "")
    if asked in _WORDS:
        return asked
    return "zh" if request.headers.get("accept-language", "").strip().lower().startswith("zh") else "en"


def _article(engine: Engine, issue: str, language: str, root: str) -> tuple[str, str]:
    """Return the page of an issue as an ``<article>`` whose issues link to each other, and its title."""
    base = engine.public
    special = tuple(id_ for id_ in base.ids() if issue in base.entry(id_).refines)
    document = transform(entry_document(base.entry(issue), language, special), redact_text)

    def linked(match: re.Match[str]) -> str:
        known = match[1] != issue and engine.shows(match[1])
        return f'<a href="{escape(root)}/issues/{match[1]}?lang={language}">{match[0]}</a>' if known else match[0]

    return re.sub(r"<code>([a-z0-9_.-]+/[a-z0-9_.-]+)</code>", linked, to_article(document)), document.title
