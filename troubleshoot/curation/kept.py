"""The records beside a knowledge base, read as a curator needs them: what was run, when, and whether it bears out what an entry says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct
from packaging.version import Version

from troubleshoot.basics.versions import VersionRange, in_ranges, parse_version
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.knowledge.schema import Affected, Entry
from troubleshoot.lab.verify.bisect import CANNOT
from troubleshoot.lab.verify.records import RELEASES, VERIFICATIONS, ReleasesLine, VerificationLine, read_lines


@dataclass(frozen=True)
class Kept:
    """The records below the folders of a base. Where a line of them is damaged, asking for them raises a KnowledgeError that names it."""

    roots: tuple[Path, ...]

    @cached_property
    def runs(self) -> Mapping[str, tuple[Mapping[str, Any], ...]]:
        """The verifications of every issue."""
        found: dict[str, tuple[Mapping[str, Any], ...]] = {}
        for run in self._lines(VERIFICATIONS, VerificationLine):
            found[run["issue"]] = (*found.get(run["issue"], ()), run)
        return found

    @cached_property
    def releases(self) -> Mapping[tuple[str, str], Mapping[str, Any]]:
        """The bisections by issue and package."""
        return {(one["issue"], one["package"]): one for one in self._lines(RELEASES, ReleasesLine)}

    def _lines(self, name: str, shape: type[Struct]) -> list[dict[str, Any]]:
        return [one for root in self.roots for one in read_lines(root / "records" / name, shape)]

    def reproduced(self, entry: Entry) -> tuple[Mapping[str, Any], ...]:
        """Return the runs in which the entry's own case showed the issue."""
        if entry.verify is None:
            return ()
        named = entry.verify.case
        return tuple(run for run in self.runs.get(entry.id, ()) if run["case"] == named and run["before"]["outcome"] == "reproduced")

    def outcomes(self, issue: str, fix: str) -> frozenset[str]:
        """Return how a fix ended in the runs that showed the issue; runs that skipped it do not count."""
        return frozenset(
            one["outcome"]
            for run in self.runs.get(issue, ())
            if run["before"]["outcome"] == "reproduced"
            for one in run["fixes"]
            if one["id"] == fix and one["outcome"] != "skipped"
        )

    def bears_out(self, entry: Entry, affected: Affected) -> bool | None:
        """Tell whether the releases that were run bear out a range: what happens inside happens nowhere outside. None: no record."""
        record = self.releases.get((entry.id, affected.package))
        if record is None:
            return None
        ranges = tuple(VersionRange(part.introduced or part.unknown_before or "0", part.fixed) for part in affected.ranges)
        borders = [parse_version(part.unknown_before) for part in affected.ranges if part.unknown_before]
        inside: set[str] = set()
        outside: set[str] = set()
        for probe in record["probes"]:
            version = Version(probe["version"])
            if probe["state"] == CANNOT or any(border is not None and version < border for border in borders):
                continue
            (inside if in_ranges(probe["version"], ranges) else outside).add(probe["state"])
        return bool(inside) and "right" not in inside and not inside & outside


def kept(base: KnowledgeBase) -> Kept:
    """Return the records of a base."""
    return Kept(base.roots)
