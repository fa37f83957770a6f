"""What float32 costs the user: the weights of the named model against the memory of the named GPU.

The count in a model's own name ("-7b") serves, marked as "about", except where the name is known to mislead.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from troubleshoot.dtypes import bytes_per_parameter
from troubleshoot.fixes.defaults import FITS, Fit
from troubleshoot.matching.conditions import Context

GIB = 1024**3

#: Checkpoints whose name tells another number than they have: pattern -> parameters.
#: blip2-opt-2.7b: the language model's 2.7 billion, the vision tower and the Q-Former: 14.0 GiB in float32 (measured on the meta device).
_PARAMETERS: tuple[tuple[str, float], ...] = (("blip2-opt-2.7b*", 3.745e9),)

_IN_NAME = re.compile(r"(?<![a-z0-9.])(\d{1,3}(?:\.\d{1,2})?)b(?![a-z0-9])")

#: The share of a GPU's memory that weights may take before activations no longer fit beside them.
_TIGHT = 0.8

_DTYPE = {"use-fp32": "float32"}


def parameter_count(model: str) -> tuple[float, bool] | None:
    """Return the number of parameters of a checkpoint, and whether it was read from the name only; None where unknown."""
    name = model.rpartition("/")[2].lower()
    for pattern, count in _PARAMETERS:
        if fnmatchcase(name, pattern):
            return count, False
    match = _IN_NAME.search(name.replace("_", "-"))
    return (float(match[1]) * 1e9, True) if match else None


def weight_fit(kind: str, context: Context) -> Fit:
    """Tell whether the named model's weights fit into the GPU's memory in the dtype that a kind of fix asks for."""
    dtype = _DTYPE.get(kind)
    if dtype is None:
        return FITS
    for fact in context.facts.get("model"):
        counted = parameter_count(fact.value)
        if counted is None:
            continue
        count, from_name = counted
        gib = count * bytes_per_parameter(dtype) / GIB
        needs = f"{'about ' if from_name else ''}{gib:.1f} GiB of weights for {fact.value.rpartition('/')[2]} in {dtype}"
        memory = context.facts.get("gpu.memory")
        if not memory:
            return Fit(True, needs, warning=needs)
        have = float(memory[0].value)
        if gib > have:
            return Fit(None, f"only with a larger GPU or with offloading: {needs}, and the GPU has {have:g} GiB", "gpu.memory")
        if gib > _TIGHT * have:
            return Fit(None, f"if it fits: {needs}, and the GPU has {have:g} GiB", "gpu.memory")
        return Fit(True, needs, warning=f"{needs} of {have:g} GiB")
    return FITS
