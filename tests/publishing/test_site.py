"""The whole site, built as CI builds it and looked at in a real browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from troubleshoot import load_kb
from troubleshoot.curation import new_entry
from troubleshoot.curation.publishing.links import broken_links

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ISSUE = "issues/transformers/blip2-query-tokens-fp32/"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")  # fmt: skip  # noqa: E501


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as the README says."""
    pytest.importorskip("material", reason="the site needs the extra docs")
    pytest.importorskip("mkdocstrings", reason="the site needs the extra docs")
    folder = tmp_path_factory.mktemp("built") / "site"
    environment = {name: value for name, value in os.environ.items() if name != "TROUBLESHOOT_SITE"}
    private = tmp_path_factory.mktemp("private")
    new_entry("acme/secret", private, message="frobnicator cannot take operands of type Half")
    environment["TROUBLESHOOT_KB"] = str(private)
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "site" / "build.py"), str(folder)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken links" in done.stdout
    return folder


def test_every_entry_and_cause_has_its_page_in_both_languages(built: Path) -> None:
    """The address is the id."""
    base = load_kb()
    for prefix in ("", "zh/"):
        for issue in base.ids():
            assert (built / prefix / "issues" / issue / "index.html").is_file()
        for cause in base.causes.causes:
            assert (built / prefix / "causes" / cause / "index.html").is_file()


def test_private_entries_are_not_published(built: Path) -> None:
    """Overlays of the person who builds stay out, though every command here would use them."""
    assert not (built / "issues" / "acme").exists()
    assert "frobnicator" not in (built / "search" / "search_index.json").read_text(encoding="utf-8")


def test_the_check_sees_what_is_broken(built: Path, tmp_path: Path) -> None:
    """Of the real site: without one page, every link to it is named."""
    copy = tmp_path / "site"
    shutil.copytree(built, copy)
    shutil.rmtree(copy / "precision")
    assert any("precision/: leads nowhere" in one for one in broken_links(copy))


@pytest.fixture(scope="module")
def address(built: Path) -> Iterator[str]:
    """Serve the site as any web server would."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(built))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start a Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("needs a Chromium on the PATH")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Open a page, on a desktop unless the test says otherwise; complaints of the page and requests to elsewhere fail the test."""
    options = {"viewport": {"width": 1280, "height": 900}, **getattr(request, "param", {})}
    context = browser.new_context(**options)
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    opened.on("console", lambda message: wrong.append(f"console: {message.text}") if message.type == "error" else None)
    opened.on("request", lambda asked: None if asked.url.startswith((address, "data:", "blob:")) else wrong.append(f"fetches {asked.url}"))
    yield opened
    context.close()
    assert wrong == []


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
PLACES = (".", "issues/", ISSUE, "issues/torch/linear-dtype/", "causes/", "causes/dtype-mismatch/fp32-island/", "precision/", "hardware/")


@pytest.mark.parametrize("page", [{}, PHONE, {"color_scheme": "dark"}], indirect=True, ids=["desktop", "phone", "dark"])
@pytest.mark.parametrize("prefix", ["", "zh/"])
def test_pages_fit_the_screen(page: Any, address: str, prefix: str) -> None:
    """Nothing makes the page wider than the screen, and each has its heading."""
    for place in PLACES:
        page.goto(address + prefix + place)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), place
        assert page.locator("h1").first.is_visible()


def test_the_list_is_filtered(page: Any, address: str) -> None:
    """By words, cause and library together; the address keeps it; nothing fits says so."""
    page.goto(f"{address}issues/")
    every = page.locator(".ts-row:visible").count()
    assert every == len(load_kb().ids())
    page.fill("form.ts-filter input[name=words]", "BLIP-2 tokens")
    assert page.locator(".ts-row:visible").count() == 1
    page.locator(".ts-row:visible a").click()
    assert page.url == f"{address}{ISSUE}"
    page.goto(f"{address}issues/?package=whisper")
    assert 0 < page.locator(".ts-row:visible").count() < 20
    page.select_option("form.ts-filter select[name=cause]", "hardware")
    page.fill("form.ts-filter input[name=words]", "no such words")
    assert page.locator(".ts-row:visible").count() == 0
    assert page.locator(".ts-nothing").is_visible()
    assert "package=whisper" in page.url and "cause=hardware" in page.url


@pytest.mark.parametrize("page", [{"java_script_enabled": False}], indirect=True)
def test_the_list_is_whole_without_scripts(page: Any, address: str) -> None:
    """The filters, which would do nothing, are not shown."""
    page.goto(f"{address}zh/issues/")
    assert page.locator(".ts-row").count() == len(load_kb().ids())
    assert not page.locator("form.ts-filter").is_visible()


@pytest.mark.parametrize(
    ("prefix", "words", "found"),
    [("", "query tokens", "blip2-query-tokens-fp32"), ("zh/", "黑图", "issues/"), ("zh/", "半精度", "issues/"), ("", "GradScaler", "amp/")],
)
def test_search_finds_entries(page: Any, address: str, prefix: str, words: str, found: str) -> None:
    """In both languages, without any server but one for files."""
    page.goto(address + prefix)
    page.locator("input.md-search__input").click()
    page.locator("input.md-search__input").fill(words)
    page.wait_for_selector(".md-search-result__link", timeout=30_000)
    links = page.locator(".md-search-result__link").evaluate_all("all => all.map(one => one.href)")
    assert any(found in link for link in links)


def test_search_finds_the_headline_message_first(page: Any, address: str) -> None:
    """What README begins with."""
    page.goto(address)
    page.locator("input.md-search__input").click()
    page.locator("input.md-search__input").fill("expected scalar type Float but found Half")
    page.wait_for_selector(".md-search-result__link", timeout=30_000)
    first = page.locator(".md-search-result__link").first.get_attribute("href")
    assert "messages/" in first or "issues/torch/expected-scalar-type" in first


@pytest.mark.parametrize("prefix", ["", "zh/"])
@pytest.mark.parametrize(
    ("name", "generation"),
    [("4090", "ada"), ("3090", "ampere"), ("1660", "turing"), ("T4", "turing"), ("MI300", "cdna3"), ("M2", "apple-m2"),
     ("2080ti", "turing")],
)  # fmt: skip
def test_the_precision_page_finds_a_card(page: Any, address: str, prefix: str, name: str, generation: str) -> None:
    """The row of its generation is left, with its name."""
    page.goto(f"{address}{prefix}precision/")
    page.fill("form.ts-find input", name)
    rows = page.locator(".ts-devices tbody tr:visible")
    assert rows.count() == 1
    assert generation in rows.first.inner_text()
    assert name.lower() in rows.first.locator(".ts-found").inner_text().lower().replace(" ", "")
    page.fill("form.ts-find input", "no such card")
    assert page.locator(".ts-nothing").is_visible()


def test_the_language_switch_stays_on_the_page(page: Any, address: str) -> None:
    """There and back; from a page without a counterpart to the other home page."""
    for start, target in (
        (ISSUE, f"zh/{ISSUE}"),
        (f"zh/{ISSUE}", ISSUE),
        ("", "zh/"),
        ("zh/", ""),
        ("cli/", "zh/"),
        ("zh/guides/", ""),
    ):
        page.goto(address + start)
        language = "en" if start.startswith("zh/") else "zh"
        page.locator(".md-header__option button[aria-label]").last.hover()
        page.locator(f"a.md-select__link[hreflang={language}]").click()
        page.wait_for_url(address + target)
