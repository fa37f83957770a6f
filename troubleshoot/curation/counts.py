"""``troubleshoot kb stats``: what the knowledge base can show for itself, counted from its files and records and from nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, get_args

from troubleshoot.curation.kept import Kept, kept
from troubleshoot.knowledge import KnowledgeBase, load_kb
from troubleshoot.knowledge.schema import Applicability, Basis, Entry, Fix, Impact, Kind, Provenance, Status


@dataclass(frozen=True)
class Stats:
    """The counts. Entries that are withdrawn are counted under ``statuses`` and nowhere else.

    ``with_reference``: entries with at least one source (by the rules of docs/writing-entries.md each was opened). ``with_near_miss``:
    with a negative example. ``with_reasons``: every fix of its own gives one. ``positive_examples``: examples by where they come from
    (``reproduced``: printed by a real run; ``constructed``: written after the message's sources; ``reported``: the message of a public
    report); ``with_positive_example``: entries with one, and by the best origin that they have. ``with_case``: entries that name a
    verification case; ``with_recorded_case``: its record shows the issue reproduced by that case. ``affected``: ranges of releases by
    basis; ``measured_ranges``: those whose record bears them out. ``advice_that_fails``: fixes marked ``expected: fails``;
    ``advice_that_fails_run``: seen to fail in a recorded run. ``fixes_run``: fixes with an outcome in a record. ``with_chinese``:
    title, explanation and every fix.
    """

    knowledge: str
    entries: int
    statuses: dict[str, int]
    kinds: dict[str, int]
    impacts: dict[str, int]
    packages: int
    causes: int
    causes_with_entries: int
    templates: int
    phrases: int
    references: int
    with_reference: int
    with_near_miss: int
    near_misses: int
    fixes: int
    applicabilities: dict[str, int]
    with_reasons: int
    with_conditions: int
    positive_examples: dict[str, int]
    with_positive_example: int
    best_origin: dict[str, int]
    with_case: int
    with_recorded_case: int
    affected: dict[str, int]
    measured_ranges: int
    fixes_run: int
    advice_that_fails: int
    advice_that_fails_run: int
    with_chinese: int

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"schema": 1, **asdict(self)}


def stats(kb: KnowledgeBase | None = None) -> Stats:
    """Count what the knowledge base holds and what its records show."""
    base = kb if kb is not None else load_kb()
    everything = [base.entry(id_) for id_ in base.ids()]
    entries = [entry for entry in everything if entry.status != "withdrawn"]
    records = kept(base)
    fixes = [(entry, fix) for entry in entries for fix in entry.fixes]
    failing = [(entry, fix) for entry, fix in fixes if fix.expected == "fails"]
    origins = [{one.provenance for one in entry.examples.positive} for entry in entries]
    ranges = [(entry, one) for entry in entries for one in entry.affected]
    named = {cause for entry in entries for cause in (entry.cause, *(one.cause for one in entry.causes)) if cause}
    return Stats(
        knowledge=base.version,
        entries=len(entries),
        statuses=_by(get_args(Status), (entry.status for entry in everything)),
        kinds=_by(get_args(Kind), (entry.kind for entry in entries)),
        impacts=_by(get_args(Impact), (entry.impact for entry in entries)),
        packages=len({entry.id.partition("/")[0] for entry in entries}),
        causes=len(base.causes.causes),
        causes_with_entries=len(named & base.causes.causes.keys()),
        templates=sum(len(entry.signature.message) for entry in entries),
        phrases=sum(len(entry.signature.symptoms) for entry in entries),
        references=sum(len(entry.references) for entry in entries),
        with_reference=sum(bool(entry.references) for entry in entries),
        with_near_miss=sum(bool(entry.examples.negative) for entry in entries),
        near_misses=sum(len(entry.examples.negative) for entry in entries),
        fixes=len(fixes),
        applicabilities=_by(get_args(Applicability), (fix.applicability for _, fix in fixes)),
        with_reasons=sum(all(fix.reason.strip() for fix in entry.fixes) for entry in entries),
        with_conditions=sum(any(_conditional(fix) for fix in entry.fixes) for entry in entries),
        positive_examples=_by(get_args(Provenance), (one.provenance for entry in entries for one in entry.examples.positive)),
        with_positive_example=sum(map(bool, origins)),
        best_origin=_by(("reproduced", "constructed", "reported"), (_best(found) for found in origins if found)),
        with_case=sum(entry.verify is not None for entry in entries),
        with_recorded_case=sum(bool(records.reproduced(entry)) for entry in entries),
        affected=_by(get_args(Basis), (one.basis for _, one in ranges)),
        measured_ranges=sum(one.basis == "measured" and records.bears_out(entry, one) is True for entry, one in ranges),
        fixes_run=sum(bool(records.outcomes(entry.id, fix.id)) for entry, fix in fixes),
        advice_that_fails=len(failing),
        advice_that_fails_run=_seen_to_fail(failing, records),
        with_chinese=sum(map(_chinese, entries)),
    )


def _by(names: tuple[str, ...], values: Iterable[str]) -> dict[str, int]:
    """Count the values, those that do not occur too."""
    counts = Counter(values)
    return {name: counts[name] for name in names}


def _best(origins: set[Provenance]) -> str:
    return next(one for one in ("reproduced", "constructed", "reported") if one in origins)


def _conditional(fix: Fix) -> bool:
    return bool(fix.when or fix.unless or fix.later)


def _seen_to_fail(failing: list[tuple[Entry, Fix]], records: Kept) -> int:
    return sum(records.outcomes(entry.id, fix.id) == {"fails"} for entry, fix in failing)


def _chinese(entry: Entry) -> bool:
    if entry.zh is None or not entry.zh.title.strip() or not entry.zh.explanation.strip():
        return False
    return all(fix.id in entry.zh.fixes or fix.zh is not None for fix in entry.fixes)
