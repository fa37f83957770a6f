"""Documents as Markdown that can be pasted into an issue: what is quoted stays literal, whatever it contains."""

from __future__ import annotations

import re

from troubleshoot.telling.document import Block, Chart, Choice, Code, Document, Folded, Point, Prose, Quote, Step, Table, plain
from troubleshoot.telling.layout import visible

_SPAN = re.compile(r"(?<!`)`[^`\n]+`(?!`)")
_SPECIAL = re.compile(r"([\\*_\[\]<>|~`])")
_MARKS = {"+": "✓", "-": "✗", "?": "?", "x": "✗"}


def to_markdown(pages: tuple[Document, ...]) -> str:
    """Return the documents as GitHub-flavoured Markdown."""
    return "\n---\n\n".join(_document(page) for page in pages)


def _document(page: Document) -> str:
    badge = f"**{escape(page.badge)}** · " if page.badge else ""
    parts = [f"## {badge}{escape(page.title)}"]
    below = " · ".join(part for part in (f"`{page.name}`" if page.name else "", escape(page.subtitle) if page.subtitle else "") if part)
    if below:
        parts.append(below)
    for section in (*page.sections, *page.details):
        if section.title:
            parts.append(f"### {escape(section.title)}")
        parts += _blocks(section.blocks)
    return "\n\n".join(parts) + "\n"


def _blocks(blocks: tuple[Block, ...]) -> list[str]:
    out: list[str] = []
    points: list[str] = []
    for one in blocks:
        block = plain(one) if isinstance(one, Choice | Folded | Chart) else one
        if isinstance(block, Point):
            mark = _MARKS.get(block.mark)
            points.append(f"- {mark + ' ' if mark else ''}{escape(block.text)}")
            continue
        if points:
            out.append("\n".join(points))
            points = []
        out.append(_block(block))
    if points:
        out.append("\n".join(points))
    return out


def _block(block: Prose | Quote | Code | Step | Table) -> str:
    if isinstance(block, Prose):
        text = escape(block.text).replace("\n", "\n\n")
        lead = block.lead.rstrip(":：")
        return f"**{escape(lead)}:** {text}" if lead else text
    if isinstance(block, Quote):
        numbers = max((len(str(number)) for number, _, _ in block.lines if number is not None), default=0)
        return fence(
            "\n".join(f"{number if number is not None else '':>{numbers}} | {visible(text)}" for number, text, _ in block.lines), "text"
        )
    if isinstance(block, Code):
        return fence("\n".join(visible(line) for line in block.text.rstrip("\n").split("\n")), block.language)
    if isinstance(block, Table):
        rows = ["| " + " | ".join(escape(cell) or " " for cell in row) + " |" for row in (block.head, *block.rows)]
        return "\n".join([rows[0], "|" + "---|" * len(block.head), *rows[1:]])
    return _step(block)


def _step(step: Step) -> str:
    lead = f"{step.mark}." if step.mark.isdigit() else "-"
    tag = f" _{escape(step.tag)}_" if step.tag else ""
    title = f"{lead} **{escape(step.title)}**{tag}"
    indent = " " * (len(lead) + 1)
    body = ["\n".join(indent + line if line else "" for line in text.split("\n")) for text in _blocks(step.body)]
    return "\n\n".join([title, *body])


def fence(text: str, language: str = "") -> str:
    """Return the text in a fence that is longer than any run of back-quotes in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def escape(text: str) -> str:
    """Return prose with Markdown's characters escaped outside back-quoted code; names and numbers do not become mentions."""
    text = visible(text)
    out, at = [], 0
    for match in _SPAN.finditer(text):
        out += [_plain(text[at : match.start()]), match[0]]
        at = match.end()
    out.append(_plain(text[at:]))
    return "".join(out)


def _plain(text: str) -> str:
    # A URL stays whole: GitHub links it by itself.
    parts = re.split(r"(https?://[^\s<>\"'`）)]+)", text)
    return "".join(part if index % 2 else _escape_words(part) for index, part in enumerate(parts))


def _escape_words(text: str) -> str:
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    text = _SPECIAL.sub(r"\\\1", text)
    # At the start of a line: a list, a heading, the underline of one. A number is no list once its full stop is escaped.
    text = re.sub(r"(?m)^(\s*\d+)([.)])(?=\s|$)", r"\1\\\2", text)
    text = re.sub(r"(?m)^(\s*)([-+](?=\s|$)|-(?=[-\s]*$)|=(?==*\s*$)|#(?=#*(?:\s|$)))", r"\1\\\2", text)
    # "@name" and "#12" would notify people and link issues: an empty comment keeps the letters and breaks the mention.
    return re.sub(r"([@#])(?=\w)", r"\1<!-- -->", text)
