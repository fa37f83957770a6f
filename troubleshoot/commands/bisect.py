"""``troubleshoot kb bisect``: measure which releases show an issue."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.json_text import json_text
from troubleshoot.commands import process
from troubleshoot.commands.diagnose import load

if TYPE_CHECKING:
    from troubleshoot.lab.verify.bisect import Bisection


def run(
    issues: Sequence[str],
    *,
    case: str | None,
    package: str | None,
    low: str | None,
    high: str | None,
    coarse: bool,
    every: str | None,
    keep: bool,
    record: str | None,
    format: str,
    kb: Sequence[str],
    output: str | None,
) -> int:
    """Print the releases that were run and where the behaviour changes. Return 0 where every issue has a border, 1 where one has none."""
    process.check_format(format, ("text", "json"))
    from troubleshoot.lab.verify.bisect import bisect, write_bisection

    def say(text: str) -> None:
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[2K{text} ...")
            sys.stderr.flush()

    results = bisect(
        [one.strip() for one in issues], case=case, package=package, low=low, high=high, coarse=coarse, every=_every(every), keep=keep,
        kb=load(kb), say=say,
    )  # fmt: skip
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K")
    if record is not None:
        for result in results:
            write_bisection(Path(record), result)
    if format == "json":
        from troubleshoot.basics.redact import redact_data

        data = [redact_data(one.to_dict(), personal=False) for one in results]
        process.write(json_text(data[0] if len(data) == 1 else data, indent=2) + "\n", output)
    else:
        process.write("\n\n".join(_text(one) for one in results) + "\n", output)
    return 0 if all(one.borders for one in results) else 1


def _every(given: str | None) -> int:
    if given is None:
        return 1
    if not given.isdecimal() or int(given) < 1:
        raise InputError(f"--every takes a whole number from 1, not {given!r}")
    return int(given)


def _text(result: Bisection) -> str:
    on = "" if result.package == "torch" else f", torch {result.torch}"
    lines = [f"{result.issue}: {result.package} on {result.device}{on}, Python {result.python}"]
    lines += [f"  {one.version:<10} {one.state}" for one in result.probes]
    lines += [f"changes at {one.after}: {one.from_state} -> {one.to_state}" for one in result.borders] or ["no change of behaviour found"]
    return "\n".join(lines)
