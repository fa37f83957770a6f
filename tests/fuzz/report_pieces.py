"""Pieces of reports, for generating text that looks like one, and what must hold for any report."""

from __future__ import annotations

from troubleshoot.reading import read_report

PIECES = [
    "Traceback (most recent call last):\n",
    '  File "train.py", line 7, in step\n',
    "    loss.backward()\n",
    "    ~~~~^^^^\n",
    "RuntimeError: expected scalar type Half but found Float\n",
    "\n",
    "  ",
    "> ",
    "[rank0]: ",
    "[rank1]: ",
    "0: ",
    "(W pid=1) ",
    "2024-05-01T12:00:00Z ",
    "\x1b[31m",
    "\x1b[0m",
    "\r",
    "\r\n",
    "```\n",
    "<details>",
    "&gt;",
    "worker-1  | ",
    "\nThe above exception was the direct cause of the following exception:\n\n",
    "\nDuring handling of the above exception, another exception occurred:\n\n",
    "  + Exception Group Traceback (most recent call last):\n",
    "  | ",
    "  +-+---------------- 1 ----------------\n",
    "    | Traceback (most recent call last):\n",
    "ExceptionGroup: x (2 sub-exceptions)\n",
    "╭─ Traceback (most recent call last) ─╮\n",
    "│ /x/y.py:7 in f │\n",
    "│ ❱ 7 │ x() │\n",
    "╰─────╯\n",
    "RuntimeError       Traceback (most recent call last)\n",
    "Cell In[3], line 2\n",
    "----> 2 x()\n",
    "File ~/x.py:3, in f(x)\n",
    "<ipython-input-1-a> in <module>()\n",
    "E   RuntimeError: x\n",
    "x.py:12: RuntimeError\n",
    "x.py:3: in f\n",
    ">       x()\n",
    "____ test_x ____\n",
    "terminate called after throwing an instance of 'c10::Error'\n",
    "  what():  CUDA error\n",
    "frame #0: x\n",
    "Root Cause (first observed failure):\n",
    "  rank      : 1 (local_rank: 1)\n",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
    "  traceback : Traceback (most recent call last):\n",
    "Error occurred when executing X:\n",
    "- **Exception Type:** RuntimeError\n",
    "Original Traceback (most recent call last):\n",
    "[Previous line repeated 3 more times]\n",
    "from user code:\n",
    "torch==2.3.0 ",
    "- `transformers` version: 4.50.2\n",
    "Tesla T4 ",
    "RTX 2080 Ti ",
    "--fp16 ",
    "torch_dtype=torch.float16 ",
    "Qwen/Qwen2-VL-7B ",
    "load_in_4bit=True ",
    "device_map='auto' ",
    '{"m": "Traceback (most recent call last):\\n  File \\"x\\", line 1, in f\\nE: x"}\n',
    "\\n",
    '"',
    "'",
    "Watchdog caught collective operation timeout: x\n",
    "srun: error: x\n",
    "UserWarning: x\n",
    "报错：",
    "用fp16训练 ",
    "\x00",
    "\ufeff",
]


def check(text: str) -> None:
    """Read a text and assert what holds for any report."""
    report = read_report(text)
    assert len(report.lines) == len(report.numbers)
    assert list(report.numbers) == sorted(report.numbers)
    assert report.total_lines <= text.count("\n") + 1
    assert not report.numbers or (report.numbers[0] >= 1 and report.numbers[-1] <= report.total_lines)
    for failure in report.failures:
        assert failure.exceptions
        assert failure.count >= 1
        assert failure.role in ("cause", "victim", "launcher")
        assert len(failure.fingerprint) == 16
        for one in failure.exceptions:
            assert 1 <= one.line <= report.total_lines
            assert len(one.message) <= 4096
            assert one.link in (None, "cause", "context", "group")
            assert all(1 <= frame.at <= report.total_lines for frame in one.frames)
    for mention in report.mentions:
        assert 1 <= mention.line <= report.total_lines
    assert len(report.mentions) <= 400
