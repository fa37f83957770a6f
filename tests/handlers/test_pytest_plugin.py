"""``pytest --troubleshoot``: a section in the failure's report, and nothing without the option."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
def test_known():
    raise RuntimeError("expected scalar type Float but found Half")

def test_other():
    assert 1 == 2

def test_passes():
    pass
"""


def pytest_run(tmp_path: Path, *options: str) -> str:
    """Run pytest on the three tests; two fail whatever the options are."""
    (tmp_path / "test_it.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "troubleshoot.handlers.pytest_plugin", "-p", "no:cacheprovider", *options, "test_it.py"],
        capture_output=True, text=True, cwd=tmp_path, timeout=120, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip
    assert "2 failed, 1 passed" in done.stdout
    assert done.returncode == 1
    return done.stdout


def test_the_known_failure_gets_a_section(tmp_path: Path) -> None:
    """One section, in the report of the one test."""
    output = pytest_run(tmp_path, "--troubleshoot")
    assert output.count("- troubleshoot -") == 1
    assert "torch/expected-scalar-type" in output


def test_without_the_option_nothing_is_different(tmp_path: Path) -> None:
    """The plugin is there, and silent."""
    assert "torch/expected-scalar-type" not in pytest_run(tmp_path)


def test_it_is_an_entry_point() -> None:
    """An installed troubleshoot needs no -p; the plugin's import is light."""
    from importlib.metadata import entry_points

    found = [one.value for one in entry_points(group="pytest11") if one.name == "troubleshoot"]
    if not found:
        pytest.skip("installed before the plugin was there")
    assert found == ["troubleshoot.handlers.pytest_plugin"]
