"""Which findings count: by themselves, and in the light of the float32 run. Nothing here imports torch."""

from __future__ import annotations

from troubleshoot.checking.model import Finding

#: Rules whose findings follow from others: a NaN that an earlier overflow explains is no finding of its own.
_LATE = ("scale-exhausted",)


def ranked(findings: list[Finding]) -> list[Finding]:
    """Return findings with the first cause first: sure ones in the order in which they happened, then the others by weight."""
    sure = sorted((one for one in findings if one.sure), key=lambda one: (one.rule in _LATE, one.order))
    return [*sure, *sorted((one for one in findings if not one.sure), key=lambda one: -one.score)]


def settled(findings: list[Finding], differs: bool | None) -> list[Finding]:
    """Return what is told. ``differs``: whether the printed numbers differ from those of the float32 run (None: not known).

    What rounding does in healthy programs too is told only if the numbers differ and nothing else explains that.
    """
    sure = [one for one in findings if one.sure]
    if any(one.rule == "integers" for one in sure):
        sure = [one for one in sure if one.rule != "phase"]
    if sure or not differs:
        return sure
    return [one for one in findings if not one.sure][:1]
