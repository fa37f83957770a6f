"""The fault matrix: whatever breaks while diagnosing, the program's own traceback, output and exit status stay as they are."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
from programs import KNOWN, TITLE, run

import troubleshoot
from troubleshoot.handlers import explaining

#: The limit for a diagnosis is no part of these faults, and a busy machine takes seconds to compile the knowledge base without its cache.
INSTALL = "import troubleshoot; troubleshoot.install(timeout=50)\n"
FAIL = f"def fail():\n    {KNOWN}\n"
ROOT = Path(troubleshoot.__file__).parent

posix = pytest.mark.skipif(os.name != "posix", reason="signals and file descriptors of POSIX")


def same_ending(code: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a failing program with and without ``install()``; the traceback, stdout and exit status must be the same."""
    plain = run(code, **options)  # type: ignore[arg-type]
    installed = run(INSTALL + code, **options)  # type: ignore[arg-type]
    assert installed.returncode == plain.returncode
    assert installed.stdout == plain.stdout
    last = plain.stderr.splitlines()[-1]
    assert last in installed.stderr
    assert installed.stderr.startswith(plain.stderr.splitlines()[0])
    assert "Error in sys.excepthook" not in installed.stderr
    assert "During handling" not in installed.stderr or "During handling" in plain.stderr
    return installed


def copy_of_the_package(folder: Path, compiled: bytes | None) -> str:
    """Return a path on which the package lies without its knowledge base, or with the given one."""
    shutil.copytree(ROOT, folder / "troubleshoot", ignore=shutil.ignore_patterns("__pycache__", "_kb"))
    if compiled is not None:
        (folder / "troubleshoot" / "_kb").mkdir()
        (folder / "troubleshoot" / "_kb" / "compiled.json").write_bytes(compiled)
    return str(folder)


@pytest.mark.parametrize("compiled", [None, b"", b"\x00\xff garbage", b'{"format": 999}\n'], ids=["missing", "empty", "garbage", "format"])
def test_a_broken_knowledge_base(tmp_path: Path, compiled: bytes | None) -> None:
    """Missing, corrupt or of another format: no diagnosis, nothing else."""
    done = same_ending(KNOWN, PYTHONPATH=copy_of_the_package(tmp_path, compiled), cwd=tmp_path)
    assert TITLE not in done.stderr


def test_a_knowledge_base_that_cannot_be_read(tmp_path: Path) -> None:
    """A folder where a file should be."""
    where = copy_of_the_package(tmp_path, None)
    (tmp_path / "troubleshoot" / "_kb" / "compiled.json").mkdir(parents=True)
    same_ending(KNOWN, PYTHONPATH=where, cwd=tmp_path)


@pytest.mark.slow
def test_bad_overlays(tmp_path: Path) -> None:
    """A faulty entry is skipped, a folder that is not there too; the rest answers."""
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "broken.yaml").write_bytes(b"\x00: [")
    done = same_ending(KNOWN, TROUBLESHOOT_KB=f"{tmp_path}{os.pathsep}{tmp_path / 'absent'}")
    assert TITLE in done.stderr


@pytest.mark.slow
def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    """It costs time, no report."""
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    assert TITLE in same_ending(KNOWN, XDG_CACHE_HOME=str(blocked), LOCALAPPDATA=str(blocked)).stderr


@posix
@pytest.mark.parametrize("redirect", [">/dev/full", ">&-", "2>&-", ">&- 2>&-", "2>/dev/full", "<&-"])
def test_closed_and_full_streams(redirect: str) -> None:
    """The exit status is that of the same program without the handler."""
    if "full" in redirect and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    codes = []
    for code in (FAIL + "fail()", INSTALL + FAIL + "fail()"):
        done = subprocess.run(["sh", "-c", f'exec "$0" -c "$1" {redirect}', sys.executable, code], capture_output=True, timeout=60)
        codes.append((done.returncode, done.stdout))
    assert codes[0] == codes[1]


