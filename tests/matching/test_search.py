"""Searching: how many patterns are tried for one text."""

from __future__ import annotations

from itertools import product
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


def test_the_lines_of_other_processes_are_not_of_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages of many processes go on line by line in turn; each is held against general wordings once, and by itself."""
    read: list[str] = []
    search_of = search.Search._generally
    monkeypatch.setattr(
        search.Search,
        "_generally",
        lambda self, start, end: read.append(self.text.original[start:end]) or search_of(self, start, end),
    )
    names = ["".join(pair) for pair in product("abcdefg", "hijkl")]
    rows = [f"[rank{rank}]: RuntimeError: of {name} it is" for rank, name in enumerate(names)]
    rows += [f"[rank{at % 35}]:   x{names[at % 35]}/float, but the x/float" for at in range(1050)]
    found = search.Search(read_report("\n".join(rows)), BASE)
    assert len(found.report.failures) > 20
    assert read and sum(map(len, read)) <= search._MOST_GENERAL_IN_ALL
    for one in (one for failure in found.report.failures for one in failure.exceptions):
        own = {found.text.parts[row] for row in found.text.own_rows(one)}
        assert {part for part in own if part.startswith("x")} == {f"x{one.message.split()[1]}/float, but the x/float"}
