"""The report of a watch as one HTML page: a chart of every range against the limits of float16 and bfloat16."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from troubleshoot.lab.watching.observations import LIMITS, Range
from troubleshoot.lab.watching.watch_text import ordered, proposal_lines, verdict
from troubleshoot.telling import render_documents
from troubleshoot.telling.document import Bar, Chart, Code, Document, Prose, Section, filled

if TYPE_CHECKING:
    from troubleshoot.lab.watching.session import Watch

#: The chart's axis: decimal exponents. float32 ends at 38.5, float16's smallest subnormal number is 6e-8.
_LOW, _HIGH = -10, 40
#: Rows of the chart; the least headroom is kept.
_MOST = 400


def render_html(watch: Watch) -> str:
    """Return the page."""
    ranges = watch.ranges
    shown = _kept(ranges)
    proposal = watch.propose()
    fewer = (Prose(f"{len(shown)} of {len(ranges)} ranges: those with the least headroom."),) if len(shown) < len(ranges) else ()
    sections = filled(
        Section("Error", (Prose(watch.error, "warn"),) if watch.error else ()),
        Section("Do", (Code("\n".join(proposal_lines(proposal))),) if proposal.modules else ()),
        Section("Loss scale", (Prose(watch.scales.describe()),) if watch.scales.points else ()),
        Section("The largest magnitude of every module", (*fewer, _chart(shown)), wide=True),
    )
    title = verdict(watch.first_event, watch.steps, watch.dtype)
    return render_documents((Document("", title, sections=sections),), "html")


def _kept(ranges: tuple[Range, ...]) -> list[Range]:
    """In the order in which they ran; of very many, those with the least headroom."""
    if len(ranges) <= _MOST:
        return list(ranges)
    chosen = {id(one) for one in ordered(ranges)[:_MOST]}
    return [one for one in ranges if id(one) in chosen]


def _share(value: float) -> float:
    exponent = math.log10(value) if value > 0 else _LOW
    return (min(max(exponent, _LOW), _HIGH) - _LOW) / (_HIGH - _LOW)


def _chart(ranges: list[Range]) -> Chart:
    axis = tuple((_share(10.0**exponent), f"1e{exponent}", "dim") for exponent in range(_LOW, _HIGH + 1, 10))
    limits = tuple((_share(LIMITS[name][0]), f"{name} {LIMITS[name][0]:.5g}", "bad") for name in ("float16", "bfloat16"))
    legend = (("forward", "c0"), ("backward", "c5"), ("less than 4 times headroom", "warn"), ("not finite", "bad"))
    return Chart("Ranges of the modules", tuple(map(_bar, ranges)), (*axis, *limits), legend)


def _bar(one: Range) -> Bar:
    name = one.module or "(model)"
    finite = not math.isnan(one.largest)
    about = f"{name} {one.cls}, {one.direction}, {one.dtype}: " + (f"largest {one.largest:.4g}" if finite else "never finite")
    tone = "bad" if one.bad else "warn" if one.headroom() < 4 else "c5" if one.direction == "backward" else "c0"
    return Bar(name, ((_share(one.largest) if finite else 1.0, tone),), hint=about + (f", {one.bad}" if one.bad else ""))
