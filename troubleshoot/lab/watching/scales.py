"""The history of a dynamic loss scale, from a GradScaler or from a log, and what it says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis

#: A scale that falls this often in a row, without a step in between that went well, does not find its level.
_FALLS = 12


@dataclass(frozen=True)
class ScaleHistory:
    """(step, scale) in order; in a log without step numbers the step counts the lines that tell a scale."""

    points: tuple[tuple[int, float], ...] = ()

    @property
    def drops(self) -> int:
        """How often the scale fell: each time a step was skipped."""
        return sum(after < before for (_, before), (_, after) in zip(self.points, self.points[1:], strict=False))

    @property
    def final(self) -> float | None:
        """The last scale, or None."""
        return self.points[-1][1] if self.points else None

    @property
    def falling(self) -> int:
        """How many times in a row the scale fell up to the end; equal values in between do not count as steps that went well."""
        count = 0
        for (_, before), (_, after) in zip(self.points[-2::-1], self.points[::-1], strict=False):
            if after >= before:
                break
            count += 1
        return count

    @property
    def verdict(self) -> str:
        """Return none (nothing known), steady (it never fell), settled (it fell, and found its level), falling, or exhausted (below 1, or
        without an end).
        """
        final = self.final
        if final is None:
            return "none"
        if final < 1 or self.falling >= _FALLS:
            return "exhausted"
        if self.drops == 0:
            return "steady"
        return "falling" if self.falling > 1 else "settled"

    def to_dict(self) -> dict[str, Any]:
        """Return the history as plain values."""
        return {"verdict": self.verdict, "drops": self.drops, "final": self.final, "points": [list(one) for one in self.points]}

    def describe(self) -> str:
        """Say in one sentence what the history shows."""
        if self.final is None:
            return "no loss scale was seen"
        meaning = {
            "steady": "it never fell: no step was skipped",
            "settled": "it found its level; the skipped steps are how the scaler works",
            "falling": "it is still falling: wait some steps more",
            "exhausted": "it does not find a level: gradients are not finite whatever the scale, look at the forward pass and the weights",
        }[self.verdict]
        return f"loss scale {self.points[0][1]:g} → {self.final:g} in {len(self.points)} values, {self.drops} drops: {meaning}"

    def story(self) -> str:
        """Return the history in the words that scalers log, for the knowledge base."""
        if self.verdict in ("none", "steady"):
            return ""
        line = f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {self.final}"
        if self.verdict == "exhausted":
            return f"{line}\nThe loss scale keeps decreasing: every step overflows in fp16 and is skipped.\n"
        if self.verdict == "settled":
            return f"{line}\nOnly a few steps at the start were skipped; the training continues well.\n"
        return line + "\n"

    def diagnose(self, **options: Any) -> Diagnosis:
        """Diagnose the history with the knowledge base; options are those of ``troubleshoot.diagnose``."""
        from troubleshoot.engine.diagnosis import diagnose

        options.setdefault("environment", "local")
        return diagnose(self.story() or "The loss scale is steady.", **options)


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], ...]:
    number = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)"
    return (
        # apex, fairseq, DeepSpeed (the scale after the step counts)
        re.compile(rf"(?:reducing(?: loss scale)?|setting loss scale) to:? {number}", re.IGNORECASE),
        # Megatron, fairseq's and transformers' progress lines
        re.compile(rf"(?:loss|grad)[_ ]?scale['\"]?\s{{0,3}}[:=]\s{{0,3}}['\"]?{number}", re.IGNORECASE),
    )


def loss_scales(text: str) -> ScaleHistory:
    """Read the loss scales that apex, DeepSpeed, fairseq, Megatron and others print from a log.

    >>> loss_scales("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0").final
    32768.0
    """
    values: list[float] = []
    for line in text.splitlines():
        # guided-diffusion logs the exponent
        exponent = re.search(r"decreased lg_loss_scale to ([-+]?\d+\.?\d*)", line)
        if exponent:
            values.append(2.0 ** min(float(exponent[1]), 127.0))
            continue
        for pattern in _patterns():
            found = pattern.search(line)
            if found:
                values.append(float(found[1]))
                break
    return ScaleHistory(tuple(enumerate(values)))
