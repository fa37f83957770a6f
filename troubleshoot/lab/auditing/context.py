"""What the checks of an audit are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from troubleshoot.lab.auditing.census import Census, Held, Part
from troubleshoot.reading.environment.machine import Accelerator

HALF = ("float16", "bfloat16")


@dataclass(frozen=True)
class Context:
    """The census, and what the caller gave: inputs, optimizer, scaler, the dtype that the model is to be cast to, the device to run on."""

    census: Census
    inputs: Any = None
    optimizer: Any = None
    scaler: Any = None
    target: str | None = None
    accelerator: Accelerator | str | None = None

    @property
    def dtype(self) -> str | None:
        """The dtype of the model when it runs: the target, else that of most of its parameters."""
        return self.target or self.census.dtype

    def dtype_of(self, held: Held) -> str:
        """The dtype of a tensor when the model runs: a cast of the model converts floating-point parameters and buffers."""
        return self.target if self.target and held.floating and held.kind != "constant" else held.dtype

    def parent(self, part: Part) -> Part | None:
        """The module that holds ``part`` (lists and sequences are skipped), or None for the model itself."""
        while part.name:
            above = self.census.by_name.get(part.parent)
            if above is None:
                return None
            if above.cls not in ("ModuleList", "ModuleDict", "Sequential"):
                return above
            part = above
        return None
