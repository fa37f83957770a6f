"""Searching: how many patterns are tried for one text."""

from __future__ import annotations

from typing import Any

import pytest

from troubleshoot.engine.matching import search
from troubleshoot.knowledge import load_kb
from troubleshoot.reading import read_report

BASE = load_kb()
TEMPLATES = [text for kind, text, _ in BASE.index.patterns if kind == "t"]


def test_of_a_list_of_all_messages_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever pastes every template has no failure that fits one; looking for each of them would take seconds."""
    tried: list[str] = []
    compile_template = search.compile_template
    monkeypatch.setattr(search, "compile_template", lambda text, *blanks: tried.append(text) or compile_template(text, *blanks))
    text = search.SearchText(read_report("\n".join(TEMPLATES)))
    search._search_templates(text, BASE, [number for number in BASE.candidates(text.words) if BASE.index.patterns[number][0] == "t"])
    assert len(TEMPLATES) > 2 * search._MOST_CANDIDATES
    assert len(tried) <= search._MOST_CANDIDATES


def test_a_long_text_is_searched_for_what_has_its_words_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words alone are in many a log; the text is not gone through for each template that has them."""
    searched: list[Any] = []

    class Lowered(str):
        def __contains__(self, probe: object) -> bool:
            searched.append(probe)
            return str.__contains__(self, probe)  # type: ignore[arg-type]

    message = "expected scalar type half but found float"
    for words, found in ((message, True), (" ".join(reversed(message.split())), False)):
        text = search.SearchText(read_report(f"it went on\n{words}\n" + "and went on, line after line, as before\n" * 1000))
        text.lowered = Lowered(text.lowered)
        searched.clear()
        candidates = [number for number in BASE.candidates(text.words) if BASE.index.patterns[number][0] == "t"]
        hits = search._search_templates(text, BASE, candidates)
        assert bool(hits) is found
        assert ("expected scalar type " in searched) is found
        assert len(candidates) > len(searched)
