"""``troubleshoot kb bisect``: measure which releases show an issue."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from troubleshoot.commands import process
from troubleshoot.commands.diagnose import load


def run(
    issue: str,
    *,
    case: str | None,
    package: str | None,
    low: str | None,
    high: str | None,
    record: str | None,
    format: str,
    kb: Sequence[str],
    output: str | None,
) -> int:
    """Print the releases that were run and where the behaviour changes. Return 0 where a border was found, 1 where none was."""
    process.check_format(format, ("text", "json"))
    from troubleshoot.verify.bisect import bisect, write_bisection

    def say(text: str) -> None:
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[2K{text} ...")
            sys.stderr.flush()

    result = bisect(issue.strip(), case=case, package=package, low=low, high=high, kb=load(kb), say=say)
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K")
    if record is not None:
        write_bisection(Path(record), result)
    if format == "json":
        process.write(json.dumps(result.to_dict(), ensure_ascii=False, indent=2) + "\n", output)
    else:
        lines = [f"{result.issue}: {result.package} on {result.device}, torch {result.torch}, Python {result.python}"]
        lines += [f"  {one.version:<10} {one.state}" for one in result.probes]
        lines += [f"changes at {one.after}: {one.from_state} -> {one.to_state}" for one in result.borders] or [
            "no change of behaviour found"
        ]
        process.write("\n".join(lines) + "\n", output)
    return 0 if result.borders else 1
