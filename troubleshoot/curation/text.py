"""What the curation tools print in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from troubleshoot.curation.aging import Staleness
    from troubleshoot.curation.clusters import Gaps
    from troubleshoot.curation.counts import Stats
    from troubleshoot.curation.reasons import Held, Pattern, Why
    from troubleshoot.curation.weights import Weighing

_OUTCOMES = {
    "first": "answers first",
    "behind": "is considered, and another entry is stronger",
    "overruled": "is considered, and overruled by what refines it",
    "stands-back": "stands back: nothing of its own speaks",
    "refuted": "is ruled out",
    "out-of-scope": "is not considered: the failure is out of scope",
    "no-cause": "abstains",
    "no-pattern": "is not considered: nothing of its signature is there",
    "withdrawn": "is withdrawn",
}
_WEIGHTS = {
    "message": "pattern in the message of the failure",
    "cut": "the message is the pattern's beginning",
    "similar": "the message resembles the pattern",
    "traceback": "pattern elsewhere in the traceback",
    "loose": "pattern outside the failures",
    "said": "phrase in the message of the failure",
    "symptom": "phrase",
    "phrases": "further phrases",
    "frames": "its frames",
    "model": "its model",
    "version": "its releases",
    "required": "a fact that must hold",
    "supporting": "supporting facts",
    "nothing-own": "nothing of its own speaks",
    "beside": "the failure itself has another explanation, or none, or the report asks for a feature",
}
_MARKS = {True: "+", False: "-", None: "?"}
_RANKED = 8
_PATTERNS = 8
_FILES = 3


def why_text(result: Why) -> str:
    """Return the explanation of one entry's place."""
    lines = [f"{result.issue} {_OUTCOMES[result.outcome]}.", f"    {result.title}", *(f"    {reason}" for reason in result.reasons), ""]
    lines += [f"Failure     {result.failure or 'none in this report'}", "", "Signature"]
    lines += [f"  {line}" for line in _signature(result.patterns)] or ["  it has none"]
    lines += ["", "Conditions (+ holds, - does not, ? unknown)"]
    lines += [_held(one) for one in result.held] or ["  it has none"]
    if result.weights:
        lines += ["", "Weight (log-odds)"]
        lines += [f"  {weight:+5.2f}  {_WEIGHTS[name]}" for name, weight in result.weights]
        lines += [
            f"  {sum(weight for _, weight in result.weights):+5.2f}  in all: {result.strength:.3f} before its rivals take their share"
        ]
    if result.refines or result.refined_by:
        lines += ["", "Refinement"]
        lines += [f"  it refines {', '.join(result.refines)}"] if result.refines else []
        lines += [f"  refined by, in this report: {', '.join(result.refined_by)}"] if result.refined_by else []
    lines += ["", f"Rank        {result.position or 'none'} (verdict: {result.verdict})"]
    for number, one in enumerate(result.ranking[:_RANKED], 1):
        mark = ">" if one.issue == result.issue else " "
        lines.append(f"  {mark} {number}. {one.confidence:.2f}  {one.issue}  {one.cause} {one.cause_confidence:.2f}")
    if not result.ranking:
        lines.append("    nothing explains this report")
    lines += ["", f"Would {'make it lose' if result.outcome == 'first' else 'put it first'}"]
    lines += [
        f"  {trial.option}" + (f"  (then {trial.first or 'nothing'})" if result.outcome == "first" else "") for trial in result.trials
    ]
    if not result.trials:
        lines.append("  no single answer to what the entries read")
    return "\n".join(lines) + "\n"


def _signature(patterns: tuple[Pattern, ...]) -> list[str]:
    """Return what was found, then what resembles the message most."""
    missing = sorted((one for one in patterns if not one.found), key=lambda one: -(one.alike or 0))
    shown = [*(one for one in patterns if one.found), *missing[:_PATTERNS]]
    rest = len(patterns) - len(shown)
    return [line for one in shown for line in _pattern(one)] + ([f"  {rest} more that are not there"] if rest else [])


def _pattern(one: Pattern) -> list[str]:
    if one.found:
        caught = "".join(f"  {name}={value}" for name, value in (one.captured or {}).items())
        return [f"+ {one.text}", f"    line {one.line}: {one.where}{caught}"]
    remarks = [f"{one.alike} % alike"] if one.alike is not None else []
    remarks += [f"without: {', '.join(one.missing)}"] if one.missing else []
    return [f"- {one.text}" + (f"  ({'; '.join(remarks)})" if remarks else "")]


