"""A live exception to a Report, without touching anything that could raise, hang or use the device."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType, TracebackType

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


def report_from_exception(exc: BaseException) -> Report:
    """Read a live exception with its causes, contexts and group members.

    Nothing of the user's is called but ``str(exc)``, which is guarded; source lines come from :mod:`linecache`. The report's lines are
    those that Python would print.
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
        cause, context = current.__cause__, current.__context__
        if cause is not None:
            backwards.append((current, "cause"))
            current = cause
        elif context is not None and not current.__suppress_context__:
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
    if not type(exc).__name__.endswith("ExceptionGroup"):
        return []
    try:
        members = exc.exceptions  # type: ignore[attr-defined]
    except Exception:
        return []
    if not isinstance(members, tuple | list):
        return []
    return [one for one in members[:_EXCEPTIONS_KEPT] if isinstance(one, BaseException)]


def _read(exc: BaseException, link: str | None, lines: list[str]) -> RaisedException:
    walked, elided = _walk(exc.__traceback__)
    frames: list[Frame] = []
    if walked:
        lines.append("Traceback (most recent call last):")
    for code, number in walked:
        text = _source_line(code.co_filename, number)
        lines.append(f'  File "{code.co_filename}", line {number}, in {code.co_name}')
        frames.append(Frame(code.co_filename, code.co_name, number, text or None, len(lines)))
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


def _source_line(file: str, number: int) -> str:
    # Imported here: it brings the tokenizer, and reading a pasted text never needs it.
    import linecache

    try:
        return linecache.getline(file, number).strip()[:1000]
    except Exception:
        return ""


def _type_name(kind: type[BaseException]) -> str:
    try:
        module, name = kind.__module__, kind.__qualname__
        if not isinstance(module, str) or module in ("builtins", "__main__"):
            return str(name)
        return f"{module}.{name}"
    except Exception:
        return "Exception"


def _message(exc: BaseException) -> str:
    try:
        # The one call of the user's code. What it returns may be a class of the user's too, whose methods are not asked.
        return str.__getitem__(str(exc), slice(20_000))
    except (Exception, SystemExit, GeneratorExit):
        return "<the exception's text could not be made>"


def _notes(exc: BaseException) -> list[str]:
    try:
        notes = getattr(exc, "__notes__", None)
        if not isinstance(notes, list | tuple):
            return []
        return [line for note in notes[:20] if isinstance(note, str) for line in note[:4000].split("\n")]
    except Exception:
        return []
