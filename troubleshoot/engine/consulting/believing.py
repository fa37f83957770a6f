"""What of a model's answer is believed: what it quotes word for word, and what it was given to choose from. All else is dropped."""

from __future__ import annotations

import msgspec

from troubleshoot.engine.consulting.asking import FACTS, OUTCOMES, RANKED, Question
from troubleshoot.engine.result import ReadContrast, ReadFact
from troubleshoot.knowledge.schema import NO_CAUSE

#: Statements of one kind that are looked at, and characters of a quote.
_MOST, _SHORTEST, _LONGEST = 40, 3, 300


class Reading(msgspec.Struct, frozen=True):
    """What is believed: facts and contrasts with their lines, causes as ranked, the chosen entry. ``dropped``: how much is not."""

    facts: tuple[ReadFact, ...]
    contrasts: tuple[ReadContrast, ...]
    causes: tuple[str, ...]
    entry: str | None
    dropped: int


class _Fact(msgspec.Struct):
    name: str
    value: str
    quote: str


class _Contrast(msgspec.Struct):
    experiment: str
    outcome: str
    value: str
    quote: str


class _Answer(msgspec.Struct):
    facts: list[_Fact]
    contrasts: list[_Contrast]
    causes: list[str]
    entry: str


_DECODER = msgspec.json.Decoder(_Answer)


def believed(text: str, question: Question) -> Reading | None:
    """Hold a model's answer against what it was asked; None where it does not have the form that was asked for."""
    try:
        # Servers that know nothing of a model's thoughts leave them before the answer.
        answer = _DECODER.decode(text.rpartition("</think>")[2].encode())
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    lines = [_flat(line) for line in question.lines]
    # What was left out stands in no line of the report.
    places = [(line, number) for line, number in zip(lines, question.numbers, strict=True) if number]
    facts: dict[str, ReadFact] = {}
    for one in answer.facts[:_MOST]:
        line = _line_of(one.quote, places)
        if line is not None and one.value in FACTS.get(one.name, ()):
            # The first value counts: a run has one dtype.
            facts.setdefault(one.name, ReadFact(one.name, one.value, _flat(one.quote), line))
    contrasts: dict[tuple[str, str, str], ReadContrast] = {}
    for told in answer.contrasts[:_MOST]:
        line = _line_of(told.quote, places)
        value, quote = _flat(told.value), _flat(told.quote)
        if line is not None and told.experiment in question.experiments and told.outcome in OUTCOMES:
            value = value if value in quote else ""
            contrasts.setdefault((told.experiment, told.outcome, value), ReadContrast(told.experiment, told.outcome, value, quote, line))
    causes = tuple(dict.fromkeys(cause for cause in answer.causes[:_MOST] if cause in question.causes))[:RANKED]
    entry = answer.entry if answer.entry in question.entries else None
    said = len(answer.facts) + len(answer.contrasts) + len(answer.causes) + (answer.entry != NO_CAUSE)
    kept = len(facts) + len(contrasts) + len(causes) + (entry is not None)
    return Reading(tuple(facts.values()), tuple(contrasts.values()), causes, entry, said - kept)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _line_of(quote: str, places: list[tuple[str, int]]) -> int | None:
    """Return the line of the report that holds a quote word for word; None where none does, or where it is too short to say anything."""
    flat = _flat(quote)
    if not _SHORTEST <= len(flat) <= _LONGEST:
        return None
    return next((number for line, number in places if flat in line), None)
