"""The program as a process: pipes, terminals, signals, encodings, completion, and what it imports."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from troubleshoot.basics.errors import KnowledgeProblem
from troubleshoot.cli import main
from troubleshoot.commands.kb import run_lint

LINEAR = "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half\n"
PROGRAM = [sys.executable, "-m", "troubleshoot"]
POSIX = pytest.mark.skipif(os.name == "nt", reason="terminals and signals of POSIX")


def environment(**changes: str) -> dict[str, str]:
    """Return an environment without what decides colour and language, and with changes."""
    dropped = ("NO_COLOR", "COLUMNS", "LC_ALL", "LC_MESSAGES", "LANG", "TERM", "TROUBLESHOOT_KB", "TROUBLESHOOT_LANG", "PYTHONIOENCODING")
    return {name: value for name, value in os.environ.items() if name not in dropped} | {"PYTHONUTF8": "1"} | changes


def call(*arguments: str, given: bytes = b"", **changes: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program with bytes on standard input."""
    return subprocess.run([*PROGRAM, *arguments], input=given, capture_output=True, env=environment(**changes), timeout=120, check=False)


@pytest.mark.parametrize("arguments", [("diagnose",), ("diagnose", "-")])
def test_a_pipe_is_read(arguments: tuple[str, ...]) -> None:
    """With - or without a file."""
    done = call(*arguments, given=LINEAR.encode())
    assert done.returncode == 0
    assert b"mat1 and mat2" in done.stdout


@POSIX
def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    """As in `troubleshoot diagnose <(python train.py 2>&1)`."""
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    with subprocess.Popen([*PROGRAM, "diagnose", str(fifo)], stdout=subprocess.PIPE, env=environment()) as process:
        fifo.write_bytes(LINEAR.encode())
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"mat1 and mat2" in out


