"""Holding the releases that an entry names against the packages that are known."""

from __future__ import annotations

from functools import partial

from troubleshoot.basics.versions import VersionRange, in_ranges, parse_version
from troubleshoot.engine.evidence import Facts
from troubleshoot.engine.matching.conditions import UNKNOWN, Outcome
from troubleshoot.knowledge.schema import Affected


def hold_releases(affected: tuple[Affected, ...], facts: Facts) -> Outcome:
    """All packages must be in their ranges; one that is outside refutes, an unknown one leaves it open."""
    texts: list[str] = []
    chinese: list[str] = []
    line: int | None = None
    unknown = False
    for one in affected:
        package = facts.package(one.package)
        if package is None:
            unknown = True
            continue
        if package.version is None:
            return Outcome(False, f"{one.package} is not installed", package.line, f"没有安装 {one.package}")
        inside = package.holds(partial(_inside, affected=one))
        if inside is False:
            zh = f"{one.package} {package.told_zh} 不在 {affected_zh(one)} 之内"
            return Outcome(False, f"{one.package} {package.told} is not among {affected_text(one)}", package.line, zh)
        if inside is None:
            unknown = True
            continue
        texts.append(f"{one.package} {package.told}")
        chinese.append(f"{one.package} {package.told_zh}")
        line = line or package.line
    if unknown or not texts:
        return UNKNOWN
    return Outcome(True, ", ".join(texts), line, "，".join(chinese))


def _inside(version: str, affected: Affected) -> bool | None:
    parsed = parse_version(version)
    for one in affected.ranges:
        border = parse_version(one.unknown_before) if one.unknown_before else None
        if border is not None and parsed is not None and parsed < border:
            return None
    ranges = tuple(VersionRange(one.introduced or one.unknown_before or "0", one.fixed) for one in affected.ranges)
    return in_ranges(version, ranges)


def _ranges(affected: Affected) -> list[VersionRange]:
    borders = [(one.introduced or one.unknown_before or "0", one.fixed) for one in affected.ranges]
    # Where both are the same, the older releases are unknown: no release is in that part.
    return [VersionRange(low, high) for low, high in borders if low != high or len(borders) == 1]


def affected_text(affected: Affected) -> str:
    """Return the ranges of one package as people write them."""
    return f"{affected.package} {' or '.join(map(str, _ranges(affected)))}"


def affected_zh(affected: Affected) -> str:
    """Return the same in Chinese."""
    return f"{affected.package} {'或 '.join(one.zh for one in _ranges(affected))}"


def affected_texts(affected: tuple[Affected, ...]) -> tuple[str, ...]:
    """Return the ranges of all packages."""
    return tuple(map(affected_text, affected))
