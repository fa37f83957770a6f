"""Holding conditions against facts: true, false or unknown, with what was seen.

A condition is turned into a small function once per knowledge base; a report then costs one call per condition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from troubleshoot.basics.versions import satisfies
from troubleshoot.engine.evidence import Fact, Facts, FailureFacts, squeezed
from troubleshoot.engine.matching.dependencies import condition_facts
from troubleshoot.engine.matching.leaning import NO_LEANING, Leaning
from troubleshoot.engine.matching.tried import NOTHING_TRIED, Tried
from troubleshoot.knowledge.phrases import SILENCE, Speech, parse_phrase, phrase_words
from troubleshoot.knowledge.schema import Condition, Entry, FramePattern, WeightedCause
from troubleshoot.reading.report import Frame


class Outcome(msgspec.Struct, frozen=True):
    """The state of a condition: True, False, or None for unknown; ``text`` says what was seen, ``line`` where in the report.

    ``zh`` says it in Chinese; empty where the text is of names and numbers, or quoted.

    A struct, as are the other small things of the matching: thousands are made per report, and a frozen dataclass takes ten times as long.
    """

    state: bool | None
    text: str = ""
    line: int | None = None
    zh: str = ""


UNKNOWN = Outcome(None)


def seen_frame(path: str, function: str | None, line: int | None) -> Outcome:
    """Return the outcome of a frame that is there."""
    name = path.rpartition("/")[2]
    return Outcome(True, f"{name}, in {function}", line, f"{name} 的 {function}") if function else Outcome(True, name, line)


def no_frame(places: str, line: int | None = None) -> Outcome:
    """Return the outcome of frames that a whole traceback has not."""
    return Outcome(False, f"no frame in {places}", line, f"没有 {places} 中的帧")


class Context(msgspec.Struct, frozen=True):
    """What a candidate's conditions are held against: all facts, one failure (None for symptoms), and what its message's holes caught."""

    facts: Facts
    programs: Programs
    failure: FailureFacts | None = None
    bindings: dict[str, str] = {}
    line: int | None = None
    speech: Speech = SILENCE
    leaning: Leaning = NO_LEANING
    tried: Tried = NOTHING_TRIED

    def values(self, name: str) -> tuple[Fact, ...]:
        """Return what is known of a fact, the most specific source first. A user's answer outranks what the message caught."""
        stated = self.facts.get(name)
        if stated and stated[0].source == "answer":
            return stated
        if name in self.bindings:
            return (Fact(self.bindings[name], "report", self.line),)
        if self.failure is not None:
            found = self.failure.facts.get(name)
            if found:
                return found
        return stated


Program = Callable[[Context], Outcome]


class CausePrograms(msgspec.Struct, frozen=True):
    """A family's cause: what it needs, and what makes it likelier, each with its factor and the facts that it reads."""

    weighted: WeightedCause
    needs: tuple[Program, ...]
    likelier: tuple[tuple[Program, float, frozenset[str]], ...]


class EntryPrograms(msgspec.Struct, frozen=True):
    """The compiled conditions of an entry. ``identifying`` tells of each required one whether it is about a place, a package or a model."""

    entry: Entry
    required: tuple[Program, ...]
    identifying: tuple[bool, ...]
    supporting: tuple[Program, ...]
    refuting: tuple[Program, ...]
    causes: tuple[CausePrograms, ...]


#: What a ``likelier`` condition without ``times`` multiplies by.
_LIKELIER = 3.0


def _compile_entry(entry: Entry) -> EntryPrograms:
    evidence = entry.evidence
    return EntryPrograms(
        entry,
        required=tuple(compile_condition(one) for one in evidence.required),
        identifying=tuple(_identifies(one) for one in evidence.required),
        supporting=tuple(compile_condition(one) for one in evidence.supporting),
        refuting=tuple(compile_condition(one) for one in evidence.refuting),
        causes=tuple(
            CausePrograms(
                weighted,
                tuple(compile_condition(one) for one in weighted.needs),
                tuple(
                    (compile_condition(one), one.times if one.times is not None else _LIKELIER, condition_facts(one))
                    for one in weighted.likelier
                ),
            )
            for weighted in entry.causes
        ),
    )


def _identifies(condition: Condition) -> bool:
    """Tell whether a condition is about a place: frames, words, packages, models, not a dtype that any report may hold."""
    facts = condition_facts(condition)
    return not facts or any(fact.startswith(("package.", "library", "model")) for fact in facts)


