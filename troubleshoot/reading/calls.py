"""The call expressions of a line of code: what is called, with which arguments, at which columns. Nothing is evaluated.

A frame's line is often no whole statement (``outputs = self.model(``), so that Python's own parser cannot read it.
"""

# ruff: noqa: SIM905  (lists of words read better as text)
from __future__ import annotations

from troubleshoot.basics.patterns import searched

#: Characters of a line that are looked at.
LONGEST = 500
#: What stands for an index that the line does not tell, and for what a call returned.
INDEX, RESULT = "[…]", "()"

#: One token: names with dots between them, a string, a number, a bracket, a comma, a dot, a comment; what else there is falls together.
_TOKEN = searched(
    r"[^\W\d]\w*+(?:\.[^\W\d]\w*+)*+"
    r"|'(?:[^'\\]|\\.)*+'?|\"(?:[^\"\\]|\\.)*+\"?"
    r"|\d[\w.]*+"
    r"|[()\[\]{},.#]"
    r"|[^\w\s()\[\]{},.#'\"]++"
)
_KEYWORDS = frozenset(
    "and as assert async await del elif else except for from if import in is lambda not or raise return while with yield".split()
)


class Call:
    """One call. ``parts`` is the way to what is called: ``("self", "layers", "[0]")``; ``()`` among them stands for a call's result.

    ``start`` and ``end`` are the columns of the whole expression, ``end`` None where the line ends first.
    """

    __slots__ = ("_code", "cuts", "end", "open", "parts", "start")

    def __init__(self, code: str, parts: tuple[str, ...], start: int, opened: int) -> None:
        self._code = code
        self.parts = parts
        self.start = start
        self.open = opened
        self.end: int | None = None
        #: The columns of the commas between its arguments.
        self.cuts: list[int] = []

    @property
    def arguments(self) -> list[str]:
        """The arguments, as the line shows them; the last one may be cut where the line ends."""
        stops = [*self.cuts, len(self._code) if self.end is None else self.end - 1]
        found, begin = [], self.open + 1
        for stop in stops:
            found.append(self._code[begin:stop].strip())
            begin = stop + 1
        return [one for one in found if one]


class Line:
    """What a line of code holds: its calls, the names with attributes that are not called, and whether it closes what it did not open."""

    __slots__ = ("calls", "code", "continues", "names")

    def __init__(self, code: str) -> None:
        self.code = code
        self.calls: list[Call] = []
        self.names: list[tuple[str, ...]] = []
        self.continues = False


class _Open:
    """A bracket that is not closed yet: the call or the subscript that it belongs to, and the chain before it."""

    __slots__ = ("at", "call", "chain", "start", "subscript")

    def __init__(self, at: int, chain: tuple[str, ...] | None, start: int, call: Call | None, subscript: bool) -> None:
        self.at = at
        self.chain = chain
        self.start = start
        self.call = call
        self.subscript = subscript


def read_line(code: str) -> Line:
    """Return the calls of a line in the order in which they begin. Raises nothing, whatever the line holds."""
    code = code[:LONGEST]
    line = Line(code)
    calls, names = line.calls, line.names
    stack: list[_Open] = []
    #: The expression so far (None: none that has a name), where it begins, and whether a dot was the last token.
    chain: tuple[str, ...] | None = None
    start, dotted = 0, False
    for match in _TOKEN.finditer(code):
        token = match[0]
        first = token[0]
        if first == ".":
            dotted = chain is not None
            continue
        if first == "(" or first == "[" or first == "{":
            at = match.start()
            call = None
            if chain is None:
                start = at
            elif first == "(":
                call = Call(code, chain, start, at)
                calls.append(call)
            stack.append(_Open(at, chain, start, call, first == "[" and chain is not None))
            chain, dotted = None, False
            continue
        if dotted and chain is not None and (first.isalpha() or first == "_"):
            chain, dotted = (*chain, *token.split(".")), False
            continue
        if chain is not None and len(chain) > 1 and chain[-1] != RESULT:
            names.append(chain)
        chain, dotted = None, False
        if first.isalpha() or first == "_":
            if token not in _KEYWORDS:
                chain, start = tuple(token.split(".")), match.start()
        elif first == ")" or first == "]" or first == "}":
            if not stack:
                line.continues = True
                continue
            opened = stack.pop()
            start = opened.start
            if opened.call is not None:
                opened.call.end = match.end()
                chain = (*opened.call.parts, RESULT)
            elif opened.subscript and opened.chain is not None:
                chain = (*opened.chain, _index(code[opened.at + 1 : match.start()]))
            else:
                chain = (RESULT,)
        elif first == "," and stack and stack[-1].call is not None:
            stack[-1].call.cuts.append(match.start())
        elif first == "'" or first == '"':
            chain, start = (RESULT,), match.start()
        elif first == "#":
            break
    if chain is not None and len(chain) > 1 and chain[-1] != RESULT:
        names.append(chain)
    return line


def _index(text: str) -> str:
    """Return an index as it is written where it is a number or a key, else what stands for any; a slice is another object."""
    text = text.strip()
    if text.removeprefix("-").isdecimal() and len(text) < 6:
        return f"[{text}]"
    if len(text) > 2 and text[0] in "\"'" and text[-1] == text[0] and text[1:-1].replace("_", "").isalnum():
        return f'["{text[1:-1]}"]'
    return RESULT if ":" in text else INDEX
