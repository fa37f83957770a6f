"""Documents as terminal text: a column of labels, and beside it what they say. Commands are never wrapped, so that they can be copied."""

from __future__ import annotations

from troubleshoot.telling.document import Block, Chart, Choice, Code, Document, Folded, Point, Prose, Quote, Section, Step, Table, plain
from troubleshoot.telling.layout import aligned, clip, columns, pad, paint, shorter_path, visible, wrap

_MARKS = {"+": ("+", "good"), "-": ("-", "bad"), "?": ("?", "warn"), "*": ("-", "dim"), "x": ("x", "bad")}
_MIN, _MAX = 40, 100


def to_text(pages: tuple[Document, ...], *, color: bool = False, width: int = 80) -> str:
    """Return the documents for a terminal of ``width`` columns (taken between 40 and 100), with ANSI colours or without."""
    painter = _Painter(color, max(_MIN, min(_MAX, width)))
    return "\n".join("\n".join(painter.document(page)) + "\n" for page in pages)


class _Painter:
    def __init__(self, color: bool, width: int) -> None:
        self.color = color
        self.width = width

    def paint(self, text: str, style: str) -> str:
        return paint(text, style, self.color)

    def document(self, page: Document) -> list[str]:
        lines = self._head(page)
        label = max((columns(section.title) for section in page.sections), default=0) + 2
        label = min(label, 14)
        for section in page.sections:
            lines.append("")
            lines += self._section(section, label)
        return lines

    def _head(self, page: Document) -> list[str]:
        badge, title, name = visible(page.badge), visible(page.title), visible(page.name)
        if not page.sections and not name:
            return [f"{self.paint(badge, page.tone or 'bold')}  {title}"]
        indent = columns(badge) + 2 if badge else 0
        if indent > 24:
            indent = 2
            lines = [self.paint(badge, page.tone or "bold")]
            lines += [" " * indent + self.paint(part, "bold") for part in wrap(title, self.width - indent)]
        else:
            parts = wrap(title, self.width - indent)
            lead = self.paint(pad(badge, indent), page.tone or "bold") if badge else ""
            lines = [lead + self.paint(parts[0], "bold")] + [" " * indent + self.paint(part, "bold") for part in parts[1:]]
        below = [part for part in (name, *visible(page.subtitle).split(" · ")) if part]
        while below:
            # What does not fit goes to the next line as a whole.
            line = below.pop(0)
            while below and columns(f"{line} · {below[0]}") <= self.width - indent:
                line = f"{line} · {below.pop(0)}"
            lines += [" " * indent + self.paint(part, "dim") for part in wrap(line, self.width - indent)]
        return lines

    def _section(self, section: Section, label: int) -> list[str]:
        title = visible(section.title)
        body: list[str] = []
        for block in section.blocks:
            body += self._block(block, self.width - label)
        if columns(title) + 2 > label:
            return [self.paint(title, "key"), *(" " * label + line if line else "" for line in body)]
        first = self.paint(pad(title, label), "key") + (body[0] if body else "")
        return [first, *(" " * label + line if line else "" for line in body[1:])]

    def _block(self, block: Block, width: int) -> list[str]:
        if isinstance(block, Prose):
            return self._prose(block, width)
        if isinstance(block, Quote):
            return self._quote(block, width)
        if isinstance(block, Code):
            return ["  " + self.paint(visible(line), "code") if line.strip() else "" for line in block.text.rstrip("\n").split("\n")]
        if isinstance(block, Point):
            mark, tone = _MARKS.get(block.mark, (block.mark, ""))
            return self._hanging(self.paint(mark, tone) + " ", 2, visible(block.text), width)
        if isinstance(block, Step):
            return self._step(block, width)
        if isinstance(block, Choice | Folded | Chart):
            return self._block(plain(block), width)
        return self._table(block)

    def _prose(self, block: Prose, width: int) -> list[str]:
        lines: list[str] = []
        for paragraph in visible(block.text).split("\n"):
            lead = f"{visible(block.lead)}  " if block.lead and not lines else ""
            parts = wrap(paragraph, width, width - columns(lead))
            first, *rest = [self.paint(part, block.tone) for part in parts]
            lines += [(self.paint(lead, "bold") + first).rstrip(), *rest]
        return lines

    def _quote(self, block: Quote, width: int) -> list[str]:
        numbers = max((len(str(number)) for number, _, _ in block.lines if number is not None), default=0)
        margin = min((len(text) - len(text.lstrip()) for _, text, _ in block.lines), default=0)
        out = []
        for number, text, main in block.lines:
            gutter = f"{number if number is not None else '':>{numbers}} | " if numbers else "| "
            shown = visible(text)[margin:]
            # The line that matters is quoted whole; of frames around it, the end of the path and the function say most.
            parts = (
                wrap(shown.strip(), width - len(gutter)) if main else [clip(shorter_path(shown, width - len(gutter)), width - len(gutter))]
            )
            for at, part in enumerate(parts[:6]):
                lead = gutter if at == 0 else " " * (len(gutter) - 2) + "| "
                out.append(self.paint(lead, "dim") + self.paint(part, "bold" if main else ""))
        return out

    def _step(self, step: Step, width: int) -> list[str]:
        mark, tone = _MARKS.get(step.mark, (step.mark, "bold"))
        indent = columns(mark) + 1
        title = visible(step.title)
        tag = f"  [{visible(step.tag)}]" if step.tag else ""
        lines = wrap(title, width - indent)
        if columns(lines[-1]) + columns(tag) <= width - indent:
            tail = [self.paint(lines[-1], "bold") + self.paint(tag, step.tone or "dim")]
        else:
            tail = [self.paint(lines[-1], "bold"), self.paint(tag.strip(), step.tone or "dim")]
        head = [self.paint(part, "bold") for part in lines[:-1]] + tail
        out = [self.paint(mark, tone) + " " + head[0], *(" " * indent + part for part in head[1:])]
        for block in step.body:
            out += [" " * indent + line if line else "" for line in self._block(block, width - indent)]
        return out

    def _hanging(self, lead: str, indent: int, text: str, width: int) -> list[str]:
        parts = wrap(text, width - indent)
        return [lead + parts[0], *(" " * indent + part for part in parts[1:])]

    def _table(self, table: Table) -> list[str]:
        tones = {visible(cell): tone for cell, tone in table.tones}
        return [
            "  ".join(self.paint(cell, "dim" if index == 0 else tones.get(cell.rstrip(), "")) for cell in row).rstrip()
            for index, row in enumerate(aligned((table.head, *table.rows)))
        ]
