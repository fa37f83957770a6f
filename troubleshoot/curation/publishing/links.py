"""Checking a built site: every address within it leads to a page and to an anchor on it, and nothing is fetched from elsewhere."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a browser fetches by itself, by element and attribute. A link is followed by its reader only.
_FETCHED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("use", "href")}
_FETCHED_RELATIONS = frozenset(("stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "modulepreload"))


@dataclass
class _Found(HTMLParser):
    """What one page has: its anchors, the addresses that it names, and what it fetches."""

    anchors: set[str] = field(default_factory=set)
    addresses: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        relations = set(values.get("rel", "").split())
        for name in ("href", "src"):
            if name in values:
                self.addresses.append(values[name])
                if (tag, name) in _FETCHED or (tag == "link" and relations & _FETCHED_RELATIONS):
                    self.fetched.append(values[name])


def broken_links(folder: Path, *, prefix: str = "") -> list[str]:
    """Return what is broken below ``folder``, each as ``PAGE: ADDRESS: what is wrong``; an empty list for a whole site.

    ``prefix`` is the path at which the site is published (``/troubleshoot``): addresses from the root of the server begin with it.
    """
    pages = {path.relative_to(folder).as_posix(): _read(path) for path in sorted(folder.rglob("*.html"))}
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return sorted({one for name, found in pages.items() for one in _broken(name, found, pages, files, prefix.rstrip("/"))})


def _read(path: Path) -> _Found:
    found = _Found()
    found.feed(path.read_text(encoding="utf-8"))
    return found


def _broken(name: str, found: _Found, pages: dict[str, _Found], files: set[str], prefix: str) -> Iterator[str]:
    for address in found.fetched:
        if urlsplit(address).scheme in ("http", "https") or address.startswith("//"):
            yield f"{name}: {address}: is fetched from elsewhere"
    for address in found.addresses:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = _target(unquote(parts.path), name, files, prefix)
        if target is None:
            yield f"{name}: {address}: leads nowhere"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"{name}: {address}: there is no such anchor"


def _target(path: str, page: str, files: set[str], prefix: str) -> str | None:
    """Return the file that an address leads to."""
    if not path:
        return page
    if path.startswith("/"):
        joined = posixpath.normpath(path.removeprefix(prefix).lstrip("/"))
    else:
        joined = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    if joined.startswith(".."):
        return None
    for candidate in (joined, "index.html" if joined == "." else f"{joined}/index.html"):
        if candidate in files:
            return candidate
    return None
