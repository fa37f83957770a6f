"""Candidates: entries whose message or symptom occurs in the report, each held against the evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache

from troubleshoot.evidence import Facts, FailureFacts
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.index import SCOPE_OWNER
from troubleshoot.knowledge.schema import Affected, Condition, Entry, FramePattern, MessageTemplate, WeightedCause
from troubleshoot.knowledge.templates import facts_of, template_length
from troubleshoot.matching.conditions import UNKNOWN, Context, Outcome, evaluate, frame_matches
from troubleshoot.matching.dependencies import condition_facts
from troubleshoot.matching.search import Hit, Search
from troubleshoot.report.model import Failure, Report
from troubleshoot.result import EvidenceItem
from troubleshoot.versions import VersionRange, in_ranges, parse_version


@dataclass(frozen=True)
class Candidate:
    """An entry held against one failure (None: against the whole report).

    ``where`` is "message" (in the failure's message), "traceback" (elsewhere in it), "loose" (a line outside failures) or "symptom".
    The states are True, False or None for unknown; ``required`` and ``supporting`` in the order of the entry. ``refuted_by`` is the
    evidence that rules the entry out. ``literal`` is how much literal text its pattern has: the longer, the more the message
    alone says.
    """

    entry: Entry
    failure: int | None
    hit: Hit
    where: str
    context: Context
    evidence: tuple[EvidenceItem, ...]
    hits: list[tuple[Hit, str]]
    literal: int = 0
    frames: bool | None = None
    has_frames: bool = False
    affected: bool | None = None
    model: bool = False
    required: tuple[bool | None, ...] = ()
    identified: bool = True
    supporting: int = 0
    phrases: int = 0
    refuted_by: EvidenceItem | None = None

    @property
    def own(self) -> float:
        """How much speaks for this entry rather than for a more general one: frames, model, releases, required and supporting facts.

        Nothing does while the entry is about a model or a place and neither that nor a package says so: float16 alone, which any report
        may hold, does not speak for one model.
        """
        if not self.identified:
            return 0.0
        supported = 2.0 * (self.frames is True) + 1.5 * self.model + 1.0 * (self.affected is True)
        return supported + sum(1.0 for state in self.required if state) + 0.75 * self.supporting


    @property
    def special(self) -> bool:
        """Tell whether the entry claims more than a message: frames, models, releases or facts that must hold."""
        return self.has_frames or bool(self.entry.models) or bool(self.entry.affected) or bool(self.required)

    @cached_property
    def cause_shares(self) -> list[tuple[WeightedCause, float]]:
        """A family's causes with their shares under this evidence, largest first; impossible ones are left out."""
        weights: list[tuple[WeightedCause, float]] = []
        for weighted in self.entry.causes:
            if any(evaluate(condition, self.context).state is False for condition in weighted.needs):
                continue
            weight = weighted.weight
            for condition in weighted.likelier:
                if evaluate(condition, self.context).state:
                    weight *= condition.times if condition.times is not None else _LIKELIER
            weights.append((weighted, weight))
        total = sum(weight for _, weight in weights)
        if total <= 0:
            return []
        return sorted(((weighted, weight / total) for weighted, weight in weights), key=lambda item: -item[1])


#: What a ``likelier`` condition without ``times`` multiplies by.
_LIKELIER = 3.0


@dataclass(frozen=True)
class Matches:
    """All that matching found: candidates (refuted ones too), and for each failure the out-of-scope group that it falls into."""

    candidates: tuple[Candidate, ...]
    out_of_scope: dict[int, str] = field(default_factory=dict)


def find_candidates(search: Search, facts: Facts, before: Matches | None = None, changed: frozenset[str] = frozenset()) -> Matches:
    """Hold every entry of which a pattern was found against the facts.

    With ``before``, the matches of the same search under other answers, and the facts ``changed`` since, only the entries that read a
    changed fact are held again.
    """
    if before is not None:
        candidates = [
            _hold(one.entry, one.failure, one.hits, facts, search, one.context.memo, changed) if not changed.isdisjoint(search.reads(one.entry)) else one
            for one in before.candidates
        ]
        return Matches(tuple(candidates), before.out_of_scope)
    report, base = search.report, search.base
    grouped: dict[tuple[str, int | None], list[tuple[Hit, str]]] = {}
    scoped: dict[int, list[tuple[Hit, str]]] = {}
    for hit in search.hits:
        kind, _, owners = base.index.patterns[hit.pattern]
        place, where = _place(hit.line, report.failures)
        if kind == "p" and where != "message":
            place, where = None, "symptom"
        for owner in owners:
            if owner.startswith(SCOPE_OWNER):
                if place is not None and where == "message":
                    scoped.setdefault(place, []).append((hit, owner.removeprefix(SCOPE_OWNER)))
            else:
                grouped.setdefault((owner, place), []).append((hit, where))
    candidates = [_hold(base.entry(owner), place, one, facts, search) for (owner, place), one in grouped.items()]
    return Matches(tuple(candidates), _scope(report, scoped, candidates, base))


def _place(line: int, failures: tuple[Failure, ...]) -> tuple[int | None, str]:
    """Return the failure that a line belongs to, and whether it is in the message or elsewhere in the traceback."""
    for index, failure in enumerate(failures):
        for one in failure.exceptions:
            if one.line <= line <= max(one.last_line, one.line):
                return index, "message"
    for index, failure in enumerate(failures):
        for one in failure.exceptions:
            if one.frames and one.frames[0].at <= line < one.line:
                return index, "traceback"
    return None, "loose"


_RANK = {"message": 0, "traceback": 1, "loose": 2, "symptom": 3}


def _hold(
    entry: Entry,
    place: int | None,
    hits: list[tuple[Hit, str]],
    facts: Facts,
    search: Search,
    memo: dict[int, Outcome] | None = None,
    changed: frozenset[str] = frozenset(),
) -> Candidate:
    hit, where = min(hits, key=lambda item: (_RANK[item[1]], item[0].line))
    failure = search.failures[place] if place is not None else None
    template = _template(entry, search.base.index.patterns[hit.pattern][1])
    bindings = facts_of(hit.captured, template.roles if template else {})
    if template and template.device:
        bindings.setdefault("device.kind", template.device)
    context = Context(facts, failure, bindings, hit.line, search.said, memo if memo is not None else {}, changed, search.base.condition_reads)
    evidence: list[EvidenceItem] = [EvidenceItem("supports", "symptom" if where == "symptom" else "message", hit.text, hit.line)]
    refuted: list[EvidenceItem] = []

    def note(kind: str, outcome: Outcome, *, refutes: bool = True) -> None:
        if outcome.state is None:
            return
        item = EvidenceItem("supports" if outcome.state else "refutes", kind, outcome.text, outcome.line)
        if outcome.state or refutes:
            evidence.append(item)
        if outcome.state is False and refutes:
            refuted.append(item)

    frames = _frames(entry.signature.frames, failure)
    note("frames", frames)
    model = _model(entry.models, context)
    note("model", model)
    affected = _affected(entry.affected, facts)
    note("version", affected)
    required: list[bool | None] = []
    about_place = bool(entry.signature.frames or entry.models)
    identified = not about_place or frames.state is True or model.state is True or affected.state is True
    for condition in entry.evidence.required:
        outcome = evaluate(condition, context)
        required.append(outcome.state)
        identified = identified or (outcome.state is True and _identifies(condition, context))
        note("fact", outcome)
        if outcome.state is None:
            evidence.append(EvidenceItem("unknown", "fact", describe(condition)))
    supporting = 0
    for condition in entry.evidence.supporting:
        outcome = evaluate(condition, context)
        supporting += outcome.state is True
        note("fact", outcome, refutes=False)
    for condition in entry.evidence.refuting:
        outcome = evaluate(condition, context)
        if outcome.state:
            note("fact", Outcome(False, outcome.text, outcome.line))
    if entry.affected and affected.state is None:
        evidence.append(EvidenceItem("unknown", "version", ", ".join(affected_texts(entry.affected))))
    return Candidate(
        entry, place, hit, where, context, tuple(evidence), hits, _length(search.base, hit),
        frames=frames.state, has_frames=bool(entry.signature.frames), affected=affected.state, model=model.state is True,
        required=tuple(required), identified=identified, supporting=supporting,
        phrases=len({one.pattern for one, where_ in hits if where_ == "symptom"}),
        refuted_by=refuted[0] if refuted else None,
    )  # fmt: skip


def _identifies(condition: Condition, context: Context) -> bool:
    """Tell whether a condition is about a place: frames, words, packages or models, rather than a dtype that any report may hold."""
    facts = condition_facts(condition, context.reads)
    return not facts or any(fact.startswith(("package.", "library", "model")) for fact in facts)


def _template(entry: Entry, text: str) -> MessageTemplate | None:
    return next((one for one in entry.signature.message if one.template == text), None)


def _frames(patterns: tuple[FramePattern, ...], failure: FailureFacts | None) -> Outcome:
    """Look for the patterns in call order; others may lie between."""
    if not patterns or failure is None or not failure.frames:
        return UNKNOWN
    position = 0
    last = None
    for frame in failure.frames:
        if frame_matches(patterns[position], frame):
            last = frame
            position += 1
            if position == len(patterns):
                return Outcome(True, f"{last.path.rpartition('/')[2]}{f', in {last.function}' if last.function else ''}", last.at)
    missing = patterns[position]
    if failure.complete:
        return Outcome(False, f"no frame in {missing.file or missing.function or missing.code}", failure.failure.line)
    return UNKNOWN


def _model(patterns: tuple[str, ...], context: Context) -> Outcome:
    if not patterns:
        return UNKNOWN
    for fact in context.facts.get("model"):
        if any(_is_model(fact.value, pattern) for pattern in patterns):
            return Outcome(True, f"model {fact.value}", fact.line)
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


def _affected(affected: tuple[Affected, ...], facts: Facts) -> Outcome:
    """All packages must be in their ranges; one that is outside refutes, an unknown one leaves it open."""
    texts: list[str] = []
    line: int | None = None
    unknown = False
    for one in affected:
        package = facts.package(one.package)
        if package is None or package.version == "":
            unknown = True
            continue
        if package.version is None:
            return Outcome(False, f"{one.package} is not installed", package.line)
        inside = _inside(package.version, one)
        if inside is False:
            return Outcome(False, f"{one.package} {package.version} is not among {affected_text(one)}", package.line)
        if inside is None:
            unknown = True
            continue
        texts.append(f"{one.package} {package.version}")
        line = line or package.line
    if unknown or not texts:
        return UNKNOWN
    return Outcome(True, ", ".join(texts), line)


def _inside(version: str, affected: Affected) -> bool | None:
    parsed = parse_version(version)
    for one in affected.ranges:
        border = parse_version(one.unknown_before) if one.unknown_before else None
        if border is not None and parsed is not None and parsed < border:
            return None
    ranges = tuple(VersionRange(one.introduced or one.unknown_before or "0", one.fixed) for one in affected.ranges)
    return in_ranges(version, ranges)


def affected_text(affected: Affected) -> str:
    """Return the ranges of one package as people write them."""
    ranges = (VersionRange(one.introduced or one.unknown_before or "0", one.fixed) for one in affected.ranges)
    return f"{affected.package} {' or '.join(map(str, ranges))}"


def affected_texts(affected: tuple[Affected, ...]) -> tuple[str, ...]:
    """Return the ranges of all packages."""
    return tuple(affected_text(one) for one in affected)


def describe(condition: Condition) -> str:
    """Return a condition in short, for evidence that is missing."""
    if condition.any:
        return " or ".join(describe(one) for one in condition.any)
    if condition.all:
        return " and ".join(describe(one) for one in condition.all)
    if condition.none:
        return "not: " + ", ".join(describe(one) for one in condition.none)
    if condition.frame or condition.function or condition.code:
        return f"a frame in {condition.frame or condition.function or condition.code}"
    if condition.text is not None:
        return "words such as: " + (condition.text if isinstance(condition.text, str) else condition.text[0])
    for sign, value in (("", condition.is_), ("not ", condition.not_), ("", condition.in_), ("with ", condition.contains)):
        if value is not None:
            shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            return f"{condition.fact}: {sign}{shown}"
    if condition.at_least is not None:
        return f"{condition.fact}: at least {condition.at_least:g}"
    return f"{condition.fact}: below {condition.below:g}" if condition.below is not None else str(condition.fact)


def _scope(report: Report, scoped: dict[int, list[tuple[Hit, str]]], candidates: list[Candidate], base: KnowledgeBase) -> dict[int, str]:
    """Decide for each failure whether it is out of scope: a group knows its message better than any entry, or its class alone."""
    found: dict[int, str] = {}
    for index, failure in enumerate(report.failures):
        mine = [one for one in candidates if one.failure == index and one.where == "message"]
        entry_length = max((_length(base, one.hit) for one in mine), default=0)
        for hit, group in scoped.get(index, ()):
            if _length(base, hit) > entry_length:
                found[index] = group
                break
        if not mine and index not in found:
            by_class = base.index.scope_exceptions.get(failure.root.name)
            if by_class is not None:
                found[index] = by_class
    return found


def _length(base: KnowledgeBase, hit: Hit) -> int:
    kind, text, _ = base.index.patterns[hit.pattern]
    # A phrase in a message is weaker than any template that fits it.
    return template_length(text) if kind == "t" else 1
