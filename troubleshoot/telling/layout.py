"""Widths, wrapping and colour of terminal text, without a library: East Asian wide characters take two columns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from troubleshoot.basics.invisible import INVISIBLE

_STYLES = {"good": "32", "warn": "33", "bad": "31", "dim": "2", "bold": "1", "code": "36", "key": "1;34"}

#: Characters that a terminal obeys instead of showing: C0 and C1 controls, and those that reorder text or are invisible.
_CONTROL = f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]|{INVISIBLE}"

_FRAME = r"(\s*File [\"'])([^\"']+)([\"'].*)"

_WORDS = r"\s+|(?:`[^`\s][^`]{0,50}`|[^\s`]|`)+"

#: Chinese punctuation that may not begin a line, and that which may not end one.
_NO_START = frozenset("，。、；：！？）】》」』”’…·%％,.;:!?)]}")
_NO_END = frozenset("（【《「『“‘([{")


def paint(text: str, style: str, color: bool) -> str:
    """Return the text in a style (good, warn, bad, dim, bold, code, key), or as it is without colour."""
    code = _STYLES.get(style)
    return f"\x1b[{code}m{text}\x1b[0m" if color and code and text else text


def visible(text: str) -> str:
    """Return the text with control, reordering and invisible characters written as escapes, tabs as blanks.

    No report may steer a terminal, or tell a language model what no person sees.
    """
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_CONTROL, lambda match: ascii(match[0])[1:-1], text.expandtabs(4))


def columns(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def pad(text: str, width: int) -> str:
    """Return the text with blanks up to ``width`` columns."""
    return text + " " * max(0, width - columns(text))


def aligned(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return the rows of a table with all cells but the last of each padded to the width of their column."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(columns, column)) for column in zip(*shown, strict=True)]
    return [[*map(pad, row[:-1], widths), *row[-1:]] for row in shown]


def clip(text: str, width: int) -> str:
    """Return the text, shortened with an ellipsis to ``width`` columns."""
    if columns(text) <= width:
        return text
    out, used = [], 0
    for char in text:
        used += _columns(char)
        if used > width - 1:
            break
        out.append(char)
    return "".join(out).rstrip() + "…"


def shorter_path(line: str, width: int) -> str:
    """Return a line ``File "/long/path/x.py", line 3, in f`` with as many leading folders as need be replaced by an ellipsis."""
    match = re.match(_FRAME, line) if columns(line) > width else None
    if match is None:
        return line
    parts = re.split(r"(?<=[/\\\\])", match[2])
    while len(parts) > 2 and columns("".join((match[1], "…/", *parts, match[3]))) > width:
        del parts[0]
    return f"{match[1]}…/{''.join(parts)}{match[3]}"


def without_asides(text: str) -> str:
    """Return a sentence without what stands in parentheses; those within back-quotes are code."""
    out: list[str] = []
    depth, quoted = 0, False
    for char in text:
        quoted ^= char == "`"
        if char in "(（" and not quoted and (depth or not out or out[-1] in " （" or char == "（"):
            depth += 1
        elif depth:
            depth -= char in ")）" and not quoted
        else:
            out.append(char)
    return " ".join("".join(out).replace(" ,", ",").replace(" .", ".").split()) if not depth else text


def wrap(text: str, width: int, first: int | None = None) -> list[str]:
    """Return the text in lines of at most ``width`` columns, the first of at most ``first``; a longer word (a path) stays whole."""
    width = max(width, 16)
    room = width if first is None else max(first, 1)
    lines: list[str] = []
    line, used, gap = "", 0, False
    for piece in _pieces(text):
        if piece == " ":
            gap = bool(line)
            continue
        need = columns(piece)
        if used + gap + need > room and (line or (not lines and room < width)):
            lines.append(line)
            line, used, gap, room = "", 0, False, width
        if gap:
            line, used, gap = line + " ", used + 1, False
        line, used = line + piece, used + need
    if line or not lines:
        lines.append(line)
    return lines


def _pieces(text: str) -> Iterator[str]:
    """Yield what may not be broken: a word, short back-quoted code, or a Chinese character with the punctuation that clings to it."""
    for part in re.findall(_WORDS, text) if "`" in text else re.split(r"(\s+)", text):
        if not part:
            continue
        if part.isspace():
            yield " "
        elif part.isascii():
            yield part
        else:
            yield from _clusters(part)


def _clusters(word: str) -> Iterator[str]:
    piece = ""
    for at, char in enumerate(word):
        breaks = piece and (_wide(char) or _wide(word[at - 1])) and char not in _NO_START and word[at - 1] not in _NO_END
        if breaks:
            yield piece
            piece = ""
        piece += char
    if piece:
        yield piece


def _wide(char: str) -> bool:
    return not char.isascii() and unicodedata.east_asian_width(char) in ("W", "F")
