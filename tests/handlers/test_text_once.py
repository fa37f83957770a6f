"""An exception's own text is asked for once, whatever handlers it passes: making it may count, raise, end the process or take long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import troubleshoot
from troubleshoot import Diagnosis, diagnose

MESSAGE = "mat1 and mat2 must have the same dtype, but got Float and Half"


class TellingError(RuntimeError):
    """Counts how often its text is asked for; ``tell`` makes it."""

    calls = 0
    tell: Callable[[], Any] = staticmethod(lambda: MESSAGE)

    def __str__(self) -> str:
        type(self).calls += 1
        return type(self).tell()


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    TellingError.calls = 0
    TellingError.tell = staticmethod(lambda: MESSAGE)
    yield
    troubleshoot.uninstall()


def raised() -> TellingError:
    """Return one with a traceback."""
    try:
        raise TellingError
    except TellingError as error:
        return error


def test_a_diagnosis_asks_once() -> None:
    """Also where the exception is in the chain of another one."""
    first = diagnose(raised()).first
    assert first is not None and first.issue == "torch/linear-dtype"
    assert TellingError.calls == 1
    try:
        raise ValueError("later") from raised()
    except ValueError as error:
        diagnose(error)
    assert TellingError.calls == 2


def test_all_handlers_together_ask_once() -> None:
    """Two guards, and the hook of the thread in which nobody catches it."""
    told: list[Diagnosis] = []
    previous = threading.excepthook
    threading.excepthook = lambda arguments: None
    try:
        troubleshoot.install(told.append)

        def work() -> None:
            with troubleshoot.guard(output=told.append), troubleshoot.guard(output=told.append):
                raise TellingError

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        troubleshoot.uninstall()
        threading.excepthook = previous
    assert TellingError.calls == 1
    assert len(told) == 1


@pytest.mark.parametrize("bad", [ValueError("no text"), SystemExit(3), GeneratorExit(), RecursionError()])
def test_a_text_that_cannot_be_made(bad: BaseException) -> None:
    """Whatever making it raises stays within: a diagnosis of an exception never raises."""

    def tell() -> str:
        raise bad

    TellingError.tell = staticmethod(tell)
    diagnosis = diagnose(raised())
    assert diagnosis.report.failures[0].root.message == "<the exception's text could not be made>"
    assert TellingError.calls == 1


def test_a_text_of_another_class_is_not_asked() -> None:
    """What ``__str__`` returns may be of the user's class, with methods of its own."""

    class Odd(str):
        __slots__ = ()

        def __getitem__(self, key: Any) -> str:
            raise SystemExit

    TellingError.tell = staticmethod(lambda: Odd(MESSAGE))
    first = diagnose(raised()).first
    assert first is not None and first.issue == "torch/linear-dtype"
    assert TellingError.calls == 1


def test_a_text_that_takes_long_holds_nobody_up() -> None:
    """The handler's limit of time holds, and the next handler does not ask again."""
    go_on = threading.Event()

    def tell() -> str:
        go_on.wait(20)
        return MESSAGE

    TellingError.tell = staticmethod(tell)
    told: list[Diagnosis] = []
    started = time.monotonic()
    with pytest.raises(TellingError), troubleshoot.guard(output=told.append, timeout=0.3), troubleshoot.guard(told.append, timeout=0.3):
        raise TellingError
    assert time.monotonic() - started < 10
    assert told == []
    assert TellingError.calls == 1
    go_on.set()
