"""Candidates: entries whose message or symptom occurs in the report, each held against the evidence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, lru_cache

import msgspec

from troubleshoot.basics.lazy import lazy_attribute
from troubleshoot.engine.evidence import Facts, FailureFacts
from troubleshoot.engine.matching.conditions import (
    UNKNOWN,
    Context,
    Outcome,
    Program,
    frame_matches,
    no_frame,
    nowhere,
    places_of,
    seen_frame,
)
from troubleshoot.engine.matching.releases import affected_texts, affected_zh, hold_releases
from troubleshoot.engine.matching.search import Hit, Search
from troubleshoot.engine.matching.tried import NOTHING_TRIED, Tried
from troubleshoot.engine.matching.wording import describe
from troubleshoot.engine.result import EvidenceItem
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.index import SCOPE_OWNER
from troubleshoot.knowledge.schema import NO_CAUSE, Entry, FramePattern, MessageTemplate, WeightedCause
from troubleshoot.knowledge.templates import Captured, facts_of, template_length
from troubleshoot.reading.report import Failure, Report


class Candidate(msgspec.Struct, frozen=True, dict=True, eq=False):
    """An entry held against one failure (None: against the whole report).

    ``where`` is "message" (in the failure's message), "traceback" (elsewhere in it), "loose" (a line outside failures),
    "cut" (the failure's message is the pattern's beginning), "similar" (it resembles the pattern), "symptom" (a phrase in prose) or
    "said" (a phrase in the failure's message).
    ``literal`` is how much literal text its pattern has: the longer, the more the message alone says. The outcomes are those of the entry's
    parts; the conditions' ones are in the order of the entry, and empty for an entry that is refuted by its frames
    or releases, or that nothing identifies: an entry about a model or a place, of which neither is in the report.
    """

    entry: Entry
    failure: int | None
    hit: Hit
    where: str
    context: Context
    hits: list[tuple[Hit, str]]
    literal: int
    frames: Outcome = UNKNOWN
    model: Outcome = UNKNOWN
    affected: Outcome = UNKNOWN
    required: tuple[Outcome, ...] = ()
    supporting: tuple[Outcome, ...] = ()
    identified: bool = True

    @lazy_attribute
    def own(self) -> float:
        """How much speaks for this entry rather than for a more general one: frames, model, releases, required and supporting facts."""
        if not self.identified:
            return 0.0
        supported = 2.0 * bool(self.frames.state) + 1.5 * bool(self.model.state) + 1.0 * bool(self.affected.state)
        return (
            supported
            + sum(1.0 for outcome in self.required if outcome.state)
            + 0.75 * sum(1 for outcome in self.supporting if outcome.state)
        )

    @lazy_attribute
    def special(self) -> bool:
        """Tell whether the entry claims more than a message: frames, models, releases or facts that must hold."""
        return bool(self.entry.signature.frames or self.entry.models or self.entry.affected or self.entry.evidence.required)

    @property
    def phrases(self) -> int:
        """How many of the entry's phrases were found."""
        return len({hit.pattern for hit, where in self.hits if where == "symptom"})

    @lazy_attribute
    def contradicted_by(self) -> EvidenceItem | None:
        """The frames, releases or required facts that rule the entry out, or None."""
        for kind, outcomes in (("frames", (self.frames,)), ("version", (self.affected,)), ("fact", self.required)):
            for outcome in outcomes:
                if outcome.state is False:
                    return EvidenceItem("refutes", kind, outcome.text, outcome.line, outcome.zh)
        return None

    @lazy_attribute
    def refuted_by(self) -> EvidenceItem | None:
        """What rules the entry out: a contradiction, or one of its refuting conditions (looked at only when someone asks)."""
        if self.contradicted_by is not None or not self.identified:
            return self.contradicted_by
        for program in self.context.programs.entry(self.entry).refuting:
            outcome = program(self.context)
            if outcome.state:
                return EvidenceItem("refutes", "fact", outcome.text, outcome.line, outcome.zh)
        return None

    @lazy_attribute
    def evidence(self) -> tuple[EvidenceItem, ...]:
        """What supports, refutes, and is unknown, for showing."""
        items: list[EvidenceItem] = []
        if self.hit.text:
            where = self.where if self.where in ("symptom", "similar", "cut") else "message"
            items.append(EvidenceItem("supports", where, self.hit.text, self.hit.line))
        known = [("frames", self.frames), ("model", self.model), ("version", self.affected)]
        known += [("fact", outcome) for outcome in (*self.required, *self.supporting) if outcome.state]
        items += [EvidenceItem("supports", kind, outcome.text, outcome.line, outcome.zh) for kind, outcome in known if outcome.state]
        if self.refuted_by is not None:
            items.append(self.refuted_by)
        for condition, outcome in zip(self.entry.evidence.required, self.required, strict=False):
            if outcome.state is None:
                items.append(EvidenceItem("unknown", "fact", describe(condition), None, describe(condition, "zh")))
        if self.entry.affected and self.affected.state is None:
            zh = "，".join(map(affected_zh, self.entry.affected))
            items.append(EvidenceItem("unknown", "version", ", ".join(affected_texts(self.entry.affected)), None, zh))
        return tuple(items)

    @lazy_attribute
    def holding(self) -> list[list[bool]]:
        """Of each cause, which of its ``likelier`` conditions hold."""
        causes = self.context.programs.entry(self.entry).causes
        return [[program(self.context).state is True for program, _, _ in cause.likelier] for cause in causes]

    def telling_words(self, cause: str) -> tuple[str, ...]:
        """Return words of the report that speak for one of a family's causes, where they at least double its odds against the next."""
        shares = self.cause_shares
        rival = next((weighted.cause for weighted, _ in shares if weighted.cause != cause), None)
        leaning = self.context.leaning
        if rival is None or leaning.odds(cause) - leaning.odds(rival) < math.log(2):
            return ()
        # The words of the message or phrase that was found are shown as such.
        return leaning.telling(cause, rival, self.hit.text)

    @lazy_attribute
    def tried(self) -> float:
        """What the outcomes of experiments add to the log-odds of the entry: of a family, to those of all its causes together.

        What was read can only weaken it: that something helped is told of what is no problem of the kind as often.
        """
        tried = self.context.tried
        if not tried.outcomes:
            return 0.0
        if self.entry.kind == "issue":
            odds = tried.odds(self.entry.cause or NO_CAUSE)
        else:
            shares = [(share, tried.odds(weighted.cause)) for weighted, share in self.cause_shares if weighted.cause != NO_CAUSE]
            total = math.fsum([share for share, _ in shares])
            # The shares have the outcomes in them already.
            odds = math.log(total / math.fsum([share / math.exp(odd) for share, odd in shares])) if total else 0.0
        return odds - tried.odds(NO_CAUSE) if tried.answered else min(0.0, odds)

    @lazy_attribute
    def cause_shares(self) -> list[tuple[WeightedCause, float]]:
        """A family's causes with their shares under this evidence, largest first; impossible ones are left out."""
        context = self.context
        causes = context.programs.entry(self.entry).causes
        weights: list[tuple[WeightedCause, float]] = []
        for cause, holding in zip(causes, self.holding, strict=True):
            if any(program(context).state is False for program in cause.needs):
                continue
            weight = cause.weighted.weight
            for (_, times, _), holds in zip(cause.likelier, holding, strict=True):
                if holds:
                    weight *= times
            weights.append((cause.weighted, weight))
        # Whether it is a problem of the kind at all, the conditions say; words tell its causes apart.
        if len(weights) > 1 and max(weights, key=lambda item: item[1])[0].cause != NO_CAUSE:
            weights = [(weighted, weight * math.exp(context.leaning.odds(weighted.cause))) for weighted, weight in weights]
        weights = [(weighted, weight * math.exp(context.tried.odds(weighted.cause))) for weighted, weight in weights]
        total = sum(weight for _, weight in weights)
        if total <= 0:
            return []
        return sorted(((weighted, weight / total) for weighted, weight in weights), key=lambda item: -item[1])


@dataclass(frozen=True)
class Matches:
    """All that matching found: candidates (refuted ones too), for each failure the out-of-scope group that it falls into, whether
    the report only asks for a feature, and what experiments came out as.
    """

    candidates: tuple[Candidate, ...]
    out_of_scope: dict[int, str] = field(default_factory=dict)
    wishes: bool = False
    tried: Tried = NOTHING_TRIED


def find_candidates(search: Search, facts: Facts) -> Matches:
    """Hold every entry of which a pattern was found against the facts."""
    report, base = search.report, search.base
    grouped: dict[tuple[str, int | None], list[tuple[Hit, str]]] = {}
    scoped: dict[int, list[tuple[Hit, str]]] = {}
    place_of = _places(report.failures)
    for hit in search.hits:
        kind, _, owners = base.index.patterns[hit.pattern]
        place, where = place_of(hit.line)
        if kind == "p":
            place, where = (place, "said") if where == "message" else (None, "symptom")
        for owner in owners:
            if owner.startswith(SCOPE_OWNER):
                if place is not None and where == "message":
                    scoped.setdefault(place, []).append((hit, owner.removeprefix(SCOPE_OWNER)))
            else:
                grouped.setdefault((owner, place), []).append((hit, where))
    for hit, cut in search.recalled:
        place, _ = place_of(hit.line)
        for owner in base.index.patterns[hit.pattern][2]:
            if owner.startswith(SCOPE_OWNER):
                if place is not None:
                    scoped.setdefault(place, []).append((hit, owner.removeprefix(SCOPE_OWNER)))
            else:
                grouped.setdefault((owner, place), []).append((hit, "cut" if cut else "similar"))
    tried = Tried(base, facts)
    candidates = [_hold(base.entry(owner), place, one, facts, search, tried) for (owner, place), one in grouped.items()]
    # Only prose can be a wish: where something failed, the failure counts.
    wishes = not report.failures and bool(candidates) and search.wishes
    return Matches(tuple(candidates), _scope(report, scoped, candidates, base), wishes, tried)


def recalled(entry: Entry, facts: Facts, search: Search, place: int | None = None) -> Candidate:
    """Hold an entry of which no pattern was found against the facts and the failure: an earlier report led to it, or a reader."""
    failure = search.failures[place] if place is not None else None
    context = Context(facts, search.programs, failure, {}, None, search.speech, search.leaning, Tried(search.base, facts))
    programs = search.programs.entry(entry)
    return Candidate(
        entry, place, Hit(-1, 0, (), ""), "message", context, [], 0,
        frames=_frames(entry.signature.frames, failure),
        model=_model(entry.models, context),
        affected=hold_releases(entry.affected, facts),
        required=_held(programs.required, context),
        supporting=_held(programs.supporting, context),
    )  # fmt: skip


def _places(failures: tuple[Failure, ...]) -> Callable[[int], tuple[int | None, str]]:
    """Return what tells the failure that a line belongs to, and whether it is in the message or elsewhere in the traceback."""
    messages = [(one.line, max(one.last_line, one.line), index) for index, failure in enumerate(failures) for one in failure.exceptions]
    traces = [(one.frames[0].at, one.line - 1, index) for index, failure in enumerate(failures) for one in failure.exceptions if one.frames]

    @cache
    def place(line: int) -> tuple[int | None, str]:
        for where, stretches in (("message", messages), ("traceback", traces)):
            for first, last, index in stretches:
                if first <= line <= last:
                    return index, where
        return None, "loose"

    return place


_RANK = {"message": 0, "cut": 1, "similar": 2, "traceback": 3, "loose": 4, "said": 5, "symptom": 6}


def _hold(entry: Entry, place: int | None, hits: list[tuple[Hit, str]], facts: Facts, search: Search, tried: Tried) -> Candidate:
    """Hold an entry against the facts; ``hits`` are where its patterns were found."""
    # Of two patterns in one line the one that catches more says more.
    hit, where = hits[0] if len(hits) == 1 else min(hits, key=lambda item: (_RANK[item[1]], item[0].line, -len(item[0].captured)))
    failure = search.failures[place] if place is not None else None
    literal = _length(search.base, hit)
    frames = _frames(entry.signature.frames, failure)
    if frames.state is False:
        return Candidate(entry, place, hit, where, Context(facts, search.programs, failure), hits, literal, frames)
    template = _template(entry, search.base.index.patterns[hit.pattern][1])
    bindings = dict(_facts_of(hit.captured, tuple(template.roles.items()) if template else ()))
    if template and template.device:
        bindings.setdefault("device.kind", template.device)
    context = Context(facts, search.programs, failure, bindings, hit.line, search.speech, search.leaning, tried)
    affected = hold_releases(entry.affected, facts)
    if affected.state is False:
        return Candidate(entry, place, hit, where, context, hits, literal, frames, affected=affected)
    return Candidate(entry, place, hit, where, context, hits, literal, frames, *_outcomes(entry, context, frames, affected))


def _outcomes(
    entry: Entry, context: Context, frames: Outcome, affected: Outcome
) -> tuple[Outcome, Outcome, tuple[Outcome, ...], tuple[Outcome, ...], bool]:
    """Return how the model, the releases and the conditions came out, as far as they can still make a difference, and whether
    anything identifies the entry.
    """
    programs = context.programs.entry(entry)
    model = _model(entry.models, context)
    required = _held(programs.required, context)
    if any(outcome.state is False for outcome in required):
        return model, affected, required, (), True
    if not _identified(entry, frames, model, required, programs.identifying):
        # Nothing more can make it speak.
        return model, affected, required, (), False
    return model, affected, required, _held(programs.supporting, context), True


def _held(conditions: tuple[Program, ...], context: Context) -> tuple[Outcome, ...]:
    return tuple([program(context) for program in conditions])


def _identified(entry: Entry, frames: Outcome, model: Outcome, required: tuple[Outcome, ...], identifying: tuple[bool, ...]) -> bool:
    """Tell whether an entry about a model or a place has its model, its place or its package in the report.

    float16 alone, which any report may hold, does not speak for one model; nor does the release of a library for one place in it: it may
    span years, and the message be a common one.
    """
    if not (entry.signature.frames or entry.models) or frames.state or model.state:
        return True
    return any(outcome.state and about_place for outcome, about_place in zip(required, identifying, strict=True))


@lru_cache(maxsize=4096)
def _facts_of(captured: tuple[Captured, ...], roles: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return facts_of(captured, dict(roles))


def _template(entry: Entry, text: str) -> MessageTemplate | None:
    for one in entry.signature.message:
        if one.template == text:
            return one
    return None


def hold_places(entry: Entry, context: Context) -> tuple[Outcome, Outcome]:
    """Look for an entry's frames and models, whether or not its message is there."""
    return _frames(entry.signature.frames, context.failure), _model(entry.models, context)


def _frames(patterns: tuple[FramePattern, ...], failure: FailureFacts | None) -> Outcome:
    """Look for the patterns in call order; others may lie between."""
    if not patterns or failure is None or not failure.frames:
        return UNKNOWN
    position = 0
    if any(pattern.file is not None and nowhere(pattern.file, failure) for pattern in patterns):
        if failure.complete:
            return no_frame(" → ".join(pattern.file or "" for pattern in patterns), failure.failure.line)
        return UNKNOWN
    for frame, path in places_of(patterns, failure):
        if frame_matches(patterns[position], frame, path):
            position += 1
            if position == len(patterns):
                return seen_frame(path, frame.function, frame.at)
    missing = patterns[position]
    if failure.complete:
        return no_frame(str(missing.file or missing.function or missing.code), failure.failure.line)
    return UNKNOWN


def _model(patterns: tuple[str, ...], context: Context) -> Outcome:
    if not patterns:
        return UNKNOWN
    for fact in context.facts.get("model"):
        if any(_is_model(fact.value, pattern) for pattern in patterns):
            return Outcome(True, f"model {fact.value}", fact.line, f"模型 {fact.value}")
    return UNKNOWN


def _is_model(name: str, pattern: str) -> bool:
    """Compare ids, class names and spoken names; a whole organisation (``org/*``) only with ids."""
    if pattern.endswith("/*"):
        return fnmatchcase(name.lower(), pattern.lower())
    plain = _plain_model(name)
    return bool(plain) and fnmatchcase(plain, _plain_model(pattern))


@lru_cache(maxsize=4096)
def _plain_model(name: str) -> str:
    """Bring ids, class names and spoken names together: ``Qwen/Qwen2-VL-7B`` and ``Qwen2VLModel`` both begin with ``qwen2vl``."""
    return "".join(char for char in name.rpartition("/")[2].lower() if char.isalnum() or char in "*?[]")


def _scope(report: Report, scoped: dict[int, list[tuple[Hit, str]]], candidates: list[Candidate], base: KnowledgeBase) -> dict[int, str]:
    """Decide for each failure whether it is out of scope: a group knows its message better than any entry, or its class alone."""
    found: dict[int, str] = {}
    placed: dict[int | None, list[Candidate]] = {}
    for one in candidates:
        placed.setdefault(one.failure, []).append(one)
    for index, failure in enumerate(report.failures):
        here = placed.get(index, [])
        mine = [one for one in here if one.where == "message"]
        groups = scoped.get(index, ())
        entry_length = max((one.literal for one in mine if _may_speak(one)), default=0) if groups else 0
        for hit, group in groups:
            if _length(base, hit) > entry_length:
                found[index] = group
                break
        # A template in the code of its frames knows more than the class of the exception.
        known = mine or any(one.where == "traceback" for one in here)
        if not known and index not in found:
            by_class = base.index.scope_exceptions.get(failure.root.name)
            if by_class is not None:
                found[index] = by_class
    return found


def _may_speak(one: Candidate) -> bool:
    """Tell whether an entry that a message fits may be the one to explain it: it is identified, and nothing rules it out."""
    return one.identified and one.refuted_by is None


def _length(base: KnowledgeBase, hit: Hit) -> int:
    kind, text, _ = base.index.patterns[hit.pattern]
    # A phrase in a message is weaker than any template that fits it.
    return 1 if kind == "p" else template_length(text)
