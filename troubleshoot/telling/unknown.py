"""The honest answer: what was read, what failed first, why it is unknown, and the one next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from troubleshoot.telling.consulted import reader_section
from troubleshoot.telling.content import ask, consequences, notes, quoted
from troubleshoot.telling.document import Block, Code, Document, Point, Prose, Quote, Section, filled
from troubleshoot.telling.facts import accelerators_line, environment_line
from troubleshoot.telling.words import Words

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis


def unknown_document(diagnosis: Diagnosis, words: Words) -> Document:
    """Return the document of a report that no entry explains; out of scope, it is one line and no advice."""
    reason = words(f"reason.{diagnosis.reason or 'none'}")
    if diagnosis.reason == "out-of-scope" and not words.face:
        title = diagnosis.summary or reason
        return Document(badge=words("out-of-scope"), title=title, tone="dim", language=words.language)
    sections = filled(
        Section(words("Read"), _read(diagnosis, words)),
        Section(words("First"), _first(diagnosis, words)),
        Section(words("Facts"), _facts(diagnosis, words)),
        Section(words("Why"), _why(diagnosis, words, reason)),
        Section(words("Ask"), ask(diagnosis.questions, words)),
        Section(words("Next"), _next(diagnosis, words)),
        Section(words("Share"), () if words.face else _share(diagnosis, words)),
        reader_section(diagnosis.reader, words),
        Section(words("Note"), notes(diagnosis, words)),
    )
    outside = diagnosis.reason == "out-of-scope"
    badge, tone = ("out-of-scope", "dim") if outside else ("unknown", "bad")
    return Document(words(badge), diagnosis.summary or reason, tone=tone, sections=sections, language=words.language)


def _read(diagnosis: Diagnosis, words: Words) -> tuple[Block, ...]:
    report = diagnosis.report
    count = report.total_lines or len(report.lines)
    failures = len(report.failures)
    parts = [words("read.line") if count == 1 else words("read.lines", n=count)]
    parts.append(words("read.failure") if failures == 1 else words("read.failures", n=failures) if failures else words("read.no-failure"))
    if report.truncated:
        parts.append(words("read.shortened"))
    return (Prose(words.list(parts)),)


def _first(diagnosis: Diagnosis, words: Words) -> tuple[Block, ...]:
    failure = diagnosis.report.cause
    if failure is None:
        return ()
    blocks: list[Block] = []
    lines = quoted(diagnosis, failure)
    if lines:
        blocks.append(Quote(lines))
    else:
        blocks.append(Prose(words("first.at", exception=failure.root.name, line=failure.line)))
    if failure.place.user:
        blocks.append(Point(words("first.user", place=f"`{failure.place.user}`")))
    if failure.place.library:
        blocks.append(Point(words("first.library", place=f"`{failure.place.library}`")))
    return (*blocks, *consequences(diagnosis, words))


def _facts(diagnosis: Diagnosis, words: Words) -> tuple[Block, ...]:
    blocks: list[Block] = []
    versions = environment_line(words, diagnosis, None)
    if versions:
        blocks.append(Prose(versions))
    accelerators = accelerators_line(words, diagnosis.environment)
    if accelerators:
        blocks.append(Prose(accelerators, lead="GPU"))
    seen: dict[str, None] = {}
    for mention in diagnosis.report.mentions:
        if mention.kind in ("model", "dtype", "quantization", "attention", "launcher", "autocast", "phase"):
            seen[f"{mention.kind} {mention.value}{words.paren(words('on-line', line=mention.line))}"] = None
    if seen:
        blocks.append(Prose(words.list(list(seen)[:8])))
    return tuple(blocks)


def _why(diagnosis: Diagnosis, words: Words, reason: str) -> tuple[Block, ...]:
    blocks: list[Block] = [] if diagnosis.summary == reason else [Prose(reason)]
    blocks += [
        Point(words("weak", title=one.title, issue=one.issue, percent=words.percent(one.confidence)), "?")
        for one in diagnosis.diagnoses[:3]
    ]
    blocks += [
        Point(words("or.refuted", issue=issue, text=item.text), "-") for issue, item in diagnosis.refuted[:3] if item.kind == "version"
    ]
    return tuple(blocks)


def _next(diagnosis: Diagnosis, words: Words) -> tuple[Block, ...]:
    kind = diagnosis.reason or "no-entry"
    failure = diagnosis.report.cause
    library = failure.place.library.partition("/")[0] if failure is not None and failure.place.library else "torch"
    text = words("next.answer" if diagnosis.questions else f"next.{kind}", package=library)
    if not words.face or kind not in ("no-entry", "too-little"):
        return (Prose(text),)
    from troubleshoot.reading.environment.exchange import ONE_LINE_PROBE

    return (Prose(text), Prose(words("next.collect")), Code(ONE_LINE_PROBE, "sh"))


def _share(diagnosis: Diagnosis, words: Words) -> tuple[Block, ...]:
    if not diagnosis.report.failures:
        return ()
    return (Prose(words("share")), Code(words("share.command", file="FILE"), "sh"))
