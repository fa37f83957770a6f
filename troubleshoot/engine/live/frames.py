"""A traceback's frames: the locals, the expression that failed, and the values that it names."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from types import FrameType, TracebackType
from typing import Any

from troubleshoot.engine.live.objects import attribute, is_module, is_tensor
from troubleshoot.reading.code_lines import code_line
from troubleshoot.reading.decode import encodable

#: Frames looked at: the outermost ones hold the model and its inputs, the innermost the operation.
_OUTER, _INNER = 40, 40
_WALKED = 100_000
#: Lines that one statement may have.
_STATEMENT = 12
_OPTIMIZED = 0x1  # CO_OPTIMIZED: a function, whose locals are not a real dict

_DOTTED = re.compile(r"(?<![\w.\"'])([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*|\[(?:\d+|\"\w+\"|'\w+')\])*)")
_PART = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]|\[[\"'](\w+)[\"']\]")


class Spot:
    """One frame of a traceback with the line that failed. Holds the frame only while the exception is being looked at."""

    def __init__(self, tb: TracebackType) -> None:
        self.frame: FrameType = tb.tb_frame
        self.line = tb.tb_lineno or 0
        self._last = tb.tb_lasti
        self._locals: dict[str, Any] | None = None

    @property
    def file(self) -> str:
        """The file with forward slashes."""
        return self.frame.f_code.co_filename.replace("\\", "/")

    @property
    def function(self) -> str:
        """The function's name."""
        return self.frame.f_code.co_name

    @property
    def locals(self) -> dict[str, Any]:
        """The local variables; a copy, so that nothing of the frame's is kept."""
        if self._locals is None:
            self._locals = _locals(self.frame)
        return self._locals

    @property
    def self_(self) -> Any:
        """The module that the frame belongs to: the first argument of a method."""
        code = self.frame.f_code
        if not code.co_argcount:
            return None
        one = self.locals.get(code.co_varnames[0])
        return one if is_module(one) else None

    @property
    def arguments(self) -> list[tuple[str, Any]]:
        """The function's arguments as they are now, without the module itself; ``*args`` and ``**kwargs`` too."""
        code = self.frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 0x4) + bool(code.co_flags & 0x8)
        known = self.locals
        return [(name, known[name]) for name in code.co_varnames[:count] if name in known and not is_module(known[name])]

    def expression(self) -> str:
        """Return the source of the expression that failed, the whole statement where Python does not say more; empty without source."""
        place = self._position()
        if place is None:
            return self.statement()
        first, last, start, end = place
        lines = [self._code(number).encode() for number in range(first, min(last, first + 40) + 1)]
        if not any(lines):
            return ""
        if last - first < len(lines):
            lines[last - first] = lines[last - first][:end]
        lines[0] = lines[0][start:]
        return b"".join(lines).decode("utf-8", "replace")

    def statement(self) -> str:
        """Return the source of the statement at the failed line, with the lines that continue it."""
        text = ""
        for number in range(self.line, self.line + _STATEMENT):
            text += self._code(number)
            if text.count("(") + text.count("[") <= text.count(")") + text.count("]"):
                break
        return text

    def source_before(self) -> list[str]:
        """Return the function's source from its first line to the failed one."""
        first = max(1, self.frame.f_code.co_firstlineno, self.line - 400)
        return [self._code(number) for number in range(first, self.line + 1)]

    def _code(self, number: int) -> str:
        return encodable(code_line(self.frame.f_code.co_filename, number))

    def _position(self) -> tuple[int, int, int, int] | None:
        positions = getattr(self.frame.f_code, "co_positions", None)
        if positions is None or self._last < 0:
            return None
        found = next(islice(positions(), self._last // 2, None), None)
        if found is None or any(one is None for one in found):
            return None
        first, last, start, end = found
        return (first, last, start, end) if first <= last else None


def _locals(frame: FrameType) -> dict[str, Any]:
    """Copy a frame's locals.

    Before Python 3.13 reading ``f_locals`` leaves a snapshot on the frame, which would keep every local of a running function alive:
    it is emptied again, unless somebody else holds it (the result of ``locals()``).
    """
    namespace: Mapping[str, Any] = frame.f_locals
    copy = dict(namespace.items())
    if sys.version_info < (3, 13) and type(namespace) is dict and frame.f_code.co_flags & _OPTIMIZED and sys.getrefcount(namespace) <= 3:
        code = frame.f_code
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            namespace.pop(name, None)
    return copy


def spots(tb: TracebackType | None) -> list[Spot]:
    """Return the frames worth looking at, outermost first; a runaway recursion has tens of thousands."""
    head: list[TracebackType] = []
    tail: list[TracebackType] = []
    count = 0
    while tb is not None and count < _WALKED:
        count += 1
        if len(head) < _OUTER:
            head.append(tb)
        else:
            tail.append(tb)
            if len(tail) > 4 * _INNER:
                del tail[: 3 * _INNER]
        tb = tb.tb_next
    return [Spot(one) for one in (*head, *tail[-_INNER:])]


class Named:
    """A value that an expression names: the text up to it, the value, and what follows it in the expression."""

    __slots__ = ("keyword", "rest", "text", "value")

    def __init__(self, text: str, value: Any, rest: str, keyword: str) -> None:
        self.text = text
        self.value = value
        self.rest = rest
        self.keyword = keyword


def named_values(spot: Spot, expression: str) -> Iterator[Named]:
    """Find the tensors, modules and containers that an expression names, by looking names up; nothing is evaluated."""
    for match in _DOTTED.finditer(expression):
        after = expression[match.end() :].lstrip()
        if after.startswith("=") and not after.startswith("=="):
            if "\n" in expression[: match.start()].rstrip(" ") or "(" in expression[: match.start()]:
                continue
            if not match[2]:
                continue
        value = spot.locals.get(match[1], spot.frame.f_globals.get(match[1]) if match[1] not in spot.locals else None)
        if value is None:
            continue
        text, end = match[1], 0
        for part in _PART.finditer(match[2]):
            if is_tensor(value):
                break
            found = _part(value, part)
            if found is None:
                break
            value, end = found, part.end()
            text = match[1] + match[2][:end]
        rest = match[2][end:] + expression[match.end() : match.end() + 80]
        before = expression[: match.start()].rstrip(" *")
        keyword = re.search(r"(\w+)\s*=$", before)
        yield Named(text, value, rest, keyword[1] if keyword else "")


def _part(value: Any, part: re.Match[str]) -> Any:
    if part[1] is not None:
        return attribute(value, part[1])
    if part[2] is not None:
        if is_module(value):
            return attribute(value, part[2])
        index = int(part[2])
        return value[index] if type(value) in (list, tuple) and index < len(value) else None
    return dict.get(value, part[3]) if type(value) is dict else None
