"""Holding fixes against the environment, and their order: those that fit, then the undecided, then the misfits with the reason."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from troubleshoot.basics.versions import parse_version
from troubleshoot.engine.evidence import CAUGHT, is_among
from troubleshoot.engine.fixes import actions
from troubleshoot.engine.fixes.defaults import FITS, UNSAID, Fit, default_fit, harm_of
from troubleshoot.engine.fixes.library import name_library
from troubleshoot.engine.fixes.machine import failed_here, impossible, on_device
from troubleshoot.engine.fixes.price import weight_fit
from troubleshoot.engine.matching.conditions import Context, Outcome, evaluate
from troubleshoot.engine.matching.wording import describe
from troubleshoot.engine.ranking import Hypothesis
from troubleshoot.engine.result import SeenRun
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.schema import Condition, Entry, Fix

SeenFor = Callable[[str, str], tuple[SeenRun, ...]]


class HeldFix(msgspec.Struct, frozen=True):
    """A fix held against the environment, with the recorded runs of it."""

    fix: Fix
    fit: Fit
    seen: tuple[SeenRun, ...] = ()


def fixes_for(hypothesis: Hypothesis, base: KnowledgeBase, seen: SeenFor) -> tuple[HeldFix, ...]:
    """Return the fixes of a hypothesis held against this environment, in the order in which to try them.

    Left out are those for what a report says, where it does not say so: nobody can be asked for that.
    """
    held = [(fix, fit_of(fix, hypothesis.candidate.context, hypothesis.cause)) for fix in candidate_fixes(hypothesis, base)]
    told = [_with_runs(fix, fit, seen(hypothesis.entry.id, fix.id), hypothesis) for fix, fit in held if fit is not UNSAID]
    return tuple(sorted(told, key=lambda one: _order(one.fit)))


def _with_runs(fix: Fix, fit: Fit, runs: tuple[SeenRun, ...], hypothesis: Hypothesis) -> HeldFix:
    """Hold a fix against what was seen when it was run; the runs of a family are of one of its causes."""
    failed = failed_here(runs, hypothesis.candidate.context) if fit.fits is not False and hypothesis.weighted is None else None
    return HeldFix(fix, failed or fit, runs)


_MISFIT = 3


def _order(fit: Fit) -> int:
    """Those that fit, the undecided, those that fit at a price that puts them last, the misfits."""
    if fit.fits is None:
        return 1
    return (2 if fit.late else 0) if fit.fits else _MISFIT


def candidate_fixes(hypothesis: Hypothesis, base: KnowledgeBase) -> tuple[Fix, ...]:
    """Return the entry's own fixes for the cause; a family, or an entry without fixes, adds the general advice for the cause."""
    context = hypothesis.candidate.context
    named = (name_library(fix, context) for fix in fixes_of(hypothesis.entry, hypothesis.cause, base))
    return tuple(on_device(fix, context) for fix in named if fix is not None)


def fixes_of(entry: Entry, cause: str, base: KnowledgeBase) -> tuple[Fix, ...]:
    """Return an entry's fixes for one of its causes, and the general advice for it where the entry is a family or has none."""
    known = base.fixes.get((entry.id, cause))
    if known is None or known[0] is not entry:
        known = base.fixes[(entry.id, cause)] = (entry, _fixes_of(entry, cause, base))
    return known[1]


def _fixes_of(entry: Entry, cause: str, base: KnowledgeBase) -> tuple[Fix, ...]:
    own = tuple(fix for fix in entry.fixes if not fix.causes or cause in fix.causes)
    if entry.kind == "issue" and own:
        return own
    general = base.causes.causes.get(cause)
    if general is None:
        return own
    kinds, ids = {fix.kind for fix in own}, {fix.id for fix in own}
    return own + tuple(fix for fix in general.fixes if fix.kind not in kinds and fix.id not in ids)


