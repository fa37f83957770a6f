"""Measured ranges: run a case over the published releases of a package and find where its behaviour changes.

The diagnosis has no part in it: it would bring in the ranges that are to be measured. What a release does is told by how the run ends.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.redact import redact_data
from troubleshoot.knowledge import KnowledgeBase, load_kb
from troubleshoot.lab.verify import index, installers, isolated, processes
from troubleshoot.lab.verify.outcomes import RunResult
from troubleshoot.lab.verify.records import RELEASES, ReleasesLine, read_lines, write_lines
from troubleshoot.lab.verify.registry import cases_of
from troubleshoot.lab.verify.runner import reproduce
from troubleshoot.lab.verify.signals import stoppable

#: State of a release that cannot run the case.
CANNOT = "cannot-run"

#: Other packages are those of this long after a release: by then a release that broke it, or was broken by it, has had its repair.
_SETTLED = timedelta(days=30)


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


class _NeededError(Exception):
    """The behaviour of a release has to be known first."""

    def __init__(self, version: str) -> None:
        self.version = version


def find_borders(releases: Sequence[str], state: Callable[[str], str], *, coarse: bool = False, every: int = 1) -> tuple[Border, ...]:
    """Return the changes of ``state`` over releases in order, by the first and last release of every minor series and bisection between.

    With ``coarse`` the last release of every series is enough, with ``every`` that of every so many series. A change and its reverse
    between two neighbouring points of that grid stay unseen. Releases that cannot run the case form no border.
    """
    if not releases:
        return ()
    coarse = coarse or every > 1
    points = [0]
    for place in range(1, len(releases)):
        here, previous = Version(releases[place]).release[:2], Version(releases[place - 1]).release[:2]
        if here != previous:
            points += [place - 1] if coarse else [place - 1, place]
    points = sorted({*(points[1:] if coarse and len(points) > 1 else points), len(releases) - 1})
    points = sorted({*points[::every], points[-1]})
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

    if len(points) == 1:
        state(releases[points[0]])
    for low, high in pairwise(points):
        split(low, high)
    return tuple(borders)


def published(package: str, *, timeout: float = 120.0) -> tuple[str, ...]:
    """Return the final releases of a package that the index offers for this Python, oldest first.

    Raises:
        InputError: pip finds none, or the index is out of reach.
    """
    with stoppable() as stop:
        command = [sys.executable, "-P", "-m", "pip", "index", "versions", package, "--disable-pip-version-check"]
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


@dataclass(frozen=True, eq=False)
class _Plan:
    """One case that is run over the releases. ``installs`` are the packages beside the one whose releases are run."""

    issue: str
    case: str
    package: str
    installs: Mapping[str, str]


def bisect(
    issues: str | Sequence[str],
    *,
    case: str | None = None,
    package: str | None = None,
    low: str | None = None,
    high: str | None = None,
    device: str = "cpu",
    timeout: float | None = None,
    coarse: bool = False,
    every: int = 1,
    keep: bool = False,
    of_its_time: bool | None = None,
    kb: KnowledgeBase | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[Bisection, ...]:
    """Run cases over the releases of a package from ``low`` to ``high`` and find where their behaviour changes.

    An issue with several cases may name one: "torch/half-on-cpu:half_linear_on_cpu".
    ``package`` defaults to the one that the entry's affected releases are of. Issues that are given together share the environments,
    which are removed again unless they were there before, or ``keep`` is set. With ``of_its_time`` (the default where uv is installed)
    every release gets the other packages as they were 30 days after it; else the newest that fit, or those that the case pins.

    Raises:
        InputError: an issue has no such case, the package is not one that the case installs, or there is no release between the ends.
    """
    base = kb if kb is not None else load_kb()
    plans = []
    for one in [issues] if isinstance(issues, str) else issues:
        id_, _, named = one.partition(":")
        plans.append(_plan(base, id_, named or case, package))
    if len({one.package for one in plans}) > 1:
        raise InputError("issues that are measured together must be of one package: name it with --package")
    package = plans[0].package
    releases = [
        one for one in published(package) if (not low or Version(one) >= Version(low)) and (not high or Version(one) <= Version(high))
    ]
    if len(releases) < 2:
        raise InputError(f"there are fewer than two releases of {package} from {low or 'the first'} to {high or 'the newest'}")
    days = _days(package, of_its_time)
    seen: dict[_Plan, dict[str, Probe]] = {one: {} for one in plans}
    told: dict[_Plan, dict[str, object]] = {one: {} for one in plans}
    borders: dict[_Plan, tuple[Border, ...]] = {}
    while len(borders) < len(plans):
        waiting: dict[str, list[_Plan]] = {}
        for plan in plans:
            try:
                borders[plan] = find_borders(releases, _known(seen[plan]), coarse=coarse, every=every)
            except _NeededError as needed:
                waiting.setdefault(needed.version, []).append(plan)
        for version in sorted(waiting, key=releases.index)[:1]:
            made = set()
            for plan in waiting[version]:
                say(f"{package} {version}: {plan.case}")
                day = days.get(str(Version(version)))
                wanted = {**(dict.fromkeys(plan.installs, "") if day else plan.installs), package: version}
                if not isolated.kept(wanted, of_day=day):
                    made.add((tuple(wanted.items()), day))
                result, environment = reproduce(
                    plan.issue, wanted, case=plan.case, device=device, timeout=timeout, kb=base, of_day=day
                )
                if environment:
                    told[plan].update(environment)
                seen[plan][version] = Probe(version, state_of(result), _detail(result))
            for items, day in () if keep else made:
                isolated.discard(dict(items), of_day=day)
    return tuple(_result(plan, told[plan], seen[plan], borders[plan], releases, device, bool(days)) for plan in plans)


def _detail(result: RunResult) -> str:
    """Return the first line of what a run printed, without the folders of this machine."""
    return (result.error or "the output is right").splitlines()[0].replace(str(isolated.cache_root()), "...")[:200]


def _known(seen: Mapping[str, Probe]) -> Callable[[str], str]:
    def state(version: str) -> str:
        if version not in seen:
            raise _NeededError(version)
        return seen[version].state

    return state


def _plan(base: KnowledgeBase, issue: str, case: str | None, package: str | None) -> _Plan:
    entry = base.entry(issue)
    found = [one for one in cases_of(entry.id, entry.verify.case if entry.verify else None) if case in (None, one.name)]
    if not found:
        raise InputError(f"{entry.id} has no case{f' {case!r}' if case else ''} to run over releases")
    chosen = found[0]
    installs = dict((entry.verify.install if entry.verify and entry.verify.case == chosen.name else None) or chosen.installs)
    package = package or (entry.affected[0].package if entry.affected else next(iter(installs), None))
    # Every case needs torch, and so can be run on another one.
    if package is None or (package not in installs and package != "torch"):
        raise InputError(f"{entry.id}: name one of the packages that its case installs with --package ({', '.join([*installs, 'torch'])})")
    return _Plan(entry.id, chosen.name, package, {name: version for name, version in installs.items() if name != package})


def _days(package: str, of_its_time: bool | None) -> dict[str, str]:
    """Return the day up to which other packages count, for every release; empty where today's are to be used."""
    if of_its_time is False or (of_its_time is None and installers.uv() is None):
        return {}
    try:
        return {version: (when + _SETTLED).date().isoformat() for version, when in index.published_on(package).items()}
    except OSError as error:
        if of_its_time:
            raise InputError(f"the index does not tell when {package} was published: {error}") from None
        return {}


