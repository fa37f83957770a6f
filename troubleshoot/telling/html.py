"""Documents as one self-contained page: no script, nothing loaded, dark and light."""

from __future__ import annotations

import re
from html import escape

from troubleshoot.telling.document import Block, Code, Document, Point, Prose, Quote, Step, Table
from troubleshoot.telling.layout import visible

#: The policy: nothing may be loaded or run, even if an escape were ever missed.
_HEAD = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="generator" content="troubleshoot">
"""
_STYLE = """
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
h1{font-size:1.35rem;line-height:1.3;margin:.35rem 0}
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
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_URL = re.compile(r"https?://[^\s<>\"'`）)]+")
_POINTS = {"+": "plus", "-": "minus", "?": "ask", "*": ""}


def to_html(pages: tuple[Document, ...]) -> str:
    """Return the documents as a page; every text is escaped."""
    language = "zh-CN" if pages and pages[0].language == "zh" else "en"
    title = escape(visible(pages[0].title)) if pages else "troubleshoot"
    body = "\n".join(to_article(page) for page in pages)
    head = f"{_HEAD.format(language=language)}<title>{title}</title>\n<style>{_STYLE}</style>\n</head>"
    return f"{head}\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"


def to_article(page: Document) -> str:
    """Return one document as an ``<article>``, for a page that brings its own head and style; every text is escaped."""
    out = ["<article>"]
    if page.badge:
        out.append(f'<span class="badge {page.tone}">{prose(page.badge)}</span>')
    out.append(f"<h1>{prose(page.title)}</h1>")
    below = " · ".join(
        part
        for part in (f"<code>{escape(visible(page.name))}</code>" if page.name else "", prose(page.subtitle) if page.subtitle else "")
        if part
    )
    if below:
        out.append(f'<p class="sub">{below}</p>')
    for section in page.sections:
        out.append(f"<section><h2>{prose(section.title)}</h2><div>{_blocks(section.blocks)}</div></section>")
    return "\n".join([*out, "</article>"])


def _blocks(blocks: tuple[Block, ...]) -> str:
    out: list[str] = []
    group: list[str] = []
    kind = ""
    for block in (*blocks, None):
        wanted = (
            "ul"
            if isinstance(block, Point)
            else "ol"
            if isinstance(block, Step) and block.mark.isdigit()
            else "ul"
            if isinstance(block, Step)
            else ""
        )
        if kind and wanted != kind:
            out.append(f"<{kind}>{''.join(group)}</{kind}>")
            group = []
        kind = wanted
        if block is None:
            break
        (group if wanted else out).append(_block(block))
    return "".join(out)


def _block(block: Block) -> str:
    if isinstance(block, Prose):
        lead = f"<b>{prose(block.lead)}</b> " if block.lead else ""
        tone = f' class="{block.tone}"' if block.tone else ""
        return "".join(f"<p{tone}>{lead if at == 0 else ''}{prose(part)}</p>" for at, part in enumerate(block.text.split("\n")))
    if isinstance(block, Quote):
        numbers = max((len(str(number)) for number, _, _ in block.lines if number is not None), default=0)
        lines = []
        for number, text, main in block.lines:
            quoted = escape(visible(text))
            lines.append(
                f'<span class="n">{number if number is not None else "":>{numbers}} | </span>' + (f"<b>{quoted}</b>" if main else quoted)
            )
        return "<pre>" + "\n".join(lines) + "</pre>"
    if isinstance(block, Code):
        return f"<pre><code>{escape(chr(10).join(visible(line) for line in block.text.rstrip(chr(10)).split(chr(10))))}</code></pre>"
    if isinstance(block, Point):
        kind = _POINTS.get(block.mark, "")
        return f'<li class="{kind}">{prose(block.text)}</li>' if kind else f"<li>{prose(block.text)}</li>"
    if isinstance(block, Step):
        tag = f' <span class="tag {block.tone}">{prose(block.tag)}</span>' if block.tag else ""
        kind = ' class="minus"' if not block.mark.isdigit() else ""
        return f"<li{kind}><b>{prose(block.title)}</b>{tag}<div>{_blocks(block.body)}</div></li>"
    return _table(block)


def _table(table: Table) -> str:
    tones = dict(table.tones)
    head = "".join(f"<th>{prose(cell)}</th>" for cell in table.head)
    rows = "".join(
        "<tr>" + "".join(f'<td class="{tones.get(cell, "")}">{prose(cell)}</td>' for cell in row) + "</tr>" for row in table.rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


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
