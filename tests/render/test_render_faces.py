"""What every face must do with every diagnosis."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
import render_samples as samples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from troubleshoot.basics.errors import InputError
from troubleshoot.engine.result import Question
from troubleshoot.telling import FORMATS, render
from troubleshoot.telling.content import answer_options, shorten
from troubleshoot.telling.layout import columns, visible
from troubleshoot.telling.markdown import escape, fence

EVERY = pytest.mark.parametrize("name", samples.ALL)


class Page(HTMLParser):
    """Collects a page's text and elements, and checks that they are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def page(html: str) -> Page:
    """Return the parsed page."""
    parser = Page()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


@EVERY
@pytest.mark.parametrize("width", [40, 80, 100])
def test_lines_of_the_full_text_fit(name: str, width: int) -> None:
    """Only commands, code and what has no blank are wider than the terminal."""
    code = {
        line.strip()
        for one in samples.ALL[name]().diagnoses
        for fix in one.fixes
        for line in f"{fix.code}\n{fix.command}\n{one.verify}".split("\n")
    }
    for line in render(samples.ALL[name](), width=width, full=True).split("\n"):
        copied = any(part and part in line for part in code) or "--redact" in line or line.startswith("out of scope") or "\\x07" in line
        assert columns(line) <= width or copied or len(line.split()) <= 3 or "`" in line


@EVERY
def test_no_colour_without_asking(name: str) -> None:
    """A pipe gets no escape sequences, whatever the report held."""
    assert "\x1b" not in render(samples.ALL[name]())
    assert "\x1b" not in render(samples.ALL[name](), "markdown")


@EVERY
def test_colour_adds_nothing_but_colour(name: str) -> None:
    """Without the escape sequences, the coloured text is the plain one."""
    coloured = render(samples.ALL[name](), color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(samples.ALL[name]())


@EVERY
@pytest.mark.parametrize("form", FORMATS)
def test_every_face_ends_with_one_newline(name: str, form: str) -> None:
    """So that a shell's prompt begins a line."""
    output = render(samples.ALL[name](), form)
    assert output.endswith("\n")
    assert not output.endswith("\n\n")


@EVERY
def test_json_is_the_contract(name: str) -> None:
    """One object, with the diagnosis's own fields; secrets are masked here too."""
    data = json.loads(render(samples.ALL[name](), "json"))
    assert data["schema"] == 1
    assert data["verdict"] == samples.ALL[name]().verdict
    assert "hf_abcdefghijkl" not in json.dumps(data)


@EVERY
def test_html_is_one_inert_page(name: str) -> None:
    """Nothing is loaded or run; every element is closed."""
    parsed = page(render(samples.ALL[name](), "html"))
    names = {tag for tag, _ in parsed.tags}
    assert not names & {"script", "img", "link", "iframe", "object", "form"}
    assert all(not name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    assert any(attributes.get("charset") == "utf-8" for tag, attributes in parsed.tags if tag == "meta")


def test_a_report_is_never_markup() -> None:
    """Brackets, tags and braces are shown as the report has them."""
    for form in ("text", "html"):
        output = render(samples.hostile(), form)
        text = page(output).text if form == "html" else output
        assert "[/b] [rank0] <script>alert(1)</script>" in text
        assert "{0} %s" in re.sub(r"\s+", " ", text)


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=120))
@settings(max_examples=100)
def test_any_text_passes_through_every_face(text: str) -> None:
    """No text makes a face fail, and none becomes an element or an escape sequence."""
    diagnosis = samples.hostile(text)
    for form in FORMATS:
        output = render(diagnosis, form)
        if form == "html":
            assert not {tag for tag, _ in page(output).tags} & {"script", "img", "link", "iframe"}
        else:
            assert "\x1b" not in output


def test_top_shows_more_in_full() -> None:
    """The second diagnosis gets sections of its own."""
    assert render(samples.likely(), top=1).count("\nDo") == 1
    assert render(samples.likely(), top=2).count("\nDo") == 2
    assert len(json.loads(render(samples.likely(), "json", top=2))["diagnoses"]) == 2


def test_secrets_are_masked_by_default_and_people_on_demand() -> None:
    """Tokens never appear; names do, until the output is to be shared."""
    spoken = replace(samples.known(), summary="")
    for form in FORMATS:
        plain, shared = render(spoken, form, full=True), render(spoken, form, full=True, redact=True)
        assert "hf_abcdef" not in plain + shared
        assert "alice" in plain
        assert "alice" not in shared


def test_an_unknown_format_is_an_input_error() -> None:
    """The message names the formats."""
    with pytest.raises(InputError, match="markdown"):
        render(samples.known(), "yaml")


def test_str_of_a_diagnosis_is_the_terminal_text() -> None:
    """``print(diagnosis)`` is useful."""
    assert str(samples.known()) == render(samples.known())


@pytest.mark.parametrize(
    ("question", "options"),
    [
        (Question("?", "package.apex", ("present", "absent"), ()), ("--answer package.apex=present", "--answer package.apex=absent")),
        (Question("?", "package.transformers", (), ()), ("--have transformers=VERSION",)),
        (Question("?", "gpu", ("T4", "RTX 4090"), ()), ("--gpu T4", "--gpu 'RTX 4090'")),
        (Question("?", "support.bfloat16", (), ()), ("--gpu NAME",)),
        (Question("?", "attention", (), ()), ("--answer attention=VALUE",)),
    ],
)
def test_a_question_names_the_option_that_answers_it(question: Question, options: tuple[str, ...]) -> None:
    """What is to be typed is spelled out, ready for a shell."""
    assert answer_options(question) == options


def test_a_long_explanation_is_cut_at_a_sentence() -> None:
    """The first sentence always stays, the last one is never torn."""
    text = "One sentence here. " * 60
    assert shorten(text).endswith("here.")
    assert len(shorten(text)) <= 420
    assert shorten("A" * 1000) == "A" * 1000
    assert shorten("甲乙丙丁。" * 100).endswith("。")


@given(st.text(max_size=300))
def test_a_fence_holds_whatever_it_quotes(text: str) -> None:
    """No run of back-quotes in the text closes the fence."""
    first, *body, last = fence(text).split("\n")
    assert first == last
    assert set(first) == {"`"}
    assert all(first not in line for line in body)


@given(st.text(max_size=200) | st.text("0123456789.)-+=#*_~<>[]|! x", max_size=12))
@example("0) 0")
@example("## 1")
@settings(max_examples=400)
def test_escaped_prose_renders_as_itself(text: str) -> None:
    """What Markdown makes of the escaped text is the text (white space aside, invisible characters as escapes)."""
    markdown_it = pytest.importorskip("markdown_it")
    text = " ".join("".join(char for char in text if char.isprintable() and char != "`").split())
    for before in ("x ", "", "x\n"):
        html = markdown_it.MarkdownIt("commonmark").enable("strikethrough").render(escape(before + text))
        parsed = page(html)
        assert "".join(parsed.text.split()) == "".join(visible(before + text).split())
        assert {tag for tag, _ in parsed.tags} <= {"p"}
