"""One report per node: of all workers that a launcher started here, the first one to fail speaks.

torchrun and ``accelerate launch`` give their workers a run id. The worker that manages to create a file of that name reports; no rank
is special, since any of them may be the one that failed, and no collective is used, since a failed group answers none.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

#: Files of runs that ended longer ago than this many seconds are removed.
_OLD = 86_400.0
#: Workers of one run fail within this many seconds of each other.
_EARLIER = 120.0


def run_key() -> str | None:
    """Return what the workers of one run on one node have in common, or None outside of a launched run.

    The parent process is the launcher's agent on this node; the run id alone is "none" unless someone chose one.
    """
    run = os.environ.get("TORCHELASTIC_RUN_ID")
    if run is None:
        alone = os.environ.get("WORLD_SIZE", "1") == "1"
        if alone or not ("LOCAL_RANK" in os.environ and "MASTER_PORT" in os.environ):
            return None
        run = f"{os.environ.get('MASTER_ADDR')}:{os.environ['MASTER_PORT']}"
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return f"{run}\n{restart}\n{os.getppid()}\n{os.environ.get('GROUP_RANK', '')}"


def elected() -> bool:
    """Tell whether this process is the one to report. Where no file can be created, every process is."""
    key = run_key()
    if key is None:
        return True
    import hashlib
    import tempfile

    name = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    user = os.getuid() if hasattr(os, "getuid") else ""
    try:
        folder = os.path.join(tempfile.gettempdir(), f"troubleshoot-{user}")  # noqa: PTH118  (start-up: pathlib is not needed here)
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        os.close(os.open(os.path.join(folder, name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # noqa: PTH118
    except FileExistsError:
        return "TORCHELASTIC_RUN_ID" not in os.environ and _stale(os.path.join(folder, name))  # noqa: PTH118
    except OSError:
        return True
    _remove_old(folder)
    return True


def _stale(path: str) -> bool:
    """Tell whether a file is from an earlier run, where no run id tells runs apart; it is then taken over."""
    try:
        old = time.time() - os.stat(path).st_mtime > _EARLIER  # noqa: PTH116
        if old:
            os.utime(path)
    except OSError:
        return False
    return old


def _remove_old(folder: str) -> None:
    with suppress(OSError):
        for entry in os.scandir(folder):
            with suppress(OSError):
                if time.time() - entry.stat().st_mtime > _OLD:
                    os.unlink(entry.path)  # noqa: PTH108


@contextmanager
def patience() -> Iterator[None]:
    """Finish a report although the launcher sends SIGTERM, because another worker ended first; then end as the signal says.

    Only in a launched run, in the main thread, and where the program has no handler of its own.
    """
    launched = run_key() is not None and threading.current_thread() is threading.main_thread() and sys.platform != "win32"
    if not launched or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    arrived: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    signal.signal(signal.SIGTERM, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if arrived:
            os.kill(os.getpid(), signal.SIGTERM)
