"""What a language model contributed to a diagnosis, or why it did not: a section of every form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from troubleshoot.knowledge.schema import NO_CAUSE
from troubleshoot.telling.document import Block, Point, Prose, Section

if TYPE_CHECKING:
    from troubleshoot.engine.result import Consulted
    from troubleshoot.telling.words import Words

#: Facts and contrasts that are shown; the JSON has all.
_MOST = 4


def reader_section(one: Consulted | None, words: Words) -> Section:
    """Return the section; empty where no model was to be asked."""
    return Section(words("Reader"), (_line(one, words), *_quotes(one, words)) if one is not None else ())


def reader_line(one: Consulted, words: Words) -> str:
    """Return in a line what the model contributed, or why it did not."""
    if not one.asked:
        return words("reader.unasked", model=one.model)
    if one.problem is not None:
        return words("reader.without", model=one.model, why=words(f"reader.{one.problem}", detail=one.detail))
    named = [cause for cause in one.causes if cause != NO_CAUSE]
    parts = [words("reader.read", model=one.model)]
    if named:
        parts.append(words("reader.causes", causes=words.list(named)))
    elif one.causes:
        parts.append(words("reader.none"))
    if one.issue is not None:
        parts.append(words("reader.issue", issue=one.issue))
    parts.append(words("reader.changed" if one.changed else "reader.same"))
    if one.dropped:
        parts.append(words("reader.dropped", n=one.dropped))
    return words.flow(" ".join(parts))


def _line(one: Consulted, words: Words) -> Prose:
    return Prose(reader_line(one, words), "dim" if not one.asked else "warn" if one.problem is not None else "")


def _quotes(one: Consulted, words: Words) -> tuple[Block, ...]:
    """Return what the model read, each with its words and their line."""
    told = [(f"{fact.name}: {fact.value}", fact.quote, fact.line) for fact in one.facts]
    told += [(f"{run.experiment}: {words(f'reader.outcome.{run.outcome}')}", run.quote, run.line) for run in one.contrasts]
    return tuple(
        Point(words("reader.quote", what=what, quote=quote) + words.paren(words("on-line", line=line)), "+", line)
        for what, quote, line in told[:_MOST]
    )
