"""Nothing that is pasted raises, or takes more than linear time."""

from __future__ import annotations

import sys
import time
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troubleshoot.reading import Report, read_report

sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))
from report_pieces import PIECES, check

#: Texts that made, or could make, a reader slow: {n} repetitions of one piece.
HOSTILE = [
    "Traceback (most recent call last):\n",
    "a",
    "Error: half fp16 ",
    'File "x", line 1, in f ',
    '  File "x.py", line 1, in f\n',
    'File "x.py", line 1, in f\nfoo()\n',
    "x\n",
    "\n",
    " ",
    "RuntimeError: x\n",
    ">",
    "> > RuntimeError\n",
    "\x1b[31m",
    "│",
    "+-",
    "E   RuntimeError: x\n",
    "E   x\n",
    "[rank0]: ",
    "[rank0]: Traceback (most recent call last):\n",
    '{"m": "Traceback\\nFile \\"x\\", line 1, in f\\n"}\n',
    '"Traceback\\n File \\\\',
    '\\n"Traceback File "',
    "--a ",
    "--a\n",
    "torch 1.2 transformers version: 4.5\n",
    "a/b-1 ",
    "a/b-1\n",
    "1.1.",
    "a.",
    "&#39;",
    "&amp;amp;",
    "<p ",
    "During handling of the above exception, another exception occurred:\n\n",
    "terminate called after throwing an instance of 'x'\n",
    "frame #0: x\n",
    '  File "aaaa\nbbbb\n',
    "RuntimeError    Traceback (most recent call last)\n",
    "╭─ Traceback (most recent call last) ─╮\n",
    "| ",
    "  | Exception Group Traceback (most recent call last):\n",
    "%|",
    "\r",
    "x in y(z)\n",
    "----> 1 x\n",
    "Cell In[1], line 1\n",
    "def f(\n",
    "____\n",
    "x.py:1: in f\n",
    "torch ",
    "version: ",
    "fp16 ",
    "load in ",
    "dtype=",
    "RTX ",
    "NVIDIA GeForce ",
    "qwen ",
    "stable diffusion ",
    "2024-05-01 12:00:00 ",
    "(x pid=1) ",
    "0: ",
    "\\n",
    "\\u0041",
    "'",
    '"',
    "`",
    "(",
    "[",
    "{",
    "\t",
    "\x00",
    "\ufffd",
    "🙂",
    "报错：x\n",
    "rank      : 1 (local_rank: 1)\n",
    "Root Cause (first observed failure):\n",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_repetition_costs_no_more_than_its_length(piece: str) -> None:
    """Work is counted in calls and lines, not seconds: four times the text is at most six times the work."""
    small, large = _work(piece * (4_000 // len(piece) + 1)), _work(piece * (16_000 // len(piece) + 1))
    assert large <= 6 * small + 2_000


def _work(text: str) -> int:
    """How many lines and calls reading takes; patterns are bounded by their own construction."""
    count = 0

    def trace(frame, event, argument):  # type: ignore[no-untyped-def]
        nonlocal count
        count += 1
        return trace

    read_report(text)  # what is compiled at first use belongs to no text; which one is first depends on the order of the tests
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read_report(text)
    finally:
        sys.settrace(before)
    return count


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=40)), max_size=40).map("".join))
def test_any_mixture_of_pieces_is_read(text: str) -> None:
    """Never an exception, always a consistent report."""
    check(text)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=2000))
def test_any_bytes_are_read(data: bytes) -> None:
    """Bytes of any encoding, or none."""
    assert isinstance(read_report(data), Report)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(0, 10_000),
    st.sampled_from(["torchrun_one_record", "rich_locals", "pytest_long", "jupyter_notebook", "interleaved", "cpython_group"]),
)
def test_any_cut_of_a_recording_is_read(start: int, length: int, name: str) -> None:
    """Pastes begin and end anywhere."""
    text = (Path(__file__).parents[1] / "data" / "reports" / f"{name}.txt").read_text(encoding="utf-8")
    check(text[start : start + length])


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("note:*错误:abc{}\n" + "Hint:\n\n\n" * 10, 0.4),
        ("+-- Traceback\n" * 3 + "in a" + ":1" * 1990 + "{}\n", 0.3),
        ("works on generat{} on cpu ", 0.5),
    ],
)
def test_no_line_is_read_again_and_again(line: str, seconds: float) -> None:
    """What stands below a line, or around a remark in it, is not gone through for each of them."""
    names = product("abcdefghijklmnopqrstuvwxyz", repeat=3)
    text = "".join(line.replace("{}", "".join(name)) for name, _ in zip(names, range(150_000 // len(line)), strict=False))
    read_report(line.replace("{}", "x"))
    began = time.process_time()
    read_report(text)
    assert time.process_time() - began < seconds
