"""The report of a watch as one HTML page: a chart of every range against the limits of float16 and bfloat16, in SVG, without scripts."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from troubleshoot.lab.watching.observations import LIMITS, Range
from troubleshoot.lab.watching.watch_text import ordered, proposal_lines, verdict

if TYPE_CHECKING:
    from troubleshoot.lab.watching.session import Watch

#: The chart's axis: decimal exponents. float32 ends at 38.5, float16's smallest subnormal number is 6e-8.
_LOW, _HIGH = -10.0, 40.0
_WIDTH, _ROW, _LEFT, _TOP = 900, 18, 330, 34
#: Rows of the chart; the least headroom is kept.
_MOST = 400

_STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#667085;--line:#d7dbe0;
--bar:#4c78a8;--back:#8e6bb0;--bad:#c8362e;--near:#d98e04}
@media(prefers-color-scheme:dark){:root{
--bg:#14171a;--fg:#e6e8ea;--soft:#9aa4af;--line:#343a41;--bar:#6fa3d8;--back:#b392d6;--bad:#ff7b72;--near:#e3b341}}
body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1280px;padding:0 1rem}
h1{font-size:1.25rem}h2{font-size:1rem;margin-top:1.6rem}pre{overflow:auto;border:1px solid var(--line);border-radius:6px;padding:.7rem}
.chart{overflow-x:auto}svg text{fill:var(--fg);font:12px ui-monospace,monospace}
svg .soft{fill:var(--soft)}
.axis{stroke:var(--line)}
.limit{stroke:var(--bad);stroke-dasharray:4 3}.bar{fill:var(--bar)}.back{fill:var(--back)}.near{fill:var(--near)}.bad{fill:var(--bad)}
"""


def render_html(watch: Watch) -> str:
    """Return the page."""
    event = watch.first_event
    ranges = watch.ranges
    shown = _kept(ranges)
    title = verdict(event, watch.steps, watch.dtype)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">""",
        f"<title>troubleshoot watch</title><style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>",
    ]
    if watch.error:
        parts.append(f"<p>{escape(watch.error)}</p>")
    proposal = watch.propose()
    if proposal.modules:
        parts.append("<h2>What to do</h2><pre>" + escape("\n".join(proposal_lines(proposal))) + "</pre>")
    if watch.scales.points:
        parts.append(f"<p>{escape(watch.scales.describe())}</p>")
    parts.append("<h2>The largest magnitude of every module</h2>")
    if len(shown) < len(ranges):
        parts.append(f"<p>{len(shown)} of {len(ranges)} ranges: those with the least headroom.</p>")
    parts.append(f'<div class="chart">{_chart(shown)}</div></body></html>\n')
    return "".join(parts)


def _kept(ranges: tuple[Range, ...]) -> list[Range]:
    """In the order in which they ran; of very many, those with the least headroom."""
    if len(ranges) <= _MOST:
        return list(ranges)
    chosen = {id(one) for one in ordered(ranges)[:_MOST]}
    return [one for one in ranges if id(one) in chosen]


def _x(value: float) -> float:
    exponent = math.log10(value) if value > 0 else _LOW
    return _LEFT + (min(max(exponent, _LOW), _HIGH) - _LOW) / (_HIGH - _LOW) * (_WIDTH - _LEFT - 20)


def _chart(ranges: list[Range]) -> str:
    height = _TOP + _ROW * len(ranges) + 8
    parts = [f'<svg role="img" aria-label="Ranges of the modules" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">']
    for exponent in range(int(_LOW), int(_HIGH) + 1, 10):
        x = _x(10.0**exponent)
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{height}"/>')
        parts.append(f'<text class="soft" x="{x:.1f}" y="{_TOP - 8}" text-anchor="middle">1e{exponent}</text>')
    for row, one in enumerate(ranges):
        parts.append(_row(one, _TOP + _ROW * row))
    for name in ("float16", "bfloat16"):
        x = _x(LIMITS[name][0])
        parts.append(f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{height}"/>')
        parts.append(f'<text x="{x:.1f}" y="12" text-anchor="middle">{name} {LIMITS[name][0]:.5g}</text>')
    return "".join(parts) + "</svg>"


def _row(one: Range, y: int) -> str:
    name = one.module or "(model)"
    label = name if len(name) <= 42 else "…" + name[-41:]
    largest = one.largest
    finite = not math.isnan(largest)
    text = f"{name} {one.cls}, {one.direction}, {one.dtype}: " + (f"largest {largest:.4g}" if finite else "never finite")
    if one.bad:
        text += f", {one.bad}"
    start, end = _x(10.0**_LOW), _x(largest if finite else 10.0**_HIGH)
    kind = "bad" if one.bad else "near" if one.headroom() < 4 else "back" if one.direction == "backward" else "bar"
    return (
        f"<g><title>{escape(text)}</title>"
        f'<text x="{_LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(label)}</text>'
        f'<rect class="{kind}" x="{start:.1f}" y="{y + 3}" width="{max(end - start, 1.0):.1f}" height="{_ROW - 6}" rx="2"/></g>'
    )
