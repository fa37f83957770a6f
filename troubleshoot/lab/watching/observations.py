"""What watching a model yields, as frozen dataclasses."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

#: dtype -> (largest value, smallest normal value, smallest subnormal value), from IEEE 754 and torch.finfo.
LIMITS: dict[str, tuple[float, float, float]] = {
    "float16": (65504.0, 2.0**-14, 2.0**-24),
    "bfloat16": (3.3895313892515355e38, 2.0**-126, 2.0**-133),
    "float32": (3.4028234663852886e38, 2.0**-126, 2.0**-149),
    "float64": (1.7976931348623157e308, 2.0**-1022, 2.0**-1074),
}

#: Stands for what no module made: the arguments of the outermost call, or what happens behind the model (the loss).
INPUTS = "(inputs)"
OUTSIDE = "(outside the model)"

#: More than this share of the values other than zero is below the smallest normal number: they are losing their digits.
UNDERFLOW = 0.5


def plain(value: float) -> float | str:
    """Return a number that JSON can hold: ``inf``, ``-inf`` and ``nan`` as texts."""
    return value if math.isfinite(value) else str(value)


@dataclass(frozen=True)
class Event:
    """Something that left a dtype's range: where, in which step and direction, and who is to blame.

    ``module`` made the value; for a value made between modules (an addition, a product) it is the module whose ``forward`` contains
    that code, and ``before`` the module that was about to read it.
    """

    module: str
    cls: str
    kind: str
    dtype: str
    value: float
    step: int
    direction: str = "forward"
    before: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a mapping; ``class`` is spelled out."""
        data = asdict(self)
        data["class"] = data.pop("cls")
        return data


@dataclass(frozen=True)
class Range:
    """The range of what one module returned (forward) or of the gradients of that (backward), over all calls.

    ``low`` and ``high`` are the extremes of the calls without NaN or inf. ``zeros``, ``subnormal`` and ``lost`` are shares of a
    sample: exactly zero; other than zero but below the smallest normal number of the dtype; other than zero but zero if it were float16.
    ``masked``: it holds values that stand for minus infinity on purpose.
    """

    module: str
    cls: str
    direction: str
    dtype: str
    calls: int
    low: float
    high: float
    zeros: float
    subnormal: float
    lost: float
    bad: str = ""
    masked: bool = False

    @property
    def largest(self) -> float:
        """The largest magnitude of the finite calls; NaN where there was none."""
        return max(abs(self.low), abs(self.high)) if self.calls else math.nan

    def headroom(self, dtype: str | None = None) -> float:
        """How many times larger the values could be before they overflow ``dtype`` (default: the dtype they have); NaN where unknown."""
        largest = self.largest
        if math.isnan(largest):
            return math.nan
        return LIMITS[dtype or self.dtype][0] / largest if largest else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Return the range as a mapping of plain values."""
        return {
            "module": self.module,
            "class": self.cls,
            "direction": self.direction,
            "dtype": self.dtype,
            "calls": self.calls,
            "low": plain(self.low),
            "high": plain(self.high),
            "headroom": plain(self.headroom()),
            "zeros": self.zeros,
            "subnormal": self.subnormal,
            "lost_in_float16": self.lost,
            "bad": self.bad or None,
            "masked": self.masked,
        }


@dataclass(frozen=True)
class Proposal:
    """Modules to keep in float32, and why. ``verified`` is None where it was not run, else whether all stayed finite with it.

    ``runs`` counts the runs that the verification took; ``error`` is what was raised, or what is still not finite. ``closed``: what the
    modules return has to be cast back at once, since code behind them refuses float32.
    """

    modules: tuple[str, ...]
    dtype: str
    why: str
    verified: bool | None = None
    runs: int = 0
    error: str | None = None
    closed: bool = False

    @property
    def code(self) -> str:
        """Python that does it to ``model``."""
        if not self.modules:
            return ""
        names = ", ".join(repr(name) for name in self.modules)
        return f"handle = troubleshoot.keep_float32(model, [{names}]{', closed=True' if self.closed else ''})"

    def to_dict(self) -> dict[str, Any]:
        """Return the proposal as a mapping."""
        return {
            "modules": list(self.modules),
            "dtype": self.dtype,
            "why": self.why,
            "verified": self.verified,
            "runs": self.runs,
            "error": self.error,
            "closed": self.closed,
            "code": self.code,
        }
