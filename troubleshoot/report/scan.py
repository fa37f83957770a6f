"""One pass over a stream of cleaned lines: every traceback and every bare error message in it."""

from __future__ import annotations

from troubleshoot.report import grammar, tracebacks
from troubleshoot.report.model import RaisedException
from troubleshoot.report.places import locate
from troubleshoot.report.source import Chain, Scan, Source, raised


def scan(source: Source) -> Scan:
    """Return what failed in ``source``."""
    found = Scan()
    lines = source.lines
    i, end = 0, len(lines)
    while i < end:
        line = lines[i]
        if "Traceback (most" in line or 'File "' in line:
            i = _python(source, i, found)
        elif "Error" in line or "Exception" in line:
            i = _bare(source, i, found)
        else:
            i += 1
    return found


def _python(source: Source, at: int, found: Scan) -> int:
    lines, end = source.lines, len(source)
    stripped = lines[at].strip()
    if grammar.HEADER not in stripped and not stripped.startswith('File "'):
        return at + 1
    exceptions: list[RaisedException] = []
    i = at
    link: str | None = None
    while True:
        one, past = tracebacks.read_traceback(source, i)
        if one is None:
            break
        if link:
            one = raised(one.type, one.message, list(one.frames), one.line, one.last_line, link, one.complete)
        exceptions.append(one)
        i = past
        following = tracebacks.connector(lines, i, end)
        if not following or following[1] >= end or grammar.HEADER not in lines[following[1]]:
            break
        link, i = following
    if exceptions:
        found.chains.append(Chain(exceptions, source.rank))
        return i
    return at + 1


def _bare(source: Source, at: int, found: Scan) -> int:
    stripped = source.lines[at].strip()
    match = grammar.match_exception(stripped, False)
    if not match or grammar.is_warning(match[0]) or not match[1]:
        return at + 1
    message, past = tracebacks.read_message(source, at + 1, match[1], grammar.indent(source.lines[at]))
    one = raised(match[0], message, [], source.numbers[at], source.numbers[past - 1])
    found.chains.append(Chain([one], source.rank))
    return past


def quoted_lines(found: Scan) -> set[int]:
    """Return the numbers of the lines that quote code which is not the reporter's: they say nothing about what was asked for."""
    numbers: set[int] = set()
    for chain in found.chains:
        for one in chain.exceptions:
            for frame in one.frames:
                numbers.add(frame.at)
                if locate(frame.path)[0] != "user":
                    numbers.add(frame.at + 1)
                    numbers.add(frame.at + 2)
    return numbers
