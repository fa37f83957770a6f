"""From measurements to ranges and events: what is an overflow, what a mask, and which module is to blame."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from troubleshoot.lab.watching.observations import INPUTS, LIMITS, OUTSIDE, UNDERFLOW, Event, Range
from troubleshoot.lab.watching.recorder import Measured, Packet, Seen

#: Constants that stand for minus infinity in masks.
_MASKS = frozenset({-1e4, -1e9, -1e10, -1e12, -1e30, *(-limit for limit, _, _ in LIMITS.values())})

#: First events of steps that are kept.
_MOST_EVENTS = 1000


@dataclass
class _Summary:
    """One module in one direction and dtype, added up."""

    low: float = math.inf
    high: float = -math.inf
    calls: int = 0
    #: how many tensors were sampled for the shares below
    tensors: int = 0
    zeros: float = 0.0
    subnormal: float = 0.0
    lost: float = 0.0
    bad: str = ""
    masked: bool = False


@dataclass
class Analysis:
    """Adds packets up. ``classes`` maps a module's name to its class."""

    classes: dict[str, str]
    events: list[Event] = field(default_factory=list)
    scales: list[tuple[int, float]] = field(default_factory=list)
    steps: int = 0
    bad_steps: int = 0
    _ranges: dict[tuple[str, str, str], _Summary] = field(default_factory=dict)
    _suspects: list[Seen] = field(default_factory=list)
    _step: int = -1
    _step_is_bad: bool = False
    _nonfinite: set[int] = field(default_factory=set)

    def add(self, packet: Packet) -> bool:
        """Add a packet; return whether it holds the first fault of its step."""
        if packet.step != self._step:
            self._step, self._step_is_bad = packet.step, False
            self.steps += 1
            self._suspects.clear()
        if packet.scale is not None:
            if self.scales and self.scales[-1][0] == packet.step:
                self.scales.pop()
            self.scales.append((packet.step, packet.scale))
        was_bad = self._step_is_bad
        for one in packet.order:
            self._one(one, packet.step)
        return self._step_is_bad and not was_bad

    def _one(self, one: Measured, step: int) -> None:
        module = blamed(one)[0]
        summary = self._ranges.setdefault((module, one.direction, one.dtype), _Summary())
        summary.tensors += one.sampled
        summary.zeros += one.zeros
        summary.subnormal += one.subnormal
        summary.lost += one.lost
        kind = kind_of(one)
        low = one.low
        if kind == "mask" or (low in _MASKS and not one.seen.own_arithmetic and one.direction == "forward"):
            summary.masked = True
            if math.isinf(low):
                self._suspects.append(one.seen)
            low, kind = min(one.high, 0.0), ""
            if math.isinf(low):
                return
        if kind:
            summary.bad = summary.bad or kind
            self._fault(one, kind, step)
            return
        summary.calls += 1
        summary.low, summary.high = min(summary.low, low), max(summary.high, one.high)

    def _fault(self, one: Measured, kind: str, step: int) -> None:
        if self._step_is_bad:
            return
        self._step_is_bad = True
        self.bad_steps += 1
        module, before = blamed(one)
        value = math.nan if kind == "nan" else one.low if math.isinf(one.low) else one.high
        if kind == "nan" and one.direction == "forward" and one.seen.made is not None:
            source = self._suspect_read_by(one.seen.made)
            if source is not None:
                module, before = source.made or source.parent or INPUTS, one.seen.made
                kind, value = "overflow", -math.inf
        if len(self.events) < _MOST_EVENTS:
            self.events.append(Event(module, self.classes.get(module, ""), kind, one.dtype, value, step, one.direction, before))

    def _suspect_read_by(self, module: str) -> Seen | None:
        """What was taken for a mask because it holds -inf only, and turned into NaN in a module that is no softmax, was an overflow."""
        cls = self.classes.get(module, "").lower()
        if "softmax" in cls or "attention" in cls:
            return None
        for seen in self._suspects:
            if module in seen.readers:
                return seen
        return None

    @property
    def first(self) -> Event | None:
        """The first overflow or NaN; else the first module whose values lose their digits to underflow; else None."""
        if self.events:
            return self.events[0]
        for (module, direction, dtype), one in self._ranges.items():
            alive = one.tensors - one.zeros
            if dtype == "float16" and alive > 0 and one.subnormal / alive > UNDERFLOW:
                share = one.subnormal / one.tensors
                return Event(module, self.classes.get(module, ""), "underflow", dtype, share, 0, direction)
        return None

    def ranges(self) -> tuple[Range, ...]:
        """The range of every module, in the order in which they were first seen."""
        return tuple(
            Range(
                module, self.classes.get(module, ""), direction, dtype, one.calls,
                one.low if one.calls else math.nan, one.high if one.calls else math.nan,
                one.zeros / (one.tensors or 1), one.subnormal / (one.tensors or 1), one.lost / (one.tensors or 1), one.bad, one.masked,
            )
            for (module, direction, dtype), one in self._ranges.items()
        )  # fmt: skip


def kind_of(one: Measured) -> str:
    """Return nan, overflow, mask (only minus infinity, and not from a layer's own arithmetic) or "" for finite values."""
    if math.isnan(one.low):
        return "nan"
    if one.high == math.inf:
        return "overflow"
    if one.low == -math.inf:
        return "overflow" if one.seen.own_arithmetic or one.direction == "backward" else "mask"
    return ""


def blamed(one: Measured) -> tuple[str, str | None]:
    """Return (module, reader): who made the value, and before which reader where it was code between modules.

    A gradient is made by the backward of what reads the tensor: its innermost reader, else the code behind the module.
    """
    seen = one.seen
    if one.direction == "backward":
        return (seen.readers[-1] if seen.readers else seen.parent or OUTSIDE), None
    if seen.made is not None:
        return seen.made, None
    if seen.parent is None:
        return INPUTS, seen.readers[0] if seen.readers else None
    return seen.parent, seen.readers[0] if seen.readers else None
