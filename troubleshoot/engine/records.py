"""What was seen when fixes were run: the compact index of ``kb/records``, written by ``troubleshoot verify --record``.

One small file is read, when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from troubleshoot.engine.result import SeenRun
from troubleshoot.knowledge.files import UnreadableError, read_regular

SCHEMA = 1
INDEX = "index.json"

SeenFor = Callable[[str, str], tuple[SeenRun, ...]]

#: Bytes of an index; the shipped one has 0.2 MB.
_MOST_BYTES = 64 << 20

#: outcome, device, capability, versions, date
_Run = tuple[str, str, str | None, dict[str, str], str]


class _Index(msgspec.Struct):
    schema: int
    issues: dict[str, dict[str, list[_Run]]] = {}


_read: dict[tuple[Path, ...], dict[str, dict[str, list[_Run]]]] = {}


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


def _index(roots: Sequence[Path]) -> dict[str, dict[str, list[_Run]]]:
    issues: dict[str, dict[str, list[_Run]]] = {}
    for root in roots:
        try:
            kept = msgspec.json.decode(read_regular(root / "records" / INDEX, _MOST_BYTES), type=_Index)
        except (UnreadableError, msgspec.DecodeError, UnicodeDecodeError):
            continue
        if kept.schema == SCHEMA:
            for issue, fixes in kept.issues.items():
                for fix, runs in fixes.items():
                    issues.setdefault(issue, {}).setdefault(fix, []).extend(runs)
    return issues
