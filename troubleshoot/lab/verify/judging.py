"""What a run with a fix means: how far off it may be, whether it works, and what else it changes."""

from __future__ import annotations

from dataclasses import replace

from troubleshoot.lab.verify import isolated
from troubleshoot.lab.verify.outcomes import CEILING, FLOORS, TOLERANCE, FixOutcome, RunResult
from troubleshoot.lab.verify.play import Play
from troubleshoot.reading.environment.local import local_environment
from troubleshoot.reading.environment.package_names import normalise_name


def tolerances(reference: RunResult) -> dict[str, float]:
    """Return the allowed relative error per dtype: ``TOLERANCE`` times that of a healthy run, at least the dtype's floor, at most
    ``CEILING``.
    """
    healthy = reference.detail.get("healthy") or {}
    return {name: min(CEILING, max(floor, TOLERANCE * (healthy.get(name) or 0.0))) for name, floor in FLOORS.items()}


def judge(result: RunResult, allowed: float, *, hides: bool = False) -> tuple[bool, str]:
    """Return whether a run with a fix works, and why. A fix that ``hides`` the failure has only to end; what it lets through is said."""
    if result.outcome == "ok":
        return True, f"the output is within {result.relative_error:.2g} of the reference ({allowed:.2g} is allowed)"
    if result.outcome == "wrong":
        return hides, f"it ends; the failure is hidden, not repaired: {result.error}" if hides else (result.error or "the output is wrong")
    return False, (result.error or result.outcome).splitlines()[0][:300]


def told_apart(outcome: FixOutcome, misfit: str | None, own: bool) -> FixOutcome:
    """A fix that the entry rules out in this environment, or that is not its own, may fail without a surprise."""
    if outcome.outcome != "fails" or outcome.expected == "fails":
        return outcome
    if misfit is not None:
        return replace(outcome, ruled_out=True, why=f"{outcome.why} (the entry rules it out here: {misfit})")
    if not own:
        return replace(outcome, ruled_out=True, why=f"{outcome.why} (advice for the cause in general, not for this issue)")
    return outcome


def and_changes(one: Play, interpreter: isolated.Interpreter) -> str:
    """Tell what else an installation would change for the user: packages of this environment that it wants in another version."""
    if not one.install or not interpreter.isolated:
        return ""
    user = local_environment()
    others = []
    for name, version in isolated.installed(interpreter).items():
        known = user.package(normalise_name(name))
        if known is not None and known.version and known.version != version and name not in (*one.install, "pip", "setuptools", "wheel"):
            others.append(f"{name} {known.version} to {version}")
    return f"; it also changes {', '.join(others)}" if others else ""
