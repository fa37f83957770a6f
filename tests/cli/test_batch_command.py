"""``troubleshoot batch``: what it takes; what it does to many reports is tested in tests/fleets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "troubleshoot", "batch", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing option '--out'"),
        (("--out", "x"), "name the reports, or the --page to draw"),
        (("a.txt", "--out", "x", "--engine", "slurm"), "choose local or ray"),
        (("a.txt", "--out", "x", "--ray-address", "head:6379"), "--ray-address goes with --engine ray"),
    ],
)
def test_wrong_use_says_what_to_do(arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_reports_are_diagnosed_and_drawn(tmp_path: Path) -> None:
    """Then drawn once more from what is there."""
    pytest.importorskip("pyarrow")
    (tmp_path / "reports").mkdir()
    for name, text in (("a", "RuntimeError: expected scalar type Float but found Half"), ("b", "all is well")):
        (tmp_path / "reports" / f"{name}.txt").write_text(text, encoding="utf-8")
    out, page = tmp_path / "out", tmp_path / "page.html"
    done = run(str(tmp_path / "reports"), "--out", str(out), "--page", str(page))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2 reports in 1 blocks")
    first = page.read_text(encoding="utf-8")
    assert "<svg" in first
    page.unlink()
    assert run("--out", str(out), "--page", str(page)).returncode == 0
    assert page.read_text(encoding="utf-8") == first
