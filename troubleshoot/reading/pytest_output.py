"""Failures as pytest prints them: source with ``>``, lines with ``E``, and ``file.py:12: RuntimeError`` below."""

from __future__ import annotations

from troubleshoot.basics.patterns import anchored
from troubleshoot.reading import grammar
from troubleshoot.reading.report import Frame, RaisedException
from troubleshoot.reading.stream import Source, raised

_SPOT = anchored(r"(\S[^:\n]*?\.\w{1,4}|<[^>]{1,60}>):(\d{1,7}):(?: (?:in (\S.*)|([A-Za-z_][\w.]*)))?\s*$")
_LINE = anchored(r"(\S[^:\n]*?\.py):(\d{1,7}): ((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)): (.*)$")
_DEF = anchored(r"(?:async )?def (\w+)\(")
_UP = 3000


def is_error_line(line: str) -> bool:
    """Tell whether a line is one of pytest's ``E   message`` lines."""
    return line[:1] == "E" and line[1:4] == "   " and len(line) > 4


def read_pytest(source: Source, at: int) -> tuple[RaisedException | None, int]:
    """Read the failure whose ``E`` lines begin at ``at``; returns it and the index of the line after it."""
    lines, numbers, end = source.lines, source.numbers, len(source)
    i = at
    parts: list[str] = []
    while i < end and is_error_line(lines[i]):
        parts.append(lines[i][4:].rstrip())
        i += 1
    margin = min((grammar.indent(part) for part in parts if part.strip()), default=0)
    parts = [part[margin:] for part in parts]
    match = grammar.match_exception(parts[0], False)
    if match:
        kind, message = match[0], "\n".join([match[1], *parts[1:]])
    elif parts[0].startswith("assert "):
        kind, message = "AssertionError", "\n".join(parts)
    else:
        kind, message = "", "\n".join(parts)
    frames = _frames_above(source, at)
    past = i
    for j in range(i, min(end, i + 4)):
        spot = _SPOT.match(lines[j])
        if lines[j].startswith(("____", "====")):
            break
        if spot and not spot[3]:
            code, function = _code_above(source, at)
            frames.append(Frame(spot[1], function, int(spot[2]), code, numbers[j]))
            if not kind and spot[4]:
                kind = spot[4]
            past = j + 1
            break
    if not kind and not frames:
        return None, i
    return raised(kind, message, frames, numbers[at], numbers[past - 1], complete=bool(frames)), past


def read_line_style(source: Source, at: int) -> RaisedException | None:
    """Read ``model.py:12: RuntimeError: message``, as ``pytest --tb=line`` and compilers print it, or return None."""
    match = _LINE.match(source.lines[at])
    if not match:
        return None
    number = source.numbers[at]
    return raised(match[3], match[4], [Frame(match[1], None, int(match[2]), None, number)], number, number)


def _frames_above(source: Source, at: int) -> list[Frame]:
    """Collect ``file.py:12: in f`` and ``file.py:12:`` up to the header of the test."""
    lines, numbers = source.lines, source.numbers
    frames: list[Frame] = []
    for j in range(at - 1, max(-1, at - _UP), -1):
        line = lines[j]
        if line.startswith(("____", "====", "----", grammar.CAUSE_LINE, grammar.CONTEXT_LINE)) or is_error_line(line):
            break
        if not line or line[0].isspace() or line[0] == ">":
            continue
        spot = _SPOT.match(line)
        if not spot or spot[4]:
            continue
        if spot[3]:
            below = lines[j + 1].strip() if j + 1 < at else ""
            frames.append(Frame(spot[1], spot[3], int(spot[2]), below or None, numbers[j]))
        else:
            code, function = _code_above(source, j)
            frames.append(Frame(spot[1], function, int(spot[2]), code, numbers[j]))
    frames.reverse()
    return frames


def _code_above(source: Source, at: int) -> tuple[str | None, str | None]:
    """Return (the marked source line, the function it is in) above line ``at``."""
    code = function = None
    for j in range(at - 1, max(-1, at - min(400, source.allowance)), -1):
        line = source.lines[j]
        source.allowance -= 1
        if line[:1] == ">" and code is None:
            code = line[1:].strip() or None
        found = _DEF.match(line.lstrip("> "))
        if found:
            function = found[1]
            break
        if line.startswith(("____", "_ _ _", "====")) or (line and not line[0].isspace() and line[0] not in ">E@"):
            break
    return code, function
