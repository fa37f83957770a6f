"""Files and long reports on the page: dropped, opened, too large, not text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from founding import BLIP2

pytestmark = pytest.mark.slow

Visit = Callable[..., Any]

DROP = """([name, type, bytes]) => {
  const files = new DataTransfer();
  files.items.add(new File([new Uint8Array(bytes)], name, {type}));
  document.getElementById("text").dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
}"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "gb18030"])
def test_a_dropped_file_is_read_whatever_its_encoding(visit: Visit, encoding: str) -> None:
    """PowerShell writes UTF-16, Chinese Windows GB18030."""
    visitor = visit()
    report = BLIP2.report(language="zh")
    visitor.tab.evaluate(DROP, ["error.log", "", list(report.replace("\n", "\r\n").encode(encoding))])
    visitor.settled()
    assert visitor.text(".sub a") == BLIP2.issue
    assert "上个月还能跑" in visitor.text(".row .text")


@pytest.mark.parametrize(
    ("name", "kind", "content", "told"),
    [
        ("screen.png", "image/png", b"\x89PNG\r\n\x1a\n", "That is an image"),
        ("model.bin", "", b"PK\x03\x04" + bytes(range(256)), "model.bin is not a text file"),
    ],
)
def test_what_is_no_text_is_refused_kindly(visit: Visit, name: str, kind: str, content: bytes, told: str) -> None:
    """And what was there before stays."""
    visitor = visit()
    visitor.tab.fill("#text", "my notes")
    visitor.tab.evaluate(DROP, [name, kind, list(content)])
    visitor.tab.wait_for_selector(".problem")
    assert told in visitor.text(".problem")
    assert visitor.tab.input_value("#text") == "my notes"


def test_of_a_file_that_is_too_large_the_end_is_offered(visit: Visit, tmp_path: Path) -> None:
    """The limit is told before anything is sent; the end of a log mostly holds the failure."""
    visitor = visit()
    log = tmp_path / "train.log"
    log.write_text("step 1000: loss 2.31 lr 1e-4\n" * 150_000 + BLIP2.report(), encoding="utf-8")
    sent: list[str] = []
    visitor.tab.on("request", lambda request: sent.append(request.url) if "/v1/" in request.url else None)
    visitor.tab.set_input_files("#file", log)
    visitor.tab.wait_for_selector(".problem")
    assert "4.4 MB" in visitor.text(".problem") and "1 MB" in visitor.text(".problem")
    assert sent == []
    visitor.tab.click(".problem button")
    visitor.settled()
    assert visitor.text(".sub a") == BLIP2.issue


def test_a_pasted_text_that_is_too_large_is_kept_and_not_sent(visit: Visit) -> None:
    """The size is shown as it is typed; the end can be kept."""
    visitor = visit()
    visitor.tab.evaluate(
        "text => { const area = document.getElementById('text'); area.value = text; area.dispatchEvent(new Event('input')); }",
        "some line of a log\n" * 80_000 + BLIP2.report(),
    )
    assert "1.5 MB" in visitor.text("#size")
    visitor.tab.click("#send")
    visitor.tab.wait_for_selector(".problem")
    assert "Nothing was sent" in visitor.text(".problem")
    assert visitor.tab.evaluate("document.getElementById('text').value.length") > 1_500_000
    visitor.tab.click(".problem button")
    visitor.settled()
    assert visitor.text(".sub a") == BLIP2.issue


def test_a_long_report_is_shown_around_its_evidence(visit: Visit) -> None:
    """The other lines can be brought back; the numbers are those of the whole text, also across carriage returns."""
    visitor = visit()
    visitor.tab.evaluate(DROP, ["run.log", "", list((" 10%|█ | 1/10\r 20%|██ | 2/10\r\n" * 900 + BLIP2.report()).encode())])
    visitor.settled()
    total = 900 + BLIP2.report().count("\n")
    assert f"{total} lines" in visitor.text("#size")
    assert visitor.tab.locator(".row").count() < 100
    lead = visitor.tab.locator(".row.lead")
    assert lead.locator(".number").inner_text() == str(total)
    assert "expected scalar type" in lead.inner_text()
    assert visitor.text(".row .text").strip() == "20%|██ | 2/10"
    visitor.tab.click(".gap")
    assert visitor.tab.locator(".row").count() > 400


def test_one_very_long_line_does_not_stop_the_page(visit: Visit) -> None:
    """A line of 900 KB is cut where it is shown, and sent whole."""
    visitor = visit()
    visitor.tab.evaluate(DROP, ["run.log", "", list(("x" * 900_000 + "\n" + BLIP2.report()).encode())])
    visitor.settled()
    assert visitor.text(".sub a") == BLIP2.issue
    assert "898000 more characters" in visitor.text(".row .text")


def test_a_new_report_can_be_undone(visit: Visit) -> None:
    """Nothing is lost by a wrong press."""
    visitor = visit()
    visitor.paste(BLIP2.report())
    visitor.tab.click("#clear")
    assert visitor.tab.input_value("#text") == ""
    assert visitor.tab.locator(".example").count() > 0
    visitor.tab.click(".problem button")
    assert visitor.tab.input_value("#text") == BLIP2.report()


def test_an_edited_report_makes_the_diagnosis_stale(visit: Visit) -> None:
    """What is shown belongs to the text that was sent, and says so."""
    visitor = visit()
    visitor.paste(BLIP2.report())
    assert not visitor.tab.is_visible(".changed")
    visitor.tab.click("#edit")
    visitor.tab.press("#text", "End")
    visitor.tab.keyboard.type("one more line")
    assert visitor.tab.is_visible(".changed")
    visitor.send()
    assert not visitor.tab.is_visible(".changed")
