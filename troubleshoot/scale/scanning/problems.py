"""What a scan finds: problems with their places, and the tally that is kept while a log is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SCHEMA = 1

#: Distinct problems that are kept apart; more are counted together. A row takes about 2 KB.
MOST_ROWS = 5_000
#: Stretches of a file that took too long and are named; more are counted.
MOST_LEFT_OUT = 100
#: Ranks that one row names.
_MOST_RANKS = 4_096

_ORDER = {"known": 0, "likely": 1, "unknown": 2}
_ROLES = {"cause": 0, "symptom": 0, "victim": 1, "launcher": 2}


@dataclass(frozen=True)
class Place:
    """Where a problem occurred: file, line from 1, and the step and the rank where the log tells them."""

    file: str
    line: int
    step: int | None = None
    rank: int | None = None


@dataclass(frozen=True)
class LeftOut:
    """Lines of a file that took too long; ``more`` further stretches of it are not named."""

    file: str
    first: int
    last: int
    more: int = 0

    def __str__(self) -> str:
        lines = f"line {self.first}" if self.first == self.last else f"lines {self.first}-{self.last}"
        more = f", and {self.more} further stretches," if self.more else ""
        verb = "was" if self.first == self.last and not self.more else "were"
        return f"{self.file}: {lines}{more} took too long and {verb} left out, in whole or in part: allow more with --timeout SECONDS"


@dataclass(frozen=True)
class Problem:
    """One distinct problem. ``kind`` is failure or symptom; ``role`` as a failure's (cause, victim, launcher).

    ``fingerprint`` is the same for the same failure whatever its line numbers, addresses, paths and ranks; a symptom's is the
    issue's id.
    """

    fingerprint: str
    kind: str
    role: str
    count: int
    first: Place
    last: Place
    ranks: tuple[int, ...]
    exception: str
    message: str
    verdict: str
    issue: str | None
    cause: str | None
    title: str
    confidence: float
    advice: str
    command: str | None
    user: str | None = None
    library: str | None = None
    reader: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row of ``--format jsonl``."""
        data = {"kind_of_row": "problem", **asdict(self)}
        data["ranks"] = list(self.ranks)
        return data


