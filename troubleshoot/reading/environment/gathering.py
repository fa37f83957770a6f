"""The environment while it is being read: the one mutable thing here, turned into an Environment at the end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from troubleshoot.reading.environment.machine import Accelerator, Environment, Package
from troubleshoot.reading.environment.package_names import normalise_name

_MOST_ACCELERATORS = 64
_MOST_WARNINGS = 64
#: A machine has some hundred packages.
_MOST_PACKAGES = 4_000


@dataclass
class Draft:
    """What parsers have found so far, with the source of it all."""

    source: str
    packages: dict[str, Package] = field(default_factory=dict)
    accelerators: list[Accelerator] = field(default_factory=list)
    python: str | None = None
    os: str | None = None
    closed_packages: bool = False
    closed_accelerators: bool = False
    overfull: bool = False
    details: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def package(self, name: str, version: str | None, line: int | None) -> None:
        """Record a package. Said twice with different versions, the first counts and a warning tells of the other."""
        name = normalise_name(name)
        known = self.packages.get(name)
        if known is None and len(self.packages) >= _MOST_PACKAGES:
            # What is not in the list may be among those that were left out.
            self.overfull = True
        elif known is None or (known.version in ("", None) and version):
            self.packages[name] = Package(name, version, self.source, line)
        elif version and known.version and not same_version(known.version, version):
            if len(self.warnings) >= _MOST_WARNINGS:
                return
            where = f" (line {line})" if line is not None else ""
            self.warnings.append(f"{name} is said to be {known.version} and {version}{where}; {known.version} is used")
        elif version and known.version and len(version) > len(known.version):
            # 2.3.0 and 2.3.0+cu121: the local part tells the build.
            self.packages[name] = replace(known, version=version)

    def accelerator(self, new: Accelerator) -> None:
        """Record one device; identical ones are counted."""
        for index, known in enumerate(self.accelerators):
            if (known.name, known.memory) == (new.name, new.memory):
                self.accelerators[index] = replace(known, count=known.count + new.count)
                return
        if not self.full:
            self.accelerators.append(new)

    @property
    def full(self) -> bool:
        """Whether there are more different devices than a report tells of: what follows is no list of devices."""
        return len(self.accelerators) >= _MOST_ACCELERATORS

    def detail(self, name: str, value: str | None) -> None:
        """Record a further fact, unless it is known already."""
        if value:
            self.details.setdefault(name, value)

    def finish(self) -> Environment:
        """Return what was found."""
        if self.overfull:
            self.warnings.append(f"more than {_MOST_PACKAGES:,} packages are named: the first ones count")
        return Environment(
            packages=tuple(self.packages.values()),
            accelerators=tuple(self.accelerators),
            python=self.python,
            os=self.os,
            closed_packages=self.closed_packages and not self.overfull,
            closed_accelerators=self.closed_accelerators,
            details=self.details,
            source=self.source,
            warnings=tuple(dict.fromkeys(self.warnings)),
        )


def same_version(one: str, other: str) -> bool:
    """Tell whether two spellings can mean one version: the local part may be missing, ``4.50`` may stand for 4.50.0."""
    first, _, local = one.partition("+")
    second, _, local_too = other.partition("+")
    if local and local_too and local != local_too:
        return False
    return _trimmed(first) == _trimmed(second)


def _trimmed(version: str) -> str:
    end = len(version)
    while version.endswith(".0", 0, end):
        end -= 2
    return version[:end]
