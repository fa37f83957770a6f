"""What the site's menu lists: the pages of docs/ that are there, in an order of use, each under the title that it gives itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

#: Section -> pages in their order. What is listed and not there (yet) is left out; what is there and not listed comes under the last one.
_ENGLISH: dict[str, tuple[str, ...]] = {
    "Home": ("index.md",),
    "Known issues": ("issues/index.md", "causes/index.md"),
    "Precision": ("precision.md", "hardware.md"),
    "Tutorials": ("tutorials/command.md", "tutorials/exceptions.md", "tutorials/chat.md"),
    "Guides": (
        "cli.md", "live.md", "audit.md", "watch.md", "check.md", "verification.md", "scan.md", "fixing.md",
        "reader.md", "server.md", "bots.md", "page.md",
        "accuracy.md", "benchmarks.md",
    ),
    "API": ("api.md",),
    "Contribute": ("contributing.md", "writing-entries.md", "architecture.md", "decisions.md"),
}  # fmt: skip
_CHINESE: dict[str, tuple[str, ...]] = {
    "首页": ("index.md",),
    "已知问题": ("issues/index.md", "causes/index.md"),
    "精度": ("precision.md", "hardware.md"),
    "文档": ("guides.md",),
}
_REST = "Guides"


def navigation(docs: Path, made: Sequence[str], language: str) -> list[dict[str, Any]]:
    """Return MkDocs' ``nav`` for the pages below ``docs`` and those that are ``made`` at build time."""
    sections = _CHINESE if language == "zh" else _ENGLISH
    there = {*made, *_written(docs, language)}
    listed = {page for pages in sections.values() for page in pages}
    rest = sorted(page for page in there - listed if not page.startswith(("issues/", "causes/")))
    menu: list[dict[str, Any]] = []
    for heading, pages in sections.items():
        shown = [page for page in (*pages, *(rest if heading == _REST else ())) if page in there]
        if len(shown) == 1:
            menu.append({heading: shown[0]})
        elif shown:
            menu.append({heading: shown})
    return menu


def _written(docs: Path, language: str) -> Iterator[str]:
    """Yield the Markdown files of the folder that belong to the language's tree."""
    for path in sorted(docs.rglob("*.md")):
        name = path.relative_to(docs).as_posix()
        if language == "zh" or not name.startswith(("zh/", "site/")):
            yield name


def titles(docs: Path) -> dict[str, str]:
    """Return the first heading of every page in the English tree, for lists of links."""
    found = {}
    for name in _written(docs, "en"):
        first = next((line for line in (docs / name).read_text(encoding="utf-8").splitlines() if line.startswith("# ")), None)
        if first is not None:
            found[name] = first.removeprefix("# ").replace("`", "")
    return found
