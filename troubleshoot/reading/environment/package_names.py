"""Names and listings of packages: PEP 503 names, conda's names for the same thing, and when a listing is complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from troubleshoot.basics import word_tables
from troubleshoot.basics.numbers import whole_number

#: Shorter listings are taken for excerpts.
_SHORTEST = 8

_SAME = str.maketrans("_.", "--")


def normalise_name(name: str) -> str:
    """Return the PEP 503 name of a distribution: lower case, runs of ``-``, ``_`` and ``.`` as one ``-``."""
    name = name.lower().translate(_SAME)
    while "--" in name:
        name = name.replace("--", "-")
    return name


def distribution_of(import_name: str) -> str:
    """Return the PEP 503 name of the distribution that brings a package: ``open_clip`` is in open-clip-torch."""
    return word_tables.FRAME_IMPORTS.get(import_name) or normalise_name(import_name)


def looks_complete(versions: Mapping[str, str | None]) -> bool:
    """Tell whether a listing names everything that is installed, judged by what its packages require.

    People paste the lines that they find interesting, or pins from a requirements file; concluding from those that a
    package is absent would be wrong. A listing without torch is not that of the program that failed.
    """
    if len(versions) < _SHORTEST or "torch" not in versions:
        return False
    wanted: Iterable[str] = (needed for name, all_ in word_tables.WITNESSES.items() if name in versions for needed in all_)
    if not all(needed in versions for needed in wanted):
        return False
    major = whole_number((versions["torch"] or "").partition(".")[0])
    return major is None or major < 2 or all(needed in versions for needed in word_tables.TORCH_2)
