"""What a package index tells of a project: the day each release was published, and how large files are.

The index answers in JSON (PEP 691, PEP 700) or as a page (PEP 503); some mirrors give the day on pages, too, as uv reads it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import datetime
from html.parser import HTMLParser
from http.client import HTTPResponse
from pathlib import Path
from urllib.error import URLError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, canonicalize_name, parse_sdist_filename, parse_wheel_filename

_JSON = "application/vnd.pypi.simple.v1+json"
_ACCEPT = f"{_JSON}, text/html;q=0.1"


def index_url() -> str:
    """Return the package index in use: the one that pip is told of by its environment variable, or PyPI."""
    return (os.environ.get("PIP_INDEX_URL") or "https://pypi.org/simple").rstrip("/")


class _Page(HTMLParser):
    """Collects (file name, day it was published) of the links of a project's page."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        when, href = given.get("data-upload-time"), given.get("href")
        if tag == "a" and when and href:
            self.files.append((unquote(urlsplit(href).path.rpartition("/")[2]), when))


def published_on(project: str, *, timeout: float = 60.0) -> dict[str, datetime]:
    """Return when each release of a project was published: the time of its first file. Empty where the index does not tell.

    Raises:
        OSError: the index is out of reach or has no such project.
    """
    kind, body = _get(f"{index_url()}/{canonicalize_name(project)}/", timeout)
    if kind == _JSON:
        try:
            files = [(str(one["filename"]), str(one["upload-time"])) for one in json.loads(body)["files"] if one.get("upload-time")]
        except (ValueError, KeyError, TypeError) as error:
            raise OSError(f"the index does not answer about {project} as PEP 691 says: {error}") from None
    else:
        page = _Page()
        page.feed(body.decode("utf-8", "replace"))
        files = page.files
    found: dict[str, datetime] = {}
    for name, told in files:
        version = _version(name)
        if version is not None:
            when = datetime.fromisoformat(told.replace("Z", "+00:00"))
            found[version] = min(found.get(version, when), when)
    return found


def _version(name: str) -> str | None:
    try:
        return str(parse_wheel_filename(name)[1] if name.endswith(".whl") else parse_sdist_filename(name)[1])
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def sizes_of(addresses: Iterable[str], *, timeout: float = 60.0) -> dict[str, int]:
    """Return the sizes in bytes of files by their addresses, asked for without loading them; what is not told is missing.

    Raises:
        OSError: a server is out of reach.
    """
    found = {}
    for address in addresses:
        scheme = urlsplit(address).scheme
        if scheme == "file":
            found[address] = Path(unquote(urlsplit(address).path)).stat().st_size
        elif scheme in ("https", "http"):
            with _open(Request(address, method="HEAD"), timeout) as answer:
                length = answer.headers.get("Content-Length")
            if length is not None:
                found[address] = int(length)
    return found


def _get(address: str, timeout: float) -> tuple[str, bytes]:
    if urlsplit(address).scheme not in ("https", "http"):
        raise OSError(f"{address} is no index that can be asked")
    with _open(Request(address, headers={"Accept": _ACCEPT}), timeout) as answer:
        return str(answer.headers.get_content_type()), answer.read()


def _open(request: Request, timeout: float) -> HTTPResponse:
    try:
        answer: HTTPResponse = urlopen(request, timeout=timeout)
        return answer
    except URLError as error:
        raise OSError(f"{request.full_url}: {error.reason}") from None
