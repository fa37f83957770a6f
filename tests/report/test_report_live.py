"""Live exceptions become reports without touching what could break."""

from __future__ import annotations

import builtins
import os
import sys
import traceback
from pathlib import Path

import pytest

from troubleshoot import diagnose
from troubleshoot.reading import read_report, report_from_exception
from troubleshoot.reading.code_lines import code_line
from troubleshoot.telling import render


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


def _raised(error: BaseException) -> BaseException:
    return caught(lambda: (_ for _ in ()).throw(error))


class _Text(str):
    """A text whose methods end the program."""

    def _end(self, *_: object) -> None:
        raise SystemExit

    __getitem__ = __format__ = __iter__ = __len__ = split = strip = _end  # type: ignore[assignment]


class _Elements(list):  # type: ignore[type-arg]
    def __getitem__(self, _: object) -> None:
        raise SystemExit

    __iter__ = __getitem__  # type: ignore[assignment]


class _Meta(type):
    def __getattribute__(cls, name: str) -> None:
        raise SystemExit(name)


class _Asked(Exception):  # noqa: N818
    def __getattribute__(self, name: str) -> None:
        raise SystemExit(name)

    __cause__ = __context__ = __notes__ = __traceback__ = property(__getattribute__)  # type: ignore[assignment]


def test_no_method_of_the_exception_is_called() -> None:
    """Properties, metaclasses and subclasses of str and list may do anything, also end the program."""
    noted = ValueError("with notes")
    noted.__notes__ = [_Text("a note"), 3]  # type: ignore[list-item]
    listed = ValueError("with more notes")
    listed.__notes__ = _Elements([_Text("another note")])
    group = type("SomeExceptionGroup", (Exception,), {})("group")
    group.exceptions = _Elements([RuntimeError("member")])
    meta = _Meta("Meta", (Exception,), {})("of a metaclass")
    told = [report_from_exception(_raised(one)) for one in (noted, listed, _Asked("asked"), meta, group)]
    lines = ["\n".join(report.lines) for report in told]
    assert "ValueError: with notes\na note" in lines[0]
    assert "ValueError: with more notes\nanother note" in lines[1]
    assert "_Asked: asked" in lines[2]
    assert "Meta: of a metaclass" in lines[3]
    assert "RuntimeError: member" in lines[4]


@pytest.mark.parametrize("end", [SystemExit, GeneratorExit, RecursionError])
def test_a_text_that_cannot_be_made_ends_nothing(end: type[BaseException]) -> None:
    """``sys.exit()`` in a ``__str__`` is an error of that method."""

    class Silent(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise end

    assert "could not be made" in report_from_exception(Silent()).failures[0].root.message


def test_half_characters_of_an_exception_are_replaced() -> None:
    """A file name that is not UTF-8 is in many an OSError's message; a name, a file and a note may hold one too."""
    kind = type("OddError", (Exception,), {"__module__": "m\ud800"})
    kind.__qualname__ = "Odd\udcffError"
    code = compile("def f\u00e9(error): raise error", "no\udcff/such.py", "exec").replace(co_name="g\ud801")
    space: dict[str, object] = {}
    exec(code, space)
    error = kind("expected scalar type Half \udcff")
    error.add_note("note \ud800")
    report = report_from_exception(caught(lambda: space["f\u00e9"](error)))  # type: ignore[operator]
    for form in ("json", "text", "html", "markdown"):
        assert render(diagnose(error), form).encode()
    assert "expected scalar type Half ?" in "\n".join(report.lines)
    assert 'File "no?/such.py", line 1' in "\n".join(report.lines)


def test_names_and_files_are_cut(tmp_path: Path) -> None:
    """A class name of megabytes, with line breaks in it, stays one short line."""
    kind = type("A", (Exception,), {})
    kind.__qualname__ = "A\n" * 100_000
    report = report_from_exception(_raised(kind("x")))
    assert len(report.failures[0].root.type) < 500
    assert len("\n".join(report.lines)) < 2_000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_pipes_and_devices_are_no_source(tmp_path: Path) -> None:
    """Reading one would wait for ever, or never end."""
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    for file in (str(pipe), "/dev/zero"):
        error = caught(lambda: exec(compile("raise RuntimeError('x')", file, "exec"), {}))  # noqa: B023
        assert f'File "{file}", line 1' in "\n".join(report_from_exception(error).lines)
        assert code_line(file, 1) == ""
    known = tmp_path / "known.py"
    known.write_text("first\nsecond\n")
    assert code_line(str(known), 2) == "second\n"
