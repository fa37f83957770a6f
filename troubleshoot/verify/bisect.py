"""Measured ranges: run a case over the published releases of a package and find where its behaviour changes.

The diagnosis has no part in it: it would bring in the ranges that are to be measured. What a release does is told by how the run ends.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from troubleshoot.errors import InputError
from troubleshoot.knowledge import KnowledgeBase, load_kb
from troubleshoot.verify import isolated, processes
from troubleshoot.verify.model import RunResult
from troubleshoot.verify.registry import cases_of
from troubleshoot.verify.runner import reproduce
from troubleshoot.verify.signals import stoppable

#: State of a release that cannot run the case.
CANNOT = "cannot-run"


@dataclass(frozen=True)
class Probe:
    """What one release does. ``state`` compares; ``detail`` is what was seen."""

    version: str
    state: str
    detail: str


@dataclass(frozen=True)
class Border:
    """A change of behaviour between two neighbouring releases, both of which were run."""

    before: str
    after: str
    from_state: str
    to_state: str


@dataclass(frozen=True)
class Bisection:
    """The releases that were run, in order, and the borders between them."""

    issue: str
    case: str
    package: str
    device: str
    python: str
    torch: str
    others: Mapping[str, str]
    probes: tuple[Probe, ...]
    borders: tuple[Border, ...]
    date: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of a record."""
        return {"schema": 1, **asdict(self)}


def find_borders(releases: Sequence[str], state: Callable[[str], str]) -> tuple[Border, ...]:
    """Return the changes of ``state`` over releases in order, by the first and last release of every minor series and bisection between.

    A change and its reverse between two neighbouring points of that grid stay unseen. Releases that cannot run the case form no border.
    """
    if not releases:
        return ()
    points = [0]
    for index in range(1, len(releases)):
        here, previous = Version(releases[index]).release[:2], Version(releases[index - 1]).release[:2]
        if here != previous:
            points += [index - 1, index]
    points = sorted({*points, len(releases) - 1})
    borders: list[Border] = []

    def split(low: int, high: int) -> None:
        one, other = state(releases[low]), state(releases[high])
        if one == other:
            return
        if high - low == 1:
            if CANNOT not in (one, other):
                borders.append(Border(releases[low], releases[high], one, other))
            return
        middle = (low + high) // 2
        split(low, middle)
        split(middle, high)

    for low, high in pairwise(points):
        split(low, high)
    return tuple(borders)


def published(package: str, *, timeout: float = 120.0) -> tuple[str, ...]:
    """Return the final releases of a package that the index offers for this Python, oldest first.

    Raises:
        InputError: pip finds none, or the index is out of reach.
    """
    with stoppable() as stop:
        command = [sys.executable, "-m", "pip", "index", "versions", package, "--disable-pip-version-check"]
        done = processes.run(command, stop=stop, timeout=timeout, environment=isolated.this_interpreter().environment())
    line = next((line for line in done.output.splitlines() if line.startswith("Available versions:")), None)
    if done.code != 0 or line is None:
        raise InputError(f"pip finds no releases of {package}: {(done.output.strip().splitlines() or ['it printed nothing'])[-1]}")
    found = []
    for text in line.partition(":")[2].split(","):
        try:
            version = Version(text.strip())
        except InvalidVersion:
            continue
        if not version.is_prerelease and not version.is_postrelease:
            found.append((version, text.strip()))
    return tuple(text for _, text in sorted(found))


def bisect(
    issue: str,
    *,
    case: str | None = None,
    package: str | None = None,
    low: str | None = None,
    high: str | None = None,
    device: str = "cpu",
    timeout: float | None = None,
    kb: KnowledgeBase | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Bisection:
    """Run an issue's case over the releases of a package from ``low`` to ``high`` and find where its behaviour changes.

    ``package`` defaults to the one that the entry's affected releases are of. Environments that were not there before are removed again.

    Raises:
        InputError: the issue has no such case, the package is not one that the case installs, or there is no release between the ends.
    """
    base = kb if kb is not None else load_kb()
    entry = base.entry(issue)
    found = [one for one in cases_of(entry.id, entry.verify.case if entry.verify else None) if case in (None, one.name)]
    if not found:
        raise InputError(f"{entry.id} has no case{f' {case!r}' if case else ''} to run over releases")
    chosen = found[0]
    installs = dict((entry.verify.install if entry.verify and entry.verify.case == chosen.name else None) or chosen.installs)
    package = package or (entry.affected[0].package if entry.affected else next(iter(installs), None))
    if package is None or package not in installs:
        raise InputError(f"{entry.id}: name one of the packages that its case installs with --package ({', '.join(installs) or 'none'})")
    releases = [
        one for one in published(package) if (not low or Version(one) >= Version(low)) and (not high or Version(one) <= Version(high))
    ]
    if len(releases) < 2:
        raise InputError(f"there are fewer than two releases of {package} from {low or 'the first'} to {high or 'the newest'}")
    seen: dict[str, Probe] = {}
    told: dict[str, object] = {}

    def state(version: str) -> str:
        if version not in seen:
            say(f"{package} {version}")
            wanted = {**installs, package: version}
            was_there = isolated.kept(wanted)
            result, environment = reproduce(entry.id, wanted, case=chosen.name, device=device, timeout=timeout, kb=base)
            told.update(environment)
            if not was_there:
                isolated.discard(wanted)
            seen[version] = Probe(version, state_of(result), (result.error or "the output is right").splitlines()[0][:200])
        return seen[version].state

    borders = find_borders(releases, state)
    packages = told.get("packages")
    return Bisection(
        issue=entry.id,
        case=chosen.name,
        package=package,
        device=device,
        python=str(told.get("python", "")),
        torch=str(packages.get("torch", "")) if isinstance(packages, dict) else "",
        others={name: version for name, version in installs.items() if name != package},
        probes=tuple(seen[version] for version in releases if version in seen),
        borders=borders,
        date=datetime.now(timezone.utc).date().isoformat(),
    )


def state_of(result: RunResult) -> str:
    """Return what a run did, so that two runs of the same behaviour compare equal: numbers in messages do not count."""
    if result.outcome in ("cannot-run", "import-error"):
        return CANNOT
    if result.outcome == "ok":
        return "right"
    if result.outcome == "wrong":
        return "NaN or inf" if result.relative_error is None else "wrong result"
    first = (result.error or result.outcome).splitlines()[0][:120]
    return re.sub(r"\d+(\.\d+)*", "N", first)


def write_bisection(folder: Path, result: Bisection) -> Path:
    """Write the record of a bisection below a folder of records and return its file."""
    target = folder / "releases"
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"{result.issue.replace('/', '.')}.{result.package}.json"
    path.write_text(json.dumps(result.to_dict(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")
    return path
