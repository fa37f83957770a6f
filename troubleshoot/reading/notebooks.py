"""Tracebacks of IPython, Jupyter and Colab: frames with surrounding source and an arrow at the line that ran."""

from __future__ import annotations

import re

from troubleshoot.basics.patterns import anchored
from troubleshoot.reading import grammar
from troubleshoot.reading.report import Frame, RaisedException
from troubleshoot.reading.stream import Source, raised
from troubleshoot.reading.tracebacks import read_exception_line, read_message

_HEADER = anchored(r"([A-Za-z_][\w.]*)\s{2,}Traceback \(most recent call last\)")
_FILE = anchored(r"File (\S.*?):(\d{1,7})(?:, in (.*))?$")
_CELL = anchored(r"((?:Cell|Input) In ?\[\d+\]|In ?\[\d+\])(?:, line (\d{1,7}))?(?:, in (.*))?$")
#: Up to the arguments of the function or the end of the line.
_INPUT = anchored(
    r"(<ipython-input-[^>\s]{1,80}>|\[?(?:[A-Za-z]:|~|/|\.{1,3}[/\\])[^\n\t]*?(?:\]\([^()\s]{0,300}\))?)"
    r" in (<[^>]{1,60}>|[\w.<>]{1,200})(?=\(|$)"
)
_LINK = anchored(r"\[([^\]]{1,1000})\]\([^()\s]{0,300}\)$")
_ARROW = anchored(r"-{1,12}> ?(\d{1,7})(?:\s(.*))?$")
_SKIPPED = anchored(r"\[?\.\.\. (?:skipping|last \d|\d+ frames?|hidden)|\d{1,4} frames?$")
_MOST_LINES = 20_000


def begins_notebook(line: str) -> bool:
    """Tell whether a line is the header ``RuntimeError      Traceback (most recent call last)``."""
    return bool(_HEADER.match(line.strip()))


def begins_notebook_frame(lines: list[str], at: int) -> bool:
    """Tell whether a frame in IPython's form begins here: one whose source has an arrow."""
    line = lines[at].strip()
    if len(line) > 1500 or not (_CELL.match(line) or _FILE.match(line) or _match_input(line)):
        return False
    return any("->" in below and _ARROW.match(below.strip()) for below in lines[at + 1 : at + 9])


def read_notebook(source: Source, at: int) -> tuple[RaisedException | None, int]:
    """Read one traceback in IPython's form; returns it and the index of the line after it."""
    lines, numbers = source.lines, source.numbers
    end = min(len(source), at + _MOST_LINES)
    header = _HEADER.match(lines[at].strip())
    expected = header[1] if header else None
    i = at + 1 if header else at
    frames: list[Frame] = []
    elided = header is None
    while i < end:
        stripped = lines[i].strip()
        if not stripped:
            i += 1
            continue
        if grammar.HEADER in stripped or stripped.startswith(("-----------", "```", grammar.CAUSE_LINE, grammar.CONTEXT_LINE)):
            break
        found = _frame(stripped) if len(stripped) < 1500 else None
        if found:
            frames.append(Frame(*found, None, numbers[i]))
            i += 1
            continue
        arrow = _ARROW.match(stripped)
        if arrow:
            if frames and frames[-1].code is None:
                last = frames[-1]
                # Before IPython 8 the header has no line; where it has one, the arrow agrees.
                frames[-1] = Frame(last.file, last.function, last.number or int(arrow[1]), (arrow[2] or "").strip() or None, last.at)
            i += 1
            continue
        if _SKIPPED.match(stripped):
            elided = True
            i += 1
            continue
        if stripped[0].isdigit():
            i += 1
            continue
        error = _error(source, i, expected, bool(frames))
        if error:
            kind, message, past = error
            return raised(kind, message, frames, numbers[i], numbers[past - 1], complete=bool(frames) and not elided), past
        if not lines[i][:1].isspace() and frames and not frames[-1].code and i - at > 60:
            break
        i += 1
        if i - at > 400 and not frames:
            break
    if frames:
        return raised("", "", frames, frames[-1].at, numbers[i - 1]), i
    if expected and i > at:
        return None, i
    source.allowance -= i - at
    return None, at + 1


def _error(source: Source, at: int, expected: str | None, after_frames: bool) -> tuple[str, str, int] | None:
    stripped = source.lines[at].strip()
    if expected and (stripped.startswith(expected + ":") or stripped == expected):
        message, past = read_message(source, at + 1, stripped[len(expected) + 1 :].strip(), 0)
        return expected, message, past
    if source.lines[at][:1].isspace() or not grammar.match_exception(stripped, False):
        return None
    return read_exception_line(source, at, after_frames)


def _frame(stripped: str) -> tuple[str, str | None, int | None] | None:
    if stripped.startswith("File "):
        match = _FILE.match(stripped)
        if match:
            return match[1].strip('"'), _name(match[3]), int(match[2])
        return None
    if stripped.startswith(("Cell ", "Input ", "In ")):
        match = _CELL.match(stripped)
        if match:
            return match[1], _name(match[3]), int(match[2]) if match[2] else None
        return None
    if " in " in stripped:
        match = _match_input(stripped)
        if match:
            link = _LINK.match(match[1])
            return (link[1] if link else match[1]), _name(match[2]), None
    return None


def _match_input(stripped: str) -> re.Match[str] | None:
    match = _INPUT.match(stripped)
    return match if match and (match.end() == len(stripped) or stripped.endswith(")")) else None


def _name(function: str | None) -> str | None:
    """The function without its arguments: ``forward(self, x)`` -> ``forward``."""
    if not function:
        return None
    if function.startswith("<"):
        return "<module>"
    return function.partition("(")[0].rstrip(":") or None
