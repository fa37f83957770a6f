"""``troubleshoot fix``: a unified diff for a failing script, the proof that it helps, and the change itself if that is asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.json_text import json_text
from troubleshoot.commands import process
from troubleshoot.commands.diagnose import load
from troubleshoot.lab.editing.configs import is_config, plans_for_config
from troubleshoot.lab.editing.failure import Failure, failure_of
from troubleshoot.lab.editing.files import apply_files, protected, unified_diff
from troubleshoot.lab.editing.flags import is_shell, plan_for_arguments, plans_for_shell
from troubleshoot.lab.editing.plans import Plan, Refusal, RefusedError

if TYPE_CHECKING:
    from troubleshoot.engine.result import FixAdvice
    from troubleshoot.knowledge import KnowledgeBase
    from troubleshoot.lab.trying.fresh import Program
    from troubleshoot.lab.trying.proving import Proof
    from troubleshoot.lab.verify.signals import Stop

#: Plans that --run tries one after the other, unless --fix names one.
_MOST_PLANS = 4
#: Characters of a run's output that the JSON form keeps.
_KEPT = 20_000
_MARKS = {True: "✓", False: "✗"}


@dataclass(frozen=True)
class _Outcome:
    """What is told in the end. ``why`` says why there is no edit."""

    program: Program
    failure: Failure | None
    issue: str
    cause: str
    plans: tuple[Plan, ...] = ()
    refused: tuple[Refusal, ...] = ()
    proofs: tuple[Proof, ...] = ()
    applied: Mapping[str, str] | None = None
    why: str = ""

    @property
    def plan(self) -> Plan | None:
        """The plan that works, else the first."""
        works = next((one.plan for one in self.proofs if one.works), None)
        if works is not None:
            return works
        return self.proofs[0].plan if self.proofs else self.plans[0] if self.plans else None

    @property
    def works(self) -> bool | None:
        """Whether a run showed that an edit helps; None where nothing was run."""
        return any(one.works for one in self.proofs) if self.proofs else None


def run(
    script: str,
    arguments: Sequence[str],
    *,
    issue: str | None,
    fix: str | None,
    report: str | None,
    apply: bool,
    proving: bool,
    timeout: str | None,
    format: str,
    kb: Sequence[str],
    output: str | None,
    module: bool = False,
) -> int:
    """Print the diff on stdout and what there is to say about it on stderr. Return 0 for an edit (that works, where it was run), else 1."""
    from troubleshoot.lab.trying.fresh import TIMEOUT, Program
    from troubleshoot.lab.verify.signals import stoppable
    from troubleshoot.lab.verify.workspace import workspace

    process.check_format(format, ("text", "json"))
    if not module and not Path(script).is_file():
        raise InputError(f"cannot read {script}: no such file")
    configuring = not module and (is_config(script) or is_shell(script))
    if configuring and (proving or arguments):
        raise InputError(f"{script} is no Python script to run: troubleshoot fix SCRIPT --run -- ... {script}")
    if configuring and issue is None and report is None:
        raise InputError(f"{script} does not tell what fails: give --report FILE or --issue ID")
    if not configuring and find_spec("libcst") is None:
        raise InputError("source edits need LibCST: pip install 'troubleshoot[edit]'")
    if apply and output is not None and Path(output).resolve().name.startswith(f"{Path(script).resolve().name}.orig"):
        raise InputError(f"--output {output}: --apply keeps the old {script} under such a name. Name another file.")
    limit = process.seconds_of(timeout, most=1e7) or TIMEOUT
    base = load(kb)
    program = Program(script, tuple(arguments), module, tuple(kb))
    with stoppable() as stop, workspace() as folder:
        outcome = _edit(program, base, folder, stop, issue=issue, fix=fix, report=report, proving=proving, timeout=limit)
    # What was run and failed is no edit to apply: `fix --run | git apply` must never write it.
    diff = _diff(outcome.plan) if outcome.plan is not None and outcome.works is not False else b""
    unwritten: InputError | None = None
    if apply and outcome.plan is not None and outcome.plan.files and outcome.works is not False:
        try:
            outcome = replace(outcome, applied=apply_files(_contents(outcome.plan)))
        except InputError as error:
            # The edit is not lost: it is printed all the same.
            unwritten = error
            outcome = replace(outcome, why=str(error))
    if format == "json":
        process.write(json_text(_told(outcome, diff), indent=2) + "\n", output)
    else:
        process.write_bytes(diff, output)
        process.say(_text(outcome, apply=apply))
    if unwritten is not None:
        raise unwritten
    return 0 if outcome.plan is not None and outcome.works is not False else 1


def _edit(
    program: Program,
    base: KnowledgeBase,
    folder: Path,
    stop: Stop,
    *,
    issue: str | None,
    fix: str | None,
    report: str | None,
    proving: bool,
    timeout: float,
) -> _Outcome:
    wanted = base.entry(issue.strip()) if issue is not None else None
    nothing = _Outcome(program, None, wanted.id if wanted else "", (wanted.cause or "") if wanted else "")
    why = protected(str(Path(program.file).resolve()))
    if why is not None:
        return replace(nothing, why=why)
    # Before any run: what is planned, run, shown and written is an edit of this, whatever is saved meanwhile.
    read = {} if is_config(program.file) or is_shell(program.file) else {os.path.realpath(program.file): _read(program.file)}
    failure: Failure | None = None
    if report is not None:
        failure = _reported(report, base)
    elif wanted is None:
        failure, why = _failed(program, base, folder, stop, timeout)
        if failure is None:
            return replace(nothing, why=why or "")
    found = _planned(program, base, failure, wanted, fix, read)
    if wanted is not None and not found.plans and failure is None and not (is_config(program.file) or is_shell(program.file)):
        # What the source alone does not tell, the failing line may.
        failure, why = _failed(program, base, folder, stop, timeout)
        if failure is None:
            return replace(found, why=why or "")
        found = _planned(program, base, failure, wanted, fix, read)
    if proving and found.plans:
        from troubleshoot.lab.trying.proving import prove

        plans = found.plans if fix is not None else found.plans[:_MOST_PLANS]
        proofs = prove(program, plans, found.failure, folder, stop, timeout=timeout, progress=_progress, read=read)
        found = replace(found, proofs=proofs)
    return found


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _reported(report: str, base: KnowledgeBase) -> Failure:
    from troubleshoot.commands.diagnose import read_source
    from troubleshoot.engine.diagnosis import diagnose

    return replace(failure_of(diagnose(read_source(report), kb=base)), saved=True)


def _failed(program: Program, base: KnowledgeBase, folder: Path, stop: Stop, timeout: float) -> tuple[Failure | None, str | None]:
    """Run the program and return what it dies of, else why there is nothing to go by."""
    from troubleshoot.lab.trying.fresh import run_program_fresh

    process.say(f"troubleshoot: running {program.target} to see how it fails\n")
    ran = run_program_fresh(program, folder, stop, timeout=timeout)
    if ran.outcome == "ok":
        return None, "it ends without an error here. Give its traceback with --report, or a known issue with --issue"
    if ran.failure is not None:
        return ran.failure, None
    if ran.outcome == "exited" and ran.output.strip():
        # It has caught its exception itself, and printed it.
        from troubleshoot.engine.diagnosis import diagnose

        failure = failure_of(diagnose(ran.output, environment="local", kb=base))
        if failure.known:
            return failure, None
    return None, f"{ran.error}, and no exception tells why" if ran.outcome != "hang" else f"{ran.error}: see --timeout"


def _planned(
    program: Program, base: KnowledgeBase, failure: Failure | None, wanted: Any, fix: str | None, read: Mapping[str, bytes]
) -> _Outcome:
    from troubleshoot.lab.editing.entries import fixes_of_issue

    if wanted is not None and (failure is None or failure.issue != wanted.id):
        cause = failure.cause if failure is not None and failure.cause in [one.cause for one in wanted.causes] else wanted.cause
        fixes = fixes_of_issue(wanted, cause, base)
        if failure is not None:
            failure = failure.of(fixes, issue=wanted.id, cause=cause or failure.cause, title=wanted.title)
        issue, cause = wanted.id, cause or ""
    elif failure is not None and failure.known:
        fixes, issue, cause = failure.fixes, failure.issue, failure.cause
    else:
        error = failure.error.splitlines()[0] if failure is not None and failure.error else "nothing that failed"
        return _Outcome(program, failure, "", "", why=f"there is no diagnosis for: {error}")
    chosen = tuple(one for one in fixes if one.fits is not False and one.expected == "works")
    if fix is not None:
        chosen = tuple(one for one in fixes if one.id == fix)
        if not chosen:
            raise InputError(f"{issue} has no fix {fix!r}; it has {', '.join(one.id for one in fixes)}")
        if chosen[0].expected != "works":
            return _Outcome(program, failure, issue, cause, why=f"{fix} does not help here: {chosen[0].reason or chosen[0].why}")
    try:
        plans, refused = _plans(program, chosen, failure, read)
    except RefusedError as error:
        return _Outcome(program, failure, issue, cause, why=str(error))
    return _Outcome(program, failure, issue, cause, tuple(plans), tuple(refused), why="" if plans else "no edit is certain to be right")


def _plans(
    program: Program, fixes: Sequence[FixAdvice], failure: Failure | None, read: Mapping[str, bytes]
) -> tuple[list[Plan], list[Refusal]]:
    """Return the edits of the target, where it has none for a fix those of its arguments, and of the configurations that they name."""
    if is_config(program.file):
        return plans_for_config(program.file, fixes)
    if is_shell(program.file):
        return plans_for_shell(program.file, fixes)
    from troubleshoot.lab.editing.planning import plans_for

    plans, refused = plans_for(program.file, fixes, failure, data=read)
    further: list[Plan] = []
    left: list[Refusal] = []
    for one in refused:
        made = _elsewhere(program, one.fix)
        if made is None:
            left.append(one)
        else:
            further.append(made)
    order = {fix.id: position for position, fix in enumerate(fixes)}
    return sorted([*plans, *further], key=lambda plan: order[plan.fix.id]), left


def _elsewhere(program: Program, fix: FixAdvice) -> Plan | None:
    try:
        return plan_for_arguments(program.arguments, fix)
    except RefusedError:
        pass
    for one in program.arguments:
        path = one.partition("=")[2] if one.startswith("-") else one
        if is_config(path) and Path(path).is_file() and protected(path) is None:
            try:
                plans, _ = plans_for_config(path, [fix])
            except RefusedError:
                continue
            if plans:
                return plans[0]
    return None


def _contents(plan: Plan) -> dict[str, tuple[bytes, bytes]]:
    return {path: (plan.before[path], after) for path, after in plan.files.items()}


def _diff(plan: Plan) -> bytes:
    return b"".join(unified_diff(path, plan.before[path], after) for path, after in plan.files.items())


def _told(outcome: _Outcome, diff: bytes) -> dict[str, Any]:
    """Return the JSON object (docs/fixing.md). Bytes that are no UTF-8 become lone surrogates there, as ``os.fsdecode`` makes them."""
    plan = outcome.plan
    return {
        "script": outcome.program.target,
        "issue": outcome.issue or None,
        "cause": outcome.cause or None,
        "error": outcome.failure.error if outcome.failure is not None else None,
        "fix": _named(plan.fix) if plan is not None else None,
        "edits": [{"file": one.file, "operation": one.operation, "line": one.line, "what": one.what} for one in plan.steps] if plan else [],
        "arguments": list(plan.arguments) if plan is not None and plan.arguments is not None else None,
        "diff": diff.decode("utf-8", "surrogateescape"),
        "runs": [_ran(one) for one in outcome.proofs],
        "works": outcome.works,
        "applied": [{"file": file, "backup": backup} for file, backup in (outcome.applied or {}).items()],
        "others": [_named(one.fix) for one in outcome.plans if plan is None or one.fix.id != plan.fix.id],
        "refused": [{**_named(one.fix), "why": one.why} for one in outcome.refused],
        "why": outcome.why or None,
    }


def _named(fix: FixAdvice) -> dict[str, Any]:
    return {"id": fix.id, "kind": fix.kind, "title": fix.title, "applicability": fix.applicability}


def _ran(proof: Proof) -> dict[str, Any]:
    ran = proof.ran
    instead = ran.failure.issue or None if ran.failure is not None else None
    return {
        "fix": proof.plan.fix.id, "outcome": ran.outcome, "right": proof.verdict.right, "why": proof.verdict.why, "error": ran.error,
        "diagnosed_as": instead, "seconds": round(ran.seconds, 2),
        "output": ran.output[-_KEPT:],
    }  # fmt: skip


def _text(outcome: _Outcome, *, apply: bool) -> str:
    """Return what there is to say about an edit, or about there being none."""
    lines: list[str] = []
    if outcome.issue:
        lines.append(f"{outcome.issue}" + (f": {outcome.cause}" if outcome.cause else ""))
    plan = outcome.plan
    if plan is None:
        lines.append(f"troubleshoot: no edit: {outcome.why}")
        lines += [f"  – {one.fix.id}: {one.why}" for one in outcome.refused]
        return "\n".join(lines) + "\n"
    note = "" if plan.fix.applicability == "safe" else "  [may change numerics or memory]"
    lines.append(f"{plan.fix.id}: {plan.fix.title}{note}")
    for one in plan.steps:
        lines.append(f"  {Path(one.file).name}:{one.line}  {one.operation}: {one.what}" if one.file else f"  {one.operation}: {one.what}")
    if plan.arguments is not None:
        import shlex

        start = ["-m", outcome.program.target] if outcome.program.module else [outcome.program.target]
        lines.append(f"run it as: python {shlex.join([*start, *plan.arguments])}")
    for proof in outcome.proofs:
        lines += _proof_lines(proof)
    if outcome.applied is not None:
        lines += [f"written: {file} (before: {backup})" for file, backup in outcome.applied.items()]
    elif apply and outcome.why:
        lines.append("nothing is written")
    elif apply and plan.files:
        lines.append("not written: the run shows that it does not help")
    elif outcome.works is False:
        lines.append("no edit is printed: none that was run gives right results")
    elif plan.files:
        runs = not (outcome.proofs or is_config(outcome.program.file) or is_shell(outcome.program.file))
        lines.append("nothing is written: --apply does that" + (", --run shows whether it helps" if runs else ""))
    others = [one.fix.id for one in outcome.plans if one.fix.id != plan.fix.id]
    if others:
        lines.append(f"other edits: {', '.join(f'--fix {one}' for one in others)}")
    commands = [f"{one.fix.id}: {one.fix.command}" for one in outcome.refused if one.fix.command is not None]
    if commands:
        lines.append(f"without an edit: {'; '.join(commands)}")
    return "\n".join(lines) + "\n"


def _proof_lines(proof: Proof) -> list[str]:
    ran = proof.ran
    if proof.works:
        shown = ran.output.rstrip("\n").splitlines()[-10:]
        gone = "the error is gone, and the numbers are those of the float32 run" if proof.verdict.right else proof.verdict.why
        ends = f"{_MARKS[True]} the edited copy ran to its end in {ran.seconds:.1f} s: {gone}. It printed:"
        return [ends, *(f"  | {one}" for one in shown)]
    if ran.outcome == "ok":
        return [f"{_MARKS[False]} with {proof.plan.fix.id} {proof.verdict.why}"]
    error = (ran.error or ran.outcome).splitlines()[0][:300]
    lines = [f"{_MARKS[False]} with {proof.plan.fix.id} the edited copy ended otherwise ({ran.outcome}): {error}"]
    if ran.failure is not None and ran.failure.known:
        lines.append(f"    which is {ran.failure.issue}: {ran.failure.cause}")
    return lines


def _progress(text: str, done: int, total: int) -> None:
    process.say(f"troubleshoot: [{done + 1}/{total}] {text}\n")