def _result(
    plan: _Plan,
    told: Mapping[str, object],
    seen: Mapping[str, Probe],
    borders: tuple[Border, ...],
    releases: Sequence[str],
    device: str,
    dated: bool,
) -> Bisection:
    packages = told.get("packages")
    torch = str(packages.get("torch", "")) if isinstance(packages, dict) else ""
    return Bisection(
        issue=plan.issue,
        case=plan.case,
        package=plan.package,
        device=device,
        python=str(told.get("python", "")),
        torch="" if plan.package == "torch" else torch,
        others={name: "of its time" if dated else version for name, version in plan.installs.items()},
        probes=tuple(seen[version] for version in releases if version in seen),
        borders=borders,
        date=datetime.now(UTC).date().isoformat(),
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
    """Add a bisection to a folder of records and return the file.

    An older record of this case is continued where it was made on the same device and torch, both ran at least one release, and these
    did the same in both: what ``kb stale`` asks for are the releases since. Otherwise it is replaced.

    Raises:
        OSError: the folder cannot be written.
        KnowledgeError: a record in it is damaged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RELEASES
    several = len(cases_of(result.issue, None)) > 1
    others = []
    for old in read_lines(path, ReleasesLine):
        if (old["issue"], old["package"]) != (result.issue, result.package) or (several and old["case"] != result.case):
            others.append(old)
        else:
            result = _continued(old, result)
    write_lines(path, [*others, redact_data(result.to_dict(), personal=False)])
    return path


def _continued(old: Mapping[str, Any], new: Bisection) -> Bisection:
    """Return both bisections as one, or the new one where the old one does not go together with it."""
    before = {one["version"]: Probe(**one) for one in old["probes"]}
    now = {one.version: one for one in new.probes}
    shared = before.keys() & now.keys()
    if (old["case"], old["device"], old["torch"]) != (new.case, new.device, new.torch) or not shared:
        return new
    if any(before[version].state != now[version].state for version in shared):
        return new
    others = dict(old["others"])
    first = min(now, key=Version)
    for name, version in new.others.items():
        if others.get(name, version) != version:
            others[name] = f"{others[name]}; {version} from {new.package} {first} on"
    borders = {(one["before"], one["after"]): Border(**one) for one in old["borders"]}
    borders |= {(one.before, one.after): one for one in new.borders}
    return replace(
        new,
        others={**new.others, **others},
        probes=tuple(sorted((before | now).values(), key=lambda one: Version(one.version))),
        borders=tuple(sorted(borders.values(), key=lambda one: Version(one.after))),
    )
