"""A live exception to a Report, without touching anything that could raise, hang or use the device."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from itertools import islice
from types import CodeType, TracebackType
from typing import Any

from troubleshoot.reading.code_lines import code_line
from troubleshoot.reading.decode import encodable
from troubleshoot.reading.failure_scan import quoted_lines, told_lines
from troubleshoot.reading.failures import assemble
from troubleshoot.reading.mentions import find_mentions
from troubleshoot.reading.report import Frame, RaisedException, Report
from troubleshoot.reading.stream import Chain, Scan, raised

#: Frames kept at either end of one traceback; a runaway recursion has tens of thousands.
_FRAMES_KEPT = 200
#: Exceptions kept of one chain or group.
_EXCEPTIONS_KEPT = 64
_FRAMES_WALKED = 100_000
#: Characters kept of a name, a file, a message and a line of code; notes, and characters kept of each.
_LONGEST_NAME, _LONGEST_FILE, _LONGEST_MESSAGE, _LONGEST_CODE = 200, 4096, 20_000, 1000
_NOTES_KEPT, _LONGEST_NOTE = 20, 4000

#: What an exception itself has, whatever properties its class puts in front of it.
_OWN = BaseException.__dict__
_MRO = type.__dict__["__mro__"]


def report_from_exception(exc: BaseException) -> Report:
    """Read a live exception with its causes, contexts and group members.

    Nothing of the user's is called but ``str(exc)``, which is guarded; source lines come from :mod:`linecache`. The report's lines are
    those that Python would print, less what no UTF-8 can hold.
    """
    lines: list[str] = []
    exceptions: list[RaisedException] = []
    ordered = _chain(exc)
    for one, link in ordered:
        if link == "cause":
            lines.extend(("", "The above exception was the direct cause of the following exception:", ""))
        elif link == "context":
            lines.extend(("", "During handling of the above exception, another exception occurred:", ""))
        exceptions.append(_read(one, link, lines))
    chains = [Chain(exceptions)] if exceptions else []
    numbers = list(range(1, len(lines) + 1))
    found = Scan(chains)
    mentions = find_mentions(lines, numbers, quoted_lines(found), told_lines(found))
    return Report(tuple(lines), tuple(numbers), assemble(found), mentions, total_lines=len(lines))


def _chain(exc: BaseException) -> list[tuple[BaseException, str | None]]:
    """Return the exceptions in the order in which they were raised, each with its link to the one before it."""
    backwards: list[tuple[BaseException, str | None]] = []
    seen: set[int] = set()
    current: BaseException | None = exc
    while current is not None and id(current) not in seen and len(backwards) < _EXCEPTIONS_KEPT:
        seen.add(id(current))
        cause, context = _own(current, "__cause__"), _own(current, "__context__")
        if cause is not None:
            backwards.append((current, "cause"))
            current = cause
        elif context is not None and not _own(current, "__suppress_context__"):
            backwards.append((current, "context"))
            current = context
        else:
            backwards.append((current, None))
            current = None
    if backwards and current is not None:
        # A cycle, or more than is kept: the last one kept is the first that is told.
        backwards[-1] = (backwards[-1][0], None)
    ordered: list[tuple[BaseException, str | None]] = []
    for one, link in reversed(backwards):
        members = _members(one, seen)
        ordered.extend((member, "group") for member in members)
        ordered.append((one, "group" if members and link is None else link))
    ordered[0] = (ordered[0][0], None)
    return ordered[:_EXCEPTIONS_KEPT]


def _members(group: BaseException, seen: set[int]) -> list[BaseException]:
    """Return the leaves of an exception group (also of the ``exceptiongroup`` backport), without recursion."""
    leaves: list[BaseException] = []
    pending = _children(group)
    while pending and len(leaves) < _EXCEPTIONS_KEPT:
        one = pending.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        children = _children(one)
        if children:
            pending[:0] = children
        else:
            leaves.append(one)
    return leaves


def _children(exc: BaseException) -> list[BaseException]:
    if not str.endswith(type.__dict__["__name__"].__get__(type(exc)), "ExceptionGroup"):
        return []
    builtin = getattr(builtins, "BaseExceptionGroup", None)
    if builtin is not None and builtin in _MRO.__get__(type(exc)):
        members = builtin.__dict__["exceptions"].__get__(exc)
    else:
        own = _own(exc, "__dict__")
        members = own.get("_exceptions", own.get("exceptions"))
    return [one for one in _elements(members, _EXCEPTIONS_KEPT) if BaseException in _MRO.__get__(type(one))]


def _own(exc: BaseException, name: str) -> Any:
    return _OWN[name].__get__(exc)


def _elements(value: object, most: int) -> list[Any]:
    """Return the first elements of a list or tuple, without calling what its class defines; of anything else none."""
    for kind in (list, tuple):
        if kind in _MRO.__get__(type(value)):
            return list(islice(kind.__iter__(value), most))  # type: ignore[arg-type]
    return []


def _text(value: str, most: int) -> str:
    """Return the beginning of a text that may be of a class of the user's, whose methods are not asked."""
    return encodable(str.__getitem__(value, slice(most)))


