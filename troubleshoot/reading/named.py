"""What the frames of a traceback name: the line, the module in which it failed, and the operands of the failing operation."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from troubleshoot.reading.module_path import Path, Shown, walked, written
from troubleshoot.reading.operations import NamedOperand, find_operands, find_operation
from troubleshoot.reading.places import is_outside, locate
from troubleshoot.reading.report import Frame, RaisedException, Report


class CodeLine(msgspec.Struct, frozen=True):
    """A frame that is shown to a reader: its file (a library's is shortened), line, function and code, as far as the report has them.

    ``at`` is the line of the report.
    """

    file: str
    line: int | None = None
    function: str = ""
    code: str = ""
    at: int | None = None


class FailurePlace(msgspec.Struct, frozen=True):
    """Where it failed.

    ``user`` is the deepest line of the reporter's own code, ``library`` the deepest one below it in a package above torch. ``module`` is
    the module that was called last, as the frames name it: ``model.layers[…].mlp``, where ``[…]`` is an index and ``…`` steps that the
    report does not show. ``operation`` is what that module computed when it failed: ``linear``, ``layer_norm``, ``@``. Empty is unknown.
    """

    user: CodeLine | None = None
    library: CodeLine | None = None
    module: str = ""
    operation: str = ""


class Named(msgspec.Struct, frozen=True):
    """Place and operands of a failure. ``arguments`` has the operation's arguments, each with its name in the code, empty if unknown."""

    place: FailurePlace = FailurePlace()
    operands: tuple[NamedOperand, ...] = ()
    arguments: dict[str, str] = {}


def names_of(raised: RaisedException, report: Report, caught: Mapping[str, str], module: Path | None = None) -> Named:
    """Return what an exception's frames name.

    ``caught`` is what its message says of dtypes and devices, by fact, ``module`` the path of the module where it is known for certain.
    """
    user, library = _lines(raised.frames)
    walk = walked(raised.frames, Shown(report.lines, report.numbers))
    walk.module = module or walk.module
    operation = find_operation(walk, raised.message)
    place = FailurePlace(user, library, written(walk.module or ()), operation.name)
    return Named(place, find_operands(operation, raised.message, caught), operation.called)


def _lines(frames: tuple[Frame, ...]) -> tuple[CodeLine | None, CodeLine | None]:
    """Return the deepest line of the reporter's own code, and the deepest one of a package below it."""
    library: CodeLine | None = None
    for frame in reversed(frames):
        owner, short = locate(frame.path)
        if owner == "user":
            return _line(short, frame), library
        if library is None and is_outside(owner):
            library = _line(short, frame)
    return None, library


def _line(short: str, frame: Frame) -> CodeLine:
    return CodeLine(short, frame.number, frame.function or "", frame.code or "", frame.at)
