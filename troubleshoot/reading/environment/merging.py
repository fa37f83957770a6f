"""Several environments become one: the stronger source wins, fact by fact."""

from __future__ import annotations

from dataclasses import replace

from troubleshoot.reading.environment.gathering import same_version
from troubleshoot.reading.environment.machine import SOURCES, Accelerator, Environment, Package


def merge(*environments: Environment) -> Environment:
    """Return one environment in which, package by package, the strongest source counts (see ``SOURCES``).

    Of equal sources the earlier argument counts. A version that another source contradicts gives a warning. A closed list stays
    closed: what it does not name is recorded as absent where a weaker source claims its presence. Accelerators are
    taken whole from the strongest source that knows any, or knows that there are none.
    """
    given = [one for one in environments if one is not None]
    if not given:
        return Environment()
    ranked = sorted(given, key=_rank, reverse=True)
    warnings = [warning for one in given for warning in one.warnings]
    packages = _packages(ranked, warnings)
    strongest = next((one for one in ranked if one.accelerators or one.closed_accelerators), None)
    details: dict[str, str] = {}
    for one in reversed(ranked):
        details.update(one.details)
    return Environment(
        packages=packages,
        accelerators=_accelerators(strongest, ranked) if strongest else (),
        python=next((one.python for one in ranked if one.python), None),
        os=next((one.os for one in ranked if one.os), None),
        closed_packages=any(one.closed_packages for one in given),
        closed_accelerators=strongest.closed_accelerators if strongest else False,
        details=details,
        source=ranked[0].source,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _rank(environment: Environment) -> int:
    return source_rank(environment.source)


def source_rank(source: str) -> int:
    """Return the strength of a source: its place in ``SOURCES``, -1 for an unknown one."""
    return SOURCES.index(source) if source in SOURCES else -1


def _packages(ranked: list[Environment], warnings: list[str]) -> tuple[Package, ...]:
    best: dict[str, Package] = {}
    for environment in ranked:
        for package in environment.packages:
            known = best.get(package.name)
            best[package.name] = package if known is None else _stronger(known, package, warnings)
    for environment in (one for one in ranked if one.closed_packages):
        listed = {one.name for one in environment.packages}
        for name, package in best.items():
            if name not in listed and not package.absent and source_rank(package.source) < _rank(environment):
                warnings.append(
                    f"{name} is mentioned ({package.source}) but not in the complete list of packages ({environment.source}): "
                    "taken as not installed"
                )
                best[name] = Package(name, None, environment.source)
    return tuple(best.values())


def _stronger(known: Package, other: Package, warnings: list[str]) -> Package:
    first, second = (other, known) if source_rank(other.source) > source_rank(known.source) else (known, other)
    if first.version == "" and second.version:
        # Only its presence is known from the stronger source: the version of the weaker one does not contradict that.
        return second
    if first.absent != second.absent or (first.version and second.version and not same_version(first.version, second.version)):
        warnings.append(f"{first.name} is {_said(first)} but {_said(second)}: {_said(first)} is used")
    elif (
        first.version
        and second.version
        and len(second.version) > len(first.version)
        and source_rank(first.source) == source_rank(second.source)
    ):
        return replace(first, version=second.version)
    return first


def _said(package: Package) -> str:
    version = "not installed" if package.absent else package.version or "installed"
    return f"{version} ({package.source})"


def _accelerators(strongest: Environment, ranked: list[Environment]) -> tuple[Accelerator, ...]:
    """The strongest source's, with members that only a weaker source knows of the same device."""
    others = [one for environment in ranked if environment is not strongest for one in environment.accelerators]
    completed = []
    for one in strongest.accelerators:
        for other in others:
            if _same_device(one, other):
                one = replace(
                    one,
                    capability=one.capability or other.capability,
                    architecture=one.architecture or other.architecture,
                    memory=one.memory if one.memory is not None else other.memory,
                )
        completed.append(one)
    return tuple(completed)


def _same_device(one: Accelerator, other: Accelerator) -> bool:
    if one.kind != other.kind:
        return False
    if one.name == other.name:
        return True
    from troubleshoot.reading.environment.hardware import find_gpu

    first, second = find_gpu(one.name), find_gpu(other.name)
    return first is not None and second is not None and first.name == second.name
