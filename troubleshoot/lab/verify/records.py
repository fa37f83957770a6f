"""Records of what was run: machine-written JSON lines, one a run, and one compact index that a diagnosis reads.

A record speaks for the device type, compute capability, torch and packages that it names, and for nothing else. The index is read back
by :mod:`troubleshoot.engine.records`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from troubleshoot.basics.errors import KnowledgeError, KnowledgeProblem
from troubleshoot.basics.redact import redact_data, redacted_start
from troubleshoot.basics.saving import save
from troubleshoot.engine.records import INDEX, SCHEMA
from troubleshoot.knowledge.files import UnreadableError, read_regular
from troubleshoot.lab.verify.outcomes import Verification
from troubleshoot.version import __version__

VERIFICATIONS = "verifications.jsonl"
RELEASES = "releases.jsonl"

#: Bytes of such a file; the shipped ones have 0.6 MB together.
_MOST_BYTES = 256 << 20


class _Before(msgspec.Struct):
    outcome: str


class _Fix(msgspec.Struct):
    id: str
    outcome: str


class VerificationLine(msgspec.Struct):
    """What is read again of a verification."""

    issue: str
    case: str
    dtype: str
    device: str
    capability: str | None
    versions: dict[str, str]
    date: str
    before: _Before
    fixes: list[_Fix]


class _Probe(msgspec.Struct):
    version: str
    state: str
    detail: str


class _Border(msgspec.Struct):
    before: str
    after: str
    from_state: str
    to_state: str


class ReleasesLine(msgspec.Struct):
    """What is read again of a bisection."""

    issue: str
    case: str
    package: str
    device: str
    torch: str
    others: dict[str, str]
    probes: list[_Probe]
    borders: list[_Border]
    date: str


def read_lines(path: Path, shape: type[msgspec.Struct]) -> list[dict[str, Any]]:
    """Return the records of a file; none where there is no file.

    Raises:
        KnowledgeError: a line is none of ``shape``; written anew without it, the file would lose what is still in it.
    """
    if not os.path.lexists(path):
        return []
    found = []
    problems = []
    try:
        lines = read_regular(path, _MOST_BYTES).split(b"\n")
    except UnreadableError as error:
        raise KnowledgeError((KnowledgeProblem(path, 1, "", str(error)),)) from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            msgspec.convert(record, shape)
        except (ValueError, RecursionError) as error:
            problems.append(KnowledgeProblem(path, number, "", f"is no record of a run ({error}): put the line in order, or delete it"))
        else:
            found.append(record)
    if problems:
        raise KnowledgeError(tuple(problems))
    return found


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write records, one a line, in an order that does not depend on when they were made."""
    ordered = sorted(records, key=lambda one: (one["issue"], one["case"], json.dumps(one, sort_keys=True)))
    text = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in ordered)
    save(path, text.encode("utf-8", "backslashreplace"))


def record_of(result: Verification) -> dict[str, Any]:
    """Return what is kept of one verification: what was run on what, without paths, names or tracebacks of the machine."""
    environment = result.environment
    kept = {
        "schema": SCHEMA,
        "issue": result.issue,
        "case": result.case,
        "tier": result.tier,
        "stand_in": result.stand_in or None,
        "dtype": result.dtype,
        "device": result.device,
        "device_name": environment.get("device_name"),
        "capability": environment.get("capability"),
        "machine": environment.get("machine"),
        "os": environment.get("os"),
        "python": environment.get("python"),
        "versions": dict(environment.get("packages") or {}),
        "tool": __version__,
        "date": datetime.now(UTC).date().isoformat(),
        "before": {"outcome": result.before.outcome, "error": _first_line(result.before.error), "diagnosed_as": result.before.diagnosed_as},
        "fixes": [
            {
                "id": one.id,
                "kind": one.kind,
                "expected": one.expected,
                "outcome": one.outcome,
                "why": one.why,
                "relative_error": one.relative_error,
                "weights_bytes_per_parameter": one.weights_bytes_per_parameter,
            }
            for one in result.fixes
        ],
        "verdict": result.verdict,
    }
    return redact_data(kept, personal=False)


def _first_line(text: str | None) -> str | None:
    return redacted_start(text.splitlines()[0], 300, personal=True) if text else None


def _key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Two runs of one case on the same device and versions are one record: the newer counts."""
    versions = tuple(sorted(record["versions"].items()))
    return record["issue"], record["case"], record["dtype"], record["device"], record["capability"], versions


def write_records(folder: str | os.PathLike[str], results: Iterable[Verification]) -> list[Path]:
    """Add verifications to a folder of records, make its index anew, and return the files that were written.

    What cannot run here says nothing and is not recorded.

    Raises:
        OSError: the folder cannot be written.
        KnowledgeError: a record in it is damaged.
    """
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    path = root / VERIFICATIONS
    records = {_key(one): one for one in read_lines(path, VerificationLine)}
    new = [record_of(one) for one in results if one.verdict != "cannot-run"]
    records |= {_key(one): one for one in new}
    if new:
        write_lines(path, records.values())
    _write_index(root, records.values())
    return [path] if new else []


def _write_index(root: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write issue -> fix -> [outcome, device, capability, versions, date], of runs in which the issue was reproduced."""
    issues: dict[str, dict[str, list[list[Any]]]] = {}
    for run in sorted(records, key=lambda one: json.dumps(one, sort_keys=True)):
        if run["before"]["outcome"] != "reproduced":
            continue
        for fix in run["fixes"]:
            if fix["outcome"] != "skipped":
                seen = [fix["outcome"], run["device"], run["capability"], run["versions"], run["date"]]
                issues.setdefault(run["issue"], {}).setdefault(fix["id"], []).append(seen)
    lines = [f"{json.dumps(issue)}: {json.dumps(fixes, separators=(',', ':'), sort_keys=True)}" for issue, fixes in sorted(issues.items())]
    body = ",\n".join(lines)
    text = f'{{"schema": {SCHEMA}, "issues": {{\n{body}\n}}}}\n'
    save(root / INDEX, text.encode())