class Programs:
    """The compiled conditions of a knowledge base, by identity, together with the condition: so no other can take its place."""

    def __init__(self) -> None:
        """Start empty."""
        self._known: dict[int, tuple[Condition, Program]] = {}
        self._entries: dict[str, EntryPrograms] = {}
        #: what users can be asked about entries; see questions.py
        self.askable: dict[Any, Any] = {}
        #: fixes with the name of a library in them, and what is shown of a fix; see fixes/
        self.named: dict[Any, Any] = {}
        self.shown: dict[Any, Any] = {}

    def of(self, condition: Condition) -> Program:
        """Return the program of a condition."""
        known = self._known.get(id(condition))
        if known is None:
            known = self._known[id(condition)] = (condition, compile_condition(condition))
        return known[1]

    def entry(self, entry: Entry) -> EntryPrograms:
        """Return the compiled conditions of an entry."""
        known = self._entries.get(entry.id)
        if known is None or known.entry is not entry:
            known = self._entries[entry.id] = _compile_entry(entry)
        return known


def evaluate(condition: Condition, context: Context) -> Outcome:
    """Hold a condition against the context."""
    return context.programs.of(condition)(context)


def compile_condition(condition: Condition) -> Program:
    """Turn a condition into a function of the context."""
    if condition.any:
        return _any(condition.any)
    if condition.all:
        return _all(condition.all)
    if condition.none:
        inner = _any(condition.none)
        return lambda context: _negate(inner(context))
    if condition.frame is not None or (condition.fact is None and (condition.function or condition.code)):
        pattern = FramePattern(file=condition.frame, function=condition.function, code=condition.code)
        return _frame(pattern)
    if condition.text is not None:
        return _any((condition,))
    if condition.fact is None:
        return lambda context: UNKNOWN
    if condition.fact.startswith("package."):
        return _package(condition, condition.fact.removeprefix("package."))
    return _fact(condition, condition.fact)


def _any(conditions: tuple[Condition, ...]) -> Program:
    """Long lists of places and words are usual, and mostly none of them is there: these are looked up before anything else is done."""
    places = [(one.frame, compile_condition(one)) for one in conditions if one.frame]
    nowhere_ = no_frame(next((one.frame for one in conditions if one.frame), ""))
    phrases: list[str] = []
    others: list[Program] = []
    for one in conditions:
        if one.text is not None:
            phrases.extend([one.text] if isinstance(one.text, str) else one.text)
        elif not one.frame:
            others.append(compile_condition(one))
    # Without one of these words no phrase holds; None: some phrase may hold without any.
    words = _needed_words(phrases)

    def program(context: Context) -> Outcome:
        refuted: Outcome | None = None
        unknown = bool(phrases)
        if places:
            failure = context.failure
            if failure is None or not failure.complete:
                unknown = True
            else:
                refuted = nowhere_
            for part, place in places:
                if failure is not None and not nowhere(part, failure):
                    outcome = place(context)
                    if outcome.state:
                        return outcome
                    unknown = unknown or outcome.state is None
        if phrases and (words is None or not words.isdisjoint(context.speech.words)):
            said = context.speech.said
            for phrase in phrases:
                sentence = said(phrase)
                if sentence is not None:
                    return Outcome(True, sentence.text, sentence.line or None)
        for other in others:
            outcome = other(context)
            if outcome.state:
                return outcome
            if outcome.state is None:
                unknown = True
            else:
                refuted = refuted or outcome
        return UNKNOWN if unknown or refuted is None else refuted

    return program


def _needed_words(phrases: list[str]) -> frozenset[str] | None:
    words: set[str] = set()
    for phrase in phrases:
        some = phrase_words(parse_phrase(phrase))
        if some is None:
            return None
        words |= some
    return frozenset(words)


def _all(conditions: tuple[Condition, ...]) -> Program:
    programs = [compile_condition(one) for one in conditions]

    def program(context: Context) -> Outcome:
        first: Outcome | None = None
        unknown = False
        for one in programs:
            outcome = one(context)
            if outcome.state is False:
                return outcome
            if outcome.state is None:
                unknown = True
            else:
                first = first or outcome
        return UNKNOWN if unknown or first is None else first

    return program


def _negate(outcome: Outcome) -> Outcome:
    return outcome if outcome.state is None else msgspec.structs.replace(outcome, state=not outcome.state)


def frame_matches(pattern: FramePattern, frame: Frame, path: str) -> bool:
    """Tell whether a frame with this path fits: a part of the path at a directory border, its function, a part of its code."""
    # Most paths do not hold it at all: looking first saves the call.
    if pattern.file is not None and (pattern.file not in path or not path_contains(path, pattern.file)):
        return False
    if pattern.function is not None and (frame.function or "").rpartition(".")[2] != pattern.function:
        return False
    return pattern.code is None or (frame.code is not None and squeezed(pattern.code) in squeezed(frame.code))


def path_contains(path: str, part: str) -> bool:
    """Tell whether ``part`` occurs in a path; one with a slash begins at a directory: ``peft/`` is not in ``/x/mypeft/a.py``."""
    if "/" not in part:
        return part in path
    start = path.find(part)
    while start >= 0:
        if start == 0 or path[start - 1] == "/":
            return True
        start = path.find(part, start + 1)
    return False


