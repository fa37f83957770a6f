"""Lines as Python's tokenizer counts them, and how deep a source nests."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from functools import lru_cache

#: A line ends at \n, \r\n or \r and nowhere else: str.splitlines() would also end it at form feeds, U+2028 and others.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
#: What Python's tokenizer skips: after a form feed in the indentation, columns are counted from 0 again.
_PAGE = re.compile(r"^[ \t\f]*\f")
#: Where readers of reports end a line, Python not.
_OTHER_ENDS = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]")
#: Strings, comments, brackets and all other tokens of a source; nothing here can fail or go back.
_TOKEN = re.compile(
    r'(?P<string>(?P<prefix>[A-Za-z]{0,3})(?:"""(?:\\.|[^\\])*?(?:"""|\Z)|\'\'\'(?:\\.|[^\\])*?(?:\'\'\'|\Z)'
    r'|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?))|#[^\n]*|\\\n|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>[,;\n])|(?P<word>\w+)|[^\s\w]',
    re.DOTALL,
)
#: What makes an expression deeper by a level, among the words.
_DEEPENING = frozenset(("not", "and", "or", "if", "else", "for", "in", "is", "lambda", "await", "yield"))


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with their ends."""
    return _LINE.findall(text)


def rest_of_line(text: str, index: int) -> str:
    """Return what follows a position in its line, with the line's end."""
    found = _LINE.match(text, index)
    return found[0] if found else ""


def line_end(line: str) -> str:
    """Return what a line ends with; empty for a last line without an end."""
    return line[len(line.rstrip("\r\n")) :]


def line_number(text: str, index: int) -> int:
    """Return the number of the line, from 1, that a position lies in."""
    return bisect_right(_line_starts(text), index)


@lru_cache(maxsize=4)
def _line_starts(text: str) -> tuple[int, ...]:
    """Kept, for whoever asks for the line of each place of a text."""
    return (0, *(match.end() for match in _LINE.finditer(text) if line_end(match[0])))


def quoted(line: str) -> str:
    """Return what a report may show of a source line."""
    return _OTHER_ENDS.split(line.strip(), maxsplit=1)[0].strip()


def plain(text: str) -> str:
    r"""Return a source with \n as the only line end and without form feeds in the indentation, line for line.

    LibCST reads the same program from it, and loses some of those characters otherwise.
    """
    return "".join(_PAGE.sub("", line.rstrip("\r\n"), count=1) + ("\n" if line_end(line) else "") for line in split_lines(text))


def with_changes(original: str, before: str, after: str) -> str:
    """Return the original with what differs between ``before``, which is :func:`plain` of it, and ``after``.

    Every line that stays is the original's, to the byte; a new one ends as the line does that it replaces or follows.
    """
    kept = [(line.rstrip("\r\n"), line_end(line)) for line in split_lines(original)]
    usual = next((end for _, end in kept if end), "\n")
    # split() yields one line more, empty, behind the last end.
    old, new = before.split("\n"), after.split("\n")
    kept += [("", "")] * (len(old) - len(kept))
    made: list[tuple[str, str]] = []
    for what, start, stop, low, high in difflib.SequenceMatcher(None, old, new).get_opcodes():
        if what == "equal":
            made += kept[start:stop]
            continue
        for index, line in enumerate(new[low:high], start):
            replaced, end = kept[index] if index < stop else ("", "")
            page = _PAGE.match(replaced)
            made.append(((page[0] if page else "") + line, end or (made[-1][1] if made else "")))
    return "".join(line + (end or usual) for line, end in made[:-1]) + made[-1][0]


def too_deep(text: str, limit: int, *, formatted: bool = False) -> int | None:
    """Return the line at which a source nests deeper than ``limit`` levels, or None where it does not.

    The levels are an estimate from above, taken from the tokens alone: brackets, what is chained between two commas (operators,
    attributes, calls, strings), and the branches of one ``if``. A parser that goes down a level at a time cannot be asked: it may not come
    back. ``formatted`` is the inside of an f-string, where only what is in braces counts.
    """
    levels, total, line = [0], 0, 1
    branches: dict[int, int] = {}
    first = not formatted
    for match in _TOKEN.finditer(text):
        token, more = match[0], 0
        outer = len(levels) == 1
        if first and outer and token != "\n" and token[0] != "#":
            # An elif is an if in the else of the one before.
            indent = match.start() - text.rfind("\n", 0, match.start()) - 1
            total -= sum(count for one, count in branches.items() if one > indent or (one == indent and token not in ("elif", "else")))
            branches = {one: count for one, count in branches.items() if one < indent or (one == indent and token in ("elif", "else"))}
            if token == "elif":
                branches[indent] = branches.get(indent, 0) + 1
                total += 1
        if match["open"]:
            more = 1
        elif match["close"]:
            if not outer:
                total -= levels.pop()
        elif match["end"]:
            if token != "\n" or outer:
                total -= levels[-1]
                levels[-1] = 0
        elif match["string"] is not None:
            more = 1
            inside = set(match["prefix"]) & set("fFtT")
            if inside and too_deep(token[len(match["prefix"]) :].strip("\"'"), limit - total, formatted=True):
                return line
        elif (match["word"] is None and token[0] not in "#=:\\") or token in _DEEPENING:
            more = 1
        if not (formatted and outer and not match["open"]):
            levels[-1] += more
            total += more
        if match["open"]:
            levels.append(0)
        if total > limit:
            return line
        first = token == "\n" and outer and not formatted
        line += token.count("\n")
    return None
