"""What a model's ranking changes: one term of bounded strength beside the probability that the rules gave their answer.

The answer of the rules and the cause that the model names are two hypotheses. To the second goes all that the rules left open, and the
model's ranking multiplies the odds by nine at most. So an answer of the rules that is likelier than 0.9 stands, whatever a model says; and
where they know the very message, only a cause that it can have may come first.
"""

from __future__ import annotations

import math

import msgspec

from troubleshoot.engine.consulting.asking import SURE
from troubleshoot.engine.consulting.believing import Reading
from troubleshoot.engine.evidence import Facts
from troubleshoot.engine.matching import Search, recalled
from troubleshoot.engine.ranking import LIKELY, TEMPLATE, Hypothesis, capped
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.schema import NO_CAUSE, Cause, Chinese, Entry, Signature
from troubleshoot.reading.report import Report

#: What the first cause of a ranking adds to the log-odds, and what part of that each further one: just so much that it turns no answer
#: which is likelier than SURE.
STRENGTH = math.log(SURE / (1 - SURE))
_NEXT = 0.5
#: How likely it is that a report is a problem of the kind where the rules are silent. Of the 129 retold reports of the held-out quarter on
#: which they are, 60 are; these are told in words alone, and of reports with a message of their own that no entry knows far fewer are.
_SILENT = 0.3


def decided(
    ranked: tuple[Hypothesis, ...], reading: Reading, report: Report, facts: Facts, search: Search, base: KnowledgeBase
) -> tuple[Hypothesis, ...]:
    """Return the hypotheses with the model's term: the first one kept, or another one put before it."""
    answered = bool(ranked) and ranked[0].confidence >= LIKELY
    causes = _open(reading.causes, ranked) if answered else reading.causes
    if not causes:
        return ranked
    own = ranked[0].cause if answered else NO_CAUSE
    likely = min(ranked[0].cause_confidence, 1 - 1e-6) if answered else 1 - _SILENT
    terms = {cause: STRENGTH * _NEXT**at for at, cause in enumerate(causes)}
    # Of the others the one that is named first; without one, whatever is left.
    other = next((cause for cause in causes if cause != own), None)
    odds = (1 - likely) / likely * math.exp((terms[other] if other else 0.0) - terms.get(own, 0.0))
    share = odds / (1 + odds)
    if other is None or odds <= 1:
        return ranked if not answered else _kept(ranked, 1 - share, likely)
    if other == NO_CAUSE:
        return _kept(ranked, 1 - share, likely)
    return _preferred(ranked, other, share, reading, report, facts, search, base)


def _open(causes: tuple[str, ...], ranked: tuple[Hypothesis, ...]) -> tuple[str, ...]:
    """Return those of a ranking that the rules leave open: where they know the failure's very message, only the causes that it can have."""
    first = ranked[0]
    if first.candidate.where not in TEMPLATE or first.entry.fallback:
        return causes
    known = {one.cause for one in ranked} | {weighted.cause for weighted in first.entry.causes if weighted.cause == NO_CAUSE}
    return tuple(cause for cause in causes if cause in known)


def _kept(ranked: tuple[Hypothesis, ...], share: float, before: float) -> tuple[Hypothesis, ...]:
    """Return the same order with other probabilities: the issue's own falls with that of its cause, and does not rise."""
    factor = min(1.0, share / before)
    first = msgspec.structs.replace(ranked[0], cause_confidence=capped(share), confidence=capped(ranked[0].confidence * factor))
    return (first, *(_below(one, 1 - share, factor) for one in ranked[1:]))


def _below(one: Hypothesis, most: float, factor: float = 1.0) -> Hypothesis:
    cause_confidence = capped(min(one.cause_confidence, max(0.0, most)))
    return msgspec.structs.replace(one, cause_confidence=cause_confidence, confidence=capped(one.confidence * factor))


def _preferred(
    ranked: tuple[Hypothesis, ...],
    cause: str,
    share: float,
    reading: Reading,
    report: Report,
    facts: Facts,
    search: Search,
    base: KnowledgeBase,
) -> tuple[Hypothesis, ...]:
    """Put a hypothesis with this cause first: one of the rules', the entry that the model chose, or the cause with its general advice."""
    same = [one for one in ranked if one.cause == cause and one.leads]
    chosen = next((one for one in same if one.entry.id == reading.entry), None) or _chosen(cause, reading, report, facts, search, base)
    if chosen is None:
        chosen = same[0] if same else _general(cause, report, facts, search, base)
    if chosen is None:
        return ranked
    # Another cause of the same family: its message is as sure as it was.
    issue = ranked[0].confidence if ranked and chosen.entry is ranked[0].entry else share
    first = msgspec.structs.replace(chosen, confidence=capped(max(issue, LIKELY)), cause_confidence=capped(share))
    return (first, *(_below(one, 1 - share) for one in ranked if one is not chosen))


def _chosen(cause: str, reading: Reading, report: Report, facts: Facts, search: Search, base: KnowledgeBase) -> Hypothesis | None:
    """Return the entry that the model chose, where it has the cause and nothing rules it out."""
    if reading.entry is None:
        return None
    entry = base.entry(reading.entry)
    weighted = next((one for one in entry.causes if one.cause == cause), None)
    if entry.cause != cause and weighted is None:
        return None
    candidate = recalled(entry, facts, search, _place(report))
    return None if candidate.refuted_by is not None else Hypothesis(candidate, cause, weighted, 0.0, 0.0, leads=True)


def _general(cause: str, report: Report, facts: Facts, search: Search, base: KnowledgeBase) -> Hypothesis | None:
    known = base.causes.causes.get(cause)
    if known is None:
        return None
    return Hypothesis(recalled(_entry_of(cause, known), facts, search, _place(report)), cause, None, 0.0, 0.0, leads=True)


def _entry_of(code: str, cause: Cause) -> Entry:
    """Return a cause as an entry: its own words and general advice. `troubleshoot explain` knows it by its code."""
    return Entry(
        1, code, cause.title.en, "stable", "issue", "error", Signature(), cause.explanation.en, (), code,
        zh=Chinese(cause.title.zh, cause.explanation.zh),
    )  # fmt: skip


def _place(report: Report) -> int | None:
    return report.failures.index(report.cause) if report.cause is not None else None
