"""Limits of time: of a diagnosis, of waiting for input, of a stretch of a log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from troubleshoot import diagnose
from troubleshoot.basics.timelimit import OutOfTimeError, time_limit
from troubleshoot.scale.scanning import scan

pytestmark = pytest.mark.skipif(os.name == "nt", reason="limits need signals")

LINEAR = "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half\n"
#: The program, with a reader that runs a pattern without end where a line says so: no pattern of the tool's own does.
PATCHED = """
import re, sys
from troubleshoot.reading import clean, reader
from troubleshoot.scale.scanning import examine, stretch
read = clean.clean

def slow(text, numbers):
    if "RUNAWAY" in text:
        try:
            re.match("(a|aa)+$", "a" * 60 + "b")
        except Exception:
            pass
    return read(text, numbers)

for module in (clean, reader, examine, stretch):
    module.clean = slow
from troubleshoot.cli import main
sys.exit(main(sys.argv[1:]))
"""


def call(*arguments: str, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run the patched program."""
    command = [sys.executable, "-c", PATCHED, *arguments]
    return subprocess.run(command, input=given, capture_output=True, timeout=120, check=False)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Return a report whose beginning takes for ever, with a failure far behind it."""
    path = tmp_path / "report.txt"
    path.write_text("RUNAWAY\n" + "step 1 loss 0.5\n" * 4_000 + LINEAR, encoding="utf-8")
    return path


@pytest.mark.slow
def test_the_last_failure_is_diagnosed_where_the_whole_takes_too_long(report: Path) -> None:
    """The result says so, in text and in JSON, and so does stderr."""
    done = call("diagnose", str(report), "--timeout", "2", "--env", "report")
    assert done.returncode == 0, done.stderr
    assert b"torch/linear-dtype" in done.stdout
    told = b"the whole report takes more than 2 s to diagnose: this rests on its lines 2978 to 4002 of 4002 alone"
    assert told in done.stderr
    assert told in b" ".join(done.stdout.split())
    done = call("diagnose", str(report), "--timeout", "2", "--env", "report", "--format", "json")
    data = json.loads(done.stdout)
    assert told.decode() in data["errors"][0]
    assert data["failures"][0]["line"] == 4002


def test_an_error_says_what_to_do_where_even_that_takes_too_long(tmp_path: Path) -> None:
    """Exit code 2, within twice the limit."""
    path = tmp_path / "report.txt"
    path.write_text("RUNAWAY\n" + LINEAR, encoding="utf-8")
    done = call("diagnose", str(path), "--timeout", "1")
    assert done.returncode == 2
    assert b"neither the report nor its last failure alone could be diagnosed within 1 s" in done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize("value", ["0", "-1", "soon", "nan", "inf"])
def test_a_limit_is_a_number_of_seconds(value: str) -> None:
    """Anything else is an error in use."""
    done = call("diagnose", "-", f"--timeout={value}", given=LINEAR.encode())
    assert done.returncode == 2
    assert b"--timeout" in done.stderr


@pytest.mark.slow
def test_a_scan_leaves_out_what_takes_too_long_and_goes_on(tmp_path: Path) -> None:
    """Which lines of which file these are is told, in the table and in JSON; what is before and behind them counts."""
    quiet = "step 1 loss 0.5\n" * 5_000
    path = tmp_path / "train.log"
    path.write_text(quiet + LINEAR + quiet + "RUNAWAY\nValueError: other\n" + quiet + LINEAR, encoding="utf-8")
    done = call("scan", str(path), "--timeout", "1", "--format", "jsonl")
    *rows, summary = map(json.loads, done.stdout.splitlines())
    assert [(row["issue"], row["count"]) for row in rows] == [("torch/linear-dtype", 2)]
    (left,) = summary["left_out"]
    assert left["file"] == str(path)
    assert 9_000 < left["first"] <= 10_002 <= left["last"] < 11_000
    assert summary["lines"] == 15_004
    done = call("scan", str(path), "--timeout", "1")
    assert f"left out: {path}: lines {left['first']}-{left['last']} took too long".encode() in done.stdout


def test_a_line_that_takes_too_long_is_tried_once(tmp_path: Path) -> None:
    """Its like are left out without trying."""
    path = tmp_path / "train.log"
    path.write_text("".join(f"step {step} RUNAWAY loss=nan\n" for step in range(10, 40)), encoding="utf-8")
    started = time.monotonic()
    done = call("scan", str(path), "--timeout", "1", "--format", "jsonl")
    assert time.monotonic() - started < 30
    (summary,) = map(json.loads, done.stdout.splitlines())
    assert summary["left_out"] == [{"file": str(path), "first": 1, "last": 30, "more": 0}]


@pytest.mark.slow
def test_nobody_writes_into_a_pipe(tmp_path: Path) -> None:
    """Without a limit it is said what is waited for; with one it ends."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = call("diagnose", str(pipe), "--timeout", "1")
    assert done.returncode == 2
    assert f"nobody wrote into {pipe} within 1 s".encode() in done.stderr
    command = [sys.executable, "-m", "troubleshoot", "diagnose", str(pipe), "--env", "report"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as waiting:
        assert waiting.stderr is not None
        assert f"waiting for what is written into {pipe}, until it is closed".encode() in waiting.stderr.readline()
        pipe.write_text(LINEAR, encoding="utf-8")
        out, _ = waiting.communicate(timeout=60)
    assert waiting.returncode == 0
    assert b"torch/linear-dtype" in out


def test_what_came_in_time_is_diagnosed() -> None:
    """A program that goes on printing need not end."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as out, os.fdopen(reading, "rb") as given:
        out.write(LINEAR.encode())
        out.flush()
        command = [sys.executable, "-m", "troubleshoot", "diagnose", "--timeout", "2", "--env", "report"]
        done = subprocess.run(command, stdin=given, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0
    assert b"torch/linear-dtype" in done.stdout
    assert f"this rests on the {len(LINEAR)} bytes that had come".encode() in done.stderr


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/null"])
def test_devices_end(device: str) -> None:
    """However much comes out of them."""
    if not Path(device).exists():
        pytest.skip("no such device")
    assert call("diagnose", device).returncode == 1


def test_a_file_that_grows_is_read_up_to_its_size(tmp_path: Path) -> None:
    """Somebody writes faster than it is read."""
    path = tmp_path / "growing.log"
    path.write_bytes(b"step 1 loss 0.5\n" * 400_000)
    stop = threading.Event()

    def write() -> None:
        with path.open("ab") as file:
            while not stop.is_set() and file.tell() < 1 << 30:
                file.write(b"step 1 loss 0.5\n" * 100_000)

    writer = threading.Thread(target=write)
    size = path.stat().st_size
    writer.start()
    try:
        report = diagnose(path, environment="report").report
    finally:
        stop.set()
        writer.join()
    assert size // 16 <= report.total_lines <= size // 16 + 2_000_000


def test_a_limit_ends_a_pattern_without_end() -> None:
    """And what was set before is put back."""
    import re

    handler = signal.getsignal(signal.SIGALRM)
    started = time.monotonic()
    with pytest.raises(OutOfTimeError), time_limit(0.2):
        re.match("(a|aa)+$", "a" * 60 + "b")
    assert time.monotonic() - started < 10
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    with time_limit(None), time_limit(30):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_code_that_catches_everything_does_not_get_round_it() -> None:
    """The interruption comes again."""
    with pytest.raises(OutOfTimeError), time_limit(0.1):
        try:
            time.sleep(20)
        except BaseException:
            time.sleep(20)


def test_the_python_api_touches_no_signals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They belong to the program that calls it. In another thread a limit is none."""
    monkeypatch.setattr(signal, "signal", lambda *_: pytest.fail("a handler was set"))
    monkeypatch.setattr(signal, "setitimer", lambda *_: pytest.fail("a timer was set"))
    (tmp_path / "x.log").write_text(LINEAR)
    assert diagnose(LINEAR, environment="report").first is not None
    assert scan([tmp_path / "x.log"]).problems
    monkeypatch.undo()
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(len(scan([tmp_path / "x.log"], timeout=5).problems)))
    thread.start()
    thread.join()
    assert found == [1]
