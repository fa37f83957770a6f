"""The command: forms of output, exit codes, pipes, secrets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from scan_logs import FRAMES, ROOT, healthy, interleaved


def run(*arguments: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a user does."""
    return subprocess.run([sys.executable, "-m", "troubleshoot", "scan", *arguments], input=given, capture_output=True, check=False)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_bytes(
        healthy(200) + interleaved(4) + healthy(3000) + b"step 9 loss nan\n" + b"ValueError: token hf_abcdefghijklmnopqrstuvwx \x1b[2J\n\n"
    )
    return path


def test_a_table(log: Path) -> None:
    """Diagnosed problems first, each with its count, ranks and places; nothing but the table in a pipe."""
    done = run(str(log))
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert "torch/linear-dtype" in text
    assert "4 times on ranks 0-3: first " in text
    assert text.index("torch/linear-dtype") < text.index("ValueError")
    assert "3 distinct problems in 1 file" in text
    assert "\x1b" not in text
    assert "\r" not in text
    assert "hf_abc" not in text


def test_json_lines(log: Path) -> None:
    """One object per problem and one that sums up."""
    rows = [json.loads(line) for line in run(str(log), "-f", "jsonl").stdout.splitlines()]
    assert [row["kind_of_row"] for row in rows] == ["problem"] * 3 + ["summary"]
    assert rows[-1]["problems"] == 3
    nan = next(row for row in rows if row.get("issue") == "numerics/nan-loss")
    assert (nan["count"], nan["first"]["step"], nan["first"]["file"]) == (1, 9, str(log))
    assert "hf_abc" not in str(rows)


def test_a_page(log: Path, tmp_path: Path) -> None:
    """One page that loads and runs nothing."""
    page = tmp_path / "page.html"
    assert run(str(log), "-f", "html", "-o", str(page)).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "numerics/nan-loss" in text
    assert "<script" not in text
    assert "hf_abc" not in text


def test_exit_codes(tmp_path: Path, log: Path) -> None:
    """As grep's: 0 a diagnosis, 1 none, 2 an error."""
    healthy_log = tmp_path / "healthy.log"
    healthy_log.write_bytes(healthy(50))
    assert run(str(log)).returncode == 0
    assert run(str(healthy_log)).returncode == 1
    missing = run(str(tmp_path / "missing.log"))
    assert (missing.returncode, missing.stderr.count(b"\n")) == (2, 1)
    assert run(str(log), "--jobs", "many").returncode == 2
    assert run(str(log), "--format", "xml").returncode == 2
    assert run(str(log), "--out", "x").returncode == 2
    assert run(str(log), "--follow", "-f", "html").returncode == 2


def test_standard_input(log: Path) -> None:
    """A pipe is read without naming it, compressed too."""
    import gzip

    for given in (log.read_bytes(), gzip.compress(log.read_bytes())):
        rows = [json.loads(line) for line in run("-f", "jsonl", given=given).stdout.splitlines()]
        assert rows[-1]["problems"] == 3


def test_the_last_failure(log: Path) -> None:
    """One problem: what the log ends with."""
    rows = [json.loads(line) for line in run(str(log), "--last", "-f", "jsonl").stdout.splitlines()]
    assert [row.get("exception") for row in rows] == ["ValueError", None]


def test_what_the_user_knows_counts(tmp_path: Path) -> None:
    """--gpu and --have are facts for every diagnosis."""
    log = tmp_path / "train.log"
    example = (Path(__file__).resolve().parents[2] / "docs" / "examples" / "blip2-half.txt").read_text(encoding="utf-8")
    log.write_text(example[example.index("Traceback") :], encoding="utf-8")
    known = json.loads(run(str(log), "--have", "transformers=4.50.1", "-f", "jsonl").stdout.splitlines()[0])
    fixed = json.loads(run(str(log), "--have", "transformers=4.50.3", "-f", "jsonl").stdout.splitlines()[0])
    assert known["issue"] == "transformers/blip2-query-tokens-fp32"
    assert fixed["issue"] != "transformers/blip2-query-tokens-fp32"


def test_anchors_are_printed_for_comparing(tmp_path: Path) -> None:
    """What grep is given, to measure against it: it finds the failures' lines."""
    done = run("--anchors")
    assert done.stdout.count(b"\n") > 500
    anchors = tmp_path / "anchors"
    anchors.write_bytes(done.stdout)
    (tmp_path / "train.log").write_bytes(healthy(10) + FRAMES.encode())
    found = subprocess.run(["grep", "-c", "-F", "-f", anchors, tmp_path / "train.log"], capture_output=True, check=False).stdout
    assert 2 <= int(found) < 16


def test_the_other_commands_do_not_import_it() -> None:
    """Start-up is a contract: diagnose does not pay for scan."""
    example = Path(__file__).resolve().parents[2] / "docs" / "examples" / "blip2-half.txt"
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('MODULES', [m for m in sys.modules if 'scanning' in m or m.endswith('commands.scan')]))\n"
        "sys.argv = ['troubleshoot', 'diagnose', sys.argv[1]]\n"
        "from troubleshoot.cli import main\n"
        "main()\n"
    )
    out = subprocess.run([sys.executable, "-c", code, str(example)], capture_output=True, text=True, check=False).stdout
    assert out.rstrip().endswith("MODULES []")


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log() -> None:
    """Ten times the log through a pipe takes the same memory."""
    peaks = []
    for size in ("5e7", "5e8"):
        maker = subprocess.Popen([sys.executable, str(ROOT / "tests" / "benchmarks" / "logs.py"), size], stdout=subprocess.PIPE)
        code = (
            "import resource, sys\nfrom troubleshoot.cli import main\n"
            "try: main()\nfinally: sys.stderr.write(str(resource.getrusage(0).ru_maxrss))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, "scan", "-", "-f", "jsonl"], stdin=maker.stdout, capture_output=True, text=True, check=False
        )
        assert maker.wait() == 0
        summary = json.loads(done.stdout.splitlines()[-1])
        assert summary["bytes"] >= float(size)
        assert summary["problems"] == 6
        peaks.append(int(done.stderr))
    assert peaks[1] < 1.25 * peaks[0]
