"""What each kind of fix wants of the user's device unless the entry says otherwise."""

from __future__ import annotations

import msgspec

from troubleshoot.matching.conditions import Context


class Fit(msgspec.Struct, frozen=True):
    """Whether a fix fits: True, False, or None with ``about`` naming the fact that would decide; ``late`` puts it behind the others."""

    fits: bool | None
    why: str = ""
    about: str | None = None
    late: bool = False
    warning: str | None = None


FITS = Fit(True)

#: kind of fix -> the support fact that it needs
_NEEDS = {"use-bf16": "bfloat16", "use-fp16": "float16"}


def default_fit(kind: str, context: Context) -> Fit:
    """Hold the kind's own demand against the device. Support is from the table with sources in docs/hardware.md."""
    dtype = _NEEDS.get(kind)
    if dtype is None:
        return FITS
    support = context.values(f"support.{dtype}")
    if not support:
        if dtype == "float16":
            # Every CUDA GPU since Maxwell computes in float16 somehow; only a known bad device speaks against it.
            return FITS
        return Fit(None, "if the GPU has native bfloat16 (NVIDIA Ampere or newer)", "gpu")
    state, text = support[0].value, support[0].text
    # Every dtype below float32 is emulated on most CPUs, so that it is no argument for another one.
    if state == "native" or (state in ("emulated", "slow") and context.facts.on_cpu):
        return Fit(True, text)
    if state == "none":
        return Fit(False, text)
    if state == "emulated":
        return Fit(True, text, late=True, warning="emulated: slow, and cuDNN convolutions may not support it")
    return Fit(True, text, late=True, warning=f"{text}: expect it to be slow")
