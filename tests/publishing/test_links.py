"""The check of a built site, and the addresses that reports link to."""

from __future__ import annotations

from pathlib import Path

import pytest

from troubleshoot import diagnose
from troubleshoot.basics.addresses import entry_address
from troubleshoot.curation.publishing.links import broken_links
from troubleshoot.telling import render

REPORT = "RuntimeError: expected scalar type Float but found Half"


def site(root: Path, body: str, **more: str) -> Path:
    """Write a site of two pages; ``body`` is that of the first."""
    (root / "issues" / "a").mkdir(parents=True)
    (root / "assets").mkdir()
    (root / "assets" / "x.css").write_text("")
    (root / "index.html").write_text(f"<html><body>{body}</body></html>")
    (root / "issues" / "a" / "index.html").write_text('<h1 id="top">a</h1><a href="../../">home</a><a href="#top">up</a>')
    for name, text in more.items():
        (root / f"{name}.html").write_text(text)
    return root


@pytest.mark.parametrize(
    "body",
    [
        '<a href="issues/a/">a</a>',
        '<a href="issues/a/#top">a</a>',
        '<a href="issues/a">a</a>',
        '<a href="/issues/a/index.html#top">a</a>',
        '<a href=".">self</a><a href="">self</a><p id="x"><a href="#x">here</a></p>',
        '<link rel="stylesheet" href="assets/x.css">',
        '<a href="https://example.org/elsewhere">a reader may follow it</a><a href="mailto:a@example.org">a</a>',
        '<link rel="canonical" href="https://example.org/">',
    ],
)
def test_a_whole_site_has_no_broken_link(body: str, tmp_path: Path) -> None:
    """However the address is written."""
    assert broken_links(site(tmp_path, body)) == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('<a href="issues/b/">b</a>', "index.html: issues/b/: leads nowhere"),
        ('<a href="issues/a/#none">a</a>', "index.html: issues/a/#none: there is no such anchor"),
        ('<a href="#none">a</a>', "index.html: #none: there is no such anchor"),
        ('<a href="../outside/">a</a>', "index.html: ../outside/: leads nowhere"),
        ('<img src="none.png">', "index.html: none.png: leads nowhere"),
        ('<script src="https://cdn.example.org/x.js"></script>', "index.html: https://cdn.example.org/x.js: is fetched from elsewhere"),
        ('<link rel="stylesheet" href="//cdn.example.org/x.css">', "index.html: //cdn.example.org/x.css: is fetched from elsewhere"),
        ('<link rel="preconnect" href="https://fonts.example.org">', "index.html: https://fonts.example.org: is fetched from elsewhere"),
    ],
)
def test_what_is_broken_is_named(body: str, told: str, tmp_path: Path) -> None:
    """With the page, the address, and what is wrong."""
    assert broken_links(site(tmp_path, body)) == [told]


def test_a_site_below_a_path(tmp_path: Path) -> None:
    """The page for unknown addresses names others from the root of the server."""
    root = site(tmp_path, "", **{"404": '<a href="/docs/issues/a/">a</a>'})
    assert broken_links(root, prefix="/docs/") == []
    assert broken_links(root) == ["404.html: /docs/issues/a/: leads nowhere"]


@pytest.mark.parametrize(
    ("setting", "language", "address"),
    [
        ("https://docs.example.org/t", "en", "https://docs.example.org/t/issues/torch/linear-dtype/"),
        (" https://docs.example.org/t/ ", "zh", "https://docs.example.org/t/zh/issues/torch/linear-dtype/"),
        ("http://127.0.0.1:8008", "en", "http://127.0.0.1:8008/issues/torch/linear-dtype/"),
        ("", "en", None),
        ("docs.example.org", "en", None),
        ("javascript:alert(1)", "en", None),
    ],
)
def test_the_address_of_an_entry(setting: str, language: str, address: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One setting; what is no address gives none."""
    monkeypatch.setenv("TROUBLESHOOT_SITE", setting)
    assert entry_address("torch/linear-dtype", language) == address


@pytest.mark.parametrize("format", ["text", "markdown", "html"])
def test_reports_link_to_the_page(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a site is set, and only there."""
    diagnosis = diagnose(REPORT, environment="report", language="zh")
    assert diagnosis.first is not None
    before = render(diagnosis, format, full=True)
    monkeypatch.setenv("TROUBLESHOOT_SITE", "https://docs.example.org")
    address = f"https://docs.example.org/zh/issues/{diagnosis.first.issue}/"
    assert address not in before
    assert address in render(diagnosis, format, full=True)
