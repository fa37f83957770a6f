"""What an audit yields, as frozen dataclasses."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """One thing that an audit found.

    ``severity``: ``error`` will fail or give NaN when it is reached, ``warning`` may, or costs accuracy or time, ``note`` is worth
    knowing and usually meant. ``module`` is a qualified name ("" for the model itself, a tensor or file for a checkpoint), ``others``
    further ones with the same finding. ``issue`` is a known issue (``troubleshoot explain ISSUE``) or None, ``fix`` what to do.
    """

    check: str
    severity: Severity
    module: str
    text: str
    issue: str | None = None
    fix: str = ""
    others: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a mapping."""
        data = asdict(self)
        data["others"] = list(self.others)
        return data


@dataclass(frozen=True)
class Node:
    """A line of the tree: a module, or several alike (``count``), with the dtypes and devices of everything below it in bytes' order."""

    name: str
    cls: str
    depth: int
    tensors: tuple[tuple[str, str, int], ...]
    count: int = 1


@dataclass(frozen=True)
class Audit:
    """The census and the findings, the most severe first. ``str()`` is the text for the terminal."""

    title: str
    dtype: str | None
    device: str | None
    totals: tuple[tuple[str, str, int, int], ...]
    findings: tuple[Finding, ...]
    tree: tuple[Node, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def worst(self) -> Severity | None:
        """The severity of the first finding, or None where there is none."""
        return self.findings[0].severity if self.findings else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "schema": 1,
            "model": self.title,
            "dtype": self.dtype,
            "device": self.device,
            "totals": [
                {"dtype": dtype, "device": device, "tensors": tensors, "values": values} for dtype, device, tensors, values in self.totals
            ],
            "findings": [one.to_dict() for one in self.findings],
            "errors": list(self.errors),
        }

    def __str__(self) -> str:
        from troubleshoot.lab.auditing.audit_text import render_audit

        return render_audit(self)


def ordered(findings: list[Finding]) -> tuple[Finding, ...]:
    """Merge findings that say the same of several modules, and put the most severe first."""
    merged: dict[tuple[str, str, str, str | None, str], Finding] = {}
    for one in findings:
        key = (one.check, one.severity, one.text, one.issue, one.fix)
        known = merged.get(key)
        if known is None:
            merged[key] = one
        elif one.module != known.module and one.module not in known.others:
            merged[key] = replace(known, others=(*known.others, one.module))
    return tuple(sorted(merged.values(), key=lambda one: SEVERITIES.index(one.severity)))
