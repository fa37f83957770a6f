"""``troubleshoot run --try-fixes``: the program once as it is, then once under each live patch that fits its failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from troubleshoot.basics.redact import redact_data, redact_text, redacted_start
from troubleshoot.lab.checking.judging import Verdict
from troubleshoot.lab.editing.failure import Failure
from troubleshoot.lab.trying.checked import References, run_judged
from troubleshoot.lab.trying.fresh import TIMEOUT, Program, Ran
from troubleshoot.lab.trying.trials import NotTried, Trial
from troubleshoot.lab.verify.signals import Stop

#: Characters of a rerun's output that the JSON form keeps.
_KEPT = 20_000

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Tried:
    """A trial, how the program ended under it, and what its results are worth."""

    trial: Trial
    ran: Ran
    verdict: Verdict

    @property
    def works(self) -> bool:
        """Whether the patch was applied, the program came to its end, and nothing shows that its results are wrong."""
        return self.verdict.right is not False and self.ran.applied is not False and not self.idle

    @property
    def idle(self) -> bool:
        """Whether the patch found nothing to change: that the program fails as before is no failure of the fix."""
        return bool(self.ran.applied) and self.ran.changed is False


@dataclass(frozen=True)
class Session:
    """The original run's exit status and failure, every trial, and the fixes that were not tried."""

    program: Program
    status: int
    failure: Failure | None
    tried: tuple[Tried, ...] = ()
    left: tuple[NotTried, ...] = ()

    @property
    def works(self) -> Tried | None:
        """The first trial with right results, else the first that ends with nothing against it."""
        working = [one for one in self.tried if one.works]
        return next((one for one in working if one.verdict.right), working[0] if working else None)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object (docs/fixing.md)."""
        failure = self.failure
        return {
            "program": self.program.target,
            "arguments": redact_data(list(self.program.arguments), personal=False),
            "status": self.status,
            "error": redact_text(failure.error) if failure is not None else None,
            "issue": failure.issue or None if failure is not None else None,
            "cause": failure.cause or None if failure is not None else None,
            "fixes": [*(_told(one) for one in self.tried), *(_skipped(one) for one in self.left)],
            "works": self.works.trial.id if self.works is not None else None,
        }


def _told(one: Tried) -> dict[str, Any]:
    return {
        "id": one.trial.id,
        "kind": one.trial.kind,
        "how": one.trial.how,
        "outcome": "no-change" if one.idle else one.ran.outcome,
        "works": one.works,
        "why": why(one),
        "seconds": round(one.ran.seconds, 2),
        "output": redact_text(one.ran.output)[-_KEPT:],
    }


def _skipped(one: NotTried) -> dict[str, Any]:
    told = {"id": one.id, "kind": one.kind, "how": None, "outcome": "skipped", "works": False, "why": one.why}
    return {**told, "seconds": 0.0, "output": ""}


def why(one: Tried) -> str:
    """Say in a line how a rerun ended."""
    ran = one.ran
    if one.idle:
        return "it changes nothing here: what it casts or moves is as it should be already"
    if ran.outcome == "ok" and ran.applied is False:
        return "it ends, but the model that failed was not called this time, so that nothing was patched"
    if ran.outcome == "ok":
        return f"{redacted_start(one.verdict.why, 300)} ({ran.seconds:.1f} s)"
    text = redacted_start((ran.error or ran.outcome).splitlines()[0], 300)
    if ran.outcome == "raised" and ran.passed:
        return f"past the call that failed, but later: {text}"
    if ran.outcome == "raised" and ran.applied is False:
        return f"the patch was never applied: it failed before the model was called: {text}"
    return text


def try_fixes(
    program: Program,
    trials: tuple[Trial, ...],
    failure: Failure,
    folder: Path,
    stop: Stop,
    *,
    timeout: float = TIMEOUT,
    first: bool = False,
    progress: Progress | None = None,
) -> tuple[Tried, ...]:
    """Run a program under each trial, each in a fresh process; with ``first``, until one works.

    Raises:
        Interrupted: a signal came; no child is left.
    """
    tried: list[Tried] = []
    references = References(program, folder, stop, timeout)
    for number, one in enumerate(trials):
        if progress is not None:
            progress(f"{one.id}: {one.how}", number, len(trials))
        goal = failure.culprit.module if failure.culprit is not None else None
        told = {"actions": [dict(action) for action in one.actions], "line": one.line, "root_class": failure.root_class, "goal": goal}
        tried.append(Tried(one, *run_judged(program, folder, stop, references, timeout=timeout, trial=told)))
        if first and tried[-1].works:
            break
    return tuple(tried)
