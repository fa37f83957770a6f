"""Running edited programs: whether the error is gone, or what came instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from troubleshoot.editing.failure import Failure
from troubleshoot.editing.model import Plan, RefusedError
from troubleshoot.editing.planning import plans_for
from troubleshoot.trying.fresh import Program, Ran, run_program_fresh
from troubleshoot.verify.signals import Stop

#: Places that one fix may have to be made at: the next one shows only once the one before it is repaired.
_MOST_ROUNDS = 4

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Proof:
    """A plan as it was run in the end, and how that run ended."""

    plan: Plan
    ran: Ran

    @property
    def works(self) -> bool:
        """Whether the program came to its end."""
        return self.ran.outcome == "ok"


def prove(
    program: Program,
    plans: Sequence[Plan],
    failure: Failure | None,
    folder: Path,
    stop: Stop,
    *,
    timeout: float,
    progress: Progress | None = None,
) -> tuple[Proof, ...]:
    """Run the program under each plan in turn, until one works.

    Where the same failure shows up at another place, the same kind of fix is made there too.

    Raises:
        Interrupted: a signal came; no child is left.
    """
    proofs: list[Proof] = []
    for number, plan in enumerate(plans):
        if progress is not None:
            progress(f"running with {plan.fix.id}", number, len(plans))
        proofs.append(_prove(program, plan, failure, folder, stop, timeout))
        if proofs[-1].works:
            break
    return tuple(proofs)


def _prove(program: Program, plan: Plan, failure: Failure | None, folder: Path, stop: Stop, timeout: float) -> Proof:
    seen = {_place(failure)} if failure is not None else set()
    for _ in range(_MOST_ROUNDS):
        ran = _run(program, plan, folder, stop, timeout)
        place = _place(ran.failure) if ran.failure is not None else None
        if ran.failure is None or not ran.failure.known or place in seen or failure is None or ran.failure.cause != failure.cause:
            break
        seen.add(place)
        further = _further(program, plan, ran.failure)
        if further is None:
            break
        plan = replace(plan, files={**plan.files, **further.files}, steps=(*plan.steps, *further.steps))
    return Proof(plan, ran)


def _run(program: Program, plan: Plan, folder: Path, stop: Stop, timeout: float) -> Ran:
    arguments = plan.arguments if plan.arguments is not None else program.arguments
    return run_program_fresh(replace(program, arguments=arguments), folder, stop, timeout=timeout, sources=plan.files)


def _further(program: Program, plan: Plan, failure: Failure) -> Plan | None:
    """Return the same kind of fix for another place, on top of what is edited already."""
    same = [one for one in failure.fixes if one.kind == plan.fix.kind and one.id == plan.fix.id]
    files: Mapping[str, bytes] = plan.files
    try:
        plans, _ = plans_for(program.target, same, failure, data=files)
    except RefusedError:
        return None
    return plans[0] if plans else None


def _place(failure: Failure | None) -> tuple[tuple[str, int | None], ...] | None:
    return tuple((one.file, one.number) for one in failure.frames) if failure is not None else None
