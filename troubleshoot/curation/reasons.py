"""``troubleshoot kb why REPORT ENTRY``: why an entry did or did not answer a report, and what would change that."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from troubleshoot.curation.trials import Trial, trials
from troubleshoot.engine.diagnosis import Examined, examine
from troubleshoot.engine.matching.candidates import Candidate, hold_places
from troubleshoot.engine.matching.conditions import Context, Outcome, evaluate
from troubleshoot.engine.matching.releases import affected_text, hold_releases
from troubleshoot.engine.matching.wording import describe
from troubleshoot.engine.ranking import LIKELY, Standing, penalties, rivals_of, standings
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.knowledge.schema import NO_CAUSE, Entry
from troubleshoot.knowledge.templates import compile_template, key_words, literal_text
from troubleshoot.reading.environment.machine import Environment
from troubleshoot.reading.report import Report

#: What of a message is compared with templates.
_LONGEST = 400
#: Log-odds that are not worth a line.
_LEAST_ODDS = 0.005


@dataclass(frozen=True)
class Pattern:
    """A template or phrase of the entry held against the report.

    ``found`` tells whether it is there, ``where`` in what part of the report; of one that is not, ``alike`` (0 to 100) says how much it
    resembles the message, and ``missing`` which of its words the report has not.
    """

    kind: str
    text: str
    found: bool
    where: str = ""
    line: int | None = None
    captured: Mapping[str, str] | None = None
    alike: int | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Held:
    """A part of the entry held against the report: ``state`` true, false or null for unknown, and what was seen."""

    part: str
    condition: str
    state: bool | None
    seen: str
    line: int | None


@dataclass(frozen=True)
class Rank:
    """A hypothesis in the order of the answer."""

    issue: str
    cause: str
    confidence: float
    cause_confidence: float


@dataclass(frozen=True)
class Why:
    """How an entry fared.

    ``outcome``: ``first`` (it answers), ``behind`` (another one is stronger), ``overruled`` (by supported entries that refine it),
    ``stands-back`` (special, and nothing of its own speaks), ``refuted``, ``out-of-scope`` (the failure is none of ours), ``no-cause``
    (a family whose likeliest cause is no precision problem), ``no-pattern`` (nothing of its signature is in the report), ``withdrawn``.
    ``weights`` are log-odds that add up to ``strength``; ``reasons`` say in words what decided, ``trials`` which answers were tried
    and change it.
    """

    issue: str
    title: str
    outcome: str
    position: int | None
    verdict: str
    failure: str
    patterns: tuple[Pattern, ...]
    held: tuple[Held, ...]
    weights: tuple[tuple[str, float], ...]
    strength: float | None
    refines: tuple[str, ...]
    refined_by: tuple[str, ...]
    ranking: tuple[Rank, ...]
    reasons: tuple[str, ...]
    trials: tuple[Trial, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"schema": 1, **asdict(self)}


def why(
    source: str | os.PathLike[str] | Report,
    issue: str,
    *,
    environment: str | os.PathLike[str] | Environment = "report",
    kb: KnowledgeBase | None = None,
    answers: Mapping[str, str] | None = None,
    gpu: str | None = None,
    have: Mapping[str, str] | None = None,
) -> Why:
    """Explain why an entry did or did not win for a report; the arguments are those of ``diagnose``.

    Raises:
        InputError: the report or an answer cannot be used.
        UnknownIssueError: there is no such entry.
    """
    seen = examine(source, environment=environment, kb=kb, answers=answers, gpu=gpu, have=have)
    entry = seen.base.entry(issue)
    candidate = _candidate(entry, seen)
    standing, group = _standing(candidate, seen)
    outcome, reasons = _outcome(entry, candidate, standing, seen)
    ranked = tuple(Rank(one.entry.id, one.cause, one.confidence, one.cause_confidence) for one in seen.hypotheses)
    return Why(
        issue=entry.id,
        title=entry.title,
        outcome=outcome,
        position=next((number for number, one in enumerate(ranked, 1) if one.issue == entry.id), None),
        verdict=_verdict(seen),
        failure=_failure(candidate, seen),
        patterns=tuple(_patterns(entry, seen)),
        held=tuple(_held(entry, candidate, seen)),
        weights=tuple((name, round(weight, 3)) for name, weight in standing.weights) if standing else (),
        strength=round(standing.strength, 3) if standing else None,
        refines=entry.refines,
        refined_by=tuple(one.candidate.entry.id for one in group if entry.id in one.candidate.entry.refines),
        ranking=ranked,
        reasons=reasons,
        trials=trials(entry, seen, environment=environment, answers=answers, gpu=gpu, have=have),
    )


def _candidate(entry: Entry, seen: Examined) -> Candidate | None:
    """Return the entry's candidate: for the failure that answers where there are several."""
    mine = [one for one in seen.matches.candidates if one.entry.id == entry.id]
    if not mine:
        return None
    leading = seen.hypotheses[0].candidate.failure if seen.hypotheses else None
    return min(mine, key=lambda one: (one.failure != leading, one.refuted_by is not None, one.failure is None, one.failure or 0))