def nowhere(part: str, failure: FailureFacts) -> bool:
    """Tell whether no frame's path has a part (see :func:`path_contains`).

    A bare word is no place: it is not looked for in the folders that the reporter keeps his program in.
    """
    return f"/{part}" not in failure.all_paths if "/" in part else part not in failure.all_names


def places_of(patterns: tuple[FramePattern, ...], failure: FailureFacts) -> zip[tuple[Frame, str]]:
    """Return the frames, each with the path that the patterns are held against (see :func:`nowhere`)."""
    bare = all(pattern.file is None or "/" not in pattern.file for pattern in patterns)
    return zip(failure.frames, failure.names if bare else failure.paths, strict=True)


def _frame(pattern: FramePattern) -> Program:
    """Mostly the place or its code is nowhere in the traceback, which one look at all paths, or at all code, tells."""
    code = None if pattern.code is None else squeezed(pattern.code)
    absent = no_frame(str(pattern.file or pattern.function or pattern.code))

    def program(context: Context) -> Outcome:
        failure = context.failure
        if failure is None or not failure.frames:
            return UNKNOWN
        if pattern.file is not None and nowhere(pattern.file, failure):
            return absent if failure.complete else UNKNOWN
        if code is not None and code not in failure.all_code:
            # Code that is not shown may be there.
            return absent if failure.complete and not failure.uncoded else UNKNOWN
        return _look_for_frame(pattern, failure) or (absent if failure.complete and (code is None or not failure.uncoded) else UNKNOWN)

    return program


def _look_for_frame(pattern: FramePattern, failure: FailureFacts) -> Outcome | None:
    for frame, path in places_of((pattern,), failure):
        if frame_matches(pattern, frame, path):
            return seen_frame(path, frame.function, frame.at)
    return None


def _listed(value: object) -> frozenset[str]:
    return frozenset(str(one).strip().lower() for one in (value if isinstance(value, list | tuple) else [value]))


def _package(condition: Condition, name: str) -> Program:
    wanted = condition.is_ is not None or condition.not_ is None
    values = _listed(condition.is_ if condition.is_ is not None else condition.not_ if condition.not_ is not None else "present")

    def program(context: Context) -> Outcome:
        package = context.facts.package(name)
        if package is None:
            return UNKNOWN
        label = f"{name} is absent" if package.absent else f"{name} {package.told}".rstrip()
        zh = f"没有安装 {name}" if package.absent else f"{name} {package.told_zh}".rstrip()
        if condition.in_ is not None:
            if package.version is None:
                return Outcome(False, label, package.line, zh)
            wanted_range = condition.in_
            inside = package.holds(lambda version: satisfies(version, wanted_range))
            return UNKNOWN if inside is None else Outcome(inside, label, package.line, zh)
        state = "absent" if package.absent else "present"
        among = state in values or package.version in values
        return Outcome(among is wanted, label, package.line, zh)

    return program


def _fact(condition: Condition, name: str) -> Program:
    if condition.is_ is not None or condition.not_ is not None:
        wanted = condition.is_ is not None
        values = _listed(condition.is_ if wanted else condition.not_)

        def compare(context: Context) -> Outcome:
            facts = context.values(name)
            if not facts:
                return UNKNOWN
            for fact in facts:
                if fact.value.lower() in values:
                    return Outcome(wanted, _label(name, fact), fact.line)
            return Outcome(not wanted, _label(name, facts[0]), facts[0].line)

        return compare

    def program(context: Context) -> Outcome:
        facts = context.values(name)
        return _decide(condition, name, facts) if facts else UNKNOWN

    return program


def _decide(condition: Condition, name: str, facts: tuple[Fact, ...]) -> Outcome:
    first = facts[0]
    if condition.contains is not None:
        part = condition.contains.lower()
        found = next((fact for fact in facts if part in fact.value.lower()), None)
        return Outcome(found is not None, _label(name, found or first), (found or first).line)
    if condition.in_ is not None:
        inside = satisfies(first.value, condition.in_)
        return UNKNOWN if inside is None else Outcome(inside, _label(name, first), first.line)
    if condition.at_least is not None or condition.below is not None:
        numbers = [(fact, number) for fact in facts if (number := _number(fact.value)) is not None]
        if not numbers:
            return UNKNOWN
        # Two GPUs may be named, the one where it works and the one where it fails: as with `is`, one value that fits is enough.
        for fact, number in numbers:
            if (condition.at_least is None or number >= condition.at_least) and (condition.below is None or number < condition.below):
                return Outcome(True, _label(name, fact), fact.line)
        return Outcome(False, _label(name, numbers[0][0]), numbers[0][0].line)
    return Outcome(True, _label(name, first), first.line)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _label(name: str, fact: Fact) -> str:
    return fact.text or f"{name} = {fact.value}"
