"""Where the pages of issues are, as a client sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

from troubleshoot.serve.hosts import host_name

if TYPE_CHECKING:
    from starlette.requests import Request

    from troubleshoot.serve.engine import Engine
    from troubleshoot.serve.settings import Settings


def address_of(request: Request) -> str:
    """Return scheme and host as the client named them; "" where it named none that can be used."""
    host = request.headers.get("host", "")
    return f"{request.url.scheme}://{host}" if host_name(host) is not None else ""


def base_of(request: Request, settings: Settings) -> str:
    """Return the address below which the pages are: the operator's ``public_url``, else where the request went."""
    if settings.public_url is not None:
        return settings.public_url.rstrip("/")
    address = address_of(request)
    return (address + str(request.scope.get("root_path", ""))).rstrip("/") if address else ""


def linker(engine: Engine, base: str) -> Callable[[str], str | None]:
    """Return the function that tells the address of an issue's page, or None where it has none."""
    return lambda issue: f"{base}/issues/{quote(issue)}" if engine.shows(issue) else None
