"""Version ranges and how they are evaluated.

A range is half-open, ``introduced <= version < fixed``, as OSV publishes its events
(https://ossf.github.io/osv-schema/#affectedrangesevents-fields). Versions compare as PEP 440 says.
Where the answer depends on more than the number, it is unknown: a development, NVIDIA NGC (``2.3.0a0+git``) or
git build within the release that forms a border may or may not hold the change.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version


@dataclass(frozen=True)
class VersionRange:
    """``introduced`` (inclusive; "0" means every older release was checked) to ``fixed`` (exclusive; None: not fixed)."""

    introduced: str
    fixed: str | None = None

    def __str__(self) -> str:
        if self.fixed is None:
            return f"{self.introduced} and later" if self.introduced != "0" else "every release"
        return f"before {self.fixed}" if self.introduced == "0" else f"{self.introduced} to before {self.fixed}"

    @property
    def zh(self) -> str:
        """The same in Chinese."""
        if self.fixed is None:
            return f"{self.introduced} 及以后" if self.introduced != "0" else "所有版本"
        return f"{self.fixed} 之前" if self.introduced == "0" else f"{self.introduced} 起、{self.fixed} 之前"


@dataclass(frozen=True)
class Releases:
    """Releases of which one is installed, oldest first, where no more is known.

    ``spans`` are their neighbours taken together as (first, last); None is an open end: it may be an older, or a newer release than any
    that was looked at.
    """

    versions: tuple[str, ...]
    spans: tuple[tuple[str | None, str | None], ...]

    @property
    def only(self) -> str | None:
        """The release, where it can be but one."""
        return self.versions[0] if len(self.versions) == 1 and None not in self.spans[0] else None

    def hold(self, test: Callable[[str], bool | None]) -> bool | None:
        """Hold a condition against each of them: True where it holds for all, False where for none, None where that cannot be told."""
        possible = self.versions
        if self.spans[0][0] is None:
            possible = (_ANY_OLDER, *possible)
        if self.spans[-1][1] is None:
            possible = (*possible, _ANY_NEWER)
        answers = {test(one) for one in possible}
        return answers.pop() if len(answers) == 1 else None

    def __str__(self) -> str:
        return " or ".join(_span_text(first, last) for first, last in self.spans)

    @property
    def zh(self) -> str:
        """The same in Chinese."""
        return "或 ".join(_span_zh(first, last) for first, last in self.spans)


#: What stands for the releases beyond an open end.
_ANY_OLDER, _ANY_NEWER = "0", "99999"


def _span_text(first: str | None, last: str | None) -> str:
    if first is None:
        return f"{last} or earlier"
    if last is None:
        return f"{first} or later"
    return first if first == last else f"{first} to {last}"


def _span_zh(first: str | None, last: str | None) -> str:
    if first is None:
        return f"{last} 或更早"
    if last is None:
        return f"{first} 或更高"
    return first if first == last else f"{first} 到 {last}"


#: Characters of the longest text that is a version. Python refuses to read numbers of thousands of digits.
_LONGEST = 128


def parse_version(text: str) -> Version | None:
    """Return the PEP 440 version in ``text``, or None where it is none."""
    if len(text) > _LONGEST:
        return None
    try:
        return Version(text.strip().lstrip("vV="))
    except InvalidVersion:
        return None


def in_range(version: str, wanted: VersionRange) -> bool | None:
    """Tell whether ``version`` lies in the range; None where it cannot be told.

    A version such as "4.50" (as people write it) stands for the release 4.50.0.
    """
    parsed = parse_version(version)
    if parsed is None:
        return None
    introduced = Version(wanted.introduced)
    fixed = Version(wanted.fixed) if wanted.fixed is not None else None
    if _uncertain(parsed) and any(_same_release(parsed, border) for border in (introduced, fixed) if border is not None):
        return None
    # The local part never decides: 4.50.1+cu121 is 4.50.1 unless the border itself names a local version.
    low = parsed if introduced.local else Version(parsed.public)
    if low < introduced:
        return False
    if fixed is None:
        return True
    high = parsed if fixed.local else Version(parsed.public)
    return high < fixed


def in_ranges(version: str, ranges: tuple[VersionRange, ...]) -> bool | None:
    """Tell whether ``version`` lies in any of the ranges; None where it cannot be told."""
    answers = [in_range(version, one) for one in ranges]
    if True in answers:
        return True
    return None if None in answers else False


_OPERATORS: tuple[tuple[str, Callable[[Version, Version], bool]], ...] = (
    (">=", operator.ge),
    ("<=", operator.le),
    ("==", operator.eq),
    ("!=", operator.ne),
    (">", operator.gt),
    ("<", operator.lt),
)


def satisfies(version: str, specifier: str) -> bool | None:
    """Tell whether a version satisfies a specifier such as ``>=4.50,<4.50.3``; None where either cannot be read.

    Only comparisons: packaging.specifiers, which knows the rest, takes longer to import than a diagnosis takes. Pre-releases count.
    """
    parsed = parse_version(version)
    if parsed is None:
        return None
    public = Version(parsed.public)
    for clause in specifier.split(","):
        compare = next(((symbol, function) for symbol, function in _OPERATORS if clause.strip().startswith(symbol)), None)
        border = parse_version(clause.strip().removeprefix(compare[0])) if compare else None
        if compare is None or border is None:
            return None
        if not compare[1](public, border):
            return False
    return True


def _uncertain(version: Version) -> bool:
    if version.is_devrelease:
        return True
    # NGC builds are 2.3.0a0+hash: a pre-release number with a local part is a snapshot of a branch.
    return version.is_prerelease and version.local is not None


def _same_release(one: Version, other: Version) -> bool:
    width = max(len(one.release), len(other.release))

    def pad(version: Version) -> tuple[int, ...]:
        return version.release + (0,) * (width - len(version.release))

    return pad(one) == pad(other)
