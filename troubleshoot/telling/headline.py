"""What a diagnosis is called: about this error where its message names dtypes or devices, not about its family."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from troubleshoot.telling.layout import columns, without_asides
from troubleshoot.telling.words import Words

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis, IssueDiagnosis

#: Names under which messages tell what a check wanted and got.
_WANTED, _FOUND = ("expected", "wanted", "requested", "asked"), ("found", "actual")
#: Operands that meet: each has a word in both languages.
_ROLES = (
    "input", "weight", "bias", "query", "key", "value", "destination", "source", "target", "index", "indexed", "hidden", "parameter",
    "lengths", "output", "result",
)  # fmt: skip
#: What torch puts before the name of an operation: ``wrapper_CUDA_addmm``, ``wrapper_CUDA__index_select``.
_WRAPPER = "^wrapper_[A-Za-z0-9]*_+"
#: What is written into something does not meet it.
_WRITTEN = {"destination", "source", "output", "result"}
#: A family's cause is said instead of its title where it is likelier than all others together, and fits into two lines.
_SURE, _LONGEST = 0.5, 130


def headline(diagnosis: Diagnosis, one: IssueDiagnosis, words: Words) -> tuple[str, float]:
    """Return what a diagnosis is called, and the probability of just that."""
    if one.kind != "family":
        return one.title, one.confidence
    if diagnosis.culprit is not None and diagnosis.first is one:
        return culprit_text(diagnosis, words), one.confidence
    met = _met(diagnosis, one, words)
    if met:
        return met, one.confidence
    named = _named(diagnosis, one, words)
    if named:
        return named, one.confidence
    # Whoever describes a symptom knows it already. What a message means is said first, then where it comes from.
    if one.failure is None and one.note and one.cause_confidence >= _SURE and columns(one.note) <= _LONGEST:
        return one.note.rstrip(".。"), one.cause_confidence
    return without_asides(one.title), one.confidence


def culprit_text(diagnosis: Diagnosis, words: Words) -> str:
    """Return what is wrong with the module or tensor that a live exception led to."""
    culprit = diagnosis.culprit
    assert culprit is not None
    name = ".".join(part for part in (culprit.module, culprit.parameter) if part) or culprit.cls or ""
    what = f"`{name}`" + (f" ({culprit.cls})" if culprit.cls and culprit.cls != name else "")
    if culprit.has and culprit.meets:
        return words("culprit.meets", what=what, has=culprit.has, meets=culprit.meets)
    return words("culprit.has", what=what, has=culprit.has) if culprit.has else what


def operands_text(diagnosis: Diagnosis, words: Words) -> str:
    """Return which dtype or device each operand has, by the name that the code gives it; "" where the frames do not tell."""
    on_devices = diagnosis.first is not None and diagnosis.first.cause.startswith("device-mismatch/")
    told = [(one.name, one.device if on_devices else one.dtype) for one in diagnosis.operands]
    shown = [words("operand", name=name, value=value) for name, value in told if name and value]
    return words.list(shown) if len(shown) > 1 or (shown and diagnosis.place.module) else ""


def _values(diagnosis: Diagnosis, one: IssueDiagnosis, kind: str) -> dict[str, str]:
    """Return the operands' dtypes or devices by role; where roles are known, names that are none are left out."""
    seen = {operand.role: getattr(operand, kind) for operand in diagnosis.operands} if diagnosis.first is one else {}
    told = {name.removeprefix(f"{kind}."): value for name, value in one.facts.items() if name.startswith(f"{kind}.")}
    for values in (seen, told):
        roles = {name: value for name, value in values.items() if name in _ROLES and value}
        if len(roles) > 1:
            return roles
    return told


def _met(diagnosis: Diagnosis, one: IssueDiagnosis, words: Words) -> str:
    """Return which two dtypes or devices met where; "" where the message does not say."""
    place = diagnosis.place if diagnosis.first is one else None
    where = (place.module or place.operation if place is not None else "") or one.facts.get("op", "")
    where = where or re.sub(_WRAPPER, "", one.facts.get("name.method", ""))
    for kind in ("dtype", "device"):
        values = _values(diagnosis, one, kind)
        if not one.cause.startswith(f"{kind}-mismatch/") or len(values) != 2 or len(set(values.values())) < 2 or _WRITTEN & set(values):
            continue
        roles = set(values) <= set(_ROLES)
        if kind == "dtype" and not roles and not where:
            continue
        sides = [
            words(f"met.{kind}", what=words(f"role.{name}"), value=value) if roles else words(f"met.{kind}-alone", value=value)
            for name, value in values.items()
        ]
        text = words("met", one=sides[0], other=sides[1], op=words("met.op", op=where) if where else "")
        # A dtype is written small.
        return text if kind == "dtype" else text[:1].upper() + text[1:]
    return ""


def _named(diagnosis: Diagnosis, one: IssueDiagnosis, words: Words) -> str:
    """Return the family's title with what the message names; "" where that is nothing."""
    parts = [f"`{one.facts[name]}`" for name in ("name.kernel", "name.argument") if name in one.facts]
    for kind in ("dtype", "device"):
        alike: dict[str, list[str]] = {}
        for name, value in _values(diagnosis, one, kind).items():
            alike.setdefault(value, []).append(name)
        parts += [_valued(kind, names, value, words) for value, names in alike.items()]
    return words("named", title=without_asides(one.title), parts=_joined(parts, words)) if parts else ""


def _valued(kind: str, names: list[str], value: str, words: Words) -> str:
    """Return a dtype or device with what has it."""
    roles = [words(f"role.{name}") for name in names if name in _ROLES]
    if roles:
        return words(f"named.{kind}", role=_joined(roles, words), value=value)
    if names[0] in _WANTED and not set(names) & set(_FOUND):
        return words("named.wanted", value=value)
    return words("named.found", value=value) if names[0] in _FOUND else value


def _joined(parts: list[str], words: Words) -> str:
    return words("named.two", one=parts[0], other=parts[1]) if len(parts) == 2 else words.list(parts)
