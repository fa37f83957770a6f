"""Documents as one self-contained page: no script, nothing loaded, dark and light."""

from __future__ import annotations

import re
from html import escape
from itertools import groupby

from troubleshoot.telling.document import Block, Chart, Choice, Code, Document, Folded, Point, Prose, Quote, Section, Step, Table, plain
from troubleshoot.telling.layout import visible
from troubleshoot.telling.words import Words

#: The policy: nothing may be loaded or run, even if an escape were ever missed.
_HEAD = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="troubleshoot">
"""
_FRAME_STYLE = """
:root {
  color-scheme:light dark;--bg:#fff;--fg:#1c2024;--dim:#60646c;--line:#e0e2e6;--soft:#f5f6f8;--good:#18794e;--warn:#8f5b00;
  --bad:#c62a2f;--key:#0b68cb;
}
@media (prefers-color-scheme:dark){:root {
  --bg:#111418;--fg:#e8eaed;--dim:#9aa0a8;--line:#2b3036;--soft:#1a1e24;--good:#4cc38a;--warn:#f1a10d;--bad:#ff6369;--key:#52a9ff;
}}
*{box-sizing:border-box}
body {
  margin:0;background:var(--bg);color:var(--fg);
  font:16px/1.55 system-ui,-apple-system,"Segoe UI","Noto Sans","PingFang SC","Microsoft YaHei",sans-serif;
}
main{max-width:56rem;margin:0 auto;padding:1.5rem 1.25rem 3rem}
article+article{margin-top:3rem;border-top:1px solid var(--line);padding-top:1.5rem}
"""
#: What is within an article.
ARTICLE_STYLE = """h1{font-size:1.35rem;line-height:1.3;margin:.35rem 0}
h2{font-size:.95rem;color:var(--key);margin:0}
section{display:grid;grid-template-columns:6.5rem minmax(0,1fr);gap:.25rem 1rem;border-top:1px solid var(--line);padding:.9rem 0}
@media (max-width:40rem){section{grid-template-columns:minmax(0,1fr)}}
.badge{display:inline-block;font-weight:600;border:1px solid currentColor;border-radius:1rem;padding:.05rem .7rem;font-size:.9rem}
.sub{color:var(--dim);margin:0 0 1rem;font-size:.9rem;overflow-wrap:anywhere}
p{margin:0 0 .5rem}
pre {
  background:var(--soft);border:1px solid var(--line);border-radius:6px;padding:.6rem .8rem;overflow-x:auto;margin:.35rem 0 .6rem;
  font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
}
code{font:.9em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--soft);border-radius:4px;padding:.05em .3em}
pre code{background:none;padding:0;font:inherit}
pre b{font-weight:700}
.n{color:var(--dim);user-select:none}
ul{margin:0 0 .5rem;padding-left:1.2rem}
ol{margin:0;padding-left:1.4rem}
li{margin:0 0 .5rem;overflow-wrap:anywhere}
.plus{list-style-type:"+ "}
.minus{list-style-type:"− "}
.ask{list-style-type:"? "}
.none{list-style:none;margin-left:-1.2rem}
.plus::marker{color:var(--good)}
.minus::marker{color:var(--bad)}
.ask::marker{color:var(--warn)}
.tag{font-size:.8rem;border-radius:4px;padding:.05rem .4rem;border:1px solid var(--line);white-space:nowrap}
.good{color:var(--good)}
.warn{color:var(--warn)}
.bad{color:var(--bad)}
.dim{color:var(--dim)}
table{border-collapse:collapse;font-size:.9rem;margin:.2rem 0 .6rem}
th,td{text-align:left;padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--line)}
th{color:var(--dim);font-weight:600}
.wide{overflow-x:auto}
"""
#: What only pages with charts and folded parts need. The colours are Okabe and Ito's: https://jfly.uni-koeln.de/color/
MORE_STYLE = """.whole{display:block}
.whole h2{margin-bottom:.5rem}
.wide td{vertical-align:top;overflow-wrap:anywhere}
summary{cursor:pointer;color:var(--dim);margin:0 0 .4rem}
svg{width:100%;height:auto;margin:.2rem 0 .8rem}
svg text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:currentColor}
svg .end{text-anchor:end}
svg .middle{text-anchor:middle}
svg rect{fill:currentColor}
svg line{stroke:currentColor;stroke-dasharray:4 3}
svg line.dim{stroke:var(--line);stroke-dasharray:none}
.c0{color:#0072b2}
.c1{color:#e69f00}
.c2{color:#009e73}
.c3{color:#d55e00}
.c4{color:#56b4e9}
.c5{color:#cc79a7}
.c6{color:#f0e442}
.c7{color:#999}
@media (prefers-color-scheme:dark){.c0{color:#3d9fe0}}
"""
#: The geometry of charts, in units of the drawing.
_WIDTH, _LABELS, _VALUES, _ROW, _AXES = 850, 280, 90, 22, 34
_LONGEST_LABEL = 38
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_URL = re.compile(r"https?://[^\s<>\"'`）)]+")
_POINTS = {"+": "plus", "-": "minus", "?": "ask", "*": ""}


def to_html(pages: tuple[Document, ...]) -> str:
    """Return the documents as a page; every text is escaped."""
    language = "zh-CN" if pages and pages[0].language == "zh" else "en"
    title = escape(visible(pages[0].title)) if pages else "troubleshoot"
    body = "\n".join(to_article(page) for page in pages)
    more = MORE_STYLE if any(f"<{tag}" in body for tag in ("svg", "details", 'section class="whole"')) else ""
    head = f"{_HEAD.format(language=language)}<title>{title}</title>\n<style>{_FRAME_STYLE}{ARTICLE_STYLE}{more}</style>\n</head>"
    return f"{head}\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"


def to_article(page: Document) -> str:
    """Return one document as an ``<article>``, for a page that brings its own head and style; every text is escaped."""
    return Writer().article(page)


class Writer:
    """Writes documents as markup; a page with scripts has one of its own (``live_html``)."""

    #: Whether something can be pressed.
    live = False

    def article(self, page: Document) -> str:
        """Return a document."""
        out = ["<article>"]
        if page.badge:
            out.append(f'<span class="badge {page.tone}">{prose(page.badge)}</span>')
        out.append(self.title(page.title))
        named = (f"<code>{literal(page.name)}</code>" if page.name else "", prose(page.subtitle) if page.subtitle else "")
        if any(named):
            out.append(f'<p class="sub">{" · ".join(filter(None, named))}</p>')
        out += map(self.section, page.sections)
        if page.details:
            words = Words(page.language)
            out.append(f"<details><summary>{words('details')}</summary>{''.join(map(self.section, page.details))}</details>")
        return "\n".join([*out, "</article>"])

    def title(self, text: str) -> str:
        """Return the heading of a document."""
        return f"<h1>{prose(text)}</h1>"

    def section(self, section: Section) -> str:
        """Return a section of a document."""
        kind = ' class="whole"' if section.wide else ""
        title = f"<h2>{prose(section.title)}</h2>" if section.title else ""
        return f"<section{kind}>{title}<div>{self.blocks(section.blocks)}</div></section>"

    def blocks(self, blocks: tuple[Block, ...]) -> str:
        """Return blocks; neighbours that are items make a list."""
        out = []
        shown = (block if self.live or not isinstance(block, Choice) else plain(block) for block in blocks)
        for kind, group in groupby(shown, _list_of):
            inner = "".join(map(self.block, group))
            out.append(f"<{kind}>{inner}</{kind}>" if kind else inner)
        return "".join(out)

    def block(self, block: Block) -> str:
        """Return one block."""
        if isinstance(block, Prose):
            lead = f"<b>{prose(block.lead)}</b> " if block.lead else ""
            tone = f' class="{block.tone}"' if block.tone else ""
            return "".join(f"<p{tone}>{lead if at == 0 else ''}{prose(part)}</p>" for at, part in enumerate(block.text.split("\n")))
        if isinstance(block, Quote):
            return self.quote(block)
        if isinstance(block, Code):
            return self.code(block)
        if isinstance(block, Point):
            kind = _POINTS.get(block.mark, "")
            return f'<li class="{kind}">{self.point(block)}</li>' if kind else f"<li>{self.point(block)}</li>"
        if isinstance(block, Step):
            return self.step(block)
        if isinstance(block, Choice):
            return self.choice(block)
        if isinstance(block, Folded):
            return f"<details><summary>{prose(block.title)}</summary>{self.blocks(block.body)}</details>"
        return _chart(block) if isinstance(block, Chart) else _table(block)

    def quote(self, quote: Quote) -> str:
        """Return lines of the report."""
        return "<pre>" + "\n".join(f'<span class="n">{number} | </span>{text}' for _, number, text in numbered(quote)) + "</pre>"

    def code(self, code: Code) -> str:
        """Return a command or code."""
        return f"<pre><code>{literal(code.text.rstrip(chr(10)))}</code></pre>"

    def point(self, point: Point) -> str:
        """Return what stands in the item of a list."""
        return prose(point.text)

    def step(self, step: Step) -> str:
        """Return a fix."""
        tag = f' <span class="tag {step.tone}">{prose(step.tag)}</span>' if step.tag else ""
        kind = ' class="minus"' if not step.mark.isdigit() else ""
        return f"<li{kind}><b>{prose(step.title)}</b>{tag}<div>{self.blocks(step.body)}</div></li>"

    def choice(self, choice: Choice) -> str:
        """Return a question that can be answered."""
        raise NotImplementedError


def _list_of(block: Block) -> str:
    """Return the list in which a block is an item, "" where it is none."""
    if isinstance(block, Step) and block.mark.isdigit():
        return "ol"
    return "ul" if isinstance(block, Point | Step) else ""


def numbered(quote: Quote) -> list[tuple[int | None, str, str]]:
    """Return the lines of a quotation, each with its number, the number as it is shown, and its markup."""
    width = max((len(str(number)) for number, _, _ in quote.lines if number is not None), default=0)
    lines = ((number, literal(text), main) for number, text, main in quote.lines)
    return [
        (number, f"{number if number is not None else '':>{width}}", f"<b>{text}</b>" if main else text) for number, text, main in lines
    ]


def literal(text: str) -> str:
    """Return text that stays as it is, escaped."""
    return escape("\n".join(map(visible, text.split("\n"))))


def _table(table: Table) -> str:
    tones = dict(table.tones)
    head = "".join(f"<th>{prose(cell)}</th>" for cell in table.head)
    rows = "".join(
        "<tr>" + "".join(f'<td class="{tones.get(cell, "")}">{prose(cell)}</td>' for cell in row) + "</tr>" for row in table.rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _chart(chart: Chart) -> str:
    """Draw bars beside their labels, the lines with theirs above: the ends of axes below, limits on top."""
    scale = _WIDTH - _LABELS - _VALUES
    top = _AXES if chart.lines else 2
    bottom = top + _ROW * len(chart.bars)
    height = bottom + _ROW * len(chart.legend)
    out = [f'<svg role="img" aria-label="{escape(visible(chart.title))}" viewBox="0 0 {_WIDTH} {height}">']
    for share, label, tone in chart.lines:
        x = _LABELS + scale * share
        out.append(f'<line class="{tone}" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 4}" y2="{bottom}"/>')
        out.append(f'<text class="middle {tone}" x="{x:.1f}" y="{26 if tone == "dim" else 12}">{escape(visible(label))}</text>')
    for row, bar in enumerate(chart.bars):
        y, x = top + _ROW * row, float(_LABELS)
        label = visible(bar.label)
        label = label if len(label) <= _LONGEST_LABEL else "…" + label[1 - _LONGEST_LABEL :]
        hint = f"<title>{escape(visible(bar.hint))}</title>" if bar.hint else ""
        out.append(f'<g>{hint}<text class="end" x="{_LABELS - 8}" y="{y + 15}">{escape(label)}</text>')
        for share, tone in bar.parts:
            wide = max(scale * share, 1.0)
            out.append(f'<rect class="{tone}" x="{x:.1f}" y="{y + 3}" width="{wide:.1f}" height="{_ROW - 6}"/>')
            x += wide
        out.append(f'<text x="{x + 6:.1f}" y="{y + 15}">{escape(visible(bar.text))}</text></g>')
    for row, (name, tone) in enumerate(chart.legend, len(chart.bars)):
        y = top + _ROW * row
        out.append(f'<rect class="{tone}" x="{_LABELS}" y="{y + 4}" width="14" height="14"/>')
        out.append(f'<text x="{_LABELS + 22}" y="{y + 15}">{escape(visible(name))}</text>')
    return "".join([*out, "</svg>"])


def prose(text: str) -> str:
    """Return escaped prose with back-quoted code and http links marked up."""
    text = visible(text)
    out, at = [], 0
    for match in _SPAN.finditer(text):
        out += [_linked(text[at : match.start()]), f"<code>{escape(match[1])}</code>"]
        at = match.end()
    return "".join([*out, _linked(text[at:])])


def _linked(text: str) -> str:
    out, at = [], 0
    for match in _URL.finditer(text):
        url = match[0].rstrip(".,;:!?。，；")
        out += [escape(text[at : match.start()]), f'<a href="{escape(url)}" rel="nofollow noreferrer">{escape(url)}</a>']
        at = match.start() + len(url)
    return "".join([*out, escape(text[at:])])
