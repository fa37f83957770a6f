"""An edit after which a program ends, and its results are wrong, is no repair: nothing of it reaches stdout or the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("libcst")

pytestmark = pytest.mark.torch

#: Every edit of the failing line leaves the overflow that follows.
STILL_BROKEN = """import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 8).half()
x = torch.randn(4, 8)
out = model(x)
energy = (out * 400).pow(2).mean()
print("energy", energy.item())
"""


def fix(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "troubleshoot", "fix", str(script), "--run", *arguments], capture_output=True, text=True, timeout=600
    )


def test_what_was_run_and_is_still_wrong_is_neither_printed_nor_written(tmp_path: Path) -> None:
    """The overflow is named; stdout is empty, so that `| git apply` changes nothing, and --apply refuses."""
    script = tmp_path / "train.py"
    script.write_text(STILL_BROKEN)
    done = fix(script, "--fix", "cast-inputs", "--apply")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "✗ with cast-inputs it ends, but line 8" in done.stderr
    assert "numerics/fp16-overflow" in done.stderr
    assert "the error is gone" not in done.stderr
    assert script.read_text() == STILL_BROKEN
    assert not Path(f"{script}.orig").exists()


def test_the_edit_whose_numbers_are_right_is_taken(tmp_path: Path) -> None:
    """Edits that end with inf are passed over for one that gives the numbers of the float32 run."""
    script = tmp_path / "train.py"
    script.write_text(STILL_BROKEN)
    done = fix(script, "--format", "json")
    told = json.loads(done.stdout)
    assert told["works"] is True
    assert [one["right"] for one in told["runs"]][-1] is True
    assert False in [one["right"] for one in told["runs"]]
    assert "cast-inputs" in [one["fix"] for one in told["runs"] if one["right"] is False]
    assert "-model = nn.Linear(8, 8).half()" in told["diff"]
