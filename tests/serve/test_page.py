"""The page in a real Chromium: from a pasted report to the right fix."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from founding import ALL, BLIP2, T5_APEX, Founding

import troubleshoot

pytestmark = pytest.mark.slow

Visit = Callable[..., Any]
FIX = "article > section > div > ol > li"
EVERY_FIX = "article > details > section > div > ol > li"
CUT = "The T5 encoder of CogVideoX-5b stops in float16, transformers 4.49.0.\n\nRuntimeError: expected scalar type Float but found Half\n"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("case", ALL, ids=[case.issue.rpartition("/")[2] for case in ALL])
def test_a_founding_report_leads_to_its_fix(visit: Visit, case: Founding, language: str) -> None:
    """The verdict with how sure it is, the issue, and the fixes in the engine's order, in the reader's language."""
    visitor = visit(language=language)
    report = case.report(language=language)
    visitor.paste(report)
    wanted = troubleshoot.diagnose(report, environment="report", language=language)
    assert wanted.first is not None and wanted.first.issue == case.issue
    assert visitor.text(".badge").startswith({"en": "known", "zh": "已知"}[language])
    assert f"{min(99, round(wanted.first.confidence * 100))}" in visitor.text(".badge")
    assert visitor.text("#found-title") == wanted.first.title
    assert visitor.text(".sub a") == case.issue
    short = visitor.tab.locator(FIX).all()
    for fix, advice in zip(short, wanted.first.recommended[:3], strict=True):
        assert fix.locator("b").first.inner_text().startswith(advice.title)
    visitor.open_details()
    fixes = visitor.tab.locator(EVERY_FIX).all()
    for fix, advice in zip(fixes, wanted.first.recommended, strict=True):
        assert fix.locator("b").first.inner_text() == advice.title
    first = wanted.first.recommended[0]
    assert (first.command or first.code or "").rstrip() == fixes[0].locator("pre").first.text_content()
    assert (first.command or first.code or "").startswith(short[0].locator("pre").first.text_content() or "nothing")
    assert fixes[0].locator(".tag").inner_text() == {"en": "safe", "zh": "安全"}[language]
    assert visitor.tab.locator("html").get_attribute("lang") == {"en": "en", "zh": "zh-CN"}[language]


def test_evidence_is_marked_in_the_report_and_leads_to_its_line(visit: Visit) -> None:
    """Each line with evidence is marked; the evidence leads to its line, which leads back."""
    visitor = visit()
    report = BLIP2.report()
    visitor.paste(report)
    first = troubleshoot.diagnose(report, environment="report").first
    assert first is not None
    lines = {item.line for item in first.evidence if item.line is not None}
    marked = visitor.tab.locator(".row.supports .number").all_inner_texts()
    assert {int(number) for number in marked} == lines
    assert "expected scalar type Float but found Half" in visitor.tab.locator(".row.lead mark").inner_text()
    visitor.open_details()
    link = visitor.tab.locator("button.item", has_text="model Salesforce/blip2-opt-2.7b")
    link.click()
    row = visitor.tab.locator(".row.current")
    assert row.locator(".number").inner_text() == "1"
    assert "current" in visitor.focused
    assert row.locator("mark").inner_text() == "Salesforce/blip2-opt-2.7b"
    row.locator("button").click()
    assert "Salesforce/blip2-opt-2.7b" in visitor.tab.evaluate("document.activeElement.textContent")
    assert visitor.tab.locator(".row.current").count() == 0


def test_an_answer_refines_the_diagnosis_and_can_be_taken_back(visit: Visit) -> None:
    """The button of a question sends the fact; a chip shows it and takes it away again."""
    visitor = visit()
    visitor.paste(CUT)
    assert visitor.text(".sub a") == T5_APEX.issue
    assert visitor.text(".question p") == "Is NVIDIA apex installed (pip show apex)?"
    visitor.tab.click(".option >> text='not installed'")
    visitor.tab.wait_for_selector(".chip")
    assert visitor.text(".chip").startswith("apex: not installed")
    assert visitor.text(".sub a") != T5_APEX.issue
    assert visitor.focused == "found-title"
    visitor.tab.click(".chip button")
    visitor.tab.wait_for_selector(".chip", state="detached")
    assert visitor.text(".sub a") == T5_APEX.issue
    visitor.tab.click(".option >> text='installed' >> nth=0")
    visitor.tab.wait_for_selector(".chip")
    assert visitor.text(".sub a") == T5_APEX.issue
    visitor.open_details()
    assert visitor.text("article").count("your answer") == 1
    assert visitor.tab.locator(".question").count() == 0


def test_a_question_without_usual_answers_takes_any(visit: Visit) -> None:
    """A release is typed; outside the affected ones the issue is ruled out."""
    visitor = visit()
    visitor.paste(BLIP2.report(versions=False, whole=False))
    assert visitor.text(".sub a") == BLIP2.issue
    visitor.tab.fill(".question input", "4.51.0")
    visitor.tab.press(".question input", "Enter")
    visitor.tab.wait_for_selector(".chip")
    assert visitor.text(".sub a") != BLIP2.issue
    assert visitor.tab.input_value("#transformers") == "4.51.0"


def test_the_setup_fields_decide_the_order_of_the_fixes(visit: Visit) -> None:
    """bfloat16 comes first on an A100, last on a T4; what the report says stands in the field until then."""
    visitor = visit()
    visitor.paste(T5_APEX.report())
    assert visitor.tab.locator("#torch").get_attribute("placeholder") == "2.4.0, says the report"
    for gpu, first in (("A100", "Load the T5 encoder in bfloat16"), ("T4", "Bypass apex's fused norm")):
        with visitor.tab.expect_response("**/page/diagnose"):
            visitor.tab.fill("#gpu", gpu)
            visitor.tab.press("#gpu", "Enter")
        visitor.tab.wait_for_selector(f".chip:has-text('{gpu}')")
        assert visitor.text(f"{FIX} b").startswith(first)
        visitor.open_details()
        assert gpu in visitor.text("article")


def test_what_cannot_be_used_is_told(visit: Visit) -> None:
    """An answer that the server cannot use is no failure: the rest is diagnosed."""
    visitor = visit()
    visitor.tab.fill("#gpu", "banana")
    visitor.paste(BLIP2.report())
    assert visitor.text(".sub a") == BLIP2.issue
    assert "banana" in visitor.text("article")


def test_the_other_language_tells_the_same_and_is_remembered(visit: Visit) -> None:
    """The report stays, the diagnosis comes again, and the choice survives a reload; the report is nowhere kept."""
    visitor = visit()
    visitor.paste(BLIP2.report())
    with visitor.tab.expect_response("**/page/diagnose"):
        visitor.tab.click("#language")
    visitor.tab.wait_for_selector(".badge:has-text('已知')")
    assert "升级" in visitor.text(FIX)
    visitor.tab.click("#theme")
    visitor.tab.click("#theme")
    assert visitor.tab.locator("html").get_attribute("data-theme") == "dark"
    assert visitor.tab.evaluate("Object.keys(localStorage).sort()") == ["troubleshoot.language", "troubleshoot.theme"]
    assert visitor.tab.evaluate("sessionStorage.length") == 0
    assert "?" not in visitor.tab.url and "#" not in visitor.tab.url
    visitor.tab.reload()
    assert visitor.text("#send") == "诊断"
    assert visitor.tab.locator("html").get_attribute("data-theme") == "dark"
    assert visitor.tab.input_value("#text") == ""


@pytest.mark.parametrize(
    ("report", "badge", "told"),
    [
        ("FluxError: the flux is not half enough (Half)", "unknown", "Search the issues of torch for the message above"),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 GiB",
            "out of scope",
            "Take a smaller batch",
        ),
        ("Hello, is anybody there?", "unknown", "Paste everything from the first Traceback on"),
    ],
    ids=["unknown", "out-of-scope", "no-failure"],
)
def test_what_is_not_known_is_said_with_what_to_do_next(visit: Visit, report: str, badge: str, told: str) -> None:
    """No fix is made up; the next step is named."""
    visitor = visit()
    visitor.paste(report)
    assert visitor.text(".badge") == badge
    assert told in visitor.text("#found")
    assert visitor.tab.locator(FIX).count() == 0
    assert visitor.tab.locator("article h2", has_text="Next").count() == 1


def test_several_causes_are_all_shown(visit: Visit) -> None:
    """A bare message is a family: its likeliest cause leads, the others can be opened, and a question can be answered."""
    visitor = visit()
    visitor.paste("RuntimeError: expected scalar type Float but found Half")
    assert visitor.text(".badge").startswith("likely")
    assert "Likeliest cause" in visitor.text("article")
    assert visitor.tab.locator(".question .option").count() > 1
    visitor.open_details()
    others = visitor.tab.locator("article section", has=visitor.tab.locator("h2", has_text=re.compile("^Or$")))
    others.locator("summary").first.click()
    assert others.locator("details[open] ol > li").count() >= 1


@pytest.mark.parametrize("granted", [True, False], ids=["clipboard", "without the clipboard interface"])
def test_a_fix_is_copied(visit: Visit, granted: bool) -> None:
    """Over plain http to another host browsers offer no clipboard interface; a selection does it there."""
    visitor = visit(permissions=["clipboard-read", "clipboard-write"])
    if not granted:
        visitor.tab.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed')); }")
    visitor.paste(BLIP2.report())
    visitor.tab.click("ol .copy")
    visitor.tab.wait_for_selector(".copy:has-text('Copied')")
    assert visitor.tab.evaluate("navigator.clipboard.readText()") == "pip install 'transformers==4.50.3'"


def test_feedback_is_counted(visit: Visit) -> None:
    """The reader says that a fix worked, and is thanked."""
    visitor = visit()
    visitor.paste(BLIP2.report())
    with visitor.tab.expect_response("**/v1/feedback") as answered:
        visitor.tab.click(".feedback button >> nth=0")
    assert answered.value.ok
    visitor.tab.wait_for_selector(".feedback:has-text('Counted as worked')")
    assert BLIP2.report()[:40] not in (answered.value.request.post_data or "")


def test_a_hash_leads_to_an_issue_and_to_nothing_else(visit: Visit, site: str) -> None:
    """Only what looks like the id of an issue is followed."""
    visitor = visit(f"/#{BLIP2.issue}")
    visitor.tab.wait_for_url(f"{site}/issues/{BLIP2.issue}?lang=en")
    assert "BLIP-2" in visitor.text("h1")
    for harmless in ("#javascript:alert(1)", "#//example.org/x", "#../../etc", "#issue=<img src=x onerror=alert(1)>/x"):
        other = visit(f"/{harmless}")
        other.tab.wait_for_selector(".example")
        assert other.tab.url.startswith(f"{site}/#")


def test_the_page_of_an_issue(visit: Visit) -> None:
    """From a diagnosis to all that is known, in the reader's language, with sources and copy buttons."""
    visitor = visit(language="zh")
    visitor.paste(BLIP2.report())
    visitor.tab.click(".sub a")
    visitor.tab.wait_for_selector("main.issue h1")
    assert "query tokens" in visitor.text("h1")
    assert "huggingface/transformers/issues/37103" in visitor.text("main")
    assert visitor.text(".copy") == "复制"
    visitor.tab.click("a[hreflang=en]")
    visitor.tab.wait_for_selector("html[lang=en]")
    assert visitor.text(".copy") == "Copy"
    visitor.tab.click("a:has-text('torch/layer-norm-mixed-dtype')")
    visitor.tab.wait_for_url("**/issues/torch/layer-norm-mixed-dtype?lang=en")


