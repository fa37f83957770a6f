"""Attacks on patterns: texts made from a pattern's own repeats find one that grows faster than its text, and none of ours does."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from troubleshoot import diagnose, load_kb
from troubleshoot.basics import patterns
from troubleshoot.curation.growth import SIZES, superlinear
from troubleshoot.knowledge.templates import Template, compile_template
from troubleshoot.telling import render

ROOT = Path(__file__).parents[2]
#: What most patterns need, so that the quick test sees them compiled: messages, listings, dumps, configurations, prose.
_REPORTS = (
    *sorted((ROOT / "docs" / "examples").glob("*.txt")),
    *sorted(one for one in (ROOT / "tests" / "data" / "environments").glob("*") if one.is_file()),
)


@pytest.mark.parametrize(
    ("pattern", "search"),
    [(r"a*a*b", False), (r"\s*x", True), (r"\w*\.?\w*:", False), (r"[ab]+?c", True)],
)
def test_patterns_that_grow_faster_than_their_text_are_found(pattern: str, search: bool) -> None:
    found = superlinear(re.compile(pattern), search)
    assert found is not None
    assert "ms for" in str(found)


@pytest.mark.parametrize(("pattern", "search"), [(r"a*+b", False), (r"(?<!\w)\w{1,20}:", True), (r"[^<]*+<", False), (r"error \d+", True)])
def test_linear_patterns_are_left_alone(pattern: str, search: bool) -> None:
    assert superlinear(re.compile(pattern), search) is None


def _templates() -> dict[str, Template]:
    return {text: compile_template(text) for kind, text, _ in load_kb().index.patterns if kind != "p"}


def _compiled() -> list[tuple[re.Pattern[str], bool]]:
    """Return the patterns that are not the templates' of the base, each with how it is used."""
    for path in _REPORTS:
        text = path.read_text(encoding="utf-8", errors="replace")
        render(diagnose(f"{text}\nRuntimeError: expected scalar type Half but found Float\n", environment="report"), "text", redact=True)
    # Templates (their holes are named) are looked for near their probe, and have a test of their own.
    return [(compiled, search) for (source, _, search), compiled in patterns.COMPILED.items() if "(?P<h0>" not in source]


def test_no_pattern_of_ours_grows_faster_than_its_text() -> None:
    found = _compiled()
    assert len(found) > 100
    assert [str(growth) for one, search in found if (growth := superlinear(one, search, sizes=SIZES[:2]))] == []


def test_no_template_of_a_sample_grows_faster_than_its_text() -> None:
    known = _templates()
    drawn = random.Random(20261123).sample(sorted(known), 60)
    assert [str(growth) for text in drawn if (growth := superlinear(known[text].pattern, True, sizes=SIZES[:2]))] == []


@pytest.mark.slow
def test_no_pattern_grows_faster_than_longer_texts() -> None:
    found = _compiled()
    assert [str(growth) for one, search in found if (growth := superlinear(one, search, sizes=SIZES[:3]))] == []
