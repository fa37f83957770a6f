"""Charts, folded parts and tables: one drawing of them for all pages, and what they are where nothing can be drawn."""

from __future__ import annotations

import xml.etree.ElementTree

from troubleshoot.telling import render_documents
from troubleshoot.telling.document import Bar, Chart, Code, Document, Folded, Prose, Section
from troubleshoot.telling.layout import aligned

CHART = Chart(
    "lengths of <b>",
    (Bar("m" * 60, ((0.25, "c0"), (0.5, "bad")), "3", "<i>hint"), Bar("b", ((0.0, "c1"),), "0")),
    ((0.5, "limit", "bad"), (1.0, "1e4", "dim")),
    (("forward", "c0"),),
)
PAGE = Document(
    "", "t", sections=(Section("wide", (CHART, Folded("more", (Code("x = 1"), Prose("hf_abcdefghijklmnopqrstuvwx")))), wide=True),)
)


def test_a_chart_is_drawn_to_scale() -> None:
    """Parts follow each other, lines stand where they should, a long label keeps its end."""
    page = render_documents((PAGE,), "html")
    svg = xml.etree.ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
    first, second = svg.findall("g")
    one, other = first.findall("rect")
    assert float(other.attrib["x"]) == float(one.attrib["x"]) + float(one.attrib["width"])
    assert float(other.attrib["width"]) == 2 * float(one.attrib["width"])
    assert float(svg.findall("line")[0].attrib["x1"]) == float(one.attrib["x"]) + 2 * float(one.attrib["width"])
    label = first.findtext("text")
    assert label is not None and label.startswith("…mmm") and len(label) < 40
    assert first.findtext("title") == "<i>hint"
    assert second.find("rect") is not None
    assert svg.findall("rect")[0].attrib["class"] == "c0"


def test_what_is_folded_opens_and_secrets_in_it_are_masked() -> None:
    """A page without scripts opens it by itself."""
    page = render_documents((PAGE,), "html")
    assert "<details><summary>more</summary><pre><code>x = 1</code></pre>" in page
    assert '<section class="whole">' in page
    assert "hf_abcdef" not in page


def test_styles_of_charts_are_only_where_charts_are() -> None:
    """The page of a diagnosis stays small."""
    assert "svg" not in render_documents((Document("", "t", sections=(Section("s", (Prose("p"),)),)),), "html")


def test_charts_and_folded_parts_can_be_read_as_text() -> None:
    """Bars are a table, folded parts are open."""
    for form in ("text", "markdown"):
        told = render_documents((PAGE,), form)
        assert "more" in told and "x = 1" in told
        assert any(line.split() in (["b", "0"], ["|", "b", "|", "0", "|"]) for line in told.splitlines())


def test_columns_are_aligned_by_what_is_seen() -> None:
    """Wide characters take two columns, and the last cell is not padded."""
    assert aligned([("图", "a", "x"), ("abc", "bb", "yy")]) == [["图 ", "a ", "x"], ["abc", "bb", "yy"]]
