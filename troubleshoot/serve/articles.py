"""Documents as articles of the page; issues and causes that one names lead to their own pages."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from troubleshoot.basics.redact import redact_text
from troubleshoot.telling.document import Document, transform
from troubleshoot.telling.html import ARTICLE_STYLE, MORE_STYLE
from troubleshoot.telling.layout import visible
from troubleshoot.telling.live_html import to_live_article

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis
    from troubleshoot.serve.engine import Engine

FOLDER = Path(__file__).parent / "page"
#: The style of ``--format html``, for articles among other things.
STYLE = f"article{{{ARTICLE_STYLE}{MORE_STYLE}}}\n"
_TAGS = {"en": "en", "zh": "zh-CN"}
_WORDS = {
    "en": {
        "name": "English",
        "tagline": "PyTorch precision, dtype and device failures",
        "onward": "Diagnose a report",
    },
    "zh": {"name": "中文", "tagline": "PyTorch 精度、dtype 与设备故障", "onward": "诊断一份报告"},
}


def framed(document: Document, engine: Engine, root: str) -> str:
    """Return a document as a page; ``root`` is where the application is mounted."""
    language = document.language
    other = "en" if language == "zh" else "zh"
    values = {
        "root": root,
        "language": _TAGS[language],
        "title": visible(redact_text(document.title)),
        "other": other,
        "other_tag": _TAGS[other],
        "other_name": _WORDS[other]["name"],
        "tagline": _WORDS[language]["tagline"],
        "onward": _WORDS[language]["onward"],
    }

    # The article is markup, escaped where it was made.
    before, _, after = _frame().partition("{{article}}")
    return filled(before, **values) + article(document, engine, root) + filled(after, **values)


def article(document: Document, engine: Engine, root: str) -> str:
    """Return a document as an article with buttons and links, secrets masked."""
    known = engine.public.causes.causes

    def linked(match: re.Match[str]) -> str:
        name = match[1]
        kind = "issues" if engine.shows(name) else "causes" if name in known else ""
        # The page of an issue does not lead to itself.
        if not kind or (name == document.name and not document.badge):
            return match[0]
        return f'<a href="{escape(root)}/{kind}/{name}?lang={document.language}">{match[0]}</a>'

    markup = to_live_article(transform(document, redact_text), feedback=engine.settings.feedback is not None)
    return re.sub(r"<code>([a-z0-9_.-]+/[a-z0-9_.-]+)</code>", linked, markup)


def marks(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Return the lines of a report that bear evidence, and the one where it failed: what the page marks, and where it looks first."""
    first = diagnosis.first
    found: dict[int, dict[str, Any]] = {}
    for item in first.evidence if first is not None and diagnosis.verdict != "unknown" else ():
        if item.line is not None and item.state != "unknown":
            mark = found.setdefault(item.line, {"line": item.line, "state": item.state, "texts": [], "lead": False})
            mark["texts"].append(redact_text(item.text))
            mark["lead"] |= item.kind == "message"
    failures = diagnosis.report.failures
    failure = failures[first.failure] if first is not None and first.failure is not None else diagnosis.report.cause
    if failure is not None:
        found.setdefault(failure.line, {"line": failure.line, "state": "place", "texts": [], "lead": True})
    return list(found.values())


@cache
def _frame() -> str:
    return (FOLDER / "issue.html").read_text(encoding="utf-8")


def filled(text: str, **values: str) -> str:
    """Return a page with its holes filled, escaped; what is filled in has no holes."""
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: escape(values[hole[1]]) if hole[1] in values else hole[0], text)
