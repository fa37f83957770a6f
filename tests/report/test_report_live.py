"""Live exceptions become reports without touching what could break."""

from __future__ import annotations

import builtins
import sys
import traceback

import pytest

from troubleshoot.reading import read_report, report_from_exception


def caught(function) -> BaseException:  # type: ignore[no-untyped-def]
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def chain() -> None:
    try:
        try:
            {}["key"]
        except KeyError as error:
            raise RuntimeError("expected scalar type Half but found Float") from error
    except RuntimeError:
        raise ValueError("while handling")  # noqa: B904


def test_a_live_chain_equals_its_printed_form() -> None:
    """The same exceptions, links, frames and places as in the text that Python prints."""
    error = caught(chain)
    live = report_from_exception(error)
    printed = read_report("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    essence = lambda report: [  # noqa: E731
        (one.type, one.message, one.link, one.complete, [(frame.file, frame.function, frame.number, frame.code) for frame in one.frames])
        for failure in report.failures
        for one in failure.exceptions
    ]
    assert essence(live) == essence(printed)
    assert live.failures[0].place == printed.failures[0].place
    assert live.failures[0].fingerprint == printed.failures[0].fingerprint


def test_a_suppressed_context_is_not_told() -> None:
    """``raise ... from None`` hides what was handled."""

    def hidden() -> None:
        try:
            {}["key"]
        except KeyError:
            raise RuntimeError("told") from None

    (failure,) = report_from_exception(caught(hidden)).failures
    assert [one.type for one in failure.exceptions] == ["RuntimeError"]


def test_a_cycle_of_contexts_ends() -> None:
    """Chains that bite their tail are cut."""
    one, two = ValueError("one"), ValueError("two")
    one.__context__, two.__context__ = two, one
    (failure,) = report_from_exception(one).failures
    assert [each.message for each in failure.exceptions] == ["two", "one"]
    assert failure.root.link is None


def test_the_members_of_groups_come_first() -> None:
    """The group of the standard library, and one that only looks like it (the backport)."""

    class ExceptionGroup(Exception):  # noqa: N818
        def __init__(self, message: str, exceptions: list[BaseException]) -> None:
            super().__init__(message)
            self.exceptions = tuple(exceptions)

    for kind in (ExceptionGroup, builtins.ExceptionGroup):
        group = kind("outer", [RuntimeError("first"), kind("inner", [TypeError("second")])])
        (failure,) = report_from_exception(group).failures
        assert [one.message.split(" (")[0] for one in failure.exceptions] == ["first", "second", "outer"]


def test_a_deep_group_does_not_recurse() -> None:
    """A thousand groups in each other are walked, not climbed."""

    class MyExceptionGroup(Exception):  # noqa: N818
        exceptions: tuple[BaseException, ...] = ()

    error: BaseException = RuntimeError("innermost")
    for _ in range(3000):
        outer = MyExceptionGroup("x")
        outer.exceptions = (error,)
        error = outer
    (failure,) = report_from_exception(error).failures
    assert failure.root.message == "innermost"


def test_a_traceback_of_fifty_thousand_frames_is_bounded() -> None:
    """Both ends are kept, and the report says that frames are missing."""

    def dive(depth: int) -> None:
        if depth == 0:
            raise RuntimeError("bottom")
        dive(depth - 1)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(60_000)
    try:
        error = caught(lambda: dive(50_000)) if sys.version_info >= (3, 11) else caught(lambda: dive(900))
    finally:
        sys.setrecursionlimit(limit)
    (failure,) = report_from_exception(error).failures
    assert 100 < len(failure.frames) < 1000
    assert failure.frames[-1].code == 'raise RuntimeError("bottom")'


class Hostile(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise SystemError("no text")

    def __repr__(self) -> str:
        raise AssertionError("repr must not be called")


class Silent:
    def __repr__(self) -> str:
        raise AssertionError("repr must not be called")


def test_hostile_exceptions_are_survived() -> None:
    """A ``__str__`` that raises, notes that are no list, arguments whose repr raises."""

    def fail() -> None:
        error = Hostile(Silent())
        error.__notes__ = 7  # type: ignore[assignment]
        raise error

    (failure,) = report_from_exception(caught(fail)).failures
    assert failure.root.name == "Hostile"
    assert failure.root.frames


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes exist since 3.11")
def test_notes_belong_to_the_message() -> None:
    """As Python prints them below it."""

    def fail() -> None:
        error = RuntimeError("message")
        error.add_note("a note")
        raise error

    assert report_from_exception(caught(fail)).failures[0].root.message == "message\na note"


@pytest.mark.torch
def test_a_real_torch_error_has_its_frames() -> None:
    """From the reporter's line down to torch's."""
    torch = pytest.importorskip("torch")
    (failure,) = report_from_exception(caught(lambda: torch.nn.Linear(2, 2).half()(torch.ones(1, 2)))).failures
    assert failure.root.type == "RuntimeError"
    assert failure.place.user is not None
    assert failure.place.user.partition(":")[0].endswith("test_report_live.py")
    assert failure.frames[-1].path.endswith("torch/nn/modules/linear.py")
