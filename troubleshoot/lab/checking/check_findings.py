"""What a check yields: findings, as plain values that can be handed from process to process. Nothing here imports torch."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, order=True)
class Place:
    """A line of the user's program."""

    file: str = ""
    line: int = 0


@dataclass
class Finding:
    """A defect: the rule that saw it, its cause, the line, and what was seen in numbers.

    ``sure`` is False for what rounding in low precision does in healthy programs too: it counts only where the float32 run shows that the
    results are wrong. ``also`` are other lines that take part, such as the one where the damage became visible.
    """

    rule: str
    cause: str
    place: Place
    op: str = ""
    module: str = ""
    dtype: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)
    step: int = 0
    times: int = 1
    sure: bool = True
    score: float = 1.0
    order: int = 0
    code: str = ""
    also: list[Place] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values that JSON has."""
        found = asdict(self)
        place = found.pop("place")
        return {**found, "file": place["file"], "line": place["line"], "numbers": plain(self.numbers), "score": plain(self.score)}

    @staticmethod
    def from_dict(told: dict[str, Any]) -> Finding:
        """Return the finding that :meth:`to_dict` wrote."""
        rest = {key: value for key, value in told.items() if key not in ("file", "line", "also", "text", "title", "fixes")}
        also = [Place(one["file"], one["line"]) for one in told.get("also", ())]
        return Finding(place=Place(told["file"], told["line"]), also=also, **rest)


def plain(value: Any) -> Any:
    """Return a value that JSON has: numbers that it lacks become texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value
