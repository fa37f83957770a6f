"""Real errors, raised on the spot by every CPython that is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from troubleshoot.reading import Report, read_report

VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")


@lru_cache
def interpreter(version: str) -> str | None:
    """A Python of this version that really starts (a shim may not), or None."""
    if sys.version_info[:2] == tuple(int(part) for part in version.split(".")):
        return sys.executable
    candidates = [
        shutil.which(f"python{version}"),
        *sorted(str(path) for path in (Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python")),
    ]
    for candidate in candidates:
        if candidate:
            asked = subprocess.run(
                [candidate, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True, check=False
            )
            if asked.stdout.strip() == str(tuple(int(part) for part in version.split("."))):
                return candidate
    return None


def run(version: str, program: str, directory: Path, **environment: str) -> Report:
    """Run a program in a file and read what it prints."""
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    file = directory / "program.py"
    file.write_text(program, encoding="utf-8")
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "PYTHON_COLORS", "PYTHONPATH")}
    done = subprocess.run([python, str(file)], capture_output=True, env={**plain, **environment}, cwd=directory, timeout=60, check=False)
    return read_report(done.stderr)


CHAIN = """\
def low(value):
    return {}[
        value
    ]

def middle(value):
    try:
        low(value)
    except KeyError as error:
        raise RuntimeError("expected scalar type Half but found Float\\n  and a second line") from error

def high():
    try:
        middle("key")
    except RuntimeError:
        raise ValueError("while handling")

high()
"""

GROUPS = """\
def fail(kind, text):
    try:
        raise kind(text)
    except kind as error:
        error.add_note("a note\\nof two lines")
        return error

raise ExceptionGroup("outer", [fail(RuntimeError, "first"), ExceptionGroup("inner", [fail(TypeError, "second"), KeyError("never raised")])])
"""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("colours", ["0", "1"])
def test_a_chain_is_read_in_the_order_in_which_it_was_raised(version: str, colours: str, tmp_path: Path) -> None:
    """Causes and contexts keep their links, messages their lines, frames their code."""
    report = run(version, CHAIN, tmp_path, FORCE_COLOR=colours if colours == "1" else "", PYTHON_COLORS=colours)
    (failure,) = report.failures
    first, second, third = failure.exceptions
    assert [(one.type, one.link) for one in failure.exceptions] == [
        ("KeyError", None),
        ("RuntimeError", "cause"),
        ("ValueError", "context"),
    ]
    assert second.message == "expected scalar type Half but found Float\n  and a second line"
    assert [frame.function for frame in first.frames] == ["middle", "low"]
    assert [frame.function for frame in third.frames] == ["<module>", "high"]
    assert third.frames[1].code == 'raise ValueError("while handling")'
    assert all(one.complete for one in failure.exceptions)
    assert failure.place.user == f"{tmp_path.as_posix()}/program.py:{first.frames[-1].number}"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_runaway_recursion_is_one_failure(version: str, tmp_path: Path) -> None:
    """Repeated frames are folded by Python and read past."""
    report = run(version, "def f(n):\n    return f(n + 1)\n\nf(0)\n", tmp_path)
    (failure,) = report.failures
    assert failure.root.type == "RecursionError"
    assert {frame.function for frame in failure.frames} == {"<module>", "f"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("source", ["x = = 1\n", "def f(:\n", "if True:\nprint(1)\n", "'abc\n"])
def test_a_syntax_error_has_its_line_as_frame(version: str, source: str, tmp_path: Path) -> None:
    """SyntaxError prints a frame without a function."""
    report = run(version, source, tmp_path)
    (failure,) = report.failures
    assert failure.root.type in ("SyntaxError", "IndentationError")
    assert failure.root.frames[-1].function is None


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_members_of_a_group_come_before_the_group(version: str, tmp_path: Path) -> None:
    """An exception group is flattened: its leaves first, with their notes, then the groups from the inside out."""
    report = run(version, GROUPS, tmp_path)
    (failure,) = report.failures
    assert [(one.type, one.message.split("\n")[0]) for one in failure.exceptions] == [
        ("RuntimeError", "first"),
        ("TypeError", "second"),
        ("KeyError", "'never raised'"),
        ("ExceptionGroup", "inner (2 sub-exceptions)"),
        ("ExceptionGroup", "outer (2 sub-exceptions)"),
    ]
    assert failure.root.message == "first\na note\nof two lines"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("program", "kind", "message"),
    [
        ("raise KeyboardInterrupt", "KeyboardInterrupt", ""),
        (
            "class NansException(Exception): pass\nraise NansException('A tensor with NaNs was produced')",
            "NansException",
            "A tensor with NaNs was produced",
        ),
        ("class Odd(Exception): pass\nraise Odd('x')", "Odd", "x"),
        (
            "import subprocess\nsubprocess.run(['false'], check=True)",
            "subprocess.CalledProcessError",
            "Command '['false']' returned non-zero exit status 1.",
        ),
        ("import json\njson.loads('{')", "json.decoder.JSONDecodeError", None),
        ("import warnings\nwarnings.simplefilter('error')\nwarnings.warn('x')", "UserWarning", "x"),
        ("eval('1 +')", "SyntaxError", None),
        ("exec('raise ValueError(1)')", "ValueError", "1"),
        ("assert 1 == 2", "AssertionError", ""),
        ("raise RuntimeError('a: b: c')", "RuntimeError", "a: b: c"),
        ("raise RuntimeError('')", "RuntimeError", ""),
        ("raise RuntimeError('中文 ✗')", "RuntimeError", "中文 ✗"),
    ],
)
def test_every_kind_of_last_line_is_read(version: str, program: str, kind: str, message: str | None, tmp_path: Path) -> None:
    """Names without "Error", empty messages, dotted names, colons in messages."""
    report = run(version, program + "\n", tmp_path, PYTHONIOENCODING="utf-8")
    (failure,) = report.failures
    last = failure.exceptions[-1]
    assert last.type.removeprefix("__main__.") == kind
    if message is not None:
        assert last.message == message


@pytest.mark.parametrize("version", VERSIONS)
def test_warnings_are_no_failures(version: str, tmp_path: Path) -> None:
    """What Python warns of did not fail."""
    report = run(version, "import warnings\nwarnings.warn('this will be an error: RuntimeError')\n", tmp_path)
    assert report.failures == ()
