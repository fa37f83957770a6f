"""What the dtypes can hold: steps between neighbouring values, ends of ranges, and the integers up to which nothing is lost. No torch.

``tf32`` is no dtype of a tensor: it is how matrix units read float32, with the significant bits of float16 and the range of float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: significant bits (the leading one included), exponent of the smallest normal, largest value."""

    bits: int
    exponent: int
    largest: float

    @property
    def smallest(self) -> float:
        """The smallest value above zero."""
        return math.ldexp(1.0, self.exponent - self.bits + 1)

    @property
    def smallest_normal(self) -> float:
        """The smallest value with all significant bits."""
        return math.ldexp(1.0, self.exponent)

    @property
    def epsilon(self) -> float:
        """The step between 1 and the next value."""
        return math.ldexp(1.0, 1 - self.bits)

    @property
    def whole(self) -> int:
        """The last integer up to which all integers are exact."""
        return 1 << self.bits


#: The float formats, from the finest to the coarsest.
FORMATS: dict[str, Format] = {
    "float64": Format(53, -1022, math.ldexp(2 - 2**-52, 1023)),
    "float32": Format(24, -126, math.ldexp(2 - 2**-23, 127)),
    "tf32": Format(11, -126, math.ldexp(2 - 2**-10, 127)),
    "float16": Format(11, -14, 65504.0),
    "bfloat16": Format(8, -126, math.ldexp(2 - 2**-7, 127)),
    "float8_e4m3fn": Format(4, -6, 448.0),
    "float8_e4m3fnuz": Format(4, -7, 240.0),
    "float8_e5m2": Format(3, -14, 57344.0),
    "float8_e5m2fnuz": Format(3, -15, 57344.0),
    "float4_e2m1fn_x2": Format(2, 0, 6.0),
}

#: The largest value of the integer dtypes.
LARGEST_INTEGER: dict[str, int] = {
    "int64": 2**63 - 1, "int32": 2**31 - 1, "int16": 2**15 - 1, "int8": 127,
    "uint64": 2**64 - 1, "uint32": 2**32 - 1, "uint16": 2**16 - 1, "uint8": 255,
}  # fmt: skip


def spacing(dtype: str, value: float) -> float:
    """Return the step between the values of ``dtype`` around ``value``.

    >>> spacing("bfloat16", 515), spacing("float16", 2049), spacing("float8_e4m3fn", 0.3)
    (4.0, 2.0, 0.03125)
    """
    held = FORMATS[dtype]
    exponent = max(math.frexp(abs(value))[1] - 1, held.exponent) if value else held.exponent
    return math.ldexp(1.0, exponent - held.bits + 1)


def nearest(dtype: str, value: float) -> float:
    """Return the value that a cast to ``dtype`` gives, ties to even; infinity past the end of the range.

    >>> nearest("bfloat16", 515), nearest("float16", 65519), nearest("float16", 65520), nearest("float8_e4m3fn", 0.3)
    (516.0, 65504.0, inf, 0.3125)
    """
    if not math.isfinite(value):
        return value
    step = spacing(dtype, value)
    rounded = round(value / step) * step
    return math.copysign(math.inf, value) if abs(rounded) > FORMATS[dtype].largest else rounded


def steps(dtype: str, difference: float, magnitude: float) -> float:
    """Return a difference as a count of the steps that ``dtype`` has at a magnitude."""
    return abs(difference) / spacing(dtype, magnitude)
