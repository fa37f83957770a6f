"""Running edited programs: whether the results are right, or what came instead."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from troubleshoot.basics.errors import InputError
from troubleshoot.lab.checking.judging import Verdict
from troubleshoot.lab.editing.configs import is_config
from troubleshoot.lab.editing.failure import Failure
from troubleshoot.lab.editing.planning import plans_for
from troubleshoot.lab.editing.plans import Plan, RefusedError
from troubleshoot.lab.trying.checked import References, run_judged
from troubleshoot.lab.trying.fresh import Program, Ran
from troubleshoot.lab.verify.signals import Stop

#: Places that one fix may have to be made at: the next one shows only once the one before it is repaired.
_MOST_ROUNDS = 4

#: Fixes of one tensor.
_CASTS = ("cast-inputs", "cast-activations")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Proof:
    """A plan as it was run in the end, how that run ended, and what its results are worth."""

    plan: Plan
    ran: Ran
    verdict: Verdict

    @property
    def works(self) -> bool:
        """Whether the program came to its end, and nothing shows that its results are wrong."""
        return self.verdict.right is not False


def prove(
    program: Program,
    plans: Sequence[Plan],
    failure: Failure | None,
    folder: Path,
    stop: Stop,
    *,
    timeout: float,
    progress: Progress | None = None,
    read: Mapping[str, bytes] | None = None,
) -> tuple[Proof, ...]:
    """Run the program under each plan in turn, until one gives right results.

    Where a failure then shows up at another place, the same fix is made there too, or the cast that belongs to it. ``read`` are the
    contents, by real path, that the plans were made from.

    Raises:
        Interrupted: a signal came; no child is left.
    """
    proofs: list[Proof] = []
    references = References(program, folder, stop, timeout)
    for number, plan in enumerate(plans):
        if progress is not None:
            progress(f"running with {plan.fix.id}", number, len(plans))
        proofs.append(_prove(program, plan, failure, folder, stop, timeout, read or {}, references))
        if proofs[-1].works:
            break
    return tuple(proofs)


def _prove(
    program: Program, plan: Plan, failure: Failure | None, folder: Path, stop: Stop, timeout: float, read: Mapping[str, bytes],
    references: References,
) -> Proof:  # fmt: skip
    seen = {_place(failure)} if failure is not None else set()
    for _ in range(_MOST_ROUNDS):
        ran, verdict = _run(program, plan, folder, stop, timeout, references)
        place = _place(ran.failure) if ran.failure is not None else None
        if ran.failure is None or not ran.failure.known or place in seen or failure is None:
            break
        seen.add(place)
        further = _further(program, plan, ran.failure, read)
        if further is None:
            break
        # What was read first counts: the further plan begins with the edited files.
        before = {**further.before, **plan.before}
        plan = replace(plan, files={**plan.files, **further.files}, before=before, steps=(*plan.steps, *further.steps))
    return Proof(plan, ran, verdict)


def _run(program: Program, plan: Plan, folder: Path, stop: Stop, timeout: float, references: References) -> tuple[Ran, Verdict]:
    arguments = plan.arguments if plan.arguments is not None else program.arguments
    sources = {path: data for path, data in plan.files.items() if not is_config(path)}
    with ExitStack() as copies:
        for path, data in plan.files.items():
            if is_config(path):
                copy = copies.enter_context(_copy_beside(path, data))
                arguments = tuple(_renamed(one, path, copy) for one in arguments)
        return run_judged(replace(program, arguments=arguments), folder, stop, references, timeout=timeout, sources=sources)


@contextmanager
def _copy_beside(path: str, data: bytes) -> Iterator[str]:
    """Write an edited configuration beside the original, where relative paths in it still lead somewhere, for the time of a run."""
    place = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.stem}-edited-", suffix=place.suffix)
    except OSError as error:
        raise InputError(f"no edited copy of {path} can be written beside it: {error.strerror or error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        yield name
    finally:
        Path(name).unlink(missing_ok=True)


def _renamed(argument: str, path: str, copy: str) -> str:
    option, equals, value = argument.partition("=")
    if argument == path:
        return copy
    return f"{option}={copy}" if equals and value == path else argument


def _further(program: Program, plan: Plan, failure: Failure, read: Mapping[str, bytes]) -> Plan | None:
    """Return what is to be done at the next place, on top of what is edited already: the same fix, or the cast that belongs to a cast (what
    was computed in float32 meets half precision again).
    """
    fixes = [one for one in failure.fixes if one.fits is not False]
    same = [one for one in fixes if one.kind == plan.fix.kind and one.id == plan.fix.id]
    casts = [one for one in fixes if one.kind in _CASTS] if plan.fix.kind in _CASTS else []
    try:
        plans, _ = plans_for(program.file, [*same, *casts], failure, data={**read, **plan.files})
    except RefusedError:
        return None
    return plans[0] if plans else None


def _place(failure: Failure | None) -> tuple[tuple[str, int | None], ...] | None:
    return tuple((one.file, one.number) for one in failure.frames) if failure is not None else None
