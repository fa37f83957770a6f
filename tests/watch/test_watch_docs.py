"""The examples of docs/watch.md are run, and print what the page says."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

pytest.importorskip("torch")

pytestmark = pytest.mark.torch

PAGE = Path(__file__).parents[2] / "docs" / "watch.md"


def test_every_example_of_the_page_runs() -> None:
    """Code and output of the page agree."""
    # The fences are no part of the examples.
    text = "\n".join("" if line.startswith("```") else line for line in PAGE.read_text(encoding="utf-8").splitlines())
    example = doctest.DocTestParser().get_doctest(text, {}, "watch.md", str(PAGE), 0)
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
    assert results.attempted > 15
    assert results.failed == 0
