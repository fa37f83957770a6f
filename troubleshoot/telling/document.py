"""What a face shows, before it takes a form: sections of blocks, built once and drawn as terminal text, Markdown or HTML.

``Prose`` is our own text, in which back-quotes mark code; ``Quote`` and ``Code`` are literal. They are structs of
msgspec, not dataclasses: making these takes a tenth of the time at start-up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec


class Prose(msgspec.Struct, frozen=True):
    """A paragraph. ``tone`` is "", "dim", "good", "warn" or "bad"; ``lead`` is set before it in bold."""

    text: str
    tone: str = ""
    lead: str = ""


class Quote(msgspec.Struct, frozen=True):
    """Lines of the report as (line number or None, text, whether this is the line that matters most)."""

    lines: tuple[tuple[int | None, str, bool], ...]


class Code(msgspec.Struct, frozen=True):
    """A command (``language`` "sh") or code, shown literally and never wrapped."""

    text: str
    language: str = ""


class Point(msgspec.Struct, frozen=True):
    """A list item with a mark: "+" supports, "-" refutes, "?" unknown, "*" neutral; ``line`` is where in the report it stands."""

    text: str
    mark: str = "*"
    line: int | None = None


class Step(msgspec.Struct, frozen=True):
    """A numbered or crossed-out item: a title with a short tag, and what belongs to it. ``fix`` names a fix to try: ISSUE#FIX."""

    mark: str
    title: str
    tag: str = ""
    tone: str = ""
    body: tuple[Block, ...] = ()
    fix: str = ""


class Choice(msgspec.Struct, frozen=True):
    """A question about the fact ``about``: the usual answers as (value, label), and ``how`` to answer where nothing can be pressed."""

    text: str
    about: str
    answers: tuple[tuple[str, str], ...]
    how: str


class Table(msgspec.Struct, frozen=True):
    """A table of short cells; ``tones`` colours cells by their text."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[tuple[str, str], ...] = ()


class Folded(msgspec.Struct, frozen=True):
    """What is there for who wants it: a title that opens."""

    title: str
    body: tuple[Block, ...]


class Bar(msgspec.Struct, frozen=True):
    """A row of a chart. ``parts`` are shares of the chart's width with their tones; ``text`` follows them, ``hint`` says more."""

    label: str
    parts: tuple[tuple[float, str], ...]
    text: str = ""
    hint: str = ""


class Chart(msgspec.Struct, frozen=True):
    """Horizontal bars. ``lines`` are marks across all of them as (share, label, tone), ``legend`` names tones.

    Tones are those of prose, and "c0" to "c7": colours that are told apart by people who see red and green alike.
    """

    title: str
    bars: tuple[Bar, ...]
    lines: tuple[tuple[float, str, str], ...] = ()
    legend: tuple[tuple[str, str], ...] = ()


Block: TypeAlias = Prose | Quote | Code | Point | Step | Choice | Table | Folded | Chart


def plain(block: Choice | Folded | Chart) -> Point | Step | Table:
    """Return a block for where nothing can be pressed, nothing opens and nothing is drawn."""
    if isinstance(block, Choice):
        return Point(f"{block.text} {block.how}", "?")
    if isinstance(block, Folded):
        return Step("*", block.title, body=block.body)
    return Table((block.title, ""), tuple((one.label, one.text) for one in block.bars))


class Section(msgspec.Struct, frozen=True):
    """A titled group of blocks; a ``wide`` one takes the whole width where there is room beside the title. Not all have a title."""

    title: str
    blocks: tuple[Block, ...]
    wide: bool = False


def filled(*sections: Section) -> tuple[Section, ...]:
    """Return the sections that have something to say."""
    return tuple(section for section in sections if section.blocks)


class Document(msgspec.Struct, frozen=True):
    """``badge`` is the verdict ("known 97 %") in its ``tone``, ``title`` says what it is, ``name`` the id, ``subtitle`` a line below.

    ``details`` follow the sections; where something can be opened, they are closed at first.
    """

    badge: str
    title: str
    name: str = ""
    subtitle: str = ""
    tone: str = ""
    sections: tuple[Section, ...] = ()
    language: str = "en"
    details: tuple[Section, ...] = ()


_LITERAL = frozenset({"tone", "mark", "language", "tones", "about", "answers", "fix"})


def transform(node: Any, change: Callable[[str], str]) -> Any:
    """Return the document with ``change`` applied to every text; names, values of facts, tones and marks stay as they are."""
    if isinstance(node, str):
        return change(node)
    if isinstance(node, tuple):
        return tuple(transform(one, change) for one in node)
    if isinstance(node, msgspec.Struct):
        return type(node)(
            *(getattr(node, name) if name in _LITERAL else transform(getattr(node, name), change) for name in node.__struct_fields__)
        )
    return node
