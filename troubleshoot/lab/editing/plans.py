"""What editing yields: a plan, or a refusal with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from troubleshoot.basics.errors import TroubleshootError
from troubleshoot.engine.result import FixAdvice


class RefusedError(TroubleshootError):
    """An edit is not certain to be right; the message says why."""

#: Larger files of settings and scripts hold data, or are made by a program, and so are those that would change in more places.
MOST_BYTES = 256_000
MOST_CHANGES = 1_000


@dataclass(frozen=True)
class Step:
    """One operation: its name, the file and line that it changed, and what it did."""

    operation: str
    file: str
    line: int
    what: str


@dataclass(frozen=True)
class Plan:
    """A fix as edits: the new content of every file, by absolute path, and the program's arguments where those change.

    ``before`` has what the files held when they were read: nothing else may be overwritten.
    """

    fix: FixAdvice
    files: Mapping[str, bytes] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    arguments: tuple[str, ...] | None = None
    before: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Refusal:
    """A fix that was not turned into an edit, and why."""

    fix: FixAdvice
    why: str