def fit_of(fix: Fix, context: Context, cause: str = "") -> Fit:
    """Hold one fix, for a cause, against the environment and what the report shows."""
    if fix.expected == "fails":
        return Fit(False, fix.reason)
    harm = harm_of(cause, context) if fix.kind == "ignore" else None
    if harm is not None:
        return harm
    for condition in fix.unless:
        outcome = evaluate(condition, context)
        if outcome.state:
            return _ruled_out(outcome, condition)
    vain = context.tried.already(fix.kind)
    if vain is not None:
        line, line_zh = (f" (line {vain.line})", f"（第 {vain.line} 行）") if vain.line is not None else ("", "")
        return Fit(False, f"you already tried that, and it stayed the same{line}", why_zh=f"你已经试过，没有变化{line_zh}")
    undecided: Fit | None = None
    for condition in fix.when:
        outcome = evaluate(condition, context)
        if outcome.state is False:
            return _ruled_out(outcome, condition)
        if outcome.state is None:
            askable = _askable(condition, context)
            if askable is None:
                return UNSAID
            if undecided is not None:
                continue
            undecided = Fit(None, f"if {describe(askable)}", _about(askable), why_zh=f"取决于：{describe(askable, 'zh')}")
    unfit = _already(fix, context) or impossible(fix, context)
    if unfit is not None:
        return unfit
    default = default_fit(fix.kind, context)
    if default.fits and any(evaluate(condition, context).state for condition in fix.later):
        default = msgspec.structs.replace(default, late=True)
    if default.fits is False:
        return default
    priced = weight_fit(fix.kind, context)
    if priced.fits is False:
        return priced
    if undecided is not None:
        return undecided
    if default.fits is None or priced is FITS:
        return default
    if priced.fits is None:
        return priced
    return Fit(
        priced.fits,
        priced.why or default.why,
        priced.about or default.about,
        default.late or priced.late,
        default.warning or priced.warning,
        priced.why_zh or default.why_zh,
        default.warning_zh or priced.warning_zh,
    )


def _ruled_out(outcome: Outcome, condition: Condition) -> Fit:
    return Fit(False, outcome.text or describe(condition), why_zh=outcome.zh or outcome.text or describe(condition, "zh"))


#: What a user can tell although a message tells it as well.
_ASKED = frozenset({"dtype.requested", "device.kind"})


def _askable(condition: Condition, context: Context) -> Condition | None:
    """Return what of an undecided condition is about the environment; None where it hangs on what the report says or shows."""
    if condition.any:
        open_parts = [one for one in condition.any if evaluate(one, context).state is None]
        parts = [part for one in open_parts if (part := _askable(one, context)) is not None]
        return msgspec.structs.replace(condition, any=tuple(parts)) if parts else None
    if condition.all:
        parts = [one for one in condition.all if evaluate(one, context).state is None]
        return condition if all(_askable(one, context) is not None for one in parts) else None
    if condition.none:
        return condition
    fact = condition.fact
    return condition if fact and (fact in _ASKED or not is_among(fact, CAUGHT)) else None


def _about(condition: Condition) -> str | None:
    for part in (*condition.any, *condition.all, *condition.none):
        about = _about(part)
        if about:
            return about
    if condition.fact and condition.fact.startswith(("support.", "gpu.")):
        return "gpu"
    return condition.fact


def _already(fix: Fix, context: Context) -> Fit | None:
    """What is in use is no fix: a release that is there already, or one beyond it, a package that is there, autocast where it is on.

    Nor is removing what is absent.
    """
    kind = actions.kind_of(fix.action)
    name = str(fix.action.get(kind, ""))
    if fix.kind == "enable-autocast" and {fact.value for fact in context.facts.get("autocast")} == {"on"}:
        return Fit(False, "autocast is on", why_zh="autocast 已经开启")
    if kind == "patch":
        wanted = str(fix.action.get("implementation", ""))
        # A text names the implementation that works as well.
        used = {fact.value for fact in context.facts.get("attention") if fact.source == "answer"}
        return Fit(False, f"{wanted} is in use", why_zh=f"已在使用 {wanted}") if wanted and used == {wanted} else None
    if kind not in ("upgrade", "downgrade", "install", "uninstall"):
        return None
    package = context.facts.package(name)
    if package is None:
        return None
    if kind == "uninstall":
        return Fit(False, f"{name} is not installed", why_zh=f"没有安装 {name}") if package.absent else None
    want = parse_version(str(fix.action["to"])) if "to" in fix.action else None
    installed = Fit(False, " ".join(f"{name} {package.told} is installed".split()), why_zh=f"已安装 {name} {package.told}".rstrip())
    if want is None:
        return installed if kind == "install" and not package.absent else None

    def there(version: str) -> bool | None:
        have = parse_version(version)
        if have is None:
            return None
        return (kind == "upgrade" and have >= want) or (kind == "downgrade" and have <= want) or have == want

    if package.holds(there):
        if kind == "install":
            return installed
        way, way_zh = ("later", "更高") if kind == "upgrade" else ("earlier", "更低")
        why_zh = f"{name} {package.told} 已是 {want} 或{way_zh}的版本"
        return Fit(False, f"{name} {package.told} is already at {want} or {way}", why_zh=why_zh)
    return None
