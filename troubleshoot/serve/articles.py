"""Documents of the knowledge base as HTML in the frame of the page; issues and causes that one names lead to their own pages."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from troubleshoot.basics.redact import redact_text
from troubleshoot.telling.document import Document, transform
from troubleshoot.telling.html import to_article
from troubleshoot.telling.layout import visible

if TYPE_CHECKING:
    from troubleshoot.serve.engine import Engine

FOLDER = Path(__file__).parent / "page"
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

    def linked(match: re.Match[str]) -> str:
        name = match[1]
        kind = "issues" if engine.shows(name) else "causes" if name in engine.public.causes.causes else ""
        if not kind or name == document.name:
            return match[0]
        return f'<a href="{escape(root)}/{kind}/{name}?lang={language}">{match[0]}</a>'

    article = to_article(transform(document, redact_text))
    # The article is markup, escaped where it was made.
    article = re.sub(r"<code>([a-z0-9_.-]+/[a-z0-9_.-]+)</code>", linked, article)
    before, _, after = _frame().partition("{{article}}")
    return filled(before, **values) + article + filled(after, **values)


@cache
def _frame() -> str:
    return (FOLDER / "issue.html").read_text(encoding="utf-8")


def filled(text: str, **values: str) -> str:
    """Return a page with its holes filled, escaped; what is filled in has no holes."""
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: escape(values[hole[1]]) if hole[1] in values else hole[0], text)
