"""The scripts of docs/examples/scripts fail, `troubleshoot fix --run` repairs them, and so does `troubleshoot run --try-fixes`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("libcst")

SCRIPTS = Path(__file__).parents[2] / "docs" / "examples" / "scripts"
#: Those that run transformers' own models.
UPSTREAM = ("qwen2_vl_sampling", "t5_fused_norm")

#: Each takes some ten seconds of two programs with torch: two of them stand for all in the ordinary tests.
ORDINARY = ("blip2_query_tokens", "numpy_bfloat16")

EXAMPLES = [
    pytest.param(path, id=path.stem, marks=pytest.mark.torch if path.stem in ORDINARY else pytest.mark.slow)
    for path in sorted(SCRIPTS.glob("*.py"))
]


def troubleshoot(*arguments: str) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run([sys.executable, "-m", "troubleshoot", *arguments], capture_output=True, text=True, timeout=300)
    return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else {}, done.stderr


def needs(path: Path) -> None:
    if path.stem in UPSTREAM:
        pytest.importorskip("transformers")
        pytest.importorskip("accelerate")


def test_there_are_ten() -> None:
    """Five founding cases, five others."""
    assert len(EXAMPLES) == 10
    assert sum("Founding case" in path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.py")) == 5


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES)
def test_an_edit_repairs_it(path: Path) -> None:
    """The script fails; the first edit is small, and the edited copy runs to its end; the file itself stays."""
    needs(path)
    before = path.read_bytes()
    status, told, stderr = troubleshoot("fix", str(path), "--run", "--format", "json")
    assert status == 0, stderr
    assert told["error"]
    assert told["works"] is True
    assert [one["outcome"] for one in told["runs"]] == ["ok"]
    added = [line for line in told["diff"].splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert 1 <= len(added) <= 3
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.orig"))


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES)
def test_a_live_patch_repairs_it(path: Path) -> None:
    """The program's own run fails, a rerun under a patch ends well, and the exit status says so."""
    needs(path)
    status, told, stderr = troubleshoot("run", "--try-fixes", "--first", "--format", "json", str(path))
    assert status == 0, stderr
    assert told["status"] == 1
    works = next(one for one in told["fixes"] if one["works"])
    assert works["outcome"] == "ok"
    assert ":" in works["output"]
    assert "Traceback" in stderr
    assert "now runs" in stderr
