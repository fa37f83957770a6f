"""`troubleshoot check` as a user types it, and what it holds side by side."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

pytestmark = pytest.mark.torch


def check(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "troubleshoot", "check", *arguments], capture_output=True, text=True, timeout=300, cwd=cwd)


def test_the_line_the_numbers_and_the_cause(written: Path) -> None:
    """The report is on stdout, what the program prints on stderr, both runs side by side."""
    done = check(str(written / "broken" / "clip_scaled.py"))
    assert done.returncode == 0
    assert "clip_scaled.py:14   clip_grad_norm_(net.parameters(), 1.0)" in done.stdout
    assert "65536" in done.stdout
    assert "amp/scaler-order" in done.stdout
    assert "scaler.unscale_(optimizer)" in done.stdout
    assert "(float32: loss" in done.stdout
    assert "loss" in done.stderr
    assert "loss" not in done.stdout.split("The printed numbers")[0].replace("GradScaler", "")


def test_json_holds_findings_experiments_and_fixes(written: Path) -> None:
    """What only the float32 run can decide is told where its numbers are others."""
    done = check("--format", "json", str(written / "broken" / "betas_bf16.py"))
    told = json.loads(done.stdout)
    assert told["schema"] == 1
    (found,) = told["findings"]
    assert (found["cause"], found["line"], found["rule"]) == ("numerics/bf16-rounding", 4, "flattened")
    assert found["code"].startswith("alphas = 1 - betas")
    assert found["fixes"]
    assert told["experiments"] == [{"id": "float32", "outcome": "other"}]
    without = check("--format", "json", "--no-compare", str(written / "broken" / "betas_bf16.py"))
    assert without.returncode == 1
    assert json.loads(without.stdout)["experiments"] == []


def test_nothing_found_is_1_and_says_so_in_chinese(written: Path) -> None:
    """Exit codes are grep's."""
    done = check("--lang", "zh", str(written / "healthy" / "pure_bf16_adam.py"))
    assert done.returncode == 1
    assert "没有发现问题" in done.stdout
    assert "与 float32 运行一致" in done.stdout


def test_until_the_first_finding(tmp_path: Path, written: Path) -> None:
    """The program ends where something is certain."""
    script = tmp_path / "train.py"
    script.write_text((written / "broken" / "clip_scaled.py").read_text() + "\nprint('the end')\n")
    done = check("--until-first", str(script))
    assert done.returncode == 0
    assert "train.py:14" in done.stdout
    assert "the end" not in done.stderr


def test_arguments_exceptions_and_modules(tmp_path: Path) -> None:
    """A program that raises is a finding too: of the line that raised, with the diagnosis."""
    (tmp_path / "prog.py").write_text(
        "import sys, torch\nlayer = torch.nn.Linear(4, 4).half()\nprint(sys.argv[1:])\nx = torch.randn(2, 4)\nlayer(x)\n"
    )
    done = check("--format", "json", "-m", "prog", "--epochs", "1", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert done.returncode == 0
    assert "['--epochs', '1']" in done.stderr
    assert [(one["line"], one["cause"]) for one in told["findings"]] == [(5, "dtype-mismatch/input-vs-weight")]
    assert told["raised"].startswith("RuntimeError")


def test_errors_in_use(tmp_path: Path, written: Path) -> None:
    """One line, and 2."""
    assert check(str(tmp_path / "none.py")).returncode == 2
    done = check("--every", "0", str(written / "healthy" / "sparse.py"))
    assert done.returncode == 2
    assert "--every 0" in done.stderr


def test_the_page_needs_no_script(written: Path) -> None:
    """HTML is one page."""
    done = check("--format", "html", str(written / "broken" / "masked_row.py"))
    assert done.returncode == 0
    assert "<script" not in done.stdout
    assert "numerics/masked-row" in done.stdout


def test_float32_draws_the_same_random_numbers(tmp_path: Path) -> None:
    """A default dtype of half precision draws other numbers than float32; the float32 run is given those of the first run."""
    script = tmp_path / "draw.py"
    script.write_text(
        "import torch\ntorch.manual_seed(0)\ntorch.set_default_dtype(torch.bfloat16)\nnet = torch.nn.Linear(64, 8)\n"
        "x = torch.nn.functional.dropout(net(torch.randn(4, 64)), 0.5)\n"
        "print(x.float().norm().item(), net.weight.dtype == torch.bfloat16)\n"
    )
    told = json.loads(check("--format", "json", str(script)).stdout)
    assert told["compared"]["outcome"] == "same"
    assert told["findings"] == []


def test_the_float32_run_leaves_out_the_steps_that_the_scaler_left_out(tmp_path: Path, written: Path) -> None:
    """The first steps are skipped while the scale is being found: that is harmless, and no difference between the runs."""
    script = tmp_path / "train.py"
    source = (
        (written / "healthy" / "amp_first_skips.py").read_text().replace("print(loss.item(), scaler.get_scale())", "print(loss.item())")
    )
    assert "scaler.get_scale" not in source
    script.write_text(source)
    told = json.loads(check("--format", "json", str(script)).stdout)
    assert told["findings"] == []
    assert told["compared"]["outcome"] == "same"


def test_fix_prints_and_writes_the_edit_whose_results_are_right(tmp_path: Path, written: Path) -> None:
    """Gradients are unscaled before they are clipped: nothing is found then, and the loss is that of the float32 run."""
    script = tmp_path / "train.py"
    before = (written / "broken" / "clip_scaled.py").read_text()
    script.write_text(before)
    told = json.loads(check("--format", "json", "--fix", "--apply", str(script)).stdout)
    assert told["fix"]["works"] is True
    assert [line for line in told["fix"]["diff"].splitlines() if line.startswith("+ ")] == ["+    scaler.unscale_(opt)"]
    assert [one["right"] for one in told["fix"]["tried"]] == [True]
    assert "    scaler.unscale_(opt)\n    clip_grad_norm_" in script.read_text()
    assert (tmp_path / "train.py.orig").read_text() == before
    assert check(str(script)).returncode == 1


def test_fix_shows_no_diff_where_nothing_that_was_run_is_right(tmp_path: Path) -> None:
    """The line in float32 is cast back to a dtype that is told elsewhere: the edit was run, failed, and is neither printed nor written."""
    script = tmp_path / "sum.py"
    source = """import torch
half = getattr(torch, "float" + "16")
x = torch.full((4,), 60000.0).to(half)
y = (x * 2).to(half)
print("sum", y.sum().item())
"""
    script.write_text(source)
    told = json.loads(check("--format", "json", "--fix", "--apply", str(script)).stdout)
    assert told["fix"]["works"] is False
    assert [one["right"] for one in told["fix"]["tried"]] == [False]
    assert (told["fix"]["diff"], told["fix"]["applied"]) == ("", [])
    assert script.read_text() == source