def test_the_examples_are_diagnosed(visit: Visit) -> None:
    """Each example of the page gets an answer in both languages."""
    for language in ("en", "zh"):
        visitor = visit(language=language)
        for number in range(visitor.tab.locator(".example").count()):
            visitor.tab.reload()
            visitor.tab.click(f".example >> nth={number}")
            visitor.settled()
            assert visitor.tab.locator(FIX).count() >= 1


def test_the_knowledge_base_can_be_read_through(visit: Visit, site: str) -> None:
    """From the list of all issues to one, to its cause, and back to the page; what does not exist says so in the reader's language."""
    visitor = visit(language="zh")
    visitor.tab.click("#versions")
    visitor.tab.click(f"a:has-text('{BLIP2.issue}')")
    visitor.tab.wait_for_url(f"{site}/issues/{BLIP2.issue}?lang=zh")
    missing = visit("/issues/no/such-issue?lang=zh")
    assert "no/such-issue" in missing.text("h1")
    assert missing.text(".onward") == "诊断一份报告"
    missing.complaints.clear()  # The browser itself notes the 404.
    cause = visit("/causes/dtype-mismatch/fp32-island")
    cause.tab.click(f"a:has-text('{BLIP2.issue}')")
    cause.tab.wait_for_url(f"{site}/issues/{BLIP2.issue}?lang=en")


def test_the_first_example_is_that_of_the_docs() -> None:
    """The page has a copy, since the docs are not installed."""
    copy = Path(troubleshoot.__file__).parent / "serve" / "page" / "examples" / "blip2.txt"
    assert copy.read_bytes() == (Path(__file__).parents[2] / "docs" / "examples" / "blip2-half.txt").read_bytes()


def test_the_address_says_the_language(visit: Visit, site: str) -> None:
    """A link with ?lang=zh is Chinese for whoever opens it, whatever the browser prefers."""
    visitor = visit()
    visitor.tab.goto(f"{site}/?lang=zh")
    assert visitor.text("#send") == "诊断"
    visitor.tab.goto(f"{site}/?lang=xx")
    assert visitor.text("#send") == "Diagnose"
