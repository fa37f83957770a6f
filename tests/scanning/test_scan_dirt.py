"""Logs as they are: broken encodings, zeros, endless lines, progress bars, colour, compression, cut ends."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from pathlib import Path

import pytest
from scan_logs import FRAMES, healthy

from troubleshoot import InputError
from troubleshoot.scale.scanning import Problem, scan

FAILURE = FRAMES.encode()
CLEAN = healthy(300) + FAILURE + healthy(300)


def only(path: Path) -> Problem:
    """Return the one problem of a log."""
    (problem,) = scan([path]).problems
    return problem


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "train.log"


@pytest.mark.slow
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress], ids=["gzip", "xz", "bzip2"])
def test_compressed_logs(log: Path, pack: object) -> None:
    """The same places as in the plain log."""
    log.write_bytes(pack(CLEAN))  # type: ignore[operator]
    assert (only(log).first.line, only(log).count) == (306, 1)


def test_zstd(log: Path) -> None:
    """Several frames one after the other, as appending writers make them."""
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    log.write_bytes(zstd.compress(CLEAN[:1000]) + zstd.compress(CLEAN[1000:]))
    assert only(log).first.line == 306


def test_a_compressed_log_that_is_still_written(log: Path) -> None:
    """What could be read counts; the missing end is no error."""
    packed = gzip.compress(healthy(300) + FAILURE + healthy(20_000))
    log.write_bytes(packed[: len(packed) // 2])
    assert only(log).first.line == 306


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "utf-32"])
def test_wide_encodings(log: Path, encoding: str) -> None:
    """What PowerShell's redirect writes."""
    log.write_bytes(CLEAN.decode().encode(encoding))
    assert (only(log).first.line, only(log).exception) == (306, "RuntimeError")


def test_invalid_utf8_and_zeros(log: Path) -> None:
    """Cut characters and the zeros of a truncated file change neither counts nor lines."""
    log.write_bytes(healthy(100) + b"\xff\xfe\xe4 text \x80\n" + b"\x00" * 5000 + b"\n" + FAILURE + b"\xe6\x8d\n" + healthy(100))
    assert (only(log).first.line, only(log).count) == (108, 1)


def test_windows_line_ends(log: Path) -> None:
    log.write_bytes(CLEAN.replace(b"\n", b"\r\n"))
    assert (only(log).first.line, only(log).message) == (306, "mat1 and mat2 must have the same dtype, but got Float and Half")


def test_colour(log: Path) -> None:
    """Codes around words and before lines, as rich and loguru write them."""
    coloured = b"".join(b"\x1b[31m" + line + b"\x1b[0m\n" for line in FAILURE.splitlines())
    log.write_bytes(healthy(100) + coloured + healthy(1) + b"\x1b[1mstep 3 \x1b[32mloss \x1b[0mnan\n" + healthy(500))
    found = {one.issue: (one.count, one.first.line) for one in scan([log]).problems}
    assert found == {"torch/linear-dtype": (1, 106), "numerics/nan-loss": (1, 108)}


def test_progress_bars_in_one_line(log: Path) -> None:
    """Megabytes of carriage returns are one line; a NaN in one of its states, and a failure behind it, are found."""
    bar = b"".join(b"\r%3d%%|####    | %d/90000 [00:10<01:17, 3.92it/s, loss=0.5]" % (n % 100, n) for n in range(60_000))
    log.write_bytes(healthy(10) + bar + b"\r 3%| | 60001/90000 [00:10<00:20, 3.9it/s, loss=nan]\n" + FAILURE)
    found = {one.issue: one for one in scan([log]).problems}
    assert set(found) == {"torch/linear-dtype", "numerics/nan-loss"}
    assert (found["numerics/nan-loss"].first.line, found["torch/linear-dtype"].first.line) == (11, 17)
    assert found["numerics/nan-loss"].first.step == 60_001


def test_very_long_lines(log: Path) -> None:
    """A line of 6 MB without an end in sight neither hides what follows nor shifts its line."""
    log.write_bytes(b"x" * 3_000_000 + b" loss " + b"y" * 3_000_000 + b"\n" + FAILURE)
    assert only(log).first.line == 7


def test_a_last_line_without_its_end(log: Path) -> None:
    log.write_bytes(healthy(50) + FAILURE.rstrip(b"\n"))
    assert (only(log).first.line, only(log).count) == (56, 1)
    assert scan([log]).lines == 56


def test_empty_and_binary_files(tmp_path: Path) -> None:
    """An empty file is a log without a problem; a binary one is named, and the others are read."""
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "model.bin").write_bytes(bytes(range(256)) * 100)
    (tmp_path / "train.log").write_bytes(CLEAN)
    (tmp_path / ".hidden.log").write_bytes(CLEAN)
    result = scan([tmp_path])
    assert [one.count for one in result.problems] == [1]
    assert (result.files, len(result.skipped)) == (2, 1)
    assert "model.bin is binary" in result.skipped[0]


def test_nothing_to_read(tmp_path: Path) -> None:
    """A missing path, and a binary file alone, are errors that say what to do."""
    with pytest.raises(InputError, match="there is no such file or folder"):
        scan([tmp_path / "missing.log"])
    (tmp_path / "model.bin").write_bytes(bytes(range(256)) * 100)
    with pytest.raises(InputError, match="is binary"):
        scan([tmp_path / "model.bin"])


def test_different_failures_stay_bounded(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit further problems are counted, and the result says so."""
    monkeypatch.setattr("troubleshoot.scale.scanning.problems.MOST_ROWS", 10)
    names = [f"{chr(97 + a)}{chr(97 + b)}" for a in range(5) for b in range(5)]
    log.write_bytes(b"".join(healthy(200, n) + f"RuntimeError: the {name} is broken\n\n".encode() for n, name in enumerate(names)))
    result = scan([log])
    assert len(result.problems) == 10
    assert result.notes == ("15 occurrences of further problems are not listed: there are too many different ones",)
