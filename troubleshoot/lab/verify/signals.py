"""Interrupts while children run and folders exist: noted at once, acted upon where nothing can be left behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(BaseException):
    """A signal asked the program to stop. Not an Exception, so that no handler of failures swallows it."""


class Stop:
    """Whether to stop, and by which signal."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def note(self, number: int, _frame: object = None) -> None:
        """Remember the first signal."""
        if self.signal is None:
            self.signal = number

    def check(self) -> None:
        """Raise Interrupted where a signal has come."""
        if self.signal is not None:
            raise Interrupted(self.signal)


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Note SIGINT, SIGTERM and SIGHUP while the block runs; once everything is cleaned up, the signal takes its usual course.

    A handler that raises could do so between the making of a folder and the line that remembers it. Outside of the main thread signals
    cannot be handled, and their usual course stays.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)]
    # One that the program was started to ignore (nohup) stays ignored.
    kept = {number: signal.getsignal(number) for number in numbers if signal.getsignal(number) not in (signal.SIG_IGN, None)}
    for number in kept:
        signal.signal(number, stop.note)
    try:
        yield stop
    except Interrupted:
        pass
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
        if stop.signal is not None:
            if stop.signal == signal.SIGINT:
                raise KeyboardInterrupt
            os.kill(os.getpid(), stop.signal)
