"""What was seen when fixes were run: the compact index of ``kb/records``, written by ``troubleshoot verify --record``.

One small file is read, when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from troubleshoot.result import SeenRun

SCHEMA = 1
INDEX = "index.json"

SeenFor = Callable[[str, str], tuple[SeenRun, ...]]

_read: dict[tuple[Path, ...], dict[str, dict[str, list[list[Any]]]]] = {}


def seen_in(roots: Sequence[Path]) -> SeenFor:
    """Return a function (issue, id of a fix) -> recorded runs, for the bases below ``roots`` (``KnowledgeBase.roots``).

    Nothing is read before it is called; a folder without records, or with a damaged index, has none.
    """
    key = tuple(roots)

    def seen(issue: str, fix: str) -> tuple[SeenRun, ...]:
        index = _read.get(key)
        if index is None:
            index = _read[key] = _index(key)
        runs = index.get(issue, {}).get(fix, ())
        return tuple(SeenRun(outcome, device, capability, versions, date) for outcome, device, capability, versions, date in runs)

    return seen


def _index(roots: Sequence[Path]) -> dict[str, dict[str, list[list[Any]]]]:
    import msgspec

    issues: dict[str, dict[str, list[list[Any]]]] = {}
    for root in roots:
        try:
            content = (root / "records" / INDEX).read_bytes()
            data = msgspec.json.decode(content)
        except (OSError, msgspec.DecodeError):
            continue
        if isinstance(data, dict) and data.get("schema") == SCHEMA:
            for issue, fixes in data["issues"].items():
                for fix, runs in fixes.items():
                    issues.setdefault(issue, {}).setdefault(fix, []).extend(runs)
    return issues
