"""Candidates become ranked hypotheses (an entry with one cause) with two calibrated probabilities.

Two questions are kept apart: is it this issue, and is it this cause. Within one failure the most specific entry that something of its
own speaks for comes before the entries that it refines; a family spreads its probability over its causes by their weights, multiplied
where conditions hold (a naive Bayes over public reports) and by what the report's words say. The constants below were chosen on the
knowledge base's own examples and checked for calibration with ``troubleshoot kb score``; docs/accuracy.md shows the figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

import msgspec

from troubleshoot.engine.matching.candidates import Candidate, Matches
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.schema import NO_CAUSE, Entry, WeightedCause
from troubleshoot.reading.report import Report

KNOWN = 0.8
LIKELY = 0.4

#: A family is at most this sure of itself while more than one cause is open.
OPEN_FAMILY = 0.79
#: A cause with a smaller share of its family is not open.
OPEN_SHARE = 0.12

#: Log-odds of an entry by where its pattern was found.
_WHERE = {"message": 1.9, "cut": 0.6, "similar": -0.6, "traceback": 1.2, "loose": 1.1, "said": 1.0, "symptom": 0.4}
_FRAMES, _NO_FRAMES = 1.0, -0.6
_MODEL = 1.0
_AFFECTED, _AFFECTED_UNKNOWN = 0.7, -0.2
_REQUIRED, _REQUIRED_UNKNOWN = 0.5, -0.5
_SUPPORTING = 0.4
#: A further phrase, two of them at most: prose stays weaker than a message.
_PHRASE = 0.33
#: A special entry for which nothing of its own speaks.
_NOTHING_OWN = -3.0
#: ... and no other entry is there to answer.
_NOTHING_OWN_ALONE = -1.0
#: Where a message template, unlike a phrase, tells what failed.
TEMPLATE = frozenset({"message", "cut", "traceback", "loose"})
#: What prose alone can be worth, by the number of phrases found: on reports that were not used for tuning, 59 to 75 % were right.
_PROSE = {0: 0.65, 1: 0.65, 2: 0.8}
#: What a general wording alone can be worth. Of 926 messages of released packages from which no wording was made, and which a reader had
#: called a problem of the kind, 467 are answered, 76 % of them rightly; a fifth of 558 others of the same vocabulary is answered too.
_GENERAL = 0.75
#: Shares become probabilities with this exponent. It was fitted on 260 labelled reports that curators wrote after public threads (the
#: Brier score of the answered ones fell from 0.11 to 0.03); `troubleshoot kb score` measures it on any other set.
_CALIBRATION = 0.35
#: A pattern found outside the failure, while the failure itself has another, out-of-scope, explanation.
_BESIDE_OTHER = -2.5
#: ... or no explanation at all.
_BESIDE_UNEXPLAINED = -0.9
#: ... which was cut above its message: the prose beside it may well tell what it was.
_BESIDE_CUT = -0.3
#: Prose that asks for a feature: one phrase is not enough then.
_WISH = -1.0


class Hypothesis(msgspec.Struct, frozen=True, eq=False):
    """One entry with one cause; ``leads``: it answers before the entries it refines; ``open``: how many causes of its family are open."""

    candidate: Candidate
    cause: str
    weighted: WeightedCause | None
    confidence: float
    cause_confidence: float
    share: float = 1.0
    leads: bool = False
    open: int = 1

    @property
    def entry(self) -> Entry:
        """The entry."""
        return self.candidate.entry


#: Special entries that stand back are less likely than this; they make questions, not hypotheses.
_FAINT = 0.02
#: With less probability than this left after two entries, further ones are not worth their work.
_LITTLE_LEFT = 0.1
#: An issue that is this sure leaves no room for another explanation of the same failure.
_SURE = 0.95
#: Candidates of one failure that are turned into hypotheses.
_MOST_CANDIDATES = 8


class Standing(msgspec.Struct, frozen=True, eq=False):
    """How a candidate stands among those of the same failure, for those who ask why it came out so.

    ``stands_back``: it is special, and nothing of its own speaks for it. ``overruled_by``: supported entries that refine it.
    ``weights`` are the log-odds that make its ``strength``, each with what it is for.
    """

    candidate: Candidate
    stands_back: bool
    leads: bool
    strength: float
    weights: tuple[tuple[str, float], ...]
    overruled_by: tuple[str, ...]


def rivals_of(matches: Matches) -> dict[int | None, list[Candidate]]:
    """Return the candidates that nothing rules out, by the failure that they explain."""
    groups: dict[int | None, list[Candidate]] = {}
    for candidate in matches.candidates:
        # Special entries that stand back are many, and mostly nobody asks for them: what refutes them is looked at in _in_order.
        faint = candidate.special and candidate.own <= 0
        if (candidate.contradicted_by if faint else candidate.refuted_by) is None:
            groups.setdefault(candidate.failure, []).append(candidate)
    return groups


def penalties(groups: dict[int | None, list[Candidate]], matches: Matches, report: Report) -> dict[int | None, float]:
    """Return what the candidates of each failure lose by where they were found; failures that are out of scope are left out."""
    explained = {place for place, group in groups.items() if place is not None and place not in matches.out_of_scope and group}
    within = (place for place in groups if place is None or place not in matches.out_of_scope)
    return {place: _penalty(place, report, matches, explained) for place in within}


def rank(matches: Matches, report: Report, base: KnowledgeBase, most: int = 40) -> tuple[Hypothesis, ...]:
    """Return the hypotheses, best first, about ``most`` for each failure; empty where nothing in the base explains the report."""
    groups = rivals_of(matches)
    ranked: list[tuple[tuple[float, ...], Hypothesis]] = []
    for place, penalty in penalties(groups, matches, report).items():
        for position, hypothesis in enumerate(_rank_group(groups[place], penalty, base, most)):
            ranked.append((_order(place, report, hypothesis, position), hypothesis))
    ranked.sort(key=lambda item: item[0])
    return _calibrate([hypothesis for _, hypothesis in ranked])


def _order(place: int | None, report: Report, hypothesis: Hypothesis, position: int) -> tuple[float, ...]:
    """Failures that are causes come first, in the order of the report; then what is said outside failures; then victims."""
    if place is None:
        group = 1.0
    else:
        failure = report.failures[place]
        group = 0.0 if failure.role == "cause" else 2.0
    return (0.0 if hypothesis.confidence >= LIKELY else 1.0, group, float(place or 0), float(position))


def _penalty(place: int | None, report: Report, matches: Matches, explained: set[int]) -> float:
    """Return what a find outside all failures loses where the report has a failure of its own."""
    if place is not None:
        return 0.0
    causes = [index for index, failure in enumerate(report.failures) if failure.role == "cause"]
    if not causes:
        return _WISH if matches.wishes else 0.0
    first = causes[0]
    root = report.failures[first].root
    if not root.name and not root.message:
        return _BESIDE_CUT
    if first in explained:
        return _BESIDE_UNEXPLAINED
    return _BESIDE_OTHER if first in matches.out_of_scope else _BESIDE_UNEXPLAINED


def _rank_group(group: list[Candidate], penalty: float, base: KnowledgeBase, most: int) -> list[Hypothesis]:
    """Rank the candidates of one failure: by the refinement tree first, then by confidence."""
    group, most_literal = _contenders(group)
    found: list[Hypothesis] = []
    entries: set[str] = set()
    remaining = 1.0
    for candidate, strength, leads in islice(_in_order(group, most_literal, penalty, base), _MOST_CANDIDATES):
        if found and (len(found) >= most or (remaining < _LITTLE_LEFT and len(entries) > 1)):
            break
        if found and strength < _FAINT:
            continue
        if found and found[0].confidence >= _SURE and found[0].entry.kind == "issue":
            break
        scale = min(1.0, remaining) if found else 1.0
        hypotheses = _hypotheses(candidate, strength, scale, leads)
        found.extend(hypotheses)
        if hypotheses:
            entries.add(candidate.entry.id)
            remaining = max(0.05, remaining - strength * scale)
    return found


def standings(group: list[Candidate], penalty: float, base: KnowledgeBase) -> list[Standing]:
    """Return how each candidate of one failure stands, in their order."""
    group, most_literal = _contenders(group)
    back = {one.entry.id: _stands_back(one, most_literal) for one in group}
    rivals = not all(back.values())
    ordered = list(_in_order(group, most_literal, penalty, base))
    overruling = [(one.entry.id, _ancestors(one.entry, base)) for one, strength, leads in ordered if leads and strength >= LIKELY]
    return [
        Standing(
            one,
            back[one.entry.id],
            leads,
            strength,
            (*_weights(one, back[one.entry.id], rivals), *((("beside", penalty),) if penalty else ())),
            tuple(id_ for id_, parents in overruling if one.entry.id in parents),
        )
        for one, strength, leads in ordered
    ]


def _contenders(group: list[Candidate]) -> tuple[list[Candidate], Candidate | None]:
    """Return the candidates, and the one whose own message says most; where that is refuted, it is left out.

    Entries that only stand in for a message are left out where another entry knows the message.
    """
    if any(one.where in TEMPLATE and one.literal > 1 and not one.entry.fallback for one in group):
        group = [one for one in group if not one.entry.fallback]
    elif any(one.where == "said" and not one.entry.fallback and one.refuted_by is None for one in group):
        # Nor does its general wording of a message stand against what another entry finds said in it.
        group = [one for one in group if not (one.entry.fallback and one.where == "message")]
    most_literal = _most_literal(group)
    if most_literal is not None and most_literal.refuted_by is not None:
        return [one for one in group if one is not most_literal], None
    return group, most_literal


def _stands_back(one: Candidate, most_literal: Candidate | None) -> bool:
    if not one.special:
        return False
    # That facts it demands may hold is no more than a question, whatever releases are installed.
    unmet = bool(one.required) and not (one.frames.state or one.model.state or any(outcome.state for outcome in one.required))
    return (one.own <= 0 or unmet) and not (one.identified and one is most_literal)


def _in_order(
    group: list[Candidate], most_literal: Candidate | None, penalty: float, base: KnowledgeBase
) -> Iterator[tuple[Candidate, float, bool]]:
    """Yield the candidates of one failure with their strengths, and whether they lead: the many that stand back only if someone asks."""
    # A special entry for which nothing of its own speaks stands back where another one has something, or claims nothing special.
    back = [_stands_back(one, most_literal) for one in group]
    rivals = not all(back)
    leading = [one for one, stands_back in zip(group, back, strict=True) if not stands_back]
    if not rivals:
        leading = [one for one in group if one.refuted_by is None]
    # To refine an entry that only stands in for a message makes nothing special.
    ids = {one.entry.id for one in group if not one.entry.fallback}
    ancestors = {one.entry.id: _ancestors(one.entry, base) & ids for one in leading}
    strengths = {one.entry.id: _probability(_log_odds(one, not rivals, rivals) + penalty) for one in leading}
    # An entry is overruled by a supported one that refines it.
    overruled = {parent for one in leading if strengths[one.entry.id] >= LIKELY for parent in _ancestors(one.entry, base)}
    leading = sorted(
        leading,
        key=lambda one: (
            # those that answer, the most special first, then the more general ones that they overrule
            1 if one.entry.id in overruled else 0,
            0 if one.entry.id in overruled else -len(ancestors[one.entry.id]),
            -strengths[one.entry.id] - 0.05 * one.own,
            one.entry.id,
        ),
    )
    for one in leading:
        yield one, strengths[one.entry.id], True
    if rivals:
        others = [
            (_probability(_log_odds(one, True, True) + penalty), one) for one, stands_back in zip(group, back, strict=True) if stands_back
        ]
        for strength, one in sorted(others, key=lambda item: (-item[0] - 0.05 * item[1].own, item[1].entry.id)):
            if one.refuted_by is None:
                yield one, strength, False


def _most_literal(group: list[Candidate]) -> Candidate | None:
    """Return the entry whose own message says more than that of any other, if there is one: then the message itself speaks for it."""
    first = max(group, key=lambda one: one.literal)
    alone = sum(one.literal == first.literal for one in group) == 1
    return first if alone and first.where == "message" and len(group) > 1 else None


def _ancestors(entry: Entry, base: KnowledgeBase) -> frozenset[str]:
    known = base.ancestors.get(entry.id)
    if known is None:
        known = base.ancestors[entry.id] = _find_ancestors(entry, base)
    return known


def _find_ancestors(entry: Entry, base: KnowledgeBase) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(entry.refines)
    while waiting:
        parent = waiting.pop()
        if parent in found or parent == entry.id or parent not in base.index.ids:
            continue
        found.add(parent)
        waiting.extend(base.entry(parent).refines)
    return frozenset(found)


def _log_odds(one: Candidate, stands_back: bool, rivals: bool) -> float:
    return math.fsum([weight for _, weight in _weights(one, stands_back, rivals)])


def _weights(one: Candidate, stands_back: bool, rivals: bool) -> list[tuple[str, float]]:
    """Return the log-odds of a candidate, each with what it is for."""
    weights = [(one.where, _WHERE[one.where])]
    if one.where == "symptom" and one.phrases > 1:
        weights.append(("phrases", _PHRASE * min(2, one.phrases - 1)))
    if one.entry.signature.frames:
        weights.append(("frames", _FRAMES if one.frames.state else _NO_FRAMES))
    if one.model.state:
        weights.append(("model", _MODEL))
    if one.entry.affected:
        weights.append(("version", _AFFECTED if one.affected.state else _AFFECTED_UNKNOWN))
    for outcome in one.required:
        weights.append(("required", _REQUIRED if outcome.state else _REQUIRED_UNKNOWN))
    supporting = min(3, sum(1 for outcome in one.supporting if outcome.state))
    if supporting:
        weights.append(("supporting", _SUPPORTING * supporting))
    if one.tried:
        weights.append(("tried", one.tried))
    if stands_back:
        weights.append(("nothing-own", _NOTHING_OWN if rivals else _NOTHING_OWN_ALONE))
    return weights


def _probability(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds))


def _hypotheses(candidate: Candidate, strength: float, scale: float, leads: bool) -> list[Hypothesis]:
    entry = candidate.entry
    if entry.kind == "issue":
        cause = entry.cause or NO_CAUSE
        confidence = strength * scale
        return [Hypothesis(candidate, cause, None, capped(confidence), capped(confidence), leads=leads)]
    shares = candidate.cause_shares
    # A family may say that no precision problem is the likeliest (a NaN loss from a learning rate): then it abstains.
    if not shares or shares[0][0].cause == NO_CAUSE:
        return []
    shares = [one for one in shares if one[0].cause != NO_CAUSE]
    count = sum(1 for _, share in shares if share >= OPEN_SHARE)
    found: list[Hypothesis] = []
    for weighted, share in shares:
        confidence = strength * scale
        if count > 1 or candidate.entry.fallback:
            confidence = min(confidence, OPEN_FAMILY)
        # The family as an issue is as sure as its message; a cause that is not the first one is listed as an alternative.
        found.append(
            Hypothesis(
                candidate,
                weighted.cause,
                weighted,
                capped(confidence if not found else confidence * share),
                capped(strength * scale * share),
                share,
                leads,
                count,
            )
        )
    return found


def capped(value: float) -> float:
    """No probability from a rule is certain."""
    return round(min(0.98, value), 3)


def _calibrate(ranked: list[Hypothesis]) -> tuple[Hypothesis, ...]:
    """Turn the first one's share into the probability that its cause is right, and give the others what is left.

    A family's share is that of its one cause among neighbours that a reader would accept as well (inputs in another dtype, or a part left
    in it), so that it understates how often the answer holds.
    """
    if not ranked:
        return ()
    first = ranked[0]
    calibrated = first.cause_confidence**_CALIBRATION
    if first.candidate.where == "symptom":
        calibrated = min(calibrated, _PROSE[min(2, first.candidate.phrases)])
    elif first.candidate.entry.fallback:
        calibrated = min(calibrated, _GENERAL)
    calibrated = capped(calibrated)
    left = (1.0 - calibrated) / max(1e-6, 1.0 - first.cause_confidence)
    others = (
        msgspec.structs.replace(one, cause_confidence=capped(one.cause_confidence * left))
        if one.candidate.failure == first.candidate.failure
        else one
        for one in ranked[1:]
    )
    return (msgspec.structs.replace(first, cause_confidence=calibrated), *others)
