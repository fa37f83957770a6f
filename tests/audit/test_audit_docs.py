"""The examples of docs/audit.md are run, and print what the page says; its commands exist."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_examples import run_examples

pytest.importorskip("torch")

pytestmark = pytest.mark.torch

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"


def test_every_example_of_the_page_runs() -> None:
    """Code and output of the page agree."""
    results = run_examples(PAGE)
    assert results.attempted > 15
    assert results.failed == 0


def test_every_check_is_on_the_page() -> None:
    """The table names each check that the code yields."""
    import ast

    import troubleshoot.lab.auditing

    page = PAGE.read_text(encoding="utf-8")
    folder = Path(troubleshoot.lab.auditing.__file__).parent
    checks = {
        node.args[0].value
        for path in folder.glob("*_checks.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Finding"
        and isinstance(node.args[0], ast.Constant)
    }
    assert len(checks) == 11
    assert all(f"`{one}`" in page for one in checks)
