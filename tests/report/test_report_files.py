"""Log files: whole while short, reduced to their failures' surroundings when long, always in bounded memory."""

from __future__ import annotations

import io
import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troubleshoot.basics.errors import InputError
from troubleshoot.reading import read_report, read_report_file

FAILURE = (
    'Traceback (most recent call last):\n  File "train.py", line 7, in step\n    loss.backward()\n'
    'RuntimeError: expected scalar type Half but found Float\n'
)
NOISE = "2024-05-01 12:00:00,123 INFO trainer: step 12345 loss 0.512 lr 1e-4\n"


def log(size: int, *at: float, failure: str = FAILURE) -> str:
    """A log of about ``size`` characters with failures at these fractions of it."""
    rows = [NOISE] * (size // len(NOISE))
    for number, place in enumerate(sorted(at, reverse=True)):
        rows.insert(int(place * len(rows)), failure.replace("step", f"step{len(at) - number}"))
    return "".join(rows)


def test_a_short_file_reads_as_its_text(tmp_path: Path) -> None:
    """Nothing is left out."""
    text = log(100_000, 0.5)
    file = tmp_path / "train.log"
    file.write_text(text, encoding="utf-8")
    assert read_report_file(file) == read_report(text)
    assert not read_report_file(file).truncated


@pytest.mark.parametrize("places", [(0.0,), (0.5,), (1.0,), (0.1, 0.5, 0.9), (0.499, 0.5, 0.501)])
def test_a_long_file_keeps_its_failures_and_their_line_numbers(tmp_path: Path, places: tuple[float, ...]) -> None:
    """Beginning, end and the surroundings of failures; each kept line has the number that it has in the file."""
    text = log(12_000_000, *places)
    file = tmp_path / "train.log"
    file.write_text(text, encoding="utf-8")
    report = read_report_file(file)
    lines = text.split("\n")
    assert report.truncated
    assert report.total_lines == text.count("\n")
    assert len(report.failures) == len(places)
    for failure in report.failures:
        assert lines[failure.line - 1].startswith("RuntimeError: ")
        assert lines[failure.frames[0].at - 1].startswith("  File ")
    assert list(report.numbers) == sorted(set(report.numbers))
    assert all(lines[number - 1].endswith(line) for line, number in zip(report.lines, report.numbers, strict=True))
    assert report.numbers[0] == 1
    assert report.numbers[-1] == report.total_lines
    assert len("".join(report.lines)) < 4_000_000


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3_000_000), min_size=1, max_size=6, unique=True), st.sampled_from(["\n", "\r\n"]))
def test_wherever_a_failure_is_it_is_found(offsets: list[int], end: str) -> None:
    """Across the borders of the pieces in which a file is read."""
    filler = (NOISE * (3_200_000 // len(NOISE))).replace("\n", end)
    parts, at = [], 0
    for number, offset in enumerate(sorted(offsets)):
        cut = filler.rfind(end, 0, max(offset, at)) + len(end) if offset else 0
        parts += [filler[at:cut], FAILURE.replace("step", f"s{chr(97 + number)}").replace("\n", end)]
        at = cut
    text = "".join([*parts, filler[at:]])
    report = read_report_file(io.BytesIO(text.encode()))
    assert [failure.frames[0].function for failure in report.failures] == [f"s{chr(97 + number)}" for number in range(len(offsets))]
    lines = text.split(end)
    assert [lines[failure.line - 1][:12] for failure in report.failures] == ["RuntimeError"] * len(offsets)


def test_a_long_text_is_reduced_as_a_file_is() -> None:
    """The same limits for what is pasted."""
    report = read_report(log(6_000_000, 0.3))
    assert report.truncated
    assert len(report.failures) == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_a_long_file_in_another_encoding(tmp_path: Path, encoding: str) -> None:
    """Redirected output of PowerShell is UTF-16."""
    file = tmp_path / "x.log"
    file.write_bytes(log(4_000_000, 0.5).encode(encoding))
    report = read_report_file(file)
    assert len(report.failures) == 1
    assert report.failures[0].root.message == "expected scalar type Half but found Float"


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Forty megabytes that are full of failures need less than a quarter of that."""
    file = tmp_path / "huge.log"
    block = (FAILURE + NOISE * 20) * 200
    with file.open("w", encoding="utf-8") as out:
        while out.tell() < 40_000_000:
            out.write(block)
    tracemalloc.start()
    report = read_report_file(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.failures
    assert report.total_lines == block.count("\n") * (os.path.getsize(file) // len(block))  # noqa: PTH202
    assert peak < 40_000_000


def test_one_line_without_end_is_bounded() -> None:
    """A progress bar, or base64, without a line break."""
    report = read_report_file(io.BytesIO(b"x" * 9_000_000 + b"\nRuntimeError: end\n"))
    assert report.truncated
    assert report.failures[-1].root.message == "end"


def test_a_pipe_is_read_to_its_end() -> None:
    """Pipes hand out less than was asked for."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as out:
        out.write(FAILURE.encode()[:30])
        out.flush()
        out.write(FAILURE.encode()[30:])
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        assert len(read_report_file(pipe).failures) == 1  # type: ignore[arg-type]


def test_what_cannot_be_read_says_what_to_do(tmp_path: Path) -> None:
    """Missing, a directory, no permission, no path at all, text instead of bytes."""
    with pytest.raises(InputError, match="no such file"):
        read_report_file(tmp_path / "missing.log")
    with pytest.raises(InputError, match="is a directory"):
        read_report_file(tmp_path)
    with pytest.raises(InputError, match="no usable path"):
        read_report_file(Path("a\0b"))
    with pytest.raises(InputError, match="binary mode"):
        read_report_file(io.StringIO("x"))  # type: ignore[arg-type]
    if os.name == "posix" and os.geteuid() != 0:
        locked = tmp_path / "locked.log"
        locked.write_text("x")
        locked.chmod(0)
        with pytest.raises(InputError, match="may not be read"):
            read_report_file(locked)


def test_long_binary_files_are_told(tmp_path: Path) -> None:
    """Weights given by mistake."""
    file = tmp_path / "model.safetensors"
    file.write_bytes(os.urandom(3_000_000))
    assert read_report_file(file).reason == "binary"


def test_a_failure_that_the_reduction_cut_is_no_second_one() -> None:
    """Where the kept end of a file begins within a traceback, the rest of it restates one that is whole."""
    report = read_report_file(io.BytesIO((log(1_000, 0.5) * 12_000).encode()))
    assert len(report.failures) == 1
    assert read_report(FAILURE + "\n" + FAILURE.partition("\n")[2]).failures[0].count == 1