@posix
def test_a_full_disk_for_the_report_file() -> None:
    """The report is lost, the exception is not."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with pytest.raises(RuntimeError, match="expected scalar"), troubleshoot.guard(Path("/dev/full")):
        raise RuntimeError("expected scalar type Float but found Half")


def test_recursion_errors() -> None:
    """Of the program's own."""
    same_ending("def again(): again()\nagain()")


def test_a_known_failure_at_the_end_of_the_stack() -> None:
    """A guard deep in a recursion has hardly any stack to diagnose with."""
    code = (
        "import troubleshoot\n"
        "def down(depth):\n"
        "    if depth == 0:\n"
        f"        with guard:\n            {KNOWN}\n"
        "    down(depth - 1)\n"
        "import sys\n"
        "guard = troubleshoot.guard()\n"
        "try: down(sys.getrecursionlimit() - 8)\n"
        "except RuntimeError as error: print(type(error).__name__, error)"
    )
    assert run(code).stdout == "RuntimeError expected scalar type Float but found Half\n"


@pytest.mark.parametrize("fault", [MemoryError(), RecursionError(), OSError(28, "No space left on device"), ImportError(), SystemError()])
def test_errors_while_diagnosing(fault: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the diagnosis raises ends there."""

    def broken(*_: object) -> object:
        raise fault

    monkeypatch.setattr(explaining, "_diagnose", broken)
    with pytest.raises(RuntimeError, match="the original") as caught, troubleshoot.guard():
        raise RuntimeError("the original")
    assert caught.value.__context__ is None


@posix
def test_a_memory_limit() -> None:
    """With little memory left the traceback still comes, and status 1."""
    code = (
        INSTALL + "import resource\nwith open('/proc/self/statm') as file: pages = int(file.read().split()[0])\n"
        "resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (1 << 20), -1))\n" + KNOWN
    )
    if not Path("/proc/self/statm").exists():
        pytest.skip("no /proc here")
    done = run(code)
    assert done.returncode == 1
    assert "RuntimeError: expected scalar type Float but found Half" in done.stderr


SLOW = (
    "import os, signal, time, troubleshoot.handlers.explaining as explaining\n"
    "def slow(*_):\n    {act}\n    time.sleep(5)\n    raise SystemError\n"
    "explaining._diagnose = slow\n"
)


@posix
def test_ctrl_c_while_diagnosing() -> None:
    """It ends the diagnosis; the program ends with its own exception and status."""
    done = run(INSTALL + SLOW.format(act="os.kill(os.getpid(), signal.SIGINT)") + KNOWN)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("RuntimeError: expected scalar type Float but found Half")


@posix
@pytest.mark.parametrize("target", ["os.kill(os.getpid(), signal.SIGTERM)", "os.killpg(0, signal.SIGTERM)"], ids=["process", "group"])
def test_sigterm_while_diagnosing(target: str) -> None:
    """The traceback is out already, and the process dies of the signal as it would have."""
    code = INSTALL + SLOW.format(act=target) + KNOWN
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, start_new_session=True)
    assert done.returncode == -signal.SIGTERM
    assert "RuntimeError: expected scalar type Float but found Half" in done.stderr


@posix
def test_sigterm_from_a_launcher_waits_for_the_report(tmp_path: Path) -> None:
    """In a launched run the elected worker finishes its report, then dies of the signal."""
    code = INSTALL + (
        "import os, signal, troubleshoot.handlers.explaining as explaining\n"
        "diagnose = explaining._diagnose\n"
        "def signalled(*given):\n    os.kill(os.getpid(), signal.SIGTERM)\n    return diagnose(*given)\n"
        "explaining._diagnose = signalled\n" + KNOWN
    )
    done = run(code, TORCHELASTIC_RUN_ID="test", TMPDIR=str(tmp_path))
    assert done.returncode == -signal.SIGTERM
    assert TITLE in done.stderr


def test_an_exception_whose_text_raises_or_hangs() -> None:
    """The guard gives up in time and lets the exception through."""

    class HangingError(RuntimeError):
        def __str__(self) -> str:
            time.sleep(30)
            return ""

    class RaisingError(RuntimeError):
        def __str__(self) -> str:
            raise SystemError

    started = time.monotonic()
    for kind in (HangingError, RaisingError):
        with pytest.raises(kind), troubleshoot.guard(timeout=0.5):
            raise kind
    assert time.monotonic() - started < 25


def test_locals_whose_special_methods_raise_or_hang() -> None:
    """They are never called."""
    code = (
        "import time\n"
        "class Hostile:\n"
        "    def __getattribute__(self, name): time.sleep(60)\n"
        "    __repr__ = __str__ = __bool__ = __len__ = __hash__ = __eq__ = lambda *_: time.sleep(60)\n"
        f"def fail():\n    hostile = Hostile()\n    {KNOWN}\n"
        "fail()"
    )
    assert TITLE in same_ending(code, timeout=30).stderr


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups came with 3.11")
def test_exception_groups() -> None:
    """The member is what is diagnosed."""
    code = "raise ExceptionGroup('several', [KeyError('a'), RuntimeError('expected scalar type Float but found Half')])"
    assert TITLE in same_ending(code).stderr


@posix
def test_fork() -> None:
    """A child that was forked after ``install()`` reports its own failure, and its parent goes on."""
    code = (
        "import os, sys\nif os.fork() == 0:\n    " + KNOWN + "\n"
        "status = os.wait()[1]\nprint(os.waitstatus_to_exitcode(status))\nsys.stdout.flush()"
    )
    plain, installed = run(code), run(INSTALL + code)
    assert plain.stdout == installed.stdout == "1\n"
    assert TITLE in installed.stderr


@pytest.mark.parametrize(
    "code",
    [
        "import atexit\natexit.register(fail)",
        "class Dying:\n    def __del__(self): fail()\nkept = Dying()",
        "import threading\nthreading.Thread(target=fail).start()",
        "import threading\nthreading.Thread(target=fail, daemon=True).start()",
    ],
    ids=["atexit", "del", "thread", "daemon"],
)
def test_the_end_of_the_interpreter(code: str) -> None:
    """Failures while Python shuts down."""
    plain, installed = run(FAIL + code), run(INSTALL + FAIL + code)
    assert installed.returncode == plain.returncode
    assert installed.stdout == plain.stdout
    assert "Fatal" not in installed.stderr


@pytest.mark.slow
@pytest.mark.parametrize("flags", [("-O",), ("-OO",), ("-B", "-u"), ("-X", "dev"), ("-W", "error")], ids=" ".join)
def test_interpreter_flags(flags: tuple[str, ...]) -> None:
    """Assertions off, docstrings stripped, unbuffered, development mode, warnings as errors."""
    assert TITLE in same_ending(KNOWN, flags=flags).stderr


def test_without_site() -> None:
    """``-S``: packages only from PYTHONPATH."""
    path = os.pathsep.join((str(ROOT.parent), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    assert TITLE in same_ending(KNOWN, flags=("-S",), PYTHONPATH=path).stderr


def test_stderr_replaced_by_something_odd(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object that is no stream, or none at all."""
    for odd in (None, object()):
        monkeypatch.setattr(sys, "stderr", odd)
        with pytest.raises(RuntimeError, match="expected scalar"), troubleshoot.guard():
            raise RuntimeError("expected scalar type Float but found Half")


def test_an_older_hook_under_a_swapped_stderr() -> None:
    """As torch.distributed does: stderr is a buffer while older hooks run. The traceback comes first, the report after it, once."""
    code = INSTALL + (
        "import io, sys\n"
        "older = sys.excepthook\n"
        "def wrapping(*given):\n"
        "    kept, sys.stderr = sys.stderr, io.StringIO()\n"
        "    try: older(*given)\n"
        "    finally: text, sys.stderr = sys.stderr.getvalue(), kept\n"
        "    sys.stderr.write(''.join(f'[rank0]: {line}\\n' for line in text.splitlines()))\n"
        "sys.excepthook = wrapping\n" + KNOWN
    )
    done = run(code)
    assert done.returncode == 1
    assert done.stderr.startswith("[rank0]: Traceback")
    assert done.stderr.index("[rank0]: RuntimeError") < done.stderr.index(TITLE)
    assert "[rank0]: likely" not in done.stderr
