"""Costs that can be counted, so that they can be asserted: what is imported, what is opened, how work grows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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
    assert 20 < len(ours) < 92
