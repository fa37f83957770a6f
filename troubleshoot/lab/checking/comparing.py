"""What a program prints, held against what it prints in float32. Nothing here imports torch."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

#: Relative difference that a dtype explains: the least tolerance of a verification (``verify.model.FLOORS``) times ten, as there.
TOLERANCES = {"float16": 0.02, "bfloat16": 0.16, "float32": 1e-4}
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf|nan|NaN|Infinity)(?![\w])")
#: What float32 changes in a text without changing a number.
_DTYPES = re.compile(r"(?:torch\.)?(?:bfloat16|float16|float32|half|bf16|fp16|fp32|float|Half|BFloat16|Float)\b")
#: Seconds, rates and memory are other numbers in every run.
_TIMES = re.compile(r"\b(?:time|sec|seconds|ms|it/s|elapsed|took|memory|MiB|GiB|MB|GB)\b|\d\s?m?s\b", re.IGNORECASE)
_MOST = 2000
#: Where the outputs differ in their lines, so many of them are laid side by side.
_FEW = 400


@dataclass
class Compared:
    """``outcome``: same, other (the numbers differ) or unknown. ``lines`` are those that differ, side by side."""

    outcome: str
    why: str = ""
    lines: list[dict[str, str]] = field(default_factory=list)
    worst: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        worst = self.worst if math.isfinite(self.worst) else str(self.worst)
        return {"outcome": self.outcome, "why": self.why, "lines": self.lines, "worst": worst}


def numbers_of(line: str) -> list[float]:
    """Return the numbers of a line."""
    return [float(one.replace("Infinity", "inf")) for one in _NUMBER.findall(_DTYPES.sub("", line))]


def _skeleton(line: str) -> str:
    return " ".join(_NUMBER.sub("#", _DTYPES.sub("", line)).split())


def _paired(mine: list[str], wanted: list[str]) -> list[tuple[str, str]]:
    """Return the lines that say the same but for their numbers; what only one run says (a warning) is passed over."""
    left, right = [_skeleton(one) for one in mine], [_skeleton(one) for one in wanted]
    if left == right:
        return list(zip(mine, wanted, strict=True))
    from difflib import SequenceMatcher

    found = SequenceMatcher(None, left[:_FEW], right[:_FEW], autojunk=False).get_matching_blocks()
    return [(mine[block.a + at], wanted[block.b + at]) for block in found for at in range(block.size)]


def compare(here: str, float32: str, dtype: str) -> Compared:
    """Hold two outputs side by side. Lines that tell times or memory do not count."""
    tolerance = TOLERANCES.get(dtype, 0.02)
    mine = [one for one in here.splitlines() if one.strip() and not _TIMES.search(one)][:_MOST]
    wanted = [one for one in float32.splitlines() if one.strip() and not _TIMES.search(one)][:_MOST]
    if not any(numbers_of(one) for one in mine):
        return Compared("unknown", "it prints no numbers")
    differing: list[dict[str, str]] = []
    worst = 0.0
    pairs = 0
    for left, right in _paired(mine, wanted):
        one, other = numbers_of(left), numbers_of(right)
        pairs += len(one)
        size = max((abs(value) for value in other if math.isfinite(value)), default=0.0)
        off = max((apart(a, b, size) for a, b in zip(one, other, strict=True)), default=0.0)
        worst = max(worst, off)
        if off > tolerance:
            differing.append({"here": left.strip(), "float32": right.strip()})
    if differing:
        return Compared("other", "", differing, worst)
    if not pairs:
        return Compared("unknown", "the outputs have no lines in common")
    return Compared("same", "", [], worst)


def apart(here: float, float32: float, size: float = 0.0) -> float:
    """Return the relative difference of two numbers; inf where only one is finite."""
    if not math.isfinite(float32):
        return 0.0 if not math.isfinite(here) else math.inf
    if not math.isfinite(here):
        return math.inf
    scale = max(abs(float32), abs(here), 1e-3 * size)
    return abs(here - float32) / scale if scale > 1e-12 else 0.0
