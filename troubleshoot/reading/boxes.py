"""Tracebacks that rich draws in a box. The sides of the box are gone already; its top, its bottom and its inside are here."""

from __future__ import annotations

from troubleshoot.basics.patterns import anchored
from troubleshoot.reading import grammar
from troubleshoot.reading.report import Frame, RaisedException
from troubleshoot.reading.stream import Source, raised
from troubleshoot.reading.tracebacks import read_exception_line

_FRAME = anchored(r"(\S.*?):(\d{1,7}) in (\S.*)$")
_CELL = anchored(r"in (\S.*?):(\d{1,7})$")
_CODE = anchored(r"(❱|>)?\s*(\d{1,7})(?:\s+[│|]?\s?(.*))?$")
_TOPS, _BOTTOMS = "╭┌┏", "╰└┗"
_MOST_LINES = 20_000
#: No terminal is so wide that a line of a box, or a frame that it broke, is longer. So many characters cost as much as a line.
_LONGEST_FRAME, _AS_A_LINE = 2_000, 100
_ARROW = "❱"


def begins_box(line: str) -> bool:
    """Tell whether a line is the top of a box with a traceback."""
    stripped = line.strip()
    return stripped[:1] in (*_TOPS, "+") and stripped[1:2] in ("─", "━", "-") and "Traceback" in stripped


def begins_cut_box(lines: list[str], at: int) -> bool:
    """Tell whether a frame of a box whose top is missing begins at ``at``."""
    if _frame(lines, at, len(lines))[0] is None:
        return False
    return any(line.lstrip().startswith(_ARROW) for line in lines[at + 1 : at + 9])


def read_box(source: Source, at: int) -> tuple[RaisedException | None, int]:
    """Read a box and the exception below it; returns it and the index of the line after it."""
    lines, numbers = source.lines, source.numbers
    end = min(len(source), at + _MOST_LINES)
    whole = begins_box(lines[at])
    depth = 1
    i = at + 1 if whole else at
    frames: list[Frame] = []
    elided = not whole
    while i < end:
        stripped = lines[i].strip()
        first = stripped[:1]
        if not stripped:
            i += 1
            continue
        if first in _TOPS:
            depth += 1
            i += 1
            continue
        if first in _BOTTOMS or (first == "+" and not stripped.strip("+-")):
            depth -= 1
            i += 1
            if depth <= 0:
                break
            continue
        if depth > 1 or first in "│┃":
            i += 1
            continue
        if stripped.startswith("...") and "hidden" in stripped:
            elided = True
            i += 1
            continue
        found, past = _frame(lines, i, end)
        if found:
            file, number, function = found
            frames.append(Frame(file, function, number, None, numbers[i]))
            i = past
            continue
        match = _CODE.match(stripped)
        if match:
            if match[1] and frames and frames[-1].number == int(match[2]):
                last = frames[-1]
                frames[-1] = Frame(last.file, last.function, last.number, (match[3] or "").lstrip("│| ").rstrip() or None, last.at)
            i += 1
            continue
        if not whole and frames and (grammar.match_exception(stripped, False) or not lines[i][:1].isspace()):
            break
        i += 1
    if not frames:
        source.allowance -= i - at + sum(map(len, lines[at:i])) // _AS_A_LINE
        return None, at + 1
    while i < end and i < len(source) and not lines[i].strip():
        i += 1
    found_exception = read_exception_line(source, i, True) if i < len(source) and i < end else None
    if found_exception:
        kind, message, past = found_exception
        if kind or not whole:
            return raised(kind, message, frames, numbers[i], numbers[past - 1], complete=not elided), past
    return raised("", "", frames, frames[-1].at, numbers[i - 1]), i


def _frame(lines: list[str], at: int, end: int) -> tuple[tuple[str, int, str] | None, int]:
    """Return ((file, line, function), index past it) of a frame line, which the box may have broken in several."""
    text = lines[at].rstrip()
    if text[:1].isspace() or text[:1] in (_ARROW, ">"):
        return None, at
    for j in range(at, min(end, at + 4)):
        if len(lines[j]) > _LONGEST_FRAME:
            break
        if j > at:
            part = lines[j].strip()
            if not part or part[:1] in _TOPS + _BOTTOMS:
                break
            # Words are broken at blanks where they can be, elsewhere anywhere.
            text += (" " if text.endswith(" in") or part.startswith("in ") else "") + part
        match = _FRAME.match(text)
        if match:
            return (match[1], int(match[2]), match[3].strip()), j + 1
        match = _CELL.match(text)
        if match:
            return ("<ipython-input>", int(match[2]), match[1]), j + 1
    return None, at
