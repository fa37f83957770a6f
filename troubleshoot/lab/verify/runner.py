"""``verify()``: reproduce an issue here, try its fixes one by one, and compare with what the knowledge base says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from troubleshoot.basics.errors import InputError
from troubleshoot.engine.diagnosis import diagnose
from troubleshoot.engine.fixes.select import fixes_of
from troubleshoot.engine.result import Diagnosis
from troubleshoot.knowledge import KnowledgeBase, load_kb
from troubleshoot.knowledge.schema import Entry, Fix
from troubleshoot.lab.verify import installers, isolated, pricing, requirements
from troubleshoot.lab.verify.installers import IsolationError
from troubleshoot.lab.verify.judging import and_changes, judge, told_apart, tolerances
from troubleshoot.lab.verify.outcomes import Before, Case, FixOutcome, Job, RunResult, Verification, verdict_of
from troubleshoot.lab.verify.play import HIDING, Play, play
from troubleshoot.lab.verify.pricing import NO_PRICES, Prices
from troubleshoot.lab.verify.registry import cases_of
from troubleshoot.lab.verify.runs import run_job
from troubleshoot.lab.verify.signals import Stop, stoppable
from troubleshoot.lab.verify.workspace import workspace
from troubleshoot.reading.environment.local import local_environment
from troubleshoot.reading.environment.machine import Environment

#: Told (what is being done, steps done, steps in all).
Progress = Callable[[str, int, int], None]

#: Asked whether so much may be downloaded ("torch 2.13.0: 2.6 GB in 25 files").
Consent = Callable[[str], bool]

_HALF = ("float16", "bfloat16")


def _silent(_text: str, _done: int, _total: int) -> None:
    return


def _declined(_text: str) -> bool:
    return False


@dataclass(frozen=True)
class _Bench:
    """Everything that the runs of one verification have in common."""

    entry: Entry
    case: Case
    device: str
    folder: Path
    base: KnowledgeBase
    stop: Stop
    timeout: float | None
    isolated: bool
    installs: Mapping[str, str]
    progress: Progress
    consent: Consent = _declined

    @property
    def dtype(self) -> str:
        """The dtype that the case is about."""
        return self.case.dtypes[0]

    def job(self, role: str, **more: object) -> Job:
        """Return a job of this case."""
        return Job(
            case=self.case.name, role=role, device=self.device, folder=str(self.folder), reference=str(self.folder / "reference.pt"),  # type: ignore[arg-type]
            **{"dtype": self.dtype, "requested": self.dtype, **more},  # type: ignore[arg-type]
        )  # fmt: skip


def verify(
    issue: str,
    *,
    case: str | None = None,
    device: str | None = None,
    fixes: Sequence[str] = (),
    isolate: bool = False,
    releases: Mapping[str, str] | None = None,
    timeout: float | None = None,
    kb: KnowledgeBase | None = None,
    progress: Progress = _silent,
    prices: Prices = NO_PRICES,
    consent: Consent = _declined,
) -> Verification:
    """Reproduce a known issue on this machine and try its fixes, each in a process of its own.

    ``case`` is one of the issue's cases where it has several. ``device`` is "cpu" or "cuda" (default: CUDA where there is one and the
    case exists on it). ``fixes`` are ids to try, default all. With ``isolate``
    packages are installed into environments apart from this one; ``releases`` ({"transformers": "4.50.2"}) pins them, and isolates too.
    ``consent`` is asked before another torch is downloaded, which takes gigabytes; without it, that is skipped.
    ``timeout`` is per run, in seconds. ``prices`` says for which model and GPU memory is told, and whether time is measured.

    Raises:
        UnknownIssueError: no entry has this id.
        InputError: the entry has no case, or no such fix; a release cannot be installed is an outcome, not an error.
    """
    base = kb if kb is not None else load_kb()
    entry = base.entry(issue)
    chosen = _case(entry, case)
    place = _device(device, chosen)
    own = entry.verify is not None and entry.verify.case == chosen.name and entry.verify.install
    installs = {**(own or chosen.installs), **(releases or {})}
    # What the case needs and what was asked for; a case of torch alone is not isolated for nothing.
    apart = bool(releases) or (isolate and bool(installs))
    known = {fix.id for fix in entry.fixes}
    if entry.kind == "issue" and (unknown := sorted(set(fixes) - known)):
        raise InputError(f"{entry.id} has no fix {unknown[0]!r}. It has: {', '.join(sorted(known))}")
    with stoppable() as stop, workspace() as folder:
        bench = _Bench(entry, chosen, place, folder, base, stop, timeout, isolate or apart, installs if apart else {}, progress, consent)
        return pricing.add(prices, _verify(bench, fixes), bench.job("timing"), chosen, stop, progress)
    raise AssertionError("unreachable")


def _case(entry: Entry, name: str | None) -> Case:
    found = cases_of(entry.id, entry.verify.case if entry.verify is not None else None)
    if not found:
        raise InputError(f"{entry.id} has no case that reproduces it. Those that have: troubleshoot kb list --format json")
    if name is None:
        return found[0]
    for one in found:
        if one.name == name:
            return one
    raise InputError(f"{entry.id} has no case {name!r}. It has: {', '.join(one.name for one in found)}")


def _device(device: str | None, case: Case) -> str:
    if device is not None:
        kind = device.partition(":")[0]
        if kind not in ("cpu", "cuda"):
            raise InputError(f"--device {device}: cpu or cuda")
        return kind
    if "cpu" not in case.devices:
        return case.devices[0]
    accelerators = local_environment(accelerators=True).accelerators
    return "cuda" if "cuda" in case.devices and any(one.kind in ("cuda", "rocm") for one in accelerators) else "cpu"


def _verify(bench: _Bench, only: Sequence[str]) -> Verification:
    environment = local_environment(accelerators=bench.device == "cuda")
    interpreter = isolated.this_interpreter()
    reason = requirements.wrong_device(bench.case, bench.device) or _no_accelerator(bench, environment)
    if reason is None and bench.installs:
        try:
            interpreter = _prepared(bench, bench.installs)
        except IsolationError as error:
            reason = str(error)
    elif reason is None:
        reason = _unfit(bench, environment)
        if reason is not None and (bench.case.installs or (bench.entry.verify is not None and bench.entry.verify.install)):
            reason += ". Try --isolated"
    if reason is not None:
        return _result(bench, environment, {}, Before("cannot-run", why=reason), ())
    return _run(bench, interpreter, environment, only)


def _unfit(bench: _Bench, environment: Environment) -> str | None:
    """Return why the case cannot be run in an environment, or does not show there; None where it does."""
    return (
        requirements.misses(bench.case, environment)
        or requirements.repaired(bench.case, environment)
        or requirements.unaffected(bench.entry.affected, environment)
    )


def _no_accelerator(bench: _Bench, environment: Environment) -> str | None:
    if bench.device != "cuda":
        return None
    if not any(one.kind in ("cuda", "rocm") for one in environment.accelerators):
        return "there is no CUDA device here; not yet run on CUDA"
    capability = environment.accelerators[0].capability
    return requirements.wrong_capability(bench.case, ".".join(map(str, capability)) if capability else None)


def _run(bench: _Bench, interpreter: isolated.Interpreter, local: Environment, only: Sequence[str]) -> Verification:
    bench.progress("computing the reference", 0, 2)
    dtypes = tuple(dict.fromkeys((bench.dtype, "float32", *_HALF)))
    reference = run_job(bench.job("reference", dtypes=dtypes), bench.case, interpreter, bench.stop, timeout=bench.timeout)
    environment = _environment(reference, local, bench)
    told = _describe(reference, environment, bench)
    if reference.outcome != "ok":
        return _result(
            bench,
            environment,
            told,
            Before("cannot-run", why=f"the reference failed: {reference.error}", traceback=reference.traceback),
            (),
        )
    if bench.installs:
        reason = _unfit(bench, environment)
        if reason is not None:
            return _result(bench, environment, told, Before("cannot-run", why=reason), ())
    allowed = tolerances(reference)
    bench.progress("reproducing", 1, 2)
    broken = run_job(bench.job("before", tolerance=allowed[bench.dtype]), bench.case, interpreter, bench.stop, timeout=bench.timeout)
    if bench.device == "cuda":
        told = {**told, **{name: broken.detail[name] for name in ("device_name", "capability") if name in broken.detail}}
    diagnosis = _diagnose(bench, broken, environment)
    before = _before(bench, broken, diagnosis)
    if before.outcome != "reproduced":
        return _result(bench, environment, told, before, ())
    plays = [
        play(fix, bench.case)
        for fix in fixes_of(bench.entry, bench.entry.cause or bench.case.cause, bench.base)
        if not only or fix.id in only
    ]
    first = diagnosis.first if diagnosis is not None else None
    offered = {one.id: one for one in first.fixes} if first is not None else {}
    misfits = {one.id: one.why for one in offered.values() if one.fits is False and one.expected == "works"}
    # An entry keeps a fix for what a report says (a quantized model, a training run) out of answers to reports that do not say it.
    if first is not None and first.issue == bench.entry.id and first.cause == (bench.entry.cause or bench.case.cause):
        misfits |= {one.fix.id: "nothing in this report calls for it" for one in plays if one.fix.id not in offered}
    outcomes = []
    for number, one in enumerate(plays):
        bench.progress(f"trying {one.fix.id}", 2 + number, 2 + len(plays))
        tried = _try(bench, one, interpreter, environment, allowed)
        outcomes.append(told_apart(tried, misfits.get(one.fix.id), one.fix in bench.entry.fixes))
    outcomes = _on_fixed_release(bench, plays, outcomes, environment, allowed)
    return _result(bench, environment, told, before, tuple(outcomes))


def _environment(result: RunResult, local: Environment, bench: _Bench) -> Environment:
    """The environment of the child, which may be an isolated one; a stand-in counts as what it stands for (``facts``)."""
    found = local_environment(path=[str(one) for one in result.detail.get("sys_path", ())]) if "sys_path" in result.detail else local
    accelerators = local.accelerators if bench.device == "cuda" else ()
    # A program that runs on the CPU is diagnosed as one, whatever GPU lies beside it.
    return replace(found, accelerators=accelerators, closed_accelerators=True, python=result.detail.get("python", found.python))


_TOLD = ("torch", "transformers", "accelerate", "diffusers", "peft", "open-clip-torch", "bitsandbytes", "safetensors", "numpy", "apex")


def _describe(result: RunResult, environment: Environment, bench: _Bench) -> dict[str, object]:
    names = (*_TOLD, *bench.case.present, *bench.installs)
    packages = {name: known.version for name in dict.fromkeys(names) if (known := environment.package(name)) is not None and known.version}
    if "torch" in result.detail:
        packages["torch"] = result.detail["torch"]
    return {
        "python": environment.python, "os": environment.os, "machine": environment.details.get("machine"), "packages": packages,
        "device_name": None, "capability": None, "isolated": bool(bench.installs),
    }  # fmt: skip


def _diagnose(bench: _Bench, result: RunResult, environment: Environment) -> Diagnosis | None:
    """Give the engine what the user would have: the traceback, or the symptom where nothing was raised."""
    if result.outcome in ("ok", "cannot-run", "import-error"):
        return None
    text = f"{bench.case.symptom}\n" if result.outcome == "wrong" else (result.traceback or result.error or "")
    answers = dict(bench.case.facts)
    if bench.dtype in _HALF:
        answers.setdefault("dtype.requested", bench.dtype)
    return diagnose(text, environment=environment, kb=bench.base, answers=answers)


def _before(bench: _Bench, result: RunResult, diagnosis: Diagnosis | None) -> Before:
    seconds = round(result.seconds, 2)
    first = diagnosis.first.issue if diagnosis is not None and diagnosis.first is not None else None
    if result.outcome in ("cannot-run", "import-error"):
        return Before("cannot-run", result.error, None, seconds, f"the case cannot be run: {result.error}", result.traceback)
    if result.outcome == "ok":
        return Before("not-reproduced", None, None, seconds, "the program ends and its output is right")
    if first != bench.entry.id:
        return Before(
            "not-reproduced", result.error, first, seconds, f"it fails, and the diagnosis is {first or 'unknown'}", result.traceback
        )
    return Before("reproduced", result.error, first, seconds, "", result.traceback)


def _try(bench: _Bench, one: Play, interpreter: isolated.Interpreter, environment: Environment, allowed: Mapping[str, float]) -> FixOutcome:
    if one.skip:
        return _skipped(one.fix, one.skip)
    if one.install:
        changed = _changed(bench, one.install, environment)
        if isinstance(changed, str):
            return _skipped(one.fix, changed)
        try:
            interpreter = _prepared(bench, changed)
        except IsolationError as error:
            return _skipped(one.fix, str(error) if error.offline or isinstance(error, _DeclinedError) else f"cannot-run: {error}")
    return _outcome(bench, one, _play(bench, one, interpreter, allowed), allowed, and_changes(one, interpreter))


def _play(bench: _Bench, one: Play, interpreter: isolated.Interpreter, allowed: Mapping[str, float]) -> RunResult:
    job = bench.job("fix", dtype=one.dtype, variant=one.variant, patches=one.patches, autocast=one.autocast, tolerance=allowed[one.dtype])
    return run_job(job, bench.case, interpreter, bench.stop, timeout=bench.timeout)


class _DeclinedError(IsolationError):
    """A download was not consented to."""


def _prepared(bench: _Bench, wanted: Mapping[str, str]) -> isolated.Interpreter:
    """Return an isolated environment, made now or before. Another torch is downloaded only with consent, after its size was told.

    Raises:
        IsolationError: it cannot be made, or nobody consented.
    """

    def say(text: str) -> None:
        bench.progress(text, 0, 1)

    if "torch" in wanted and not isolated.kept(wanted):
        say("asking the index for the size of torch")
        environment = isolated.this_interpreter().environment()
        name = f"torch {wanted['torch']}".strip()
        size = f"{name}: {installers.planned(wanted, bench.folder, bench.stop, environment)} to download"
        if not bench.consent(size):
            raise _DeclinedError(f"needs --yes: {size}")
    return isolated.prepare(wanted, bench.stop, say=say)


def _changed(bench: _Bench, install: Mapping[str, str | None], environment: Environment) -> dict[str, str] | str:
    """Return the releases of an environment with other packages, or why there is none."""
    if not bench.isolated:
        return "needs --isolated"
    held = dict(bench.installs)
    for name in bench.case.present:
        known = environment.package(name)
        if known is not None and known.version:
            held.setdefault(name, known.version)
    for name, version in install.items():
        if version is None:
            held.pop(name, None)
        else:
            held[name] = version
    return held


def _outcome(bench: _Bench, one: Play, result: RunResult, allowed: Mapping[str, float], more: str = "") -> FixOutcome:
    works, why = judge(result, allowed[one.dtype], hides=one.fix.kind in HIDING and one.fix.expected == "works")
    bytes_ = result.bytes_per_parameter
    return FixOutcome(
        id=one.fix.id, kind=one.fix.kind, expected=one.fix.expected, outcome="works" if works else "fails", why=why + more,
        relative_error=result.relative_error, weights_bytes_per_parameter=round(bytes_, 3) if bytes_ is not None else None,
        title=one.fix.title, seconds=round(result.seconds, 2), traceback=result.traceback,
    )  # fmt: skip


def _skipped(fix: Fix, why: str) -> FixOutcome:
    return FixOutcome(fix.id, fix.kind, fix.expected, "skipped", why, title=fix.title)


def _on_fixed_release(
    bench: _Bench, plays: Sequence[Play], outcomes: list[FixOutcome], environment: Environment, allowed: Mapping[str, float]
) -> list[FixOutcome]:
    """Run what works here on the fixed release too, since a workaround outlives its reason; what breaks there is said."""
    upgrade = next(
        (one for one, seen in zip(plays, outcomes, strict=True) if "upgrade" in one.fix.action and seen.outcome == "works"), None
    )
    changed = _changed(bench, upgrade.install, environment) if upgrade is not None else ""
    if upgrade is None or isinstance(changed, str):
        return outcomes
    interpreter = isolated.prepare(changed, bench.stop)
    name, version = next(iter(upgrade.install.items()))
    release = f"{name} {version}" if version else f"the newest {name}"
    found = []
    for one, seen in zip(plays, outcomes, strict=True):
        if one.workaround and seen.outcome == "works":
            bench.progress(f"trying {one.fix.id} on {release}", len(plays), len(plays) + 1)
            works, why = judge(_play(bench, one, interpreter, allowed), allowed[one.dtype])
            seen = replace(
                seen, why=f"{seen.why}; on {release} it {'does no harm' if works else f'breaks, so remove it then: {why}'}"
            )
        found.append(seen)
    return found


def _result(
    bench: _Bench, environment: Environment, told: Mapping[str, object], before: Before, fixes: tuple[FixOutcome, ...]
) -> Verification:
    if not told:
        told = _describe(RunResult("cannot-run"), environment, bench)
    return Verification(
        issue=bench.entry.id, case=bench.case.name, tier=bench.case.tier, device=bench.device, environment=told, before=before, fixes=fixes,
        verdict=verdict_of(before, fixes), dtype=bench.dtype, stand_in=bench.case.stand_in,
    )  # fmt: skip


def reproduce(
    issue: str,
    releases: Mapping[str, str],
    *,
    case: str | None = None,
    device: str = "cpu",
    timeout: float | None = None,
    kb: KnowledgeBase | None = None,
    progress: Progress = _silent,
    of_day: str | None = None,
) -> tuple[RunResult, Mapping[str, object]]:
    """Run an issue's program with pinned releases, affected or not, and return how it ended and in which environment.

    With ``of_day`` nothing that was published later is installed beside them.

    Raises:
        UnknownIssueError: no entry has this id.
        InputError: the entry has no such case.
    """
    base = kb if kb is not None else load_kb()
    entry = base.entry(issue)
    chosen = _case(entry, case)
    with stoppable() as stop, workspace() as folder:
        bench = _Bench(entry, chosen, device, folder, base, stop, timeout, True, dict(releases), progress)
        return _reproduced(bench, of_day)
    raise AssertionError("unreachable")


def _reproduced(bench: _Bench, of_day: str | None) -> tuple[RunResult, Mapping[str, object]]:
    local = local_environment()
    try:
        interpreter = isolated.prepare(bench.installs, bench.stop, say=lambda text: bench.progress(text, 0, 1), of_day=of_day)
    except IsolationError as error:
        return RunResult("cannot-run", error=str(error)), {}
    bench.progress("computing the reference", 0, 2)
    dtypes = (bench.dtype,)
    reference = run_job(bench.job("reference", dtypes=dtypes), bench.case, interpreter, bench.stop, timeout=bench.timeout)
    environment = _environment(reference, local, bench)
    told = _describe(reference, environment, bench)
    if reference.outcome != "ok":
        return RunResult("cannot-run", error=f"the reference failed: {reference.error}"), told
    lacks = requirements.misses(bench.case, environment)
    if lacks is not None:
        return RunResult("cannot-run", error=lacks), told
    bench.progress("reproducing", 1, 2)
    job = bench.job("before", tolerance=tolerances(reference)[bench.dtype])
    return run_job(job, bench.case, interpreter, bench.stop, timeout=bench.timeout), told


def verify_diagnosis(diagnosis: Diagnosis, **options: object) -> Verification | None:
    """Verify the first issue of a diagnosis that has a case, with the options of :func:`verify`; None where none has one.

    Prices are told for the models that the report names, and for the GPU that it is from.
    """
    options.setdefault("prices", pricing.prices_of(diagnosis))
    for one in diagnosis.diagnoses:
        if one.verify is not None:
            return verify(one.issue, **options)  # type: ignore[arg-type]
    return None
