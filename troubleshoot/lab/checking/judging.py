"""Which findings count: by themselves, and in the light of the float32 run. Nothing here imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from troubleshoot.lab.checking.check_findings import Finding
from troubleshoot.lab.checking.comparing import Compared

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


@dataclass(frozen=True)
class Verdict:
    """Whether a run with a fix is right, and why. None: it ends and nothing was found, but there was nothing to compare."""

    right: bool | None
    why: str


def judge(outcome: str, error: str | None, findings: Sequence[Finding], compared: Compared | None) -> Verdict:
    """Judge a run by its results: it ends, nothing is found in it, and it prints the numbers of the float32 run."""
    if outcome != "ok":
        return Verdict(False, (error or outcome).splitlines()[0][:300])
    # What float32 does too is not what a fix is for: the numbers decide.
    findings = [one for one in findings if one.rule != "nonfinite"]
    if findings:
        from troubleshoot.lab.checking.check_text import seen

        first = findings[0]
        where = f"line {first.place.line}: " if first.place.line else ""
        return Verdict(False, f"it ends, but {where}{seen(first.to_dict(), 'en')} ({first.cause})")
    if compared is None or compared.outcome == "unknown":
        why = compared.why if compared is not None else "it was not run in float32"
        return Verdict(None, f"it ends and nothing was found; its numbers are not shown to be right: {why}")
    if compared.outcome == "other":
        line = compared.lines[0]
        return Verdict(False, f"it ends, but prints other numbers than in float32: {line['here']} (float32: {line['float32']})")
    return Verdict(True, "it ends, nothing was found, and it prints the numbers of the float32 run")
