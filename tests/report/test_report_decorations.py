"""Whatever is put around a traceback, it is read as the bare one is."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troubleshoot.reading import Report, read_report

DATA = Path(__file__).parents[1] / "data" / "reports"
BASES = {name: (DATA / f"{name}.txt").read_text(encoding="utf-8") for name in ("cpython_torch", "cpython_chained", "cpython_state_dict")}
Decorate = Callable[[str], str]


def essence(report: Report) -> list[object]:
    """What must survive: every exception with its message and frames."""
    return [
        [
            (one.type, _blank_free(one.message), one.link, [(frame.file, frame.function, frame.number, frame.code) for frame in one.frames])
            for one in failure.exceptions
        ]
        for failure in report.failures
    ]


def _blank_free(text: str) -> str:
    return re.sub(r"\s+", "", text)


def each_line(make: Callable[[int], str]) -> Decorate:
    return lambda text: "".join(f"{make(row)}{line}\n" for row, line in enumerate(text.removesuffix("\n").split("\n")))


PREFIXES: dict[str, Callable[[int], str]] = {
    "rank": lambda row: "[rank3]: ",
    "default and rank": lambda row: "[default3]:[rank3]: ",
    "default": lambda row: "[default0]:",
    "bare rank": lambda row: "1: ",
    "bracketed rank": lambda row: "[2]: ",
    "bracketed rank without colon": lambda row: "[0] ",
    "mpirun": lambda row: "[1,3]<stderr>:",
    "ray": lambda row: "(RayTrainWorker pid=4711, ip=10.0.0.3) ",
    "ray without name": lambda row: "(pid=4711) ",
    "vllm": lambda row: "(EngineCore_DP0 pid=77) ",
    "vllm with time": lambda row: "(EngineCore_0 pid=77) ERROR 05-01 12:00:01 [core.py:390] ",
    "compose": lambda row: "worker-1  | ",
    "kubernetes": lambda row: f"2024-05-01T12:00:{row % 60:02}.123456789Z stderr F ",
    "github actions": lambda row: f"2024-05-01T12:00:{row % 60:02}.1234567Z ",
    "logging": lambda row: f"2024-05-01 12:00:{row % 60:02},123 - ",
    "deepspeed": lambda row: f"[2024-05-01 12:00:{row % 60:02},123] [ERROR] [engine.py:12:step] ",
    "syslog": lambda row: "May  1 12:00:00 node01 train[4711]: ",
    "glog": lambda row: f"E0501 12:00:{row % 60:02}.000000 4711 torch/x/api.py:826] ",
    "host": lambda row: "node01: ",
    "host and rank": lambda row: "node01: [rank1]: ",
    "line number and colon": lambda row: f"{row + 95:4}: ",
    "line number and tab": lambda row: f"{row + 1:6}\t",
    "line number and bar": lambda row: f"{row + 1:4}| ",
    "line number": lambda row: f"{row + 8:4} ",
    "unknown": lambda row: "<<mytool#17>> ",
    "quote": lambda row: "> ",
    "quote twice": lambda row: "> > ",
    "quote tight": lambda row: ">> ",
    "indented": lambda row: "      ",
    "tab": lambda row: "\t",
    "quoted rank": lambda row: "> [rank1]: ",
    "timed rank": lambda row: f"2024-05-01T12:00:{row % 60:02}.123Z [rank1]: ",
}


def coloured(text: str) -> str:
    """As Python 3.13 colours its tracebacks."""
    text = re.sub(r'File ("[^"]*"), line (\d+), in (.*)', "File \x1b[35m\\1\x1b[0m, line \x1b[35m\\2\x1b[0m, in \x1b[35m\\3\x1b[0m", text)
    return re.sub(r"(?m)^(\w*Error): (.*)$", "\x1b[1;35m\\1\x1b[0m: \x1b[35m\\2\x1b[0m", text)


def escape_lost(text: str) -> str:
    """As a browser copies coloured output: the escape character is gone, the codes stay."""
    return coloured(text).replace("\x1b", "")


def flush_left(text: str) -> str:
    return "".join(line.strip() + "\n" for line in text.splitlines())


def wrapped(width: int) -> Decorate:
    return lambda text: "".join(line[at : at + width] + "\n" for line in text.splitlines() for at in range(0, max(1, len(line)), width))


def fenced(text: str) -> str:
    return f"I get this:\n\n```python\n{text}```\n\nAny idea?\n"


def details(text: str) -> str:
    return f"<details>\n<summary>Full log</summary>\n<pre>\n{html.escape(text)}</pre>\n</details>\n"


def json_record(text: str) -> str:
    return json.dumps({"severity": "ERROR", "message": text, "pod": "train-0"}) + "\n"


def json_twice(text: str) -> str:
    return json.dumps({"log": json.dumps({"exc_info": text})}) + "\n"


def representation(text: str) -> str:
    return repr(text) + "\n"


WRAPPERS: dict[str, Decorate] = {
    "coloured": coloured,
    "colours without escape": escape_lost,
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "fenced": fenced,
    "details": details,
    "json": json_record,
    "json in json": json_twice,
    "repr": representation,
    "non-breaking spaces": lambda text: text.replace("    ", "\xa0\xa0\xa0 "),
    "behind a progress bar": lambda text: "  1%|1         | 1/100 [00:00<00:09, 10.30it/s]" + text,
    "after states of a progress bar": lambda text: "\r  0%| | 0/9 [00:00<?, ?it/s]\r 11%|1| 1/9 [00:00<00:09, 1.3it/s]\n" + text,
    "in prose": lambda text: "Hello, I run this on a T4:\n\n" + text + "\nDoes anyone know?\n",
    "logged": lambda text: "2024-05-01 12:00:00,123 ERROR trainer: step failed\n" + text + "2024-05-01 12:00:01,001 INFO trainer: bye\n",
    "byte order mark": lambda text: "\ufeff" + text,
    "null bytes": lambda text: "\x00\x00" + text,
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", PREFIXES)
def test_a_prefix_on_every_line_changes_nothing(base: str, name: str) -> None:
    """Prefixes of launchers, containers, loggers and editors are removed."""
    text = BASES[base]
    assert essence(read_report(each_line(PREFIXES[name])(text))) == essence(read_report(text))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_changes_nothing(base: str, name: str) -> None:
    """Colours, quoting, HTML, JSON and prose around a traceback are seen through."""
    text = BASES[base]
    found, wanted = read_report(WRAPPERS[name](text)), read_report(text)
    assert essence(found) == essence(wanted)


@pytest.mark.parametrize("base", BASES)
def test_lost_indentation_loses_no_frame(base: str) -> None:
    """Frames are recognised without their indentation."""
    text = BASES[base]
    assert essence(read_report(flush_left(text))) == essence(read_report(text))


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120, 132])
@pytest.mark.parametrize("base", BASES)
def test_a_wrapping_terminal_loses_no_frame(base: str, width: int) -> None:
    """Lines that a terminal broke, also within a word, are joined for frames, and keep every letter of the message."""
    text = BASES[base]
    found, wanted = read_report(wrapped(width)(text)), read_report(text)
    strip = lambda report: [[(e[0], e[1], [f[:3] for f in e[3]]) for e in failure] for failure in essence(report)]  # noqa: E731
    assert strip(found) == strip(wanted)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "latin-1", "utf-32"])
def test_every_encoding_is_read(encoding: str) -> None:
    """Bytes are decoded by their mark or by their look."""
    text = BASES["cpython_torch"] + "\n" + ("报错了，怎么办？这是什么原因，如何解决\n" if encoding not in ("latin-1",) else "café\n")
    assert essence(read_report(text.encode(encoding))) == essence(read_report(BASES["cpython_torch"]))


@pytest.mark.parametrize("base", ["cpython_torch", "cpython_chained"])
def test_a_traceback_on_one_line_is_taken_apart(base: str) -> None:
    """A paste that lost its line breaks keeps frames and message."""
    text = BASES[base]
    found = read_report(" ".join(line.strip() for line in text.splitlines() if "^^" not in line))
    frames = [frame.number for failure in found.failures for frame in failure.frames]
    assert frames == [frame.number for failure in read_report(text).failures for frame in failure.frames]
    assert "mat1 and mat2 must have the same dtype" in found.failures[0].root.message


_DECORATIONS: list[Decorate] = [
    *(each_line(PREFIXES[name]) for name in ("rank", "ray", "compose", "kubernetes", "logging", "mpirun", "host")),
    coloured,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: each_line(lambda row: "> ")(text),
    lambda text: each_line(lambda row: "    ")(text),
    fenced,
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(range(len(_DECORATIONS))), min_size=1, max_size=3, unique=True), st.sampled_from(sorted(BASES)))
def test_decorations_may_be_combined(chosen: list[int], base: str) -> None:
    """Any few decorations one around another leave the failure as it was."""
    text = BASES[base]
    decorated = text
    for index in chosen:
        decorated = _DECORATIONS[index](decorated)
    assert essence(read_report(decorated)) == essence(read_report(text)), decorated


def test_line_numbers_are_those_of_the_paste() -> None:
    """Whatever is stripped, lines count from the first pasted one."""
    text = BASES["cpython_torch"]
    plain = read_report(text)
    inside = read_report("one\ntwo\n\n" + each_line(PREFIXES["rank"])(coloured(text)))
    assert inside.failures[0].line == plain.failures[0].line + 3
    assert inside.failures[0].frames[0].at == plain.failures[0].frames[0].at + 3
    assert inside.failures[0].ranks == (3,)


@pytest.mark.parametrize("left_out", ["...", "[...]", "(...)", "…", "<omitted>", "... 12 frames hidden ...", "[snip]", "......"])
def test_what_stands_for_left_out_frames_ends_no_traceback(left_out: str) -> None:
    """People cut a traceback right above its message, too; the frames that they kept still belong to it."""
    report = read_report(
        'Traceback (most recent call last):\n  File "train.py", line 3, in main\n    loss = step(x)\n'
        f'  {left_out}\n  File "model.py", line 9, in forward\n    t = self.time_embed(t)\n{left_out}\nRuntimeError: no such thing\n'
    )
    assert [frame.file for frame in report.failures[0].frames] == ["train.py", "model.py"]
    assert (len(report.failures), report.failures[0].root.message, report.failures[0].root.complete) == (1, "no such thing", False)


def test_comments_of_notebook_templates_say_nothing_of_the_machine() -> None:
    """The GPUs that a copied comment names are not the reporter's."""
    report = read_report("dtype = None # None for auto detection. Float16 for Tesla T4, V100, Bfloat16 for Ampere+\nload_in_4bit = True\n")
    assert not [mention for mention in report.mentions if mention.kind == "gpu"]


@pytest.mark.parametrize(
    "frames",
    [
        "│ /opt/site-packages/torch/nn/modules/normalization.py:190 in forward │\n│                             │\n"
        "│   189 │   def forward(self, input) │\n│ ❱ 190 │   │   return F.layer_norm( │\n",
        "/opt/site-packages/torch/nn/modules/normalization.py in forward(self, input)\n"
        "    189     def forward(self, input):\n--> 190         return F.layer_norm(\n",
    ],
)
def test_cut_frames_take_the_message_above_them(frames: str) -> None:
    """The title has the message, the excerpt below it neither the top nor the end of the traceback: one failure."""
    report = read_report(f"RuntimeError: expected scalar type Half but found Float\n\n{frames}")
    assert len(report.failures) == 1
    assert (report.failures[0].root.name, report.failures[0].root.message) == ("RuntimeError", "expected scalar type Half but found Float")
    assert [frame.number for frame in report.failures[0].frames] == [190]
