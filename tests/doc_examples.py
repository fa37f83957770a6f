"""The examples of a page of docs/ as a doctest."""

from __future__ import annotations

import doctest
from pathlib import Path


def run_examples(page: Path) -> doctest.TestResults:
    """Run every ``>>>`` of the page, in one namespace, and compare what it prints with what the page says."""
    # The fences are no part of the examples.
    text = "\n".join("" if line.startswith("```") else line for line in page.read_text(encoding="utf-8").splitlines())
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    return doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