def _standing(candidate: Candidate | None, seen: Examined) -> tuple[Standing | None, tuple[Standing, ...]]:
    if candidate is None:
        return None, ()
    groups = rivals_of(seen.matches)
    lost = penalties(groups, seen.matches, seen.report)
    if candidate.failure not in lost:
        return None, ()
    group = tuple(standings(groups[candidate.failure], lost[candidate.failure], seen.base))
    return next((one for one in group if one.candidate is candidate), None), group


def _outcome(entry: Entry, candidate: Candidate | None, standing: Standing | None, seen: Examined) -> tuple[str, tuple[str, ...]]:
    """Return how the entry fared, and what decided it in words."""
    if entry.status == "withdrawn":
        return "withdrawn", ("The entry is withdrawn: it never answers.",)
    if candidate is None:
        return "no-pattern", (
            "None of its templates and phrases is in the report, so it was never considered. "
            "A template that fits the message, or a phrase that the reporter uses, would make it a candidate.",
        )
    if candidate.failure is not None and candidate.failure in seen.matches.out_of_scope:
        group = seen.matches.out_of_scope[candidate.failure]
        return "out-of-scope", (f"kb/out-of-scope.yaml claims this failure ({group}): its message says more than the entry's.",)
    if standing is None:
        refuted = candidate.contradicted_by or candidate.refuted_by
        text = f"{refuted.kind}: {refuted.text}" if refuted else "a more literal message belongs to it alone, and is refuted"
        return "refuted", (f"Ruled out by {text}.",)
    if seen.hypotheses and seen.hypotheses[0].entry.id == entry.id:
        return "first", _won(standing, seen)
    if standing.stands_back:
        return "stands-back", (_stands_back(entry, candidate),)
    if standing.overruled_by:
        return "overruled", (f"{_list(standing.overruled_by)} refines it and is supported by something of its own, so it answers first.",)
    if entry.kind == "family" and all(one.entry.id != entry.id for one in seen.hypotheses) and not _has_cause(candidate):
        return "no-cause", ("The likeliest of its causes is no precision problem, so that it abstains.",)
    return "behind", _behind(standing, seen)


def _won(standing: Standing, seen: Examined) -> tuple[str, ...]:
    first = seen.hypotheses[0]
    others = [one for one in seen.hypotheses if one.entry.id != first.entry.id]
    reasons = [f"Its pattern was found ({standing.candidate.where}) and nothing rules it out."]
    if others:
        reasons.append(f"Next is {others[0].entry.id} with {others[0].confidence:.2f} against {first.confidence:.2f}.")
    if first.confidence < LIKELY:
        reasons.append(f"Below {LIKELY} it is not an answer: the verdict is unknown.")
    if first.open > 1:
        reasons.append(f"{first.open} of its causes are open, which keeps it from being sure.")
    return tuple(reasons)


def _stands_back(entry: Entry, candidate: Candidate) -> str:
    wanted = []
    if entry.signature.frames:
        wanted.append("its frames")
    if entry.models:
        wanted.append(f"its model ({entry.models[0]}, ...)")
    if entry.affected:
        wanted.append(f"a release in its ranges ({affected_text(entry.affected[0])})")
    wanted += [describe(condition) for condition in entry.evidence.required]
    missing = "" if candidate.identified else " Nothing names its model or place."
    return f"It is special, and nothing of its own speaks for it.{missing} One of these in the report would: {'; '.join(wanted)}."


def _behind(standing: Standing, seen: Examined) -> tuple[str, ...]:
    first = seen.hypotheses[0]
    if first.candidate.failure != standing.candidate.failure:
        place = "another failure of the report" if first.candidate.failure is not None else "what is said outside the failures"
        return (f"{first.entry.id} explains {place}, which comes first.",)
    return (f"{first.entry.id} has {first.confidence:.2f}; this entry's own strength is {standing.strength:.2f}.",)


def _has_cause(candidate: Candidate) -> bool:
    shares = candidate.cause_shares
    return bool(shares) and shares[0][0].cause != NO_CAUSE


def _verdict(seen: Examined) -> str:
    best = seen.hypotheses[0].confidence if seen.hypotheses else 0.0
    return "unknown" if best < LIKELY else "likely" if best < 0.8 else "known"


