"""Records of verifications: machine-written, one file per issue, and one compact index that a diagnosis reads.

A record speaks for the device type, compute capability, torch and packages that it names, and for nothing else. Reading them back is
:mod:`troubleshoot.engine.records`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.redact import redact_data, redacted_start
from troubleshoot.basics.saving import save
from troubleshoot.engine.records import INDEX, SCHEMA
from troubleshoot.lab.verify.outcomes import Verification
from troubleshoot.version import __version__


def record_of(result: Verification) -> dict[str, Any]:
    """Return what is kept of one verification: what was run on what, without paths, names or tracebacks of the machine."""
    environment = result.environment
    kept = {
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
    return record["case"], record["dtype"], record["device"], record["capability"], tuple(sorted(record["versions"].items()))


def write_records(folder: str | os.PathLike[str], results: Iterable[Verification]) -> list[Path]:
    """Add verifications to a folder of records, make its index anew, and return the files that were written.

    What cannot run here says nothing and is not recorded.

    Raises:
        OSError: the folder cannot be written.
        InputError: a record in it is damaged.
    """
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    written = []
    for result in results:
        if result.verdict == "cannot-run":
            continue
        path = root / f"{result.issue.replace('/', '.')}.json"
        kept = _runs(path)
        new = record_of(result)
        runs = sorted([*(one for one in kept if _key(one) != _key(new)), new], key=lambda one: json.dumps(one, sort_keys=True))
        _write(path, {"schema": SCHEMA, "issue": result.issue, "runs": runs})
        written.append(path)
    _write_index(root)
    return written


def _runs(path: Path) -> list[dict[str, Any]]:
    return list(_kept(path)["runs"]) if path.exists() else []


def _kept(path: Path) -> dict[str, Any]:
    """Return a record. Raises InputError where it is damaged: written anew, it would lose the runs that are still in it."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        for run in data["runs"]:
            _ = run["before"]["outcome"], run["device"], run["capability"], run["versions"], run["date"], _key(run)
            _ = [(fix["id"], fix["outcome"]) for fix in run["fixes"]]
        _ = data["issue"].encode()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is no record of verifications ({error!r}): put it in order, or delete it") from None
    return dict(data)


def _write_index(root: Path) -> None:
    """Write issue -> fix -> [outcome, device, capability, versions, date], of runs in which the issue was reproduced."""
    issues: dict[str, dict[str, list[list[Any]]]] = {}
    for path in sorted(root.glob("*.json")):
        if path.name == INDEX:
            continue
        data = _kept(path)
        for run in data["runs"]:
            if run["before"]["outcome"] != "reproduced":
                continue
            for fix in run["fixes"]:
                if fix["outcome"] != "skipped":
                    seen = [fix["outcome"], run["device"], run["capability"], run["versions"], run["date"]]
                    issues.setdefault(data["issue"], {}).setdefault(fix["id"], []).append(seen)
    lines = [f"{json.dumps(issue)}: {json.dumps(fixes, separators=(',', ':'), sort_keys=True)}" for issue, fixes in sorted(issues.items())]
    body = ",\n".join(lines)
    text = f'{{"schema": {SCHEMA}, "issues": {{\n{body}\n}}}}\n'
    save(root / INDEX, text.encode())


def _write(path: Path, data: Mapping[str, Any]) -> None:
    save(path, (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "backslashreplace"))
