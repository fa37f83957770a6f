"""``troubleshoot diagnose --verify``: the diagnosis, then what was seen when it was reproduced here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MISMATCH = "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half\n"


def run(report: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a report."""
    command = [sys.executable, "-m", "troubleshoot", "diagnose", str(report), "--env", "report", "--verify", *options]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=300)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report of a family that has a case for the CPU."""
    path = tmp_path / "report.txt"
    path.write_text(MISMATCH, encoding="utf-8")
    return path


@pytest.mark.torch
def test_the_verification_follows_the_diagnosis(report: Path) -> None:
    """In one go: diagnosed, reproduced, fixes tried."""
    done = run(report, "--format", "json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["diagnoses"][0]["issue"] == "torch/linear-dtype"
    assert data["verification"]["before"]["outcome"] == "reproduced"
    assert {fix["id"]: fix["outcome"] for fix in data["verification"]["fixes"]}["cast-inputs"] == "works"


def test_a_format_that_cannot_hold_it_is_refused(report: Path) -> None:
    """With what to use instead."""
    done = run(report, "--format", "markdown")
    assert done.returncode == 2
    assert "--format html" in done.stderr


def test_nothing_to_reproduce_is_said(tmp_path: Path) -> None:
    """An unknown report has no case."""
    path = tmp_path / "report.txt"
    path.write_text("RuntimeError: the frobnicator exploded\n", encoding="utf-8")
    done = run(path)
    assert done.returncode == 1
    assert "no diagnosis to reproduce" in done.stdout
