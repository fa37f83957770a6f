"""The forms of the names that a report may bring into commands, titles and advice.

Paths of a report are free text: what has another form is no name, whatever stands where a name belongs.
"""

from __future__ import annotations

from troubleshoot.basics.patterns import anchored

_LONGEST = 100
_FOLDER = anchored(r"[A-Za-z0-9_][A-Za-z0-9._-]*+")
_EXTRAS_AND_VERSIONS = anchored(r"(?:\[[A-Za-z0-9._,-]++\])?(?:[<>=!~]{1,3}[A-Za-z0-9.*+!]++(?:,(?=[<>=!~])|$))*+")


def is_folder(name: str) -> bool:
    """Tell whether a text can be the folder of a package or a plug-in: one that no shell, installer or Markdown reads as anything else."""
    return len(name) <= _LONGEST and _FOLDER.fullmatch(name) is not None


def is_distribution(name: str) -> bool:
    """Tell whether a text can be the name of a distribution on a package index, as PEP 508 has it."""
    return is_folder(name) and name[0] != "_" and name[-1] not in "._-"


def is_requirement(text: str) -> bool:
    """Tell whether a text is what installers take: a distribution, perhaps with extras and versions. No address, option or marker."""
    match = _FOLDER.match(text)
    if match is None or len(text) > 2 * _LONGEST:
        return False
    return is_distribution(match[0]) and _EXTRAS_AND_VERSIONS.fullmatch(text, match.end()) is not None