def _held(one: Held) -> str:
    if one.part == "cause":
        return f"  {'cause':<10}  {one.condition}: {one.seen}"
    seen = f"  [line {one.line}: {one.seen}]" if one.line is not None else f"  [{one.seen}]" if one.seen else ""
    return f"  {one.part:<10} {_MARKS[one.state]} {one.condition}{seen}"


def gaps_text(result: Gaps) -> str:
    """Return the gaps, most frequent first."""
    lines: list[str] = []
    for one in result.gaps:
        lines.append(f"{one.count:>4}  {one.exception or 'message'}: {one.message}")
        files = ", ".join(one.files[:_FILES]) + (f" and {len(one.files) - _FILES} more" if len(one.files) > _FILES else "")
        lines.append(f"      {files}")
        if one.nearest:
            lines.append(f"      nearest: {one.nearest} (troubleshoot kb why {one.files[0]} {one.nearest})")
        lines += [f"      {one.command}", ""]
    told = [
        f"{result.reports} {'report' if result.reports == 1 else 'reports'}",
        f"{result.diagnosed} diagnosed",
        f"{sum(one.count for one in result.gaps)} without a diagnosis",
    ]
    told += [f"{result.out_of_scope} out of scope", f"{result.no_failure} without a failure"]
    lines.append(", ".join(told))
    lines += [f"not read: {one}" for one in result.unreadable]
    return "\n".join(lines) + "\n"


def stale_text(result: Staleness) -> str:
    """Return what needs another look, by entry."""
    lines: list[str] = []
    last = None
    for one in result.found:
        if one.issue != last:
            lines.append(one.issue)
            last = one.issue
        lines.append(f"    {one.kind}: {one.text}")
    count = len({one.issue for one in result.found})
    lines.append(f"{count} {'entry needs' if count == 1 else 'entries need'} another look" if count else "nothing is stale")
    lines += [f"not looked up: {one}" for one in result.unasked]
    return "\n".join(lines) + "\n"


def stats_text(result: Stats) -> str:
    """Return the counts as a table."""
    every = result.entries
    rows: list[tuple[str, str]] = [
        ("entries", f"{every} ({_listed(result.statuses)}; {_listed(result.kinds)})"),
        ("impact", _listed(result.impacts)),
        ("causes", f"{result.causes_with_entries} of {result.causes} have an entry"),
        ("recognised by", f"{result.templates} templates, {result.phrases} phrases"),
        ("with a reference", f"{result.with_reference} of {every} ({result.references} references)"),
        ("with a near miss", f"{result.with_near_miss} of {every} ({result.near_misses} near misses)"),
        ("with a reason for every fix", f"{result.with_reasons} of {every} ({result.fixes} fixes: {_listed(result.applicabilities)})"),
        ("with conditions of fixes", f"{result.with_conditions} of {every}"),
        ("with a positive example", f"{result.with_positive_example} of {every} ({_listed(result.best_origin)}, by their best)"),
        ("positive examples", _listed(result.positive_examples)),
        ("with a verification case", f"{result.with_case} of {every}"),
        ("  that a record shows reproduced", str(result.with_recorded_case)),
        ("ranges of releases", _listed(result.affected)),
        ("  measured, and borne out by the record", str(result.measured_ranges)),
        ("fixes seen in a record", f"{result.fixes_run} of {result.fixes}"),
        ("advice that does not help", f"{result.advice_that_fails} listed, {result.advice_that_fails_run} run and seen to fail"),
        ("with Chinese", f"{result.with_chinese} of {every}"),
    ]
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {value}\n" for name, value in rows)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"


def weighing_text(result: Weighing, changed: Sequence[Path]) -> str:
    """Return the families with the share of reports whose first cause is the label's own, and in brackets accepted."""
    if not result.families:
        return "no family answers enough of the reports\n"
    width = max(len(one.issue) for one in result.families)
    lines = [f"{'family':<{width}}  reports  as it stands   fitted, on folders unseen   fitted, on all   numbers changed"]
    for one in result.families:
        shares = [f"{own / one.reports:.2f} ({accepted / one.reports:.2f})" for own, accepted in (one.before, one.unseen, one.after)]
        told = f"{len(one.numbers)}  borne out" if one.borne_out else str(len(one.numbers))
        lines.append(f"{one.issue:<{width}}  {one.reports:>7}  {shares[0]:<13}  {shares[1]:<26}  {shares[2]:<15}  {told}")
    lines.append("The label's own cause first, and in brackets one that the label accepts.")
    lines.append("Borne out: better on the folders unseen; --write writes these.")
    lines += [f"written: {path}" for path in changed]
    return "\n".join(lines) + "\n"
