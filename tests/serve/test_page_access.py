"""The page for everybody: axe's rules, the keyboard alone, a screen reader's view, a phone, paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from founding import BLIP2, T5_APEX

pytestmark = pytest.mark.slow

Visit = Callable[..., Any]

PHONE = {"viewport": {"width": 360, "height": 740}}
REPORTS = {
    "known": BLIP2.report(),
    "asking": "The T5 text encoder of CogVideoX-5b stops in float16.\nRuntimeError: expected scalar type Float but found Half\n",
    "family": "RuntimeError: expected scalar type Float but found Half",
    "unknown": "FluxError: the flux is not half enough (Half)",
    "out-of-scope": "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 GiB",
}


def violations(visitor: Any) -> list[str]:
    """Return what axe finds: rule, element, and why."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the extra clients")
    # The policy of the page keeps other scripts out; axe is put in past it, by the driver.
    found = axe.Axe().run(visitor.tab, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
    assert len(found.response["passes"]) > 20
    nodes = [(one["id"], node) for one in found.response["violations"] for node in one["nodes"]]
    return [f"{rule}: {node['html'][:120]} {node.get('failureSummary', '')[:200]}" for rule, node in nodes]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [{}, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_axe_finds_nothing(visit: Visit, language: str, size: dict[str, Any], scheme: str) -> None:
    """In each state of the page, with all that can be opened open."""
    visitor = visit(language=language, color_scheme=scheme, reduced_motion="reduce", **size)
    assert violations(visitor) == []
    for report in REPORTS.values():
        visitor.paste(report)
        visitor.tab.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        if visitor.tab.locator("button.item").count():
            visitor.tab.locator("button.item").first.click()
        assert violations(visitor) == []
    visitor.tab.click("#clear")
    assert violations(visitor) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_page_of_an_issue(visit: Visit, scheme: str) -> None:
    """One with tables of fixes, and a family."""
    for issue in (BLIP2.issue, "torch/expected-scalar-type"):
        visitor = visit(f"/issues/{issue}", color_scheme=scheme)
        visitor.tab.wait_for_selector(".copy")
        assert violations(visitor) == []


def test_the_keyboard_is_enough(visit: Visit) -> None:
    """Paste, send, answer, copy, open the details, go to a line and back, without a pointer."""
    visitor = visit(permissions=["clipboard-read", "clipboard-write"])
    keys = visitor.tab.keyboard
    keys.press("Tab")
    assert visitor.text(".skip:focus") == "Skip to the report"
    keys.press("Enter")
    assert visitor.focused == "text"
    keys.insert_text(REPORTS["asking"])
    with visitor.tab.expect_response("**/page/diagnose"):
        keys.press("Control+Enter")
    visitor.settled()
    visitor.tab.wait_for_selector("#found-title:focus")

    def tab_to(selector: str, most: int = 40) -> None:
        for _ in range(most):
            keys.press("Tab")
            if visitor.tab.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"the Tab key does not reach {selector}")

    tab_to(".option")
    with visitor.tab.expect_response("**/page/diagnose"):
        keys.press("Space")
    visitor.tab.wait_for_selector(".chip")
    visitor.tab.wait_for_selector("#found-title:focus")
    assert visitor.text(".sub a") == T5_APEX.issue
    tab_to(".copy")
    keys.press("Enter")
    visitor.tab.wait_for_selector(".copy:has-text('Copied')")
    assert "apex.normalization" in visitor.tab.evaluate("navigator.clipboard.readText()")
    tab_to("article > details > summary")
    keys.press("Enter")
    tab_to("button.item")
    keys.press("Enter")
    assert visitor.tab.evaluate("document.activeElement.matches('.row.current')")
    keys.press("Escape")
    assert visitor.tab.evaluate("document.activeElement.matches('button.item')")


def test_focus_is_always_seen(visit: Visit) -> None:
    """Whatever the Tab key reaches has an outline."""
    visitor = visit()
    visitor.paste(BLIP2.report())
    visitor.tab.focus("#language")
    seen = set()
    for _ in range(60):
        visitor.tab.keyboard.press("Tab")
        outline = visitor.tab.evaluate("(e => [e.outerHTML.slice(0, 80), getComputedStyle(e).outlineStyle])(document.activeElement)")
        if outline[0].startswith("<body"):
            break
        seen.add(outline[0])
        assert outline[1] != "none", outline[0]
    assert len(seen) > 20


def test_a_screen_reader_is_told(visit: Visit) -> None:
    """The verdict is announced, the regions and headings are there, evidence says on which side it is."""
    visitor = visit()
    assert visitor.tab.get_by_role("main").count() == 1
    assert visitor.tab.get_by_role("banner").count() == 1
    assert visitor.tab.get_by_role("textbox", name="The traceback, log or description").count() == 1
    visitor.paste(BLIP2.report())
    visitor.tab.wait_for_selector("#live:not(:empty)", state="attached")
    assert visitor.tab.locator("#live").text_content() == (
        "known 98 %. BLIP-2 query tokens stay in float32 beside a half-precision Q-Former"
    )
    assert visitor.tab.get_by_role("heading", level=1, name="BLIP-2 query tokens").count() == 1
    assert visitor.tab.get_by_role("region", name="BLIP-2 query tokens").count() == 1
    assert visitor.tab.get_by_role("button", name="Copy: Upgrade transformers to 4.50.3 or later").count() == 1
    visitor.open_details()
    assert visitor.tab.get_by_role("button", name="supports: model Salesforce/blip2-opt-2.7b").count() == 1
    levels = [int(tag[1]) for tag in visitor.tab.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(e => e.tagName)")]
    assert levels[0] == 1 and all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_phone_never_scrolls_sideways(visit: Visit, language: str) -> None:
    """360 pixels wide, in every state, also with very long words; the answer is in sight after sending."""
    visitor = visit(language=language, has_touch=True, is_mobile=True, **PHONE)
    fits = "document.documentElement.scrollWidth <= 360"
    assert visitor.tab.evaluate(fits)
    for report in (*REPORTS.values(), f"{'W' * 400}Error: expected scalar type Float but found Half {'x' * 3000}"):
        visitor.paste(report)
        visitor.tab.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert visitor.tab.evaluate(fits), report[:60]
    visitor.paste(REPORTS["known"])
    visitor.tab.wait_for_selector("#found-title:focus")
    title = "document.querySelector('#found-title').getBoundingClientRect()"
    assert visitor.tab.evaluate(f"(r => r.top >= 0 && r.bottom <= innerHeight)({title})")
    issue = visit(f"/issues/{BLIP2.issue}", language=language, is_mobile=True, **PHONE)
    issue.tab.wait_for_selector(".copy")
    assert issue.tab.evaluate(fits)


def test_on_paper_everything_is_open_and_nothing_can_be_pressed(visit: Visit) -> None:
    """The report with its marks, the fixes, the other causes; no buttons."""
    visitor = visit()
    visitor.paste(REPORTS["family"])
    visitor.tab.emulate_media(media="print")
    visitor.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert visitor.tab.locator("details:not([open])").count() == 0
    assert visitor.tab.locator("button:not(.item, .gap):visible").count() == 0
    assert visitor.tab.is_visible(".row.lead") and visitor.tab.is_visible("article ol > li")
    visitor.tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert visitor.tab.locator("details[open]").count() == 0


def test_both_tables_of_words_are_complete(visit: Visit) -> None:
    """The same keys with the same holes."""
    visitor = visit()
    tables = visitor.tab.evaluate("async () => (await import('/page/words.js')).TABLES")
    assert tables["en"].keys() == tables["zh"].keys()
    for key, text in tables["en"].items():
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", tables["zh"][key])), key
