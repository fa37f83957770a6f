"""MkDocs asks here for what no file holds: the pages of the knowledge base, the menu, the way to the same page in the other language."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from troubleshoot.curation.publishing import Page, pages
from troubleshoot.curation.publishing.navigation import navigation
from troubleshoot.knowledge import load_kb
from troubleshoot.knowledge.base import shipped_root

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent


def _language(config: MkDocsConfig) -> str:
    return str(config.theme["language"])


@cache
def _made(language: str) -> tuple[Page, ...]:
    # The shipped entries alone: overlays of the person who builds may be private.
    return tuple(pages(load_kb([shipped_root()], shipped=False), language, DOCS))


@cache
def _tree(language: str) -> frozenset[str]:
    """Return the Markdown files of a language's whole tree."""
    root = DOCS / "zh" if language == "zh" else DOCS
    written = (path.relative_to(root).as_posix() for path in root.rglob("*.md"))
    return frozenset((*written, *(page.path for page in _made(language))))


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give the menu: what is there, under the titles that the pages give themselves."""
    language = _language(config)
    config.nav = navigation(Path(config.docs_dir), [page.path for page in _made(language)], language)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, and the site's own style and script."""
    for page in _made(_language(config)):
        files.append(File.generated(config, page.path, content=page.text))
    for path in sorted((HERE / "assets").iterdir()):
        files.append(File.generated(config, f"assets/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Leave the menu at the side out of the home page, which has nothing beside it."""
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation"]
    return markdown


def on_env(env: jinja2.Environment, **_: Any) -> jinja2.Environment:
    """Leave addresses alone that are relative to the page already: MkDocs' own filter takes all for relative to the root of one tree."""
    within = env.filters["url"]

    @jinja2.pass_context
    def url(context: jinja2.runtime.Context, value: str) -> str:
        return value if value.startswith(("./", "../")) else str(within(context, value))

    env.filters["url"] = url
    return env


def on_page_context(context: dict[str, Any], page: Any, config: MkDocsConfig, **_: Any) -> dict[str, Any]:
    """Tell the template where the page is in each language; a page that has no counterpart leads to the other home page."""
    here = _language(config)
    config.extra["alternate"] = [
        {"name": name, "lang": language, "link": _address(page, here, language)} for language, name in (("en", "English"), ("zh", "中文"))
    ]
    return context


def on_post_page(output: str, **_: Any) -> str:
    """Take out the links by which the theme's script looks for a site map in the other language: the switch knows the way already."""
    return re.sub(r'\s*<link rel="alternate" href="[^"]*" hreflang="[^"]*">', "", output)


def _address(page: Any, here: str, language: str) -> str:
    """Return the relative address of a page in a language: the Chinese tree lies in ``zh/`` below the English one."""
    own = page.url.removeprefix("./")
    root = "./" + "../" * (own.count("/") + (here == "zh"))
    return root + ("zh/" if language == "zh" else "") + (own if page.file.src_uri in _tree(language) else "")
