"""The examples of docs/watch.md are run, and print what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_examples import run_examples

pytest.importorskip("torch")

pytestmark = pytest.mark.torch

PAGE = Path(__file__).parents[2] / "docs" / "watch.md"


def test_every_example_of_the_page_runs() -> None:
    """Code and output of the page agree."""
    results = run_examples(PAGE)
    assert results.attempted > 15
    assert results.failed == 0
