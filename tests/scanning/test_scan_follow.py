"""Following: standard input and files, partial lines, rotation and truncation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from scan_logs import FRAMES, healthy

from troubleshoot.scale.scanning import Problem
from troubleshoot.scale.scanning.follow import Follower
from troubleshoot.scale.scanning.log_scan import Options, Reader

READER = Reader(Options())
COMMAND = [sys.executable, "-m", "troubleshoot", "scan", "--format", "jsonl", "--follow"]


def test_a_failure_is_told_when_it_is_complete() -> None:
    """Bytes arrive as pipes hand them out; what is told once is not told again, and counts go on."""
    told: list[Problem] = []
    follower = Follower("-", READER, told.append)
    data = healthy(50) + FRAMES.encode()
    for at in range(0, len(data), 7):
        follower.feed(data[at : at + 7])
    follower.idle(0)
    assert [(one.issue, one.first.line) for one in told] == [("torch/linear-dtype", 56)]
    follower.feed(healthy(400) + FRAMES.encode() + b"step 9 loss nan")
    follower.idle(0)
    tally = follower.tally()
    assert [one.issue for one in told] == ["torch/linear-dtype", "numerics/nan-loss"]
    assert sorted(row.count for row in tally.rows.values()) == [1, 2]


def test_a_symptom_is_told_at_once() -> None:
    """A NaN loss needs no waiting: its line says it all."""
    told: list[Problem] = []
    follower = Follower("-", READER, told.append)
    follower.feed(healthy(20) + b"step 5 loss nan\n")
    assert [(one.issue, one.first.step) for one in told] == [("numerics/nan-loss", 5)]


def test_standard_input_is_followed_to_its_end() -> None:
    """A real process in a real pipe: the problem comes while the writer still runs."""
    process = subprocess.Popen([*COMMAND, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(healthy(100) + FRAMES.encode())
    process.stdin.flush()
    row = json.loads(process.stdout.readline())
    assert (row["issue"], row["first"]["line"]) == ("torch/linear-dtype", 106)
    assert process.poll() is None
    out, err = process.communicate(healthy(100) + FRAMES.encode(), timeout=60)
    summary = json.loads(out.splitlines()[-1])
    assert (summary["kind_of_row"], summary["problems"], summary["lines"]) == ("summary", 1, 212)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals and renaming open files")
def test_a_file_is_followed_through_rotation_and_truncation(tmp_path: Path) -> None:
    """As tail -F does: the old file is read to its end, the new one from its beginning, and one that was cut begins anew."""
    log = tmp_path / "train.log"
    log.write_bytes(healthy(30))
    process = subprocess.Popen([*COMMAND, str(log)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None
        append(log, FRAMES.encode())
        first = json.loads(process.stdout.readline())
        assert first["first"]["line"] == 36
        log.rename(tmp_path / "train.log.1")
        append(tmp_path / "train.log.1", b"written after the rotation\n")
        log.write_bytes(healthy(3) + b"step 3 loss nan\n")
        second = json.loads(process.stdout.readline())
        assert (second["issue"], second["first"]["line"]) == ("numerics/nan-loss", 4)
        log.write_bytes(b"")
        wait_for(lambda: process.poll() is None)
        time.sleep(1)
        append(log, b"ValueError: another one\n\n")
        third = json.loads(process.stdout.readline())
        assert (third["exception"], third["first"]["line"]) == ("ValueError", 1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    summary = json.loads(out.splitlines()[-1])
    assert (summary["problems"], summary["lines"]) == (3, 36 + 1 + 4 + 2)
    assert (process.returncode, err) == (0, b"")


def append(path: Path, data: bytes) -> None:
    """Add to a file as a logger does."""
    with path.open("ab") as file:
        file.write(data)


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()
