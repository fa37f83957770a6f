"""Where the pages of issues are, as a client sees them."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from starlette.requests import Request

from troubleshoot.serve.engine import Engine

_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(?::\d{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?")


def links(request: Request, engine: Engine) -> Callable[[str], str | None]:
    """Return the function that tells the address of an issue's page: below the operator's ``public_url``, else where the request went."""
    base = engine.settings.public_url
    if base is None:
        host = request.headers.get("host", "")
        base = f"{request.url.scheme}://{host}{request.scope.get('root_path', '')}" if _HOST.fullmatch(host) else ""
    base = base.rstrip("/")

    def link(issue: str) -> str | None:
        return f"{base}/issues/{quote(issue)}" if engine.shows(issue) else None

    return link
