"""``troubleshoot kb stale``: entries whose ranges, packages, records or references need another look."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Literal

from packaging.version import Version

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.versions import parse_version
from troubleshoot.curation.kept import Kept, kept
from troubleshoot.engine.matching.releases import affected_text
from troubleshoot.knowledge import KnowledgeBase, load_kb
from troubleshoot.knowledge.schema import Affected, Entry
from troubleshoot.lab.verify.bisect import published as index_releases
from troubleshoot.lab.verify.registry import cases

StaleKind = Literal[
    "open-range", "new-release", "not-on-index", "no-reference", "no-record", "old-record", "bisectable", "contradicted", "unused-record"
]


@dataclass(frozen=True)
class Stale:
    """One reason to look at an entry again: what kind, and what to do."""

    issue: str
    kind: StaleKind
    text: str


@dataclass(frozen=True)
class Staleness:
    """What was found, and what could not be looked up (``unasked``: packages whose releases the index did not tell, and why)."""

    found: tuple[Stale, ...]
    unasked: tuple[str, ...]


def stale(
    kb: KnowledgeBase | None = None,
    *,
    months: int = 6,
    offline: bool = False,
    today: date | None = None,
    published: Callable[[str], Sequence[str]] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Staleness:
    """Return what needs another look: entries in order, each with its reasons.

    ``months`` is how old a record may be. Unless ``offline``, the package index is asked for the releases of each package that an entry
    names (``published``: how; by default through pip, once a package).
    """
    base = kb if kb is not None else load_kb()
    entries = [entry for entry in map(base.entry, base.ids()) if entry.status != "withdrawn"]
    releases, unasked = ({}, ()) if offline else _releases(entries, published, say)
    oldest = _months_before(today or datetime.now(UTC).date(), months)
    records = kept(base)
    found = [one for entry in entries for one in _of(entry, records, oldest, releases)]
    return Staleness(tuple(found), unasked)


def _months_before(day: date, months: int) -> str:
    count = day.year * 12 + day.month - 1 - months
    return date(count // 12, count % 12 + 1, min(day.day, 28)).isoformat()


def _releases(
    entries: Sequence[Entry], published: Callable[[str], Sequence[str]] | None, say: Callable[[str], None]
) -> tuple[dict[str, Sequence[str] | None], tuple[str, ...]]:
    """Return the releases of every package that an entry names (None: the index has none), and what could not be asked."""
    ask = published or index_releases
    named = sorted({name for entry in entries for name in _packages(entry)})
    found: dict[str, Sequence[str] | None] = {}
    unasked: list[str] = []
    for name in named:
        say(name)
        try:
            found[name] = ask(name)
        except InputError as error:
            if "No matching distribution" in str(error):
                found[name] = None
            else:
                unasked.append(f"{name}: {error}")
    return found, tuple(unasked)


def _packages(entry: Entry) -> set[str]:
    return {*(one.package for one in entry.affected), *(entry.verify.install if entry.verify else ())}


def _of(entry: Entry, records: Kept, oldest: str, releases: dict[str, Sequence[str] | None]) -> Iterator[Stale]:
    if not entry.references:
        yield Stale(entry.id, "no-reference", "cites no source: open the upstream report or change and cite it")
    for affected in entry.affected:
        yield from _range(entry, affected, records, oldest, releases.get(affected.package))
    for name in sorted(_packages(entry)):
        if name in releases and releases[name] is None:
            yield Stale(entry.id, "not-on-index", f"the package index has no {name} for this Python: was it renamed?")
    installs = entry.verify.install if entry.verify else {}
    for name, version in installs.items():
        known = releases.get(name)
        if known and all(Version(one) != parse_version(version) for one in known):
            yield Stale(entry.id, "not-on-index", f"{name} {version}, which its case installs, is not on the package index")
    yield from _case(entry, records, oldest)
    for affected in entry.affected:
        if affected.basis != "measured" and (entry.id, affected.package) in records.releases:
            fits = "bear it out: it can say `basis: measured`" if records.bears_out(entry, affected) else "do not bear it out"
            yield Stale(entry.id, "unused-record", f"{affected_text(affected)} is {affected.basis}, but the releases that were run {fits}")


def _range(entry: Entry, affected: Affected, records: Kept, oldest: str, published: Sequence[str] | None) -> Iterator[Stale]:
    record = records.releases.get((entry.id, affected.package))
    text = affected_text(affected)
    if any(part.fixed is None for part in affected.ranges) and (record is None or str(record["date"]) < oldest):
        when = f"last measured on {record['date']}" if record else "and nothing says when it was last seen"
        yield Stale(entry.id, "open-range", f"{text} has no end, {when}: is it fixed by now?")
    if affected.basis == "measured" and records.bears_out(entry, affected) is False:
        yield Stale(entry.id, "contradicted", f"{text}: the releases that were run behave otherwise")
    # Behind a border that was measured, new releases matter only from time to time: what was fixed may come back.
    open_end = any(part.fixed is None for part in affected.ranges)
    if affected.basis == "measured" and record is not None and published and (open_end or str(record["date"]) < oldest):
        measured = max((Version(probe["version"]) for probe in record["probes"]), default=None)
        newer = [one for one in published if measured is not None and Version(one) > measured]
        if newer:
            yield Stale(
                entry.id,
                "new-release",
                f"{affected.package} {newer[-1]} is out, measured up to {measured}: "
                f"troubleshoot kb bisect {entry.id} --package {affected.package} --from {measured}",
            )
    if affected.basis != "measured" and record is None and affected.package in _installed_by_case(entry):
        yield Stale(entry.id, "bisectable", f"{text} is {affected.basis}, and its case could measure it: troubleshoot kb bisect {entry.id}")


def _installed_by_case(entry: Entry) -> set[str]:
    if entry.verify is None:
        return set()
    case = cases().get(entry.verify.case)
    return {*entry.verify.install, *(case.installs if case else ())}


def _case(entry: Entry, records: Kept, oldest: str) -> Iterator[Stale]:
    if entry.verify is None:
        return
    runs = records.reproduced(entry)
    if not runs:
        yield Stale(
            entry.id, "no-record", f"no record shows {entry.verify.case} reproduced: troubleshoot verify {entry.id} --record kb/records"
        )
        return
    newest = max(str(run["date"]) for run in runs)
    if newest < oldest:
        yield Stale(entry.id, "old-record", f"last run on {newest}: troubleshoot verify {entry.id} --record kb/records")
