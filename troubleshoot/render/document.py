"""What a face shows, before it takes a form: sections of blocks, built once and drawn as terminal text, Markdown or HTML.

``Prose`` is our own text, in which back-quotes mark code; ``Quote`` and ``Code`` are literal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Prose:
    """A paragraph. ``tone`` is "", "dim", "good", "warn" or "bad"; ``lead`` is set before it in bold."""

    text: str
    tone: str = ""
    lead: str = ""


@dataclass(frozen=True)
class Quote:
    """Lines of the report as (line number or None, text, whether this is the line that matters most)."""

    lines: tuple[tuple[int | None, str, bool], ...]


@dataclass(frozen=True)
class Code:
    """A command (``language`` "sh") or code, shown literally and never wrapped."""

    text: str
    language: str = ""


@dataclass(frozen=True)
class Point:
    """A list item with a mark: "+" supports, "-" refutes, "?" unknown, "*" neutral."""

    text: str
    mark: str = "*"


@dataclass(frozen=True)
class Step:
    """A numbered or crossed-out item: a title with a short tag, and what belongs to it."""

    mark: str
    title: str
    tag: str = ""
    tone: str = ""
    body: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table of short cells; ``tones`` colours cells by their text."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[tuple[str, str], ...] = ()


Block: TypeAlias = Prose | Quote | Code | Point | Step | Table


@dataclass(frozen=True)
class Section:
    """A titled group of blocks."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """``badge`` is the verdict ("known 97 %") in its ``tone``, ``title`` says what it is, ``name`` the id, ``subtitle`` a line below."""

    badge: str
    title: str
    name: str = ""
    subtitle: str = ""
    tone: str = ""
    sections: tuple[Section, ...] = ()
    language: str = "en"


def transform(node: Any, change: Callable[[str], str]) -> Any:
    """Return the document with ``change`` applied to every text in it; tones, marks and languages stay as they are."""
    if isinstance(node, str):
        return change(node)
    if isinstance(node, tuple):
        return tuple(transform(one, change) for one in node)
    if is_dataclass(node) and not isinstance(node, type):
        keep = {"tone", "mark", "language", "tones"}
        values = {one.name: transform(getattr(node, one.name), change) for one in fields(node) if one.name not in keep}
        return replace(node, **values)
    return node
