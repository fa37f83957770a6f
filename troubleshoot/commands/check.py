"""``troubleshoot check``: which lines of a program lose precision."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from troubleshoot.basics.errors import InputError
from troubleshoot.commands import process

if TYPE_CHECKING:
    from troubleshoot.knowledge import KnowledgeBase
    from troubleshoot.lab.trying.checked import Checked
    from troubleshoot.lab.trying.mending import Mended


def run(
    target: str,
    arguments: Sequence[str],
    *,
    module: bool,
    steps: str | None,
    every: str | None,
    until_first: bool,
    comparing: bool,
    fixing: bool = False,
    apply: bool = False,
    timeout: str | None,
    format: str,
    language: str | None,
    kb: Sequence[str],
    output: str | None,
) -> int:
    """Check a program; return 0 where something was found, 1 where nothing was."""
    from troubleshoot.commands.diagnose import load
    from troubleshoot.lab.checking.check_text import render
    from troubleshoot.lab.trying.checked import References, check_program
    from troubleshoot.lab.trying.fresh import TIMEOUT, Program
    from troubleshoot.lab.verify.signals import stoppable
    from troubleshoot.lab.verify.workspace import workspace

    process.check_format(format, ("text", "json", "html"))
    spoken = process.language(language)
    if not module and not os.path.exists(target):  # noqa: PTH110
        raise InputError(f"cannot run {target}: no such file")
    limit = process.seconds_of(timeout, most=1e7) or TIMEOUT
    if apply and not fixing:
        raise InputError("--apply goes with --fix")
    if fixing and (until_first or not comparing):
        raise InputError("--fix judges an edit by the float32 run: leave out --until-first and --no-compare")
    if fixing and find_spec("libcst") is None:
        raise InputError("source edits need LibCST: pip install 'troubleshoot[edit]'")
    base = load(kb)
    program = Program(target, tuple(arguments), module, tuple(kb))
    mended = None
    with stoppable() as stop, workspace() as folder:
        references = References(program, folder, stop, limit, _say)
        checked = check_program(
            program, folder, stop, timeout=limit, every=_count("--every", every) or 1, steps=_count("--steps", steps),
            until_first=until_first, comparing=comparing, references=references, progress=_say,
        )  # fmt: skip
        if fixing and checked.findings:
            from troubleshoot.lab.trying.mending import mend

            mended = mend(checked, folder, stop, references, timeout=limit, say=_say)
    if checked.ran.output:
        process.say(checked.ran.output if checked.ran.output.endswith("\n") else checked.ran.output + "\n")
    if not checked.seen and checked.ran.failure is None and checked.ran.outcome != "ok":
        raise InputError(f"{target} could not be checked: {checked.ran.error}")
    result = told(checked, base)
    if fixing:
        result["fix"] = _fix(mended, apply=apply)
    process.write(render(result, format, spoken), output)
    return 0 if checked.findings else 1


def _say(text: str) -> None:
    process.say(f"troubleshoot: {text}\n")


def _fix(mended: Mended | None, *, apply: bool) -> dict[str, Any]:
    """Return what ``--fix`` found: a diff only where its results are right, and what was written."""
    from troubleshoot.lab.editing.files import apply_files, unified_diff

    plan = mended.plan if mended is not None else None
    applied: Mapping[str, str] = {}
    if apply and plan is not None:
        applied = apply_files({path: (plan.before[path], after) for path, after in plan.files.items()})
    files = plan.files.items() if plan is not None else ()
    tried = mended.tried if mended is not None else ()
    return {
        "works": plan is not None if mended is not None else None,
        "why": (mended.why or None) if mended is not None else None,
        "edits": [{"file": one.file, "operation": one.operation, "line": one.line, "what": one.what} for one in plan.steps] if plan else [],
        "tried": [{"title": one.fix.title, "right": verdict.right, "why": verdict.why} for one, verdict in tried],
        "diff": b"".join(unified_diff(path, plan.before[path], after) for path, after in files if plan).decode("utf-8", "surrogateescape"),
        "applied": [{"file": file, "backup": backup} for file, backup in applied.items()],
    }


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