def test_a_long_pipe_is_read_in_bounded_memory() -> None:
    """A log of 60 MB, with its failure in the middle."""
    noise = b"step 1 loss 0.5\n" * 2_000_000
    done = call("diagnose", "--env", "report", given=noise + LINEAR.encode() + noise[: len(noise) // 2])
    assert done.returncode == 0
    assert b"2000001 | RuntimeError: mat1" in done.stdout


@pytest.mark.parametrize("given", [b"", b"\x00\x01\x02" * 400, b"\xff\xfe\xfd bytes", "乱码".encode("gb18030"), LINEAR.encode("utf-16")])
def test_any_bytes_are_answered(given: bytes) -> None:
    """Empty, binary and oddly encoded input get an answer, not a crash."""
    done = call("diagnose", given=given)
    assert done.returncode in (0, 1)
    assert done.stderr == b""


def test_markup_in_a_report_is_text() -> None:
    """[/b] and [rank0] come out as they went in."""
    report = b"[rank0]: RuntimeError: [/b] mat1 and mat2 must have the same dtype, but got Float and Half [red]\n"
    assert b"[/b] mat1" in call("diagnose", given=report).stdout


def test_an_ascii_terminal_gets_ascii() -> None:
    """What the encoding lacks is replaced or escaped."""
    done = call("diagnose", "--lang", "zh", given=LINEAR.encode(), PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert done.stderr == b""


def test_lone_surrogates_do_not_stop_the_output(tmp_path: Path) -> None:
    """A file name that is no text is escaped."""
    done = call("diagnose", "bad\udce9name.txt" if os.name != "nt" else "bad.txt")
    assert done.returncode == 2
    assert done.stderr.startswith(b"troubleshoot: ")


@POSIX
def test_a_reader_that_goes_away_is_no_error() -> None:
    """As in `troubleshoot kb list | head -1`."""
    with subprocess.Popen([*PROGRAM, "kb", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


@POSIX
def test_an_interrupt_is_quiet() -> None:
    """Exit code 130, as a shell expects; no traceback."""
    with subprocess.Popen(
        [*PROGRAM, "diagnose"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        # It reads its input once everything is imported; an interrupt before that is Python's own affair.
        wait_until_reading(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr is not None
        # Older releases of click end the line of the ^C.
        assert process.stderr.read().strip() == b""


def wait_until_reading(pid: int) -> None:
    """Wait until the process sleeps in a read of its standard input."""
    wchan = Path(f"/proc/{pid}/syscall")
    for _ in range(400):
        time.sleep(0.05)
        try:
            if wchan.read_text().startswith("0 0x0 "):
                return
        except OSError:
            continue
    pytest.skip("what the process waits for cannot be seen here")


def in_terminal(*arguments: str, columns: int = 80, **changes: str) -> tuple[int, str]:
    """Run the program with a terminal for all three streams; return its exit code and what it wrote."""
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(
        [*PROGRAM, *arguments], stdin=slave, stdout=slave, stderr=slave, env=environment(**{"TERM": "xterm", **changes})
    ) as process:
        os.close(slave)
        output = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            output += part
        os.close(master)
        return process.wait(60), output.decode()


@POSIX
def test_a_terminal_without_a_report_is_told_what_to_do() -> None:
    """Nobody waits for input that nobody was asked for."""
    code, output = in_terminal("diagnose")
    assert code == 2
    assert output.startswith("troubleshoot: no report given")


@POSIX
def test_a_terminal_gets_colour_and_its_width(tmp_path: Path) -> None:
    """Up to 100 columns; NO_COLOR and TERM=dumb are honoured."""
    report = tmp_path / "error.txt"
    report.write_text(LINEAR, encoding="utf-8")
    wide, narrow = (in_terminal("diagnose", str(report), columns=columns)[1] for columns in (200, 60))
    assert "\x1b[" in wide
    plain = re.compile(r"\x1b\[[0-9;]*m")
    longest = [max(len(line) for line in plain.sub("", text).split("\r\n") if "    " not in line[6:]) for text in (wide, narrow)]
    assert 80 < longest[0] <= 100
    assert longest[1] <= 60
    assert "\x1b[" not in in_terminal("diagnose", str(report), NO_COLOR="1")[1]
    assert "\x1b[" not in in_terminal("diagnose", str(report), TERM="dumb")[1]


def complete(words: str, count: int) -> list[str]:
    """Return what bash would be offered."""
    done = subprocess.run(
        PROGRAM,
        env=environment(_TROUBLESHOOT_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(count)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout.split()


def test_completion_knows_commands_formats_issues_and_causes() -> None:
    """What the shell offers after a part of a word."""
    assert "diagnose" in complete("troubleshoot dia", 1)
    assert complete("troubleshoot diagnose --format ma", 3) == ["markdown"]
    assert "torch/linear-dtype" in complete("troubleshoot explain torch/lin", 2)
    assert "dtype-mismatch/double" in complete("troubleshoot explain dtype-mismatch/d", 2)
    assert "torch/linear-dtype" in complete("troubleshoot kb show torch/lin", 3)


def test_completion_can_be_installed() -> None:
    """The script for the shell is printed. The shell is named: where tests run, there may be none to detect."""
    named = call("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert b"_TROUBLESHOOT_COMPLETE" in named.stdout


def test_diagnosing_imports_nothing_heavy(tmp_path: Path) -> None:
    """Start-up is a contract: beyond what typer itself imports, no torch, no pydantic, and no rapidfuzz where a template fits."""
    report = tmp_path / "error.txt"
    report.write_text(LINEAR, encoding="utf-8")
    heavy = ("torch", "numpy", "rich", "pydantic", "rapidfuzz", "asyncio", "logging", "importlib.metadata", "email.message")
    code = (
        "import sys, typer; before = set(sys.modules); from troubleshoot.cli import main;"
        " assert main(['diagnose', sys.argv[1], '--env', 'report', '-o', sys.argv[2]]) == 0;"
        f"print([name for name in {heavy!r} if name in sys.modules.keys() - before])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(report), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
        check=False,
    )
    assert done.stdout == "[]\n", done.stderr


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")


@FULL
@pytest.mark.parametrize("arguments", [("diagnose", "-"), ("kb", "list"), ("--help",), ("--version",)])
def test_a_full_disk_is_an_ordinary_error(arguments: tuple[str, ...]) -> None:
    """And so is an output that was closed before the program began."""
    program = " ".join(f"'{one}'" for one in (*PROGRAM, *arguments))
    for output, why in ((">/dev/full", b"No space left on device"), (">&-", b"standard output is closed")):
        done = subprocess.run(
            ["/bin/sh", "-c", f"{program} {output}"], input=LINEAR.encode(), capture_output=True, env=environment(), timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (2, b"troubleshoot: cannot write the output: " + why + b"\n")


@FULL
def test_a_file_is_written_without_a_standard_output(tmp_path: Path) -> None:
    """What is not needed may be missing; neither stream is asked for."""
    program = " ".join(f"'{one}'" for one in (*PROGRAM, "diagnose", "-", "-o", str(tmp_path / "out.txt")))
    done = subprocess.run(["/bin/sh", "-c", f"{program} >&- 2>&-"], input=LINEAR.encode(), env=environment(), timeout=60, check=False)
    assert done.returncode == 0
    assert "mat1 and mat2" in (tmp_path / "out.txt").read_text()


STEERING = """\
schema: 1
id: acme/steering
title: "The title \\e[31m steers \\u202e a terminal"
status: stable
kind: issue
cause: dtype-mismatch/input-vs-weight
impact: error
signature:
  message:
    - {template: "frobnicate the \\u202e wibble \\e now"}
explanation: "Why \\u202e it \\e[31m does."
fixes:
  - {id: a, kind: cast-module, title: "t \\e[31m", applicability: safe, reason: "r \\u202e", action: {code: "x = 1"}}
references: []
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("kb", "list", "acme"), ("kb", "list", "acme", "--format", "json"), ("kb", "show", "acme/steering"),
        ("kb", "show", "acme/steering", "--format", "json"),
        ("kb", "why", "-", "acme/steering"), ("kb", "why", "-", "acme/steering", "--format", "json"),
    ],
)  # fmt: skip
def test_an_overlay_cannot_steer_a_terminal(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """An entry of others may hold any characters; what is printed shows them as escapes."""
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "steering.yaml").write_text(STEERING, encoding="utf-8")
    done = call(*arguments, "--kb", str(tmp_path), given=LINEAR.encode())
    assert done.returncode in (0, 1), done.stderr
    out = done.stdout.decode()
    assert "steering" in out
    assert "\x1b" not in out
    assert "\u202e" not in out
    if "json" in arguments:
        assert json.loads(out)


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_fault_of_an_overlay_cannot_steer_a_terminal(tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with an entry is told with what stands in it."""
    problem = KnowledgeProblem("a\u202e.yaml", 1, "title", "is \x1b[31m red")
    monkeypatch.setattr("troubleshoot.curation.lint", lambda *_, **__: [problem])
    assert run_lint(format=format, kb=(), innocent=None, output=str(tmp_path / "out")) == 1
    out = (tmp_path / "out").read_text(encoding="utf-8")
    assert "a\\u202e.yaml" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1", "gbk"])
def test_json_is_json_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    """What an encoding lacks, and what could steer a terminal, is escaped and keeps its value."""
    hidden = "\u202e\u2066\u009b"
    report = tmp_path / "r.txt"
    report.write_text(f"RuntimeError: “é…\U0001f600中” {hidden} mat1 and mat2 must have the same dtype\n", encoding="utf-8")
    command = [sys.executable, "-m", "troubleshoot", "diagnose", str(report), "-f", "json"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding}, check=False)
    shown = done.stdout.decode(encoding)
    assert not set(shown) & set(hidden)
    assert "“é…\U0001f600中”" in repr(json.loads(shown))
    if encoding == "utf-8":
        assert "中" in shown


@pytest.mark.parametrize("option", ["-o", "--output", "--output=", "-o="])
def test_no_output_replaces_what_is_read(tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A log would be gone, and in its place its diagnosis; a link does not hide it."""
    log = tmp_path / "error.txt"
    log.write_text("RuntimeError: expected scalar type Half but found Float\n")
    link = tmp_path / "link.txt"
    link.symlink_to(log)
    given = {"--output=": [f"--output={link}"], "-o=": [f"-o{link}"]}.get(option, [option, str(link)])
    assert main(["diagnose", str(log), *given]) == 2
    assert "and this command reads it" in capsys.readouterr().err
    assert log.read_text() == "RuntimeError: expected scalar type Half but found Float\n"
    link.unlink()
    assert main(["diagnose", str(log), "-o", str(link)]) == 0


def test_no_output_replaces_a_file_of_a_folder_or_of_standard_input(tmp_path: Path) -> None:
    log = tmp_path / "error.log"
    text = "RuntimeError: expected scalar type Half but found Float\n"
    log.write_text(text)
    assert main(["scan", str(tmp_path), "-o", str(log)]) == 2
    with log.open("rb") as stream:
        done = subprocess.run([sys.executable, "-m", "troubleshoot", "diagnose", "-", "-o", str(log)], stdin=stream, check=False)
    assert done.returncode == 2
    assert log.read_text() == text
    assert main(["scan", str(tmp_path), "-o", str(tmp_path / "new.txt")]) == 0
