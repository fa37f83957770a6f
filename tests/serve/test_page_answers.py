"""What the page receives: an article that the server wrote, and what the page's buttons need."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from founding import BLIP2

pytest.importorskip("fastapi", reason="needs the extra serve")

FAMILY = "RuntimeError: expected scalar type Float but found Half"
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"


def ask(url: str, body: dict[str, Any], **headers: str) -> dict[str, Any]:
    """Return what the page receives."""
    request = urllib.request.Request(f"{url}/page/diagnose", json.dumps(body).encode(), {"content-type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=60) as response:
        found: dict[str, Any] = json.loads(response.read())
    return found


def tags(html: str) -> list[tuple[str, dict[str, str | None]]]:
    """Return the elements with their attributes."""
    found: list[tuple[str, dict[str, str | None]]] = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append((tag, dict(attrs)))

    Parser().feed(html)
    return found


def test_an_answer_is_shown_with_its_buttons(server: Any) -> None:
    """Lines of the report, copying, feedback; the issue leads to its page; what is marked are the lines of the evidence."""
    found = ask(server.url, {"report": BLIP2.report(), "language": "en"})
    named = {name: attributes[name] for _, attributes in tags(found["html"]) for name in attributes if name.startswith("data-")}
    assert named.keys() == {"data-line", "data-fix", "data-worked"}
    assert f'<a href="/issues/{BLIP2.issue}?lang=en"><code>{BLIP2.issue}</code></a>' in found["html"]
    assert f'data-fix="{BLIP2.issue}#' in found["html"]
    assert found["spoken"].startswith("known 98 %. BLIP-2")
    lead = [mark for mark in found["marks"] if mark["lead"]]
    lines = BLIP2.report().splitlines()
    assert [lines[mark["line"] - 1] for mark in lead] == [FAMILY]
    assert found["known"]["package.torch"] == "2.6.0"


def test_questions_say_what_they_are_about(server: Any) -> None:
    """Each answer is a button with its value; other causes are folded, with fixes of their own; no command line is named."""
    html = ask(server.url, {"report": FAMILY, "language": "zh"})["html"]
    assert re.search(r'<div class="question" role="group" aria-labelledby="question-1" data-about="[a-z.-]+">', html)
    assert 'class="option" data-answer="' in html
    assert re.search(r"<details><summary>\d+%", html)
    assert "--answer" not in html and "--gpu" not in html and "troubleshoot explain" not in html


def test_no_feedback_is_asked_where_none_is_taken(serve: Any) -> None:
    """A server without a file for it."""
    assert "data-worked" not in ask(serve().url, {"report": BLIP2.report()})["html"]


def test_markup_and_secrets_of_a_report_are_not_in_it(server: Any) -> None:
    """Quoted lines are escaped and masked, in what is marked too."""
    token = "hf_" + "abcdefghij" * 3
    report = f"token {token} for {EVIL}\n{FAMILY} {EVIL}\nValueError: {EVIL} {token}\n"
    for text in (report, f"{EVIL}Error: {EVIL} {token}\n"):
        found = ask(server.url, {"report": text, "answers": {"gpu": EVIL}})
        assert token not in json.dumps(found)
        assert not {tag for tag, _ in tags(found["html"])} & {"img", "script", "svg", "iframe"}
        assert not [name for _, attributes in tags(found["html"]) for name in attributes if name.startswith("on")]


def test_it_is_no_way_around_a_token(serve: Any, tmp_path: Path) -> None:
    """The page itself is open to everybody; diagnosing is not."""
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("correct-horse-battery\n")
    url = serve("--token-file", str(tokens)).url
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(url, {"report": FAMILY})
    assert refused.value.code == 401
    assert "article" in ask(url, {"report": FAMILY}, Authorization="Bearer correct-horse-battery")["html"]


def test_the_articles_have_the_style_of_html_reports(server: Any) -> None:
    """One stylesheet, within articles only: the page has its own frame."""
    with urllib.request.urlopen(f"{server.url}/page/article.css", timeout=60) as response:
        style = response.read().decode()
    assert style.startswith("article{") and style.rstrip().endswith("}")
    assert ".badge{" in style and "body{" not in style
