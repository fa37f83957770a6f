"""The report of a watch for the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from troubleshoot.lab.watching.observations import Event, Proposal, Range
from troubleshoot.telling.layout import aligned

if TYPE_CHECKING:
    from troubleshoot.lab.watching.session import Watch

#: Ranges that are listed; the others are counted.
_MOST = 15
_MOST_BAD = 5


def render_text(watch: Watch) -> str:
    """Return what went wrong first, the modules with the least headroom, underflow, and what to do."""
    event = watch.first_event
    steps = watch.steps
    lines = [verdict(event, steps, watch.dtype)]
    vanished = watch.vanished()
    if event is None and vanished is not None:
        lines.append(f"The output is zero everywhere in float16, from {vanished.module or 'the model itself'} ({vanished.cls}) on.")
    if watch.error:
        lines.append(watch.error)
    ranges = watch.ranges
    lines += ["", *_table(ranges)]
    lines += _underflow(ranges)
    proposal = watch.propose()
    if proposal.modules:
        lines += ["", *proposal_lines(proposal)]
    if watch.scales.points:
        lines += ["", watch.scales.describe()]
    if event is not None or vanished is not None:
        lines += ["", "watch.diagnose() looks it up in the knowledge base."]
    return "\n".join(lines) + "\n"


def verdict(event: Event | None, steps: int, dtype: str) -> str:
    """Say in one sentence what was seen first."""
    if not steps:
        return "Nothing ran while it was watched."
    seen = f"{steps} step{'s' if steps != 1 else ''}"
    if event is None:
        return f"Everything stayed finite in {seen} ({dtype})."
    name = event.module or "the model itself"
    cls = f" ({event.cls})" if event.cls else ""
    if event.kind == "underflow":
        what = f"{event.direction} values at {name}{cls} underflow {event.dtype}"
        return f"Everything stayed finite in {seen}; {what}: {event.value:.0%} are subnormal."
    word = "NaN" if event.kind == "nan" else "overflow"
    what = "gradient" if event.direction == "backward" else "value"
    before = f", in its own code before {event.before} reads it" if event.before else ""
    return f"First {word}: {name}{cls}, a {what} in {event.dtype}, step {event.step} of {seen}{before}."


def proposal_lines(proposal: Proposal) -> list[str]:
    """Return the proposal as lines."""
    state = {None: "not tried; watch.verify() does", True: f"tried: all finite ({proposal.runs} runs)", False: f"tried: {proposal.error}"}
    lines = [f"Keep in float32 ({state[proposal.verified]}):"]
    lines += [f"  {name or '(the whole model)'}" for name in proposal.modules]
    return [*lines, f"  {proposal.code}"]


def ordered(ranges: tuple[Range, ...]) -> list[Range]:
    """Return the ranges with the least headroom in their own dtype first, faults before all."""

    def key(one: Range) -> float:
        headroom = one.headroom()
        return 0.0 if one.bad or math.isnan(headroom) else headroom

    return sorted(ranges, key=key)


def _table(ranges: tuple[Range, ...]) -> list[str]:
    bad = [one for one in ranges if one.bad]
    finite = ordered(tuple(one for one in ranges if not one.bad))
    rows = [("largest", "dtype", "headroom", "float16", "way", "module")]
    for one in bad[:_MOST_BAD] + finite[:_MOST]:
        largest = "" if math.isnan(one.largest) else f"{one.largest:.4g}"
        room = one.bad or _times(one.headroom())
        rows.append((largest, one.dtype, room, _times(one.headroom("float16")), one.direction, f"{one.module or '(model)'} {one.cls}"))
    lines = ["  ".join(row).rstrip() for row in aligned(rows)]
    if len(bad) > _MOST_BAD:
        lines.insert(1 + _MOST_BAD, f"... and {len(bad) - _MOST_BAD} more that were not finite, behind those")
    if len(finite) > _MOST:
        lines.append(f"... and {len(finite) - _MOST} more with more headroom")
    return lines


def _times(headroom: float) -> str:
    return "?" if math.isnan(headroom) else "over" if headroom < 1 else f"{headroom:.3g}x"


def _underflow(ranges: tuple[Range, ...]) -> list[str]:
    """Name where float16 loses small values, or would."""
    losing = [one for one in ranges if one.dtype == "float16" and one.subnormal > 0.1]
    would = [one for one in ranges if one.dtype != "float16" and one.lost > 0.1]
    lines = []
    for text, found in (("below float16's smallest normal number", losing), ("would be zero in float16", would)):
        if found:
            worst = max(found, key=lambda one: max(one.subnormal, one.lost))
            share = worst.subnormal if worst.dtype == "float16" else worst.lost
            place = f"{worst.module or '(model)'}, {worst.direction} ({share:.0%})"
            lines.append(f"Underflow: {len(found)} ranges with more than 10% {text}, most at {place}.")
    return ["", *lines] if lines else []
