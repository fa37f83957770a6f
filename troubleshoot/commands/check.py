"""``troubleshoot check``: which lines of a program lose precision."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from troubleshoot.basics.errors import InputError
from troubleshoot.commands import process

if TYPE_CHECKING:
    from troubleshoot.knowledge import KnowledgeBase
    from troubleshoot.lab.trying.checked import Checked


def run(
    target: str,
    arguments: Sequence[str],
    *,
    module: bool,
    steps: str | None,
    every: str | None,
    until_first: bool,
    comparing: bool,
    timeout: str | None,
    format: str,
    language: str | None,
    kb: Sequence[str],
    output: str | None,
) -> int:
    """Check a program; return 0 where something was found, 1 where nothing was."""
    from troubleshoot.commands.diagnose import load
    from troubleshoot.lab.checking.check_text import render
    from troubleshoot.lab.trying.checked import check_program
    from troubleshoot.lab.trying.fresh import TIMEOUT, Program
    from troubleshoot.lab.verify.signals import stoppable
    from troubleshoot.lab.verify.workspace import workspace

    process.check_format(format, ("text", "json", "html"))
    spoken = process.language(language)
    if not module and not os.path.exists(target):  # noqa: PTH110
        raise InputError(f"cannot run {target}: no such file")
    limit = process.seconds_of(timeout, most=1e7) or TIMEOUT
    base = load(kb)
    program = Program(target, tuple(arguments), module, tuple(kb))
    with stoppable() as stop, workspace() as folder:
        checked = check_program(
            program, folder, stop, timeout=limit, every=_count("--every", every) or 1, steps=_count("--steps", steps),
            until_first=until_first, comparing=comparing, progress=lambda text: process.say(f"troubleshoot: {text}\n"),
        )  # fmt: skip
    if checked.ran.output:
        process.say(checked.ran.output if checked.ran.output.endswith("\n") else checked.ran.output + "\n")
    if not checked.seen and checked.ran.failure is None and checked.ran.outcome != "ok":
        raise InputError(f"{target} could not be checked: {checked.ran.error}")
    process.write(render(told(checked, base), format, spoken), output)
    return 0 if checked.findings else 1


def _count(option: str, value: str | None) -> int:
    if value is None:
        return 0
    if not value.isdigit() or not int(value):
        raise InputError(f"{option} {value}: give a number of steps")
    return int(value)


def told(checked: Checked, base: KnowledgeBase) -> dict[str, Any]:
    """Return the JSON object (docs/check.md)."""
    from troubleshoot.lab.checking.check_text import told as finding

    compared = checked.compared.to_dict() if checked.compared is not None else None
    outcome = {"same": "same", "other": "other"}.get(compared["outcome"], "unknown") if compared is not None else None
    failure = checked.ran.failure
    return {
        "schema": 1,
        "program": checked.program.target,
        "arguments": list(checked.program.arguments),
        "findings": [{**finding(one), "fixes": _fixes(one.cause, base)} for one in checked.findings],
        "experiments": [{"id": "float32", "outcome": outcome}] if outcome is not None else [],
        "compared": compared,
        "outcome": checked.ran.outcome,
        "raised": failure.error if failure is not None else None,
        "steps": checked.seen.get("steps", 0),
        "operations": checked.seen.get("operations", 0),
        "uncompiled": checked.seen.get("uncompiled", False),
        "error": checked.seen.get("error"),
    }


def _fixes(cause: str, base: KnowledgeBase) -> list[Mapping[str, Any]]:
    known = base.causes.causes.get(cause)
    return [{"id": one.id, "kind": one.kind, "title": one.title} for one in known.fixes] if known is not None else []
