"""Running one child process: in a group of its own, with a time limit, its memory watched, its output kept within limits."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from troubleshoot.lab.verify.signals import Stop

_HEAD = 64 * 1024
_TAIL = 192 * 1024
_POLL = 0.02
#: Memory is looked at this often, in seconds: a runaway allocation of 1 GiB/s is caught within 100 MiB.
_WATCH = 0.1

Ended = Literal["exit", "hang", "memory"]


@dataclass(frozen=True)
class Finished:
    """A child that is no more. ``code`` is negative for a signal (POSIX). ``ended`` tells whether it was killed for its time or its
    memory.
    """

    code: int
    ended: Ended
    seconds: float
    peak_mib: float | None
    output: str


class _Capture(threading.Thread):
    """Reads a pipe to its end and keeps its beginning and its end."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._head = bytearray()
        self._tail = bytearray()
        self._lost = 0

    def run(self) -> None:
        with suppress(OSError, ValueError):
            while chunk := os.read(self._pipe.fileno(), 65536):
                room = _HEAD - len(self._head)
                self._head += chunk[:room] if room > 0 else b""
                self._tail += chunk[max(room, 0) :]
                if len(self._tail) > 2 * _TAIL:
                    self._lost += len(self._tail) - _TAIL
                    del self._tail[:-_TAIL]

    def text(self) -> str:
        """Return what was kept, with a line that tells what was not."""
        lost = self._lost + max(0, len(self._tail) - _TAIL)
        tail = bytes(self._tail[-_TAIL:]).decode("utf-8", "replace")
        return bytes(self._head).decode("utf-8", "replace") + (f"\n[... {lost} bytes left out ...]\n" if lost else "") + tail


def run(
    command: Sequence[str],
    *,
    stop: Stop,
    timeout: float,
    memory_mib: int | None = None,
    given: bytes = b"",
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Finished:
    """Run a command to its end, or kill it with its whole group when its time or its memory is used up, or when a signal asks to stop.

    ``given`` goes to its standard input, which then stays open until the child has ended: its end tells the child that this process is
    gone.

    Raises:
        Interrupted: a signal came; the child is gone by then.
        OSError: the command cannot be started.
    """
    stop.check()
    began = time.monotonic()
    flags = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)} if os.name == "nt" else {"start_new_session": True}
    child = subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        cwd=folder,
        **flags,
    )
    assert child.stdin is not None and child.stdout is not None
    capture = _Capture(child.stdout)
    capture.start()
    ended: Ended = "exit"
    peak = 0.0
    looked = 0.0
    try:
        with suppress(OSError):
            child.stdin.write(given)
            child.stdin.flush()
        while not _has_ended(child):
            stop.check()
            now = time.monotonic()
            if now - began > timeout:
                ended = "hang"
                break
            if now - looked >= _WATCH:
                looked = now
                peak = max(peak, resident_mib(child.pid) or 0.0)
                if memory_mib is not None and peak > memory_mib:
                    ended = "memory"
                    break
            time.sleep(_POLL)
    finally:
        kill(child)
        capture.join(5)
        for pipe in (child.stdin, child.stdout):
            with suppress(OSError):
                pipe.close()
    return Finished(child.returncode, ended, time.monotonic() - began, peak or None, capture.text())


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Tell whether a child has ended, without collecting it: until then its id, which is also its group's, is not given to another."""
    if hasattr(os, "waitid"):
        with suppress(ChildProcessError):
            return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return child.poll() is not None


def kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a child and all it has started, and wait for its end."""
    if os.name == "nt":
        if child.poll() is None:
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(child.pid)], capture_output=True, check=False)
            with suppress(OSError):
                child.kill()
    else:
        # Also where the child itself has ended: what it left running is in its group.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def resident_mib(pid: int) -> float | None:
    """Return the resident memory of a process and its children in MiB, or None where the system does not tell."""
    if Path("/proc/self/statm").exists():
        return _proc_mib(pid)
    try:
        import psutil  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return None
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        return float(sum(one.memory_info().rss for one in (process, *process.children(recursive=True)))) / 2**20
    return None


def _proc_mib(pid: int) -> float:
    total = 0.0
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        with suppress(OSError, ValueError, IndexError):
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
            waiting += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
    return total
