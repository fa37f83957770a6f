"""Trying answers: which fact would make an entry win, or lose? Each is put in and the report is ranked again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from troubleshoot.basics.errors import TroubleshootError
from troubleshoot.curation.checked import walk
from troubleshoot.engine.diagnosis import Examined, examine
from troubleshoot.engine.evidence import VOCABULARY, is_among
from troubleshoot.knowledge.schema import Condition, Entry
from troubleshoot.reading.environment.machine import Environment

#: Answers that are tried for one entry.
_MOST = 80
#: Values of one condition that are tried.
_MOST_VALUES = 4
#: Devices that stand for a generation each: without bfloat16, with it, with float8, and none.
_GPUS = ("P100-16GB", "V100-16GB", "T4", "A100-40GB", "RTX 4090", "H100-80GB", "none")


@dataclass(frozen=True)
class Trial:
    """An answer that changes the place of the entry: ``first`` is the entry that would then come first (None: nothing)."""

    about: str
    answer: str
    first: str | None

    @property
    def option(self) -> str:
        """The option of ``troubleshoot diagnose`` that gives this answer."""
        if self.about == "gpu":
            return f"--gpu {self.answer!r}" if " " in self.answer else f"--gpu {self.answer}"
        return f"--answer {self.about}={self.answer}"


def trials(
    entry: Entry,
    seen: Examined,
    *,
    environment: str | os.PathLike[str] | Environment = "report",
    answers: Mapping[str, str] | None = None,
    gpu: str | None = None,
    have: Mapping[str, str] | None = None,
) -> tuple[Trial, ...]:
    """Return the answers that would make the entry come first, or where it does, those that would make it lose."""
    now = seen.hypotheses[0].entry.id if seen.hypotheses else None
    # What would refute the winner matters as much as what would support the entry.
    entries = [entry, *(one.entry for one in seen.hypotheses[:1] if one.entry.id != entry.id)]
    caught = {name for one in seen.matches.candidates if one.entry in entries for name in one.context.bindings}
    found: list[Trial] = []
    for about, answer in list(_answers(entries, caught))[:_MOST]:
        given = {**(answers or {})}
        if about != "gpu":
            given[about] = answer
        try:
            then = examine(
                seen.report,
                environment=environment,
                kb=seen.base,
                answers=given,
                gpu=answer if about == "gpu" else gpu,
                have={name: version for name, version in (have or {}).items() if f"package.{name}" != about},
            )
        except TroubleshootError:
            continue
        first = then.hypotheses[0].entry.id if then.hypotheses else None
        if first != now and (now == entry.id) != (first == entry.id):
            found.append(Trial(about, answer, first))
    return tuple(found)


def _answers(entries: Iterable[Entry], caught: set[str]) -> Iterator[tuple[str, str]]:
    """Yield (fact, value) once each: what the entries' releases, models and conditions read. What the message itself says stays."""
    seen: set[tuple[str, str]] = set()
    for about, answer in (pair for entry in entries for pair in _all_answers(entry)):
        known = about == "gpu" or is_among(about, VOCABULARY)
        if known and about not in caught and (about, answer) not in seen:
            seen.add((about, answer))
            yield about, answer


def _all_answers(entry: Entry) -> Iterator[tuple[str, str]]:
    for affected in entry.affected:
        for part in affected.ranges:
            for border in (part.introduced, part.unknown_before, part.fixed):
                if border is not None and border != "0":
                    yield f"package.{affected.package}", border
        yield f"package.{affected.package}", "absent"
    if entry.models:
        yield "model", entry.models[0].rstrip("*-")
    evidence = entry.evidence
    for condition in walk((*evidence.required, *evidence.refuting, *evidence.supporting)):
        yield from _values(condition)


def _values(condition: Condition) -> Iterator[tuple[str, str]]:
    fact = condition.fact
    if fact is None:
        return
    if fact.startswith(("gpu.", "support.")) or fact == "device.kind":
        yield from (("gpu", name) for name in _GPUS)
        return
    if condition.in_ is not None:
        yield from ((fact, version) for version in _versions(condition.in_))
    for value in (condition.is_, condition.not_):
        if value is not None:
            listed = value if isinstance(value, list | tuple) else [value]
            yield from ((fact, str(one)) for one in listed[:_MOST_VALUES])
    if fact.startswith("package."):
        yield fact, "absent"
        yield fact, "present"


def _versions(specifier: str) -> Iterator[str]:
    try:
        borders = SpecifierSet(specifier)
    except InvalidSpecifier:
        return
    for one in borders:
        if not one.version.endswith(".*"):
            yield one.version
