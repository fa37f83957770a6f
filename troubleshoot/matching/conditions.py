"""Holding conditions against facts: true, false or unknown, with what was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from troubleshoot.evidence import Fact, Facts, FailureFacts, squeezed
from troubleshoot.knowledge.phrases import Sentence
from troubleshoot.knowledge.schema import Condition, FramePattern
from troubleshoot.matching.dependencies import ConditionMemo
from troubleshoot.report.model import Frame
from troubleshoot.versions import satisfies


@dataclass(frozen=True)
class Outcome:
    """The state of a condition: True, False, or None for unknown; ``text`` says what was seen, ``line`` where in the report."""

    state: bool | None
    text: str = ""
    line: int | None = None


UNKNOWN = Outcome(None)


@dataclass(frozen=True)
class Context:
    """What a candidate's conditions are held against: all facts, one failure (None for symptoms), and what its message's holes caught."""

    facts: Facts
    failure: FailureFacts | None = None
    bindings: dict[str, str] = field(default_factory=dict)
    line: int | None = None
    said: Callable[[str], Sentence | None] = lambda phrase: None
    #: outcomes by condition, shared by the contexts of one candidate while answers are tried; those that read a ``changed`` fact are
    #: not taken
    memo: dict[int, tuple[Condition, Outcome]] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()
    known: ConditionMemo = field(default_factory=ConditionMemo)

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


def evaluate(condition: Condition, context: Context) -> Outcome:
    """Hold a condition against the context."""
    if context.changed and not context.changed.isdisjoint(context.known.facts(condition)):
        return _evaluate(condition, context)
    key = id(condition)
    known = context.memo.get(key)
    if known is not None:
        return known[1]
    outcome = _evaluate(condition, context)
    if not context.changed:
        # With the condition, so that its identity is not given to another one.
        context.memo[key] = (condition, outcome)
    return outcome


def _evaluate(condition: Condition, context: Context) -> Outcome:
    if condition.any:
        return _any(condition.any, context)
    if condition.all:
        return _all(condition.all, context)
    if condition.none:
        return _negate(_any(condition.none, context))
    if condition.frame is not None or (condition.fact is None and (condition.function or condition.code)):
        return _frame(FramePattern(file=condition.frame, function=condition.function, code=condition.code), context)
    if condition.text is not None:
        return _text(condition.text, context)
    if condition.fact is None:
        return UNKNOWN
    if condition.fact.startswith("package."):
        return _package(condition, condition.fact.removeprefix("package."), context)
    return _fact(condition, context)


def _any(conditions: tuple[Condition, ...], context: Context) -> Outcome:
    refuted: Outcome | None = None
    unknown = False
    sorted_ = context.known.alternatives(conditions)
    if sorted_.places:
        # Long lists of places are usual, and mostly none of them is there: look for the text before the whole way is gone.
        failure = context.failure
        paths = failure.all_paths if failure is not None else ""
        for text, condition in sorted_.places:
            if text in paths:
                outcome = evaluate(condition, context)
                if outcome.state:
                    return outcome
                unknown = unknown or outcome.state is None
        if failure is None or not failure.complete:
            unknown = True
        else:
            refuted = Outcome(False, f"no frame in {sorted_.places[0][1].frame}")
    for condition in sorted_.others:
        outcome = evaluate(condition, context)
        if outcome.state:
            return outcome
        if outcome.state is None:
            unknown = True
        else:
            refuted = refuted or outcome
    return UNKNOWN if unknown or refuted is None else refuted


def _all(conditions: tuple[Condition, ...], context: Context) -> Outcome:
    first: Outcome | None = None
    unknown = False
    for condition in conditions:
        outcome = evaluate(condition, context)
        if outcome.state is False:
            return outcome
        if outcome.state is None:
            unknown = True
        else:
            first = first or outcome
    return UNKNOWN if unknown or first is None else first


def _negate(outcome: Outcome) -> Outcome:
    return outcome if outcome.state is None else Outcome(not outcome.state, outcome.text, outcome.line)


def frame_matches(pattern: FramePattern, frame: Frame, path: str) -> bool:
    """Tell whether a frame with this path fits: a part of the path at a directory border, its function, a part of its code."""
    if pattern.file is not None and not path_contains(path, pattern.file):
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


def _frame(pattern: FramePattern, context: Context) -> Outcome:
    failure = context.failure
    if failure is None or not failure.frames:
        return UNKNOWN
    key = (pattern.file, pattern.function, pattern.code)
    known = failure.seen.get(key)
    if isinstance(known, Outcome):
        return known
    outcome = _look_for_frame(pattern, failure)
    failure.seen[key] = outcome
    return outcome


def nowhere(part: str, failure: FailureFacts) -> bool:
    """Tell whether no frame's path has a part (see :func:`path_contains`)."""
    return (f"/{part}" if "/" in part else part) not in failure.all_paths


