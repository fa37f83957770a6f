"""``check --fix``: the edits that belong to findings are run under check, and only what gives right results is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from troubleshoot.lab.checking.check_findings import Finding
from troubleshoot.lab.checking.judging import Verdict, judge
from troubleshoot.lab.editing.plans import Plan, RefusedError
from troubleshoot.lab.trying.checked import Checked, Progress, References, check_program
from troubleshoot.lab.trying.finding_edits import names_at, plans_for_finding
from troubleshoot.lab.trying.fresh import TIMEOUT, Program, run_program_fresh
from troubleshoot.lab.verify.signals import Stop

#: Runs with an edit. A repair may take several edits: each takes a finding away, and the next shows.
MOST_RUNS = 12
_MOST_EDITS = 4
#: What is wrong whatever the dtype: the program as it is shows no right numbers in float32 either.
_WRONG_IN_FLOAT32 = frozenset({"stepped-twice"})


@dataclass(frozen=True)
class Mended:
    """What came of it: the edit with right results, if there is one, and every edit that was run, with what its results are worth."""

    plan: Plan | None = None
    tried: tuple[tuple[Plan, Verdict], ...] = ()
    why: str = ""
    output: str = field(default="", repr=False)


def mend(checked: Checked, folder: Path, stop: Stop, references: References, *, timeout: float = TIMEOUT, say: Progress) -> Mended:
    """Run the edits that the findings of a check mean, until one gives right results.

    Raises:
        Interrupted: a signal came; no child is left.
    """
    tried: list[tuple[Plan, Verdict]] = []
    done: Plan | None = None
    here = checked
    for _ in range(_MOST_EDITS):
        if not here.findings:
            break
        better: tuple[Plan, Checked] | None = None
        try:
            plans = _plans(checked.program, here.findings[0], done, folder, stop, timeout)
        except RefusedError as error:
            return Mended(None, tuple(tried), str(error))
        for plan in plans:
            if len(tried) >= MOST_RUNS:
                break
            say(f"running with the edit of line {plan.steps[0].line if plan.steps else '?'} ({plan.fix.title})")
            against = references
            if here.findings[0].rule in _WRONG_IN_FLOAT32:
                against = References(checked.program, folder, stop, timeout, say, base=plan.files)
            made = check_program(checked.program, folder, stop, timeout=timeout, sources=plan.files, references=against)
            verdict = judge(made.ran.outcome, made.ran.error, made.findings, made.compared)
            tried.append((plan, verdict))
            if verdict.right:
                return Mended(plan, tuple(tried), output=made.ran.output)
            if better is None and made.ran.outcome == "ok" and _gone(here.findings[0], made.findings):
                better = plan, made
        if better is None:
            break
        # The finding is gone and another one is left: on with that.
        done, here = better
    why = "none that is certain belongs to these findings" if not tried else "none that was run gives right results"
    return Mended(None, tuple(tried), why)


def _plans(program: Program, finding: Finding, done: Plan | None, folder: Path, stop: Stop, timeout: float) -> list[Plan]:
    data = dict(done.files) if done is not None else {}
    named = _named(program, finding, data, folder, stop, timeout)
    plans = plans_for_finding(program.file, finding, named, data)
    if done is None:
        return plans
    both = [replace(one, files={**data, **one.files}, steps=(*done.steps, *one.steps)) for one in plans]
    return [replace(one, before={**one.before, **done.before}) for one in both]


def _gone(finding: Finding, left: tuple[Finding, ...]) -> bool:
    return bool(left) and all((one.rule, one.place) != (finding.rule, finding.place) for one in left)


def _named(program: Program, finding: Finding, data: Mapping[str, bytes], folder: Path, stop: Stop, timeout: float) -> dict[str, str]:
    """Return the dtypes of the tensors that a line names, from a run that looks at that line."""
    file, first, last, names = names_at(program.file, finding, data)
    result = folder / "names.json"
    result.unlink(missing_ok=True)
    wanted = {"mode": "names", "result": str(result), "file": file, "first": first, "last": last, "names": list(names)}
    run_program_fresh(program, folder, stop, timeout=timeout, sources=data, check=wanted)
    with suppress(OSError, ValueError):
        return dict(json.loads(result.read_text(encoding="utf-8")))
    return {}
