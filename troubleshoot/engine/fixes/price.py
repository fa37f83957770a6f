"""What a dtype costs the user: the weights of the named model against the memory of the named GPU.

The count in a model's own name ("-7b") serves, marked as "about", except where the name is known to mislead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from troubleshoot.basics.dtypes import bytes_per_parameter
from troubleshoot.engine.fixes.defaults import FITS, Fit
from troubleshoot.engine.matching.conditions import Context

GIB = 1024**3

#: Checkpoints whose name tells another number than they have: pattern -> parameters.
#: blip2-opt-2.7b: the language model's 2.7 billion, the vision tower and the Q-Former: 14.0 GiB in float32 (measured on the meta device).
_PARAMETERS: tuple[tuple[str, float], ...] = (("blip2-opt-2.7b*", 3.745e9),)

_IN_NAME = re.compile(r"(?<![a-z0-9.])(\d{1,3}(?:\.\d{1,2})?)b(?![a-z0-9])")

#: The share of a GPU's memory that weights may take before activations no longer fit beside them.
_TIGHT = 0.8

_DTYPE = {"use-fp32": "float32"}


@dataclass(frozen=True)
class Price:
    """The weights of the user's model. ``basis`` tells where the number of ``parameters`` is from: a table of this tool, the model's
    configuration, or the name only, which is about right. ``memory`` is that of the user's GPU in GiB, None where it is unknown.
    """

    model: str
    parameters: float
    basis: Literal["table", "config", "name"]
    bytes_per_parameter: float
    memory: float | None = None

    @property
    def gib(self) -> float:
        """The weights in GiB."""
        return self.parameters * self.bytes_per_parameter / GIB

    @property
    def fits(self) -> bool | None:
        """False where the weights alone exceed the GPU's memory; None where nothing is left for activations, or the memory is unknown."""
        if self.memory is None:
            return None
        return False if self.gib > self.memory else True if self.gib <= _TIGHT * self.memory else None

    @property
    def needs(self) -> str:
        """What the weights take: "14.0 GiB of weights for blip2-opt-2.7b"."""
        # Where only some modules are in float32, their share is the case's, not the model's.
        about = self.basis == "name" or self.bytes_per_parameter != int(self.bytes_per_parameter)
        return f"{'about ' if about else ''}{self.gib:.1f} GiB of weights for {short_name(self.model)}"


def short_name(model: str) -> str:
    """Return the last part of a checkpoint's id or path."""
    return model.rstrip("/").rpartition("/")[2]


def price(models: Iterable[str], bytes_each: float, memory: float | None) -> Price | None:
    """Return the price of the first model whose number of parameters is known, at so many bytes per parameter; None where there is none."""
    for model in models:
        counted = parameter_count(model)
        if counted is not None:
            return Price(model, counted[0], "name" if counted[1] else "table", bytes_each, memory)
    return None


def parameter_count(model: str) -> tuple[float, bool] | None:
    """Return the number of parameters of a checkpoint, and whether it was read from the name only; None where unknown."""
    name = model.rpartition("/")[2].lower()
    for pattern, count in _PARAMETERS:
        if fnmatchcase(name, pattern):
            return count, False
    match = _IN_NAME.search(name.replace("_", "-"))
    return (float(match[1]) * 1e9, True) if match else None


def _number(text: str) -> float | None:
    """Return the number that an answer states; None where it is none, as an answer may be anything."""
    return float(text) if text.isascii() and text.replace(".", "", 1).isdigit() else None


def weight_fit(kind: str, context: Context) -> Fit:
    """Tell whether the named model's weights fit into the GPU's memory in the dtype that a kind of fix asks for."""
    dtype = _DTYPE.get(kind)
    if dtype is None:
        return FITS
    memory = next((_number(fact.value) for fact in context.facts.get("gpu.memory")), None)
    found = price((fact.value for fact in context.facts.get("model")), bytes_per_parameter(dtype), memory)
    if found is None:
        return FITS
    needs = f"{found.needs} in {dtype}"
    zh = f"{short_name(found.model)} 的权重以 {dtype} 计{'约' if found.basis == 'name' else ''}需 {found.gib:.1f} GiB"
    if found.memory is None:
        return Fit(True, needs, warning=needs, why_zh=zh, warning_zh=zh)
    has, has_zh = f"the GPU has {found.memory:g} GiB", f"GPU 有 {found.memory:g} GiB"
    if found.fits is False:
        why = f"only with a larger GPU or with offloading: {needs}, and {has}"
        return Fit(None, why, "gpu.memory", why_zh=f"需要更大的 GPU，或把一部分权重卸载到内存：{zh}，而 {has_zh}")
    if found.fits is None:
        return Fit(None, f"if it fits: {needs}, and {has}", "gpu.memory", why_zh=f"要看是否放得下：{zh}，而 {has_zh}")
    return Fit(True, needs, warning=f"{needs} of {found.memory:g} GiB", why_zh=zh, warning_zh=f"{zh}，{has_zh}")
