"""Temporary folders that are gone when the program ends, and after a SIGKILL when it starts the next time."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "troubleshoot-verify-"


@contextmanager
def workspace(root: Path | None = None) -> Iterator[Path]:
    """Yield a new folder and remove it afterwards; those of processes that are no more are removed first.

    The name carries the owner's process id and start time, so that a recycled id does not keep a folder alive.
    """
    parent = Path(tempfile.gettempdir()) if root is None else root
    sweep(parent)
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-{start_time(os.getpid())}-", dir=parent))
    try:
        yield folder
    finally:
        remove(folder)


def sweep(parent: Path) -> int:
    """Remove this user's folders whose owner is gone and return how many."""
    count = 0
    with suppress(OSError):
        for folder in parent.glob(f"{_PREFIX}*"):
            pid, _, rest = folder.name.removeprefix(_PREFIX).partition("-")
            if not pid.isdigit() or lives(int(pid), rest.partition("-")[0]):
                continue
            if hasattr(os, "getuid") and folder.lstat().st_uid != os.getuid():
                continue
            remove(folder)
            count += 1
    return count


def remove(folder: Path) -> None:
    """Remove a folder with all in it. A link itself is removed, never what it points to."""
    if folder.is_symlink():
        folder.unlink(missing_ok=True)
        return
    # A child that was just killed may still have a file open (Windows), or be writing one.
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        import time

        time.sleep(0.05)


def start_time(pid: int) -> str:
    """Return when a process started as a text without dashes, or an empty text where the system does not tell."""
    with suppress(OSError, IndexError):
        # Field 22 of /proc/PID/stat (proc(5)); the name in field 2 may hold blanks and parentheses.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    return ""


def lives(pid: int, started: str) -> bool:
    """Tell whether the process of this id runs, and is the one that started then."""
    if sys.platform == "win32":
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(0x1000, False, pid)  # PROCESS_QUERY_LIMITED_INFORMATION
        if handle:
            ctypes.windll.kernel32.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return not started or start_time(pid) in ("", started)
