"""``troubleshoot kb why``, ``gaps``, ``stale``, ``stats`` and ``new``: what they print where, and their exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from troubleshoot.cli import main

BLIP2 = Path(__file__).parents[2] / "docs" / "examples" / "blip2-half.txt"
ISSUE = "transformers/blip2-query-tokens-fp32"


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Run the program and return (exit code, stdout, stderr)."""
    code = main([str(one) for one in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_why_an_entry_wins(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 where it comes first, and everything that decided it."""
    code, out, err = run(capsys, "kb", "why", BLIP2, ISSUE)
    assert (code, err) == (0, "")
    for heading in ("answers first", "Signature", "Conditions", "Weight (log-odds)", "Refinement", "Rank        1", "Would make it lose"):
        assert heading in out
    assert "--answer package.transformers=4.50.3  (then torch/layer-norm-mixed-dtype)" in out


def test_why_an_entry_loses(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1; the options of diagnose count."""
    code, out, _ = run(capsys, "kb", "why", BLIP2, ISSUE, "--have", "transformers=4.50.3", "--format", "json")
    found = json.loads(out)
    assert (code, found["outcome"], found["ranking"][0]["issue"]) == (1, "refuted", "torch/layer-norm-mixed-dtype")


def test_gaps(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Exit code 1 where there are some, 0 where every report is known."""
    (tmp_path / "a.txt").write_text("RuntimeError: whirligig of Half cannot spin beside cuda:0\n")
    code, out, err = run(capsys, "kb", "gaps", tmp_path)
    assert (code, err) == (1, "")
    assert f"troubleshoot kb new torch/whirligig-cannot-spin-beside --report {tmp_path / 'a.txt'}" in out
    assert run(capsys, "kb", "gaps", BLIP2)[0] == 0
    assert run(capsys, "kb", "gaps", tmp_path / "none")[0] == 2


def test_stale(capsys: pytest.CaptureFixture[str]) -> None:
    """Offline: nothing is asked, and JSON says what is stale."""
    code, out, _ = run(capsys, "kb", "stale", "--offline", "--format", "json")
    found = json.loads(out)
    assert code == (1 if found["found"] else 0)
    assert found["unasked"] == []
    assert {"issue", "kind", "text"} == set().union(*found["found"])
    assert "1 or more" in run(capsys, "kb", "stale", "--months", "0")[2]


def test_stats(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Text and JSON; a feedback file that is not there is an error in use."""
    code, out, _ = run(capsys, "kb", "stats", "--format", "json")
    assert code == 0
    assert json.loads(out)["entries"] > 100
    assert run(capsys, "kb", "stats")[1].startswith("entries ")
    code, _, err = run(capsys, "kb", "stats", "--feedback", tmp_path / "none.sqlite")
    assert (code, "no such file" in err) == (2, True)


def test_new_from_a_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Away from a terminal nothing is asked: suggestions are taken, and what answers now is told."""
    code, out, err = run(capsys, "kb", "new", "--report", BLIP2, "--kb", tmp_path)
    path = Path(out.strip())
    assert (code, path.is_file()) == (0, True)
    assert f"refines: [{ISSUE}]" in path.read_text(encoding="utf-8")
    assert f"{ISSUE} answers this report now" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "no id given"),
        (("a/b", "--cause", "dtype-mismatch/fp32-iland"), "Did you mean: dtype-mismatch/fp32-island"),
        (("a/b", "--refines", "torch/linear-dtyp"), "torch/linear-dtype"),
        (("a/b", "--package", "torch"), "--package needs --introduced"),
        (("a/b", "--fixed", "2.0"), "need --package"),
        (("a/b", "--package", "torch", "--introduced", "two"), "is not a version"),
        (("a/b", "--url", "github"), "give the https address"),
        (("A/b",), "is no id"),
    ],
)
def test_new_tells_what_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    """And writes nothing."""
    code, out, err = run(capsys, "kb", "new", *arguments, "--kb", tmp_path)
    assert (code, out) == (2, "")
    assert told in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_new_asks_at_a_terminal(tmp_path: Path) -> None:
    """Enter takes the suggestion, a wrong answer is asked again, and the file has what was said."""
    import pty

    master, slave = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "troubleshoot",
        "kb",
        "new",
        "--kb",
        str(tmp_path),
        "--message",
        "whirligig of Half cannot spin at all",
    ]
    with subprocess.Popen(command, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        os.close(slave)
        os.write(master, b"Not An Id\n\nThe whirligig is alone\ndtype-mismatch/fp32-iland\ndtype-mismatch/fp32-island\n\n")
        out, err = process.communicate(timeout=60)
        os.close(master)
    assert process.returncode == 0, err
    assert "write package/slug in small letters" in err
    assert "Did you mean: dtype-mismatch/fp32-island" in err
    text = Path(out.strip()).read_text(encoding="utf-8")
    assert "id: torch/whirligig-cannot-spin-all" in text
    assert 'title: "The whirligig is alone"' in text
    assert "cause: dtype-mismatch/fp32-island" in text
