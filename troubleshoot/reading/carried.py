"""Exceptions that others carry: the members of a group, and what a worker or a compiler raised, in the message of another exception."""

from __future__ import annotations

from dataclasses import replace

from troubleshoot.reading import grammar, tracebacks
from troubleshoot.reading.report import RaisedException
from troubleshoot.reading.stream import Source, raised

_WRAPPERS = ("Original Traceback", "-- Process ", '"""', "ray::", "The above")


def read_members(source: Source, at: int, exceptions: list[RaisedException]) -> int:
    """Read the members of an exception group, nested ones too, and put them before the groups that hold them."""
    lines, end = source.lines, len(source)
    groups = [exceptions.pop()]
    leaves: list[RaisedException] = []
    link = "group"
    i = at
    while i < end:
        stripped = lines[i].strip()
        following = tracebacks.connector(lines, i, end)
        if following:
            link, i = following
        elif grammar.HEADER in stripped:
            one, i = tracebacks.read_traceback(source, i)
            if one is None:
                break
            (groups if one.name.endswith("ExceptionGroup") else leaves).append(replace(one, link=link))
            link = "group"
        elif stripped.startswith("+-"):
            i += 1
        elif grammar.match_exception(stripped, False):
            # A member that was never raised has no traceback.
            found = tracebacks.read_exception_line(source, i, False)
            if not found:
                break
            member = raised(found[0], found[1], [], source.numbers[i], source.numbers[found[2] - 1], link, True)
            (groups if member.name.endswith("ExceptionGroup") else leaves).append(member)
            i = found[2]
        else:
            break
    exceptions.extend(leaves)
    exceptions.extend(reversed(groups))
    return i


def read_nested(source: Source, at: int, wrapper: RaisedException) -> tuple[RaisedException, int] | None:
    """Read what a worker, a compiler or TorchScript raised, where the message of another exception carries it."""
    lines, end = source.lines, len(source)
    last = wrapper.message.rpartition("\n")[2].strip()
    if at < end and lines[at].lstrip().startswith('File "') and last.startswith(("ray::", "Traceback of TorchScript")):
        one, past = tracebacks.read_traceback(source, at)
        return (one, past) if one else None
    if at < end and last.endswith("raised:"):
        found = tracebacks.read_exception_line(source, at, False)
        if found:
            kind, message, past = found
            return raised(kind, message, [], source.numbers[at], source.numbers[past - 1]), past
        return None
    for i in range(at, min(end, at + 4)):
        stripped = lines[i].strip()
        if not stripped or (stripped.startswith(_WRAPPERS) and grammar.HEADER not in stripped):
            continue
        if grammar.HEADER not in stripped or not (stripped.startswith("Original") or lines[i - 1].strip().startswith(_WRAPPERS[1:4])):
            return None
        one, past = tracebacks.read_traceback(source, i)
        if one is None:
            return None
        if past < end and lines[past].strip() == '"""':
            past += 1
        return one, past
    return None