def _line(value: str, most: int) -> str:
    return " ".join(_text(value, most).splitlines())


def _read(exc: BaseException, link: str | None, lines: list[str]) -> RaisedException:
    walked, elided = _walk(_own(exc, "__traceback__"))
    frames: list[Frame] = []
    if walked:
        lines.append("Traceback (most recent call last):")
    for code, number in walked:
        text = _line(code_line(code.co_filename, number).strip(), _LONGEST_CODE)
        file, function = _line(code.co_filename, _LONGEST_FILE), _line(code.co_name, _LONGEST_NAME)
        lines.append(f'  File "{file}", line {number}, in {function}')
        frames.append(Frame(file, function, number, text or None, len(lines)))
        if text:
            lines.append(f"    {text}")
    kind = _type_name(type(exc))
    message = _message(exc)
    notes = _notes(exc)
    first = len(lines) + 1
    lines.extend((f"{kind}: {message}" if message else kind).split("\n"))
    lines.extend(notes)
    whole = "\n".join([message, *notes]) if notes else message
    return raised(kind, whole, frames, first, len(lines), link, complete=not elided)


def _walk(tb: TracebackType | None) -> tuple[Sequence[tuple[CodeType, int]], bool]:
    head: list[tuple[CodeType, int]] = []
    tail: list[tuple[CodeType, int]] = []
    count = 0
    while tb is not None and count < _FRAMES_WALKED:
        count += 1
        spot = (tb.tb_frame.f_code, tb.tb_lineno or 0)
        if len(head) < _FRAMES_KEPT:
            head.append(spot)
        else:
            tail.append(spot)
            if len(tail) > 2 * _FRAMES_KEPT:
                del tail[:_FRAMES_KEPT]
        tb = tb.tb_next
    return head + tail[-_FRAMES_KEPT:], count > len(head) + len(tail[-_FRAMES_KEPT:])


def _type_name(kind: type[BaseException]) -> str:
    name = _line(type.__dict__["__qualname__"].__get__(kind), _LONGEST_NAME)
    module = type.__dict__["__module__"].__get__(kind)
    if type(module) is not str or module in ("builtins", "__main__"):
        return name
    return f"{_line(module, _LONGEST_NAME)}.{name}"


def _message(exc: BaseException) -> str:
    try:
        # The one call of the user's code. What it returns may be a class of the user's too.
        return _text(str(exc), _LONGEST_MESSAGE)
    except (Exception, SystemExit, GeneratorExit):
        return "<the exception's text could not be made>"


def _notes(exc: BaseException) -> list[str]:
    notes = _elements(_own(exc, "__dict__").get("__notes__"), _NOTES_KEPT)
    return [line for note in notes if str in _MRO.__get__(type(note)) for line in _text(note, _LONGEST_NOTE).split("\n")]
