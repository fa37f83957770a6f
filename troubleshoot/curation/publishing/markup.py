"""Texts of the knowledge base as Markdown that says the same: whatever they hold, nothing becomes markup by accident."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Sequence

_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_URL = re.compile(r"https?://[^\s<>\"'`）)，。；、]+[^\s<>\"'`）)，。；、.,;:!?]")
#: Python-Markdown and its extensions give these a meaning somewhere; as entities they have none.
_TABLE = str.maketrans({character: f"&#{ord(character)};" for character in "\\`*_{}[]<>#|~^=$"} | {"&": "&amp;"})
#: What would begin a list, a definition or a directive where it stands first in a line.
_FIRST = re.compile(r"^([-+:!?]|\d+(?=[.)]))")


def escape(text: str) -> str:
    """Return a text in which nothing is markup: not Markdown's, not HTML's, not that of an extension."""
    escaped = text.strip().translate(_TABLE)
    return _FIRST.sub(lambda match: "".join(f"&#{ord(char)};" for char in match[0]), escaped)


def code(text: str) -> str:
    """Return a text as inline code."""
    return f"<code>{text.translate(_TABLE)}</code>"


def prose(text: str) -> str:
    """Return a paragraph of the knowledge base: back-quoted parts are code, addresses are links, the rest is literal."""
    flowing = " ".join(text.split())
    out, at = [], 0
    for match in _SPAN.finditer(flowing):
        out += [_linked(flowing[at : match.start()]), code(match[1])]
        at = match.end()
    out.append(_linked(flowing[at:]))
    return "".join(out)


def _linked(text: str) -> str:
    out, at = [], 0
    for match in _URL.finditer(text):
        out += [_escape_part(text[at : match.start()]), link(match[0], match[0])]
        at = match.end()
    out.append(_escape_part(text[at:]))
    return "".join(out)


def _escape_part(text: str) -> str:
    """Escape a part of a line, keeping the blanks at its ends."""
    stripped = text.strip()
    if not stripped:
        return text
    start = text.index(stripped)
    return text[:start] + escape(stripped) + text[start + len(stripped) :]


def link(target: str, text: str) -> str:
    """Return a link to an address outside the site."""
    shown = text.removeprefix("https://").removeprefix("http://") if text == target else text
    return f"[{escape(shown)}]({target.replace(' ', '%20').replace('(', '%28').replace(')', '%29')})"


def page_link(source: str, target: str, text: str) -> str:
    """Return a link from a page to another, both named by their Markdown files; ``text`` is Markdown already."""
    path, mark, anchor = target.partition("#")
    relative = posixpath.relpath(path, posixpath.dirname(source) or ".") if path else ""
    return f"[{text}]({relative}{mark}{anchor})"


def fence(text: str, language: str = "") -> str:
    """Return a code block whose fence is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells are Markdown of one line already."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(cell or " " for cell in row) + " |" for row in rows)])


def points(items: Iterable[str]) -> str:
    """Return a list; items are Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def indented(text: str, blanks: int = 4) -> str:
    """Return a block moved to the right, as what belongs to a list item or an admonition."""
    return "\n".join(" " * blanks + line if line else "" for line in text.split("\n"))


def front_matter(**values: object) -> str:
    """Return the head of a page; JSON's values are YAML's."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items() if value is not None]
    return "\n".join(["---", *lines, "---", ""])


def chip(text: str, tone: str = "") -> str:
    """Return a short label; ``tone`` is good, warn or bad."""
    return f'<span class="ts-chip{f" ts-{tone}" if tone else ""}">{text.translate(_TABLE)}</span>'
