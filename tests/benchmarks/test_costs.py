"""Costs that can be counted, so that they can be asserted: what is imported, what is opened, how work grows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import counts
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "blip2-half.txt"

#: Heavy modules that a diagnosis of a text has no use for.
FORBIDDEN = {
    "torch", "numpy", "rich", "rapidfuzz", "yaml", "importlib.metadata", "email", "asyncio", "concurrent.futures", "multiprocessing",
    "logging", "http", "urllib.request", "ssl", "socket", "pydantic", "jsonschema", "pynvml", "unittest", "xml",
}  # fmt: skip

IMPORTS = """
import json, sys
from troubleshoot.cli import main
sys.argv = ["troubleshoot", "diagnose", sys.argv[1]]
try:
    main()
except SystemExit:
    pass
print("MODULES" + json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """The modules imported by ``troubleshoot diagnose FILE`` once the knowledge base is compiled."""
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", IMPORTS, str(EXAMPLE)], capture_output=True, text=True, check=True, encoding="utf-8")
    return set(json.loads(done.stdout.rpartition("MODULES")[2]))


def test_a_diagnosis_imports_nothing_heavy(imported: set[str]) -> None:
    """Start-up is a contract: no torch, no rich, no YAML on this path."""
    assert imported & FORBIDDEN == set()


def test_a_diagnosis_imports_few_modules(imported: set[str]) -> None:
    """A new dependency on this path must be noticed."""
    ours = {name for name in imported if name.split(".")[0] == "troubleshoot"}
    assert 20 < len(ours) < 125


def test_counted_costs_have_not_grown() -> None:
    """Calls and allocations, for fixed reports and a fixed log, against counts.json (`python tests/benchmarks/counts.py` writes it)."""
    stored = json.loads(counts.STORED.read_text(encoding="utf-8"))
    found = counts.measure()
    assert set(found) == set(stored)
    assert counts.regressions(found, stored) == []


def test_a_regression_is_noticed() -> None:
    """A tenth more calls is one; a tenth fewer is not; allocations may differ a little between interpreters."""
    assert counts.regressions({"x, calls": 1100, "y, KiB": 120}, {"x, calls": 1000, "y, KiB": 100}) == ["x, calls: 1,100, stored 1,000"]
    assert counts.regressions({"x, calls": 900}, {"x, calls": 1000}) == []