@dataclass(frozen=True)
class ScanResult:
    """All problems, the diagnosed ones first, and how much was read.

    ``skipped`` names files that were not read, with the reason, ``left_out`` the lines that took longer than the limit of time.
    """

    problems: tuple[Problem, ...]
    files: int
    lines: int
    bytes: int
    seconds: float
    engine: str
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the last line of ``--format jsonl``."""
        return {
            "kind_of_row": "summary", "schema": SCHEMA, "problems": len(self.problems), "files": self.files, "lines": self.lines,
            "bytes": self.bytes, "seconds": round(self.seconds, 3), "engine": self.engine, "skipped": list(self.skipped),
            "notes": list(self.notes), "left_out": [asdict(one) for one in self.left_out],
        }  # fmt: skip


@dataclass
class Spot:
    """A place while it is collected: the line counts from the beginning of the stretch that is read."""

    line: int
    rank: int | None = None
    step: int | None = None


@dataclass
class Row:
    """One distinct problem while it is counted. ``told`` is what the diagnosis said, as plain data."""

    count: int
    first: Spot
    last: Spot
    ranks: set[int]
    told: dict[str, Any]
    file: str = ""
    last_file: str = ""


@dataclass
class Tally:
    """Counts per distinct problem of one stretch, file or whole scan."""

    rows: dict[str, Row] = field(default_factory=dict)
    lines: int = 0
    bytes: int = 0
    #: problems and lines beyond the limits, which are counted and not kept apart
    dropped: int = 0
    unread: int = 0
    #: different failures that are listed and were not diagnosed
    undiagnosed: int = 0
    #: lines that took too long, first and last; where there are more than are kept, ``left_out_more`` counts them
    left_out: list[tuple[int, int]] = field(default_factory=list)
    left_out_more: int = 0

    def leave_out(self, first: int, last: int) -> None:
        """Note that some lines took too long."""
        if self.left_out and self.left_out[-1][1] + 1 >= first >= self.left_out[-1][0]:
            self.left_out[-1] = (self.left_out[-1][0], max(first, last, self.left_out[-1][1]))
        elif len(self.left_out) < MOST_LEFT_OUT:
            self.left_out.append((first, max(first, last)))
        else:
            self.left_out_more += 1

    def see(self, key: str, spot: Spot, told: Callable[[], dict[str, Any] | None]) -> bool:
        """Count one occurrence; ``told`` is asked when the problem is new. Returns whether it was."""
        row = self.rows.get(key)
        if row is not None:
            row.count += 1
            if spot.line >= row.last.line:
                row.last = spot
            if spot.line < row.first.line:
                row.first = spot
            if spot.rank is not None and len(row.ranks) < _MOST_RANKS:
                row.ranks.add(spot.rank)
            return False
        if len(self.rows) >= MOST_ROWS:
            self.dropped += 1
            return False
        what = told()
        if what is None:
            return False
        self.rows[key] = Row(1, spot, spot, set() if spot.rank is None else {spot.rank}, what)
        return True

    def add(self, other: Tally, file: str) -> None:
        """Add the tally of the stretch that follows in ``file``: its lines go on where those counted for the file ended."""
        for key, theirs in other.rows.items():
            first = Spot(theirs.first.line + self.lines, theirs.first.rank, theirs.first.step)
            last = Spot(theirs.last.line + self.lines, theirs.last.rank, theirs.last.step)
            mine = self.rows.get(key)
            if mine is not None:
                mine.count += theirs.count
                mine.last, mine.last_file = last, theirs.last_file or file
                mine.ranks |= theirs.ranks
                mine.told = _better(mine.told, theirs.told)
            elif len(self.rows) >= MOST_ROWS:
                self.dropped += theirs.count
            else:
                self.rows[key] = Row(
                    theirs.count, first, last, set(theirs.ranks), theirs.told, theirs.file or file, theirs.last_file or file
                )
        for start, stop in other.left_out:
            self.leave_out(start + self.lines, stop + self.lines)
        self.left_out_more += other.left_out_more
        self.lines += other.lines
        self.bytes += other.bytes
        self.dropped += other.dropped
        self.unread += other.unread
        self.undiagnosed += other.undiagnosed

    def to_state(self) -> dict[str, Any]:
        """Return the tally as plain data."""
        return {
            "lines": self.lines, "bytes": self.bytes, "dropped": self.dropped, "unread": self.unread, "undiagnosed": self.undiagnosed,
            "left_out": self.left_out, "left_out_more": self.left_out_more,
            "rows": {
                key: {**asdict(row), "ranks": sorted(row.ranks)} for key, row in self.rows.items()
            },
        }  # fmt: skip

    @classmethod
    def from_state(cls, data: Mapping[str, Any]) -> Tally:
        """Return the tally of :meth:`to_state`."""
        rows = {
            key: Row(row["count"], Spot(**row["first"]), Spot(**row["last"]), set(row["ranks"]), row["told"], row["file"], row["last_file"])
            for key, row in data["rows"].items()
        }
        left_out = [(first, last) for first, last in data["left_out"]]
        counts = (data["lines"], data["bytes"], data["dropped"], data["unread"], data.get("undiagnosed", 0))
        return cls(rows, *counts, left_out, data["left_out_more"])


def left_out_of(tallies: Mapping[str, Tally]) -> tuple[LeftOut, ...]:
    """Return what took too long in several files."""
    found: list[LeftOut] = []
    for file, tally in tallies.items():
        for number, (first, last) in enumerate(tally.left_out, 1):
            found.append(LeftOut(file, first, last, tally.left_out_more if number == len(tally.left_out) else 0))
    return tuple(found)


def problems_of(tallies: Mapping[str, Tally]) -> tuple[Problem, ...]:
    """Return the problems of several files, given in their order, as rows: diagnosed ones first, then by how often they occur."""
    merged: dict[str, Row] = {}
    for file, tally in tallies.items():
        for key, row in tally.rows.items():
            mine = merged.get(key)
            if mine is None:
                merged[key] = Row(row.count, row.first, row.last, set(row.ranks), row.told, row.file or file, row.last_file or file)
            else:
                mine.count += row.count
                mine.last, mine.last_file = row.last, row.last_file or file
                mine.ranks |= row.ranks
                mine.told = _better(mine.told, row.told)
    found = [_problem(key, row) for key, row in merged.items()]
    found.sort(key=lambda one: (_ROLES.get(one.role, 0), _ORDER[one.verdict], -one.count, one.first.file, one.first.line))
    return tuple(found)


def _better(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return what says more: a failure is a cause before it is a consequence, and one log tells more of its environment than another."""
    if (one["role"] == "victim") != (other["role"] == "victim"):
        return other if one["role"] == "victim" else one
    return other if other["confidence"] > one["confidence"] else one


def _problem(key: str, row: Row) -> Problem:
    first = Place(row.file, row.first.line, row.first.step, row.first.rank)
    last = Place(row.last_file, row.last.line, row.last.step, row.last.rank)
    return Problem(fingerprint=key, count=row.count, first=first, last=last, ranks=tuple(sorted(row.ranks)), **row.told)