def _look_for_frame(pattern: FramePattern, failure: FailureFacts) -> Outcome:
    if pattern.file is not None and nowhere(pattern.file, failure):
        return Outcome(False, f"no frame in {pattern.file}") if failure.complete else UNKNOWN
    if pattern.code is not None and not failure.uncoded and squeezed(pattern.code) not in failure.all_code:
        return Outcome(False, f"no frame with {pattern.code}") if failure.complete else UNKNOWN
    code_missing = False
    for frame, path in zip(failure.frames, failure.paths, strict=True):
        if frame_matches(pattern, frame, path):
            where = path.rpartition("/")[2]
            return Outcome(True, f"{where}{f', in {frame.function}' if frame.function else ''}", frame.at)
        if pattern.code is not None and frame.code is None and frame_matches(FramePattern(pattern.file, pattern.function), frame, path):
            code_missing = True
    if failure.complete and not code_missing:
        return Outcome(False, f"no frame in {pattern.file or pattern.function or pattern.code}")
    return UNKNOWN


def _text(phrases: str | tuple[str, ...], context: Context) -> Outcome:
    for phrase in (phrases,) if isinstance(phrases, str) else phrases:
        sentence = context.said(phrase)
        if sentence is not None:
            return Outcome(True, sentence.text, sentence.line)
    return UNKNOWN


def _package(condition: Condition, name: str, context: Context) -> Outcome:
    package = context.facts.package(name)
    if package is None:
        return UNKNOWN
    label = f"{name} is absent" if package.absent else f"{name} {package.version}".rstrip()
    wanted = condition.is_ if isinstance(condition.is_, list | tuple) else [condition.is_]
    if condition.in_ is not None:
        if package.version is None:
            return Outcome(False, label, package.line)
        if not package.version:
            return UNKNOWN
        inside = satisfies(package.version, condition.in_)
        return UNKNOWN if inside is None else Outcome(inside, label, package.line)
    state = "absent" if package.absent else "present"
    if condition.is_ is not None:
        return Outcome(state in wanted or package.version in wanted, label, package.line)
    if condition.not_ is not None:
        unwanted = condition.not_ if isinstance(condition.not_, list | tuple) else [condition.not_]
        return Outcome(state not in unwanted and package.version not in unwanted, label, package.line)
    return Outcome(not package.absent, label, package.line)


def _fact(condition: Condition, context: Context) -> Outcome:
    name = condition.fact
    assert name is not None
    facts = context.values(name)
    if not facts:
        return UNKNOWN
    if condition.is_ is not None or condition.not_ is not None:
        wanted = condition.is_ is not None
        values = context.known.values(condition)
        for fact in facts:
            if fact.value.lower() in values:
                return Outcome(wanted, _label(name, fact), fact.line)
        return Outcome(not wanted, _label(name, facts[0]), facts[0].line)
    if condition.contains is not None:
        for fact in facts:
            if condition.contains.lower() in fact.value.lower():
                return Outcome(True, _label(name, fact), fact.line)
        return Outcome(False, _label(name, facts[0]), facts[0].line)
    if condition.in_ is not None:
        inside = satisfies(facts[0].value, condition.in_)
        return UNKNOWN if inside is None else Outcome(inside, _label(name, facts[0]), facts[0].line)
    if condition.at_least is not None or condition.below is not None:
        return _number(condition, facts[0], name)
    return Outcome(True, _label(name, facts[0]), facts[0].line)


def _number(condition: Condition, fact: Fact, name: str) -> Outcome:
    try:
        value = float(fact.value)
    except ValueError:
        return UNKNOWN
    holds = (condition.at_least is None or value >= condition.at_least) and (condition.below is None or value < condition.below)
    return Outcome(holds, _label(name, fact), fact.line)


def _label(name: str, fact: Fact) -> str:
    return fact.text or f"{name} = {fact.value}"