def _failure(candidate: Candidate | None, seen: Examined) -> str:
    if candidate is not None:
        failure = seen.report.failures[candidate.failure] if candidate.failure is not None else None
    else:
        failure = seen.report.cause
    if failure is None:
        return ""
    return f"{failure.root.type}: {' '.join(failure.root.message.split())[:_LONGEST]}".strip(": ")


def _patterns(entry: Entry, seen: Examined) -> Iterator[Pattern]:
    patterns = seen.base.index.patterns
    hits = {patterns[hit.pattern][1]: hit for hit in reversed(seen.search.hits)}
    resembled = {patterns[hit.pattern][1]: (hit, cut) for hit, cut in seen.search.recalled}
    failure = seen.report.cause
    message = " ".join(failure.root.message[:_LONGEST].lower().split()) if failure else ""
    for one in entry.signature.message:
        hit = hits.get(one.template)
        if hit is not None:
            captured = {hole.name: hole.text for hole in hit.captured}
            yield Pattern("template", one.template, True, "in the report", hit.line, captured)
        elif one.template in resembled:
            hit, cut = resembled[one.template]
            where = "the message is its beginning" if cut else "the message resembles it"
            yield Pattern("template", one.template, True, where, hit.line)
        else:
            missing = _missing_words(one.template, seen)
            yield Pattern("template", one.template, False, alike=_alike(message, one.template), missing=missing)
    for phrase in entry.signature.symptoms:
        sentence = seen.search.speech.said(phrase)
        hit = hits.get(phrase)
        if sentence is not None:
            yield Pattern("phrase", phrase, True, "in a sentence", sentence.line)
        elif hit is not None:
            yield Pattern("phrase", phrase, True, "in two sentences, or in one and the title", hit.line)
        else:
            yield Pattern("phrase", phrase, False)


def _alike(message: str, template: str) -> int | None:
    if not message:
        return None
    from rapidfuzz import fuzz

    return round(fuzz.ratio(message, literal_text(template)))


def _missing_words(template: str, seen: Examined) -> tuple[str, ...]:
    """Return the words of a template that the report has not, alternatives joined; empty where its wording differs otherwise."""
    words = seen.search.text.words
    needed = key_words(compile_template(template).nodes)
    return tuple("|".join(alternatives) for alternatives in needed if words.isdisjoint(alternatives))


def _held(entry: Entry, candidate: Candidate | None, seen: Examined) -> Iterator[Held]:
    """Hold every part afresh: an entry that is refuted, or no candidate, was not held to its end."""
    if candidate is not None:
        context = candidate.context
    else:
        failure = seen.report.failures.index(seen.report.cause) if seen.report.cause is not None else None
        found = seen.search.failures[failure] if failure is not None else None
        context = Context(seen.facts, seen.search.programs, found, speech=seen.search.speech)
    frames, model = hold_places(entry, context)
    if entry.signature.frames:
        wanted = ", then ".join(" ".join(filter(None, (one.file, one.function, one.code))) for one in entry.signature.frames)
        yield _part("frames", wanted, frames)
    for affected in entry.affected:
        yield _part("release", affected_text(affected), hold_releases((affected,), context.facts))
    if entry.models:
        yield _part("model", ", ".join(entry.models), model)
    for part in ("required", "supporting", "refuting"):
        for condition in getattr(entry.evidence, part):
            yield _part(part, describe(condition), evaluate(condition, context))
    if candidate is not None:
        if entry.cause:
            yield from _tried(entry.cause, candidate)
        for weighted, share in candidate.cause_shares:
            yield Held("cause", weighted.cause, True, f"share {share:.2f}", None)
            yield from _tried(weighted.cause, candidate)
            told = candidate.telling_words(weighted.cause)
            if told:
                yield Held("words", f"{weighted.cause}: words of reports with this cause", True, ", ".join(told), None)
            for condition in weighted.likelier:
                outcome = evaluate(condition, context)
                if outcome.state:
                    yield _part("likelier", f"{weighted.cause}, times {condition.times or 0:g}: {describe(condition)}", outcome)


def _tried(cause: str, candidate: Candidate) -> Iterator[Held]:
    """Yield what the outcomes of experiments add to the log-odds of a cause, where they add anything."""
    odds = candidate.context.tried.odds(cause)
    if abs(odds) >= _LEAST_ODDS:
        outcomes = ", ".join(f"{name} {outcome}" for name, outcome, _ in candidate.context.tried.outcomes)
        yield Held("tried", f"{cause}: log-odds {odds:+.2f}", odds > 0, outcomes, None)


def _part(part: str, condition: str, outcome: Outcome) -> Held:
    return Held(part, condition, outcome.state, outcome.text, outcome.line)


def _list(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
