"""Every page that is made at build time, for one language."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from troubleshoot.curation.publishing.catalogue import Catalogue, cause_page, entry_page
from troubleshoot.curation.publishing.issue import issue_page
from troubleshoot.curation.publishing.messages import MESSAGES, messages_page
from troubleshoot.curation.publishing.navigation import titles
from troubleshoot.curation.publishing.overviews import CAUSES, ISSUES, cause_overview, causes_index, issues_index
from troubleshoot.curation.publishing.precision import GUIDE, TABLE, guide_page, hardware_page
from troubleshoot.knowledge import KnowledgeBase

GUIDES = "guides.md"


@dataclass(frozen=True)
class Page:
    """A page: the Markdown file that MkDocs shall see, and its text."""

    path: str
    text: str


def pages(base: KnowledgeBase, language: str, docs: Path) -> Iterator[Page]:
    """Yield the pages of one language: every entry, every cause, their lists, the guide to precisions; ``docs`` holds the written pages."""
    catalogue = Catalogue(base, language)
    for entry in catalogue.entries.values():
        yield Page(entry_page(entry.id), issue_page(entry, catalogue))
    for cause in base.causes.causes:
        yield Page(cause_page(cause), cause_overview(cause, catalogue))
    yield Page(ISSUES, issues_index(catalogue))
    yield Page(CAUSES, causes_index(catalogue))
    yield Page(GUIDE, guide_page(catalogue))
    yield Page(MESSAGES, messages_page(catalogue, docs))
    if language == "zh":
        yield Page(TABLE, hardware_page(catalogue))
        yield Page(GUIDES, _english_guides(docs))
    else:
        from troubleshoot.curation.publishing.reference import API, api_page

        yield Page(API, api_page())


def _english_guides(docs: Path) -> str:
    """Return the Chinese tree's list of the pages that are written in English only."""
    items = (
        f'- <a href="../../{name.removesuffix(".md")}/">{html.escape(title)}</a>'
        for name, title in titles(docs).items()
        if name != "index.md"
    )
    listed = "\n".join([*items, '- <a href="../../api/">Python API</a>'])
    return f"# 文档\n\n条目、原因与精度指南有中文版；以下文档为英文。\n\n{listed}\n"
