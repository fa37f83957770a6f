"""Whether an environment can run a case, and if not, why."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from troubleshoot.basics.versions import VersionRange, in_ranges
from troubleshoot.knowledge.schema import Affected
from troubleshoot.lab.verify.outcomes import Case
from troubleshoot.reading.environment.machine import Environment
from troubleshoot.reading.environment.package_names import normalise_name


def misses(case: Case, environment: Environment, *, changed: Mapping[str, str | None] | None = None) -> str | None:
    """Return why a case cannot run in an environment, or None where it can.

    ``changed`` are packages that an isolated environment will have in other versions (None: will not have).
    """
    if case.python and not _meets(environment.python or "", case.python):
        return f"needs Python {case.python}; this is {environment.python}"
    wanted = {"torch": case.torch, **case.present}
    for name, specifier in wanted.items():
        version = _version(environment, name, changed)
        needs = f"{name} {specifier}".strip()
        if version is None:
            return f"needs {needs}, which is not installed"
        if specifier and not _meets(version, specifier):
            return f"needs {needs}; {version} is installed"
    for name in case.absent:
        version = _version(environment, name, changed)
        if version is not None:
            return f"shows only where {name} is not installed; {version or 'it'} is"
    return None


def repaired(case: Case, environment: Environment) -> str | None:
    """Return which installed release the case's fault does not show with, or None."""
    for name, specifier in case.shows.items():
        version = _version(environment, name, None)
        if version is not None and not _meets(version, specifier):
            return f"shows with {name} {specifier} only; {version} is installed"
    return None


def unaffected(affected: tuple[Affected, ...], environment: Environment) -> str | None:
    """Return which installed release lies outside of the affected ones, or None."""
    for one in affected:
        known = environment.package(normalise_name(one.package))
        if known is None or not known.version:
            continue
        ranges = tuple(VersionRange(part.introduced or "0", part.fixed) for part in one.ranges)
        if in_ranges(known.version, ranges) is False:
            return f"{one.package} {known.version} is not affected ({', '.join(map(str, ranges))})"
    return None


def wrong_device(case: Case, device: str) -> str | None:
    """Return why a case does not exist on a device, or None."""
    if device in case.devices:
        return None
    return case.why_not_cpu if device == "cpu" and case.why_not_cpu else f"exists on {', '.join(case.devices)} only"


def wrong_capability(case: Case, capability: str | None) -> str | None:
    """Return why a case does not exist on a GPU of this compute capability ("7.5"), or None."""
    if capability is None:
        return None
    value = float(capability)
    if case.capability_at_least is not None and value < case.capability_at_least:
        return f"needs compute capability {case.capability_at_least} or higher; this GPU has {capability}"
    if case.capability_below is not None and value >= case.capability_below:
        return f"exists below compute capability {case.capability_below} only; this GPU has {capability}"
    return None


def _version(environment: Environment, name: str, changed: Mapping[str, str | None] | None) -> str | None:
    if changed and name in changed:
        return changed[name]
    known = environment.package(normalise_name(name))
    return known.version if known is not None else None


def _meets(version: str, specifier: str) -> bool:
    try:
        return SpecifierSet(specifier).contains(Version(Version(version).public), prereleases=True)
    except InvalidVersion:
        return False
