"""A limit of time beneath everything else, for the commands: what takes longer is interrupted, wherever it is.

A signal interrupts Python code, patterns included (``re`` looks for signals as it goes). There are none on Windows, and handlers run in
the main thread alone: elsewhere nothing is limited. Only the commands ask for a limit, so that no other program's signals are touched.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Code that catches everything may catch the interruption too: it comes again after so many seconds.
_AGAIN = 0.5


class OutOfTimeError(BaseException):
    """The time is up. No Exception: on its way nobody may take it for a mistake of a report or a file and go on."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTimeError in the block once ``seconds`` have passed; None limits nothing, nor does another thread than the main one.

    An alarm that was set before is put back, less the time that has passed.

    Raises:
        OutOfTimeError: the time is up.
    """
    armed = True

    def ring(_number: int, _frame: Any) -> None:
        if armed:
            raise OutOfTimeError

    started = time.monotonic()
    handler: Any = None
    if seconds is not None and hasattr(signal, "setitimer"):
        try:
            handler = signal.signal(signal.SIGALRM, ring)
        except ValueError:
            # Another thread.
            handler = None
    if seconds is None or handler is None:
        yield
        return
    outer, again = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        try:
            armed = False
        finally:
            # A signal that came just before the line above has ended it: this time there is none.
            armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
            if outer:
                signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - started), 1e-3), again)
