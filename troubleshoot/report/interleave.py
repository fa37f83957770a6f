"""Tracebacks of several processes that were written into each other without a prefix, told apart again.

Each line goes to the traceback that can take it: a source line to a frame that waits for one, a frame to the traceback whose last source line
calls it, or whose twin of another rank had the same frame at this depth.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from troubleshoot.report import grammar

_REGION = 4000
_MOST = 64


@dataclass
class _Open:
    """One traceback of several that are being printed at once."""

    lines: list[int] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)
    code: str = ""
    waits: bool = False
    marked: bool = True
    finished: bool = False
    linked: bool = False
    error: str = ""


def untangle(lines: list[str]) -> list[list[int]]:
    """Return, for each region where tracebacks are written into each other, the indexes of each one's lines; empty where there is none."""
    headers = [row for row, line in enumerate(lines) if grammar.HEADER in line]
    if len(headers) < 2:
        return []
    known = set(headers)
    groups: list[list[int]] = []
    past = 0
    for header in headers:
        if header < past:
            continue
        stop = _region(lines, header, known)
        if stop is not None:
            groups.extend(_sort_out(lines, header, stop))
            past = stop
        else:
            # Whatever was walked over belonged to this header alone.
            past = header + 1
    return groups


def _region(lines: list[str], start: int, headers: set[int]) -> int | None:
    """Return where the region of mixed tracebacks that begins at ``start`` ends, or None where this one is alone."""
    opened, errors = 1, 0
    bare_after_error = False
    base = grammar.indent(lines[start])
    i = start + 1
    last = start
    while i < len(lines) and i < start + _REGION:
        line = lines[i]
        stripped = line.strip()
        if i in headers:
            if opened == 1 and errors:
                return None
            opened += 1
            last = i
        elif stripped.startswith(('File "', "[Previous line")) or (stripped and grammar.indent(line) > base + 2):
            if errors:
                bare_after_error = True
            last = i
        elif not stripped or stripped.startswith((grammar.CAUSE_LINE, grammar.CONTEXT_LINE)):
            pass
        elif grammar.match_exception(stripped, False):
            if opened == 1:
                return None
            if errors:
                bare_after_error = True
            errors += 1
            last = i
            if errors >= opened and not _linked(lines, i + 1):
                break
        elif not errors or i - last > 6:
            break
        i += 1
    return last + 1 if errors >= 2 and opened >= 2 and bare_after_error else None


def _linked(lines: list[str], at: int) -> bool:
    return any(line.startswith((grammar.CAUSE_LINE, grammar.CONTEXT_LINE)) for line in lines[at : at + 3])


def _sort_out(lines: list[str], start: int, stop: int) -> list[list[int]]:
    all_open: list[_Open] = []
    codes: dict[str, str] = {}
    last: _Open | None = None
    for row in range(start, stop):
        stripped = lines[row].strip()
        if not stripped:
            if last:
                last.lines.append(row)
            continue
        if grammar.HEADER in stripped:
            last = _header(all_open)
        elif stripped.startswith((grammar.CAUSE_LINE, grammar.CONTEXT_LINE)):
            last = next((one for one in all_open if one.finished and not one.linked), last)
            if last:
                last.linked = True
        elif stripped.startswith('File "'):
            last = _frame(all_open, stripped) or last
        elif not (stripped := stripped.strip("^~ ")):
            last = next((one for one in all_open if not one.marked and not one.waits), last)
            if last:
                last.marked = True
        elif grammar.match_exception(stripped, False):
            last = _error(all_open, stripped) or last
        elif not last or not last.finished or any(one.waits for one in all_open):
            last = _code(all_open, stripped, codes) or last
        if last:
            last.lines.append(row)
    return [one.lines for one in all_open if one.lines]


def _header(all_open: list[_Open]) -> _Open | None:
    linked = next((one for one in all_open if one.linked and one.finished), None)
    if linked:
        linked.finished = linked.linked = False
        linked.frames = []
        linked.code = ""
        return linked
    if len(all_open) >= _MOST:
        return None
    all_open.append(_Open())
    return all_open[-1]


def _frame(all_open: list[_Open], stripped: str) -> _Open | None:
    candidates = [one for one in all_open if not one.finished]
    if not candidates:
        return None
    function = stripped.rpartition(" in ")[2]

    def score(one: _Open) -> tuple[int, int]:
        points = -2 if one.waits else 0
        depth = len(one.frames)
        for other in all_open:
            if other is not one and len(other.frames) > depth and other.frames[:depth] == one.frames:
                points += 4 if other.frames[depth] == stripped else -1
                break
        if function == "<module>":
            points += -2 if depth else 3
        elif depth and function in one.code:
            points += 2
        elif not depth:
            points -= 1
        return points, -depth

    best = max(candidates, key=score)
    best.frames.append(stripped)
    best.waits, best.marked, best.code = True, True, ""
    return best


def _code(all_open: list[_Open], stripped: str, codes: dict[str, str]) -> _Open | None:
    waiting = [one for one in all_open if one.waits and not one.finished]
    if not waiting:
        return None
    best = next((one for one in waiting if codes.get(one.frames[-1]) == stripped), None)
    best = best or next((one for one in waiting if one.frames[-1] not in codes), waiting[0])
    codes.setdefault(best.frames[-1], stripped)
    best.waits, best.marked, best.code = False, False, stripped
    return best


def _error(all_open: list[_Open], stripped: str) -> _Open | None:
    candidates = [one for one in all_open if not one.finished]
    if not candidates:
        return None

    def score(one: _Open) -> tuple[int, int]:
        points = 0 if one.waits else 1
        depth = len(one.frames)
        for other in all_open:
            if other is one:
                continue
            if other.finished and other.frames == one.frames:
                points += 3
                break
            if len(other.frames) > depth and other.frames[:depth] == one.frames:
                points -= 2
                break
        return points, depth

    best = max(candidates, key=score)
    best.finished = True
    best.error = stripped
    return best
