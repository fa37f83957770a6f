"""What a person reads first: what failed, where, why, what to do, what not to do, one question. The rest is in the whole document.

:func:`first_screen` decides what is said, for every face; ``screen_text`` fits it into the lines of a terminal, ``content`` makes a section
of it for the others (:func:`screen_blocks`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from troubleshoot.basics.redact import redact_lines
from troubleshoot.reading.named import CodeLine
from troubleshoot.reading.places import locate
from troubleshoot.telling.consulted import reader_line
from troubleshoot.telling.content import answer_options, is_python, labelled, shorten
from troubleshoot.telling.document import Block, Choice, Code, Point, Prose, Quote, Step
from troubleshoot.telling.facts import accelerator_text, half_precision
from troubleshoot.telling.headline import culprit_text, headline, operands_text
from troubleshoot.telling.words import Words

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis, FixAdvice, IssueDiagnosis, Question
    from troubleshoot.reading.report import Failure

_TONES = {"known": "good", "likely": "warn", "unknown": "bad"}
#: How many of each are offered; a face with little room takes fewer.
_FIXES, _DONTS, _OTHERS = 3, 2, 3
#: A headline that is less sure than this does not say "known"; another failure's diagnosis that is less sure than that is not named.
_KNOWN, _WORTH = 0.8, 0.4
#: A comment behind a line of code, and an aside behind a setting: what other programs call it.
_COMMENT, _ASIDE = re.compile(r"^(.*?\S)\s{2,}#\s*(\S.*)$"), re.compile(r"^(.*\S)\s{2,}[(（](\S.*)[)）]$")


class Spot(msgspec.Struct, frozen=True):
    """A line of code that a traceback passed: ``where`` is file and line, ``code`` the line itself, ``line`` where the report shows it."""

    where: str
    code: str
    line: int | None = None


class Advice(msgspec.Struct, frozen=True):
    """A fix: what to run or to write, what that does, and ``remark``: when it fits or what it costs. ``fix`` is ISSUE#FIX."""

    title: str
    code: str = ""
    language: str = ""
    remark: str = ""
    fix: str = ""


class Inquiry(msgspec.Struct, frozen=True):
    """The one question: the fact that it is ``about``, the usual answers, and the option that answers it on the command line."""

    text: str
    about: str = ""
    answers: tuple[str, ...] = ()
    option: str = ""


class Screen(msgspec.Struct, frozen=True):
    """The short answer. ``facts`` come most telling first; ``others`` are further failures of the report, a line each."""

    badge: str
    title: str
    tone: str = ""
    spots: tuple[Spot, ...] = ()
    facts: tuple[str, ...] = ()
    fixes: tuple[Advice, ...] = ()
    donts: tuple[str, ...] = ()
    next: str = ""
    question: Inquiry | None = None
    others: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    verify: str = ""
    language: str = "en"


def first_screen(diagnosis: Diagnosis) -> Screen:
    """Return the short answer in the diagnosis's language."""
    words = Words(diagnosis.language)
    read = (reader_line(diagnosis.reader, words),) if diagnosis.reader is not None else ()
    notes = (*read, *(" ".join(error.split()) for error in diagnosis.errors))
    first = diagnosis.first
    if diagnosis.verdict == "unknown" or first is None:
        return _abstaining(diagnosis, notes, words)
    failure = _failure_of(diagnosis, first)
    title, share = headline(diagnosis, first, words)
    verdict = "likely" if diagnosis.verdict == "known" and share < _KNOWN else diagnosis.verdict
    fixes = [fix for fix in first.recommended if fix.expected != "fails"]
    return Screen(
        badge=words("badge", verdict=words(verdict), percent=words.percent(share)),
        title=words.flow(title),
        tone=_TONES[verdict],
        spots=_spots(diagnosis) or _quoted(diagnosis, first, words),
        facts=_facts(diagnosis, first, failure, title, words),
        fixes=tuple(_advice(first.issue, fix, words) for fix in fixes[:_FIXES]),
        donts=tuple(_dont(fix, words) for fix in first.fixes if fix.expected == "fails")[:_DONTS],
        next="" if fixes else words("no-fix-fits" if first.recommended or first.fixes else "no-fix-at-all"),
        question=_question(diagnosis, first, failure, words),
        others=_others(diagnosis, failure or diagnosis.report.cause, words),
        notes=notes,
        verify=first.verify or "",
        language=words.language,
    )


def screen_blocks(screen: Screen, face: str = "") -> tuple[Block, ...]:
    """Return what stands below the headline, for faces that have no end of lines; lines of the page lead into the report."""
    words = Words(screen.language)
    blocks: list[Block] = []
    lines = [(spot.line, f"{spot.where}   {spot.code}".rstrip(), False) for spot in screen.spots]
    if lines:
        blocks.append(Quote(tuple(lines)) if face else Code("\n".join(text for _, text, _ in lines)))
    blocks += [Prose(fact) for fact in screen.facts]
    blocks += [Prose(other) for other in screen.others]
    blocks += [Prose(note, "warn") for note in screen.notes]
    for number, one in enumerate(screen.fixes, 1):
        code = (Code(one.code, one.language),) if one.code else ()
        blocks.append(Step(str(number), one.title, body=(*code, *((Prose(one.remark, "dim"),) if one.remark else ())), fix=one.fix))
    if screen.next:
        blocks.append(Prose(words("next.lead", step=screen.next)))
    blocks += [Point(text, "-") for text in screen.donts]
    question = screen.question
    if question is not None and question.about:
        how = words("ask.answer", options=f"`{question.option}`")
        blocks.append(Choice(question.text, question.about, labelled(question.answers, words), how))
    elif question is not None:
        blocks.append(Point(question.text, "?"))
    return tuple(blocks)


def _failure_of(diagnosis: Diagnosis, one: IssueDiagnosis) -> Failure | None:
    failures = diagnosis.report.failures
    return failures[one.failure] if one.failure is not None and one.failure < len(failures) else None


def _spots(diagnosis: Diagnosis) -> tuple[Spot, ...]:
    """Return the user's line, and the library's below it; of a traceback of torch alone the deepest line."""
    shown = [line for line in (diagnosis.place.user, diagnosis.place.library) if line is not None]
    frames = diagnosis.failure.root.frames if diagnosis.failure is not None else ()
    if not shown and frames:
        deepest = frames[-1]
        shown = [CodeLine(locate(deepest.path)[1], deepest.number, deepest.function or "", deepest.code or "", deepest.at)]
    codes = redact_lines([line.code.strip() for line in shown])
    return tuple(map(_spot, shown, codes))


def _spot(line: CodeLine, code: str) -> Spot:
    *folders, name = line.file.split("/")
    owner = locate(line.file)[0]
    package = f"{owner}/" if owner not in ("user", "python") and folders else ""
    between = "…/" if package and len(folders) > 1 else ""
    where = f"{package}{between}{name}" + (f":{line.line}" if line.line is not None else "")
    return Spot(where, code or (f"{line.function}()" if line.function and line.function != "<module>" else ""), line.at)


def _quoted(diagnosis: Diagnosis, one: IssueDiagnosis, words: Words) -> tuple[Spot, ...]:
    """Return the line of a longer report that says it, where no traceback does."""
    if (diagnosis.report.total_lines or len(diagnosis.report.lines)) < _LONG:
        return ()
    text = dict(zip(diagnosis.report.numbers, diagnosis.report.lines, strict=True))
    line = next((item.line for item in one.evidence if item.state == "supports" and item.line in text), None)
    return () if line is None else (_said(diagnosis, line, words),)


#: A report of fewer lines needs no pointer to one of them.
_LONG = 16


def _said(diagnosis: Diagnosis, line: int, words: Words) -> Spot:
    text = dict(zip(diagnosis.report.numbers, diagnosis.report.lines, strict=True))
    around = [number for number in range(line - 3, line + 4) if number in text]
    shown = dict(zip(around, redact_lines([text[number] for number in around]), strict=True))
    return Spot(words("on-line", line=line), shown.get(line, "").strip(), line)


def _facts(diagnosis: Diagnosis, one: IssueDiagnosis, failure: Failure | None, title: str, words: Words) -> tuple[str, ...]:
    """Return why, in the order of what says most."""
    facts: list[str] = []
    if diagnosis.culprit is not None and culprit_text(diagnosis, words) != title:
        facts.append(words("culprit", what=culprit_text(diagnosis, words)))
    operands = operands_text(diagnosis, words)
    if operands:
        facts.append(operands)
    elif "." in diagnosis.place.module and diagnosis.place.module not in title:
        # A lone name is that of a variable, and stands in the line of code.
        facts.append(words("module", module=diagnosis.place.module))
    if one.kind == "family" and one.note and one.note.rstrip(".。") != title:
        facts.append(words("likeliest-cause", percent=words.percent(one.cause_confidence), note=one.note.rstrip(".。")))
    if one.cause.startswith("hardware/") and diagnosis.environment.accelerators:
        device = accelerator_text(words, diagnosis.environment.accelerators[0], with_source=False)
        half = half_precision(words, diagnosis.environment)
        facts.append(words.list([device, half] if half else [device]))
    explanation = words.flow(one.explanation)
    # What is general to a family says nothing of this report.
    if explanation and (one.kind != "family" or not facts):
        facts.append(shorten(explanation, 1))
    if one.kind != "family" and one.note:
        facts.append(words("holds-if", note=one.note.rstrip(".。")))
    versions = [f"{package.name} {package.version}" for name in dict.fromkeys(text.partition(" ")[0] for text in one.affected)
                if (package := diagnosis.environment.package(name)) is not None and package.version]  # fmt: skip
    if versions:
        facts.append(words("you-have", versions=words.list(versions)))
    if one.impact != "error":
        facts.append(words(f"impact.{one.impact}"))
    ranks = failure.ranks if failure is not None else ()
    if ranks:
        shown = ", ".join(map(str, ranks[:8])) + (", …" if len(ranks) > 8 else "")
        facts.append(words("ranks" if len(ranks) > 1 else "rank", ranks=shown))
    return tuple(facts)


def _advice(issue: str, fix: FixAdvice, words: Words) -> Advice:
    text = fix.command or fix.code or ""
    remark = _condition(fix, words)
    language = "sh" if fix.command else "python" if is_python(fix) else ""
    # Comments are English, and stay with the code where the rest is not. What is folded in lines loses them.
    comment = _COMMENT.match(text) if words.language == "en" else None
    comment = comment or (None if language else _ASIDE.match(text))
    title = words.flow(fix.title)
    if comment is not None and "\n" not in text:
        text, title = comment[1], title + words.paren(comment[2])
    if not text and not remark:
        remark = shorten(words.flow(fix.reason), 1) if fix.reason else ""
    return Advice(title, text, language, remark, f"{issue}#{fix.id}")


def _condition(fix: FixAdvice, words: Words) -> str:
    """Return when an undecided fix fits."""
    if fix.fits is not None or not fix.why:
        return ""
    why = fix.why.removeprefix("if it fits: ")
    return words("fits-if", why=why.removeprefix("if ")) if why.startswith("if ") else why


def _dont(fix: FixAdvice, words: Words) -> str:
    """Return popular advice that fails here, why, and where that was seen."""
    run = next((run for run in fix.seen if run.outcome == "fails"), None)
    where = "" if run is None else words.paren(words("dont.run", where=words("seen.cpu") if run.device == "cpu" else run.device.upper()))
    why = fix.why or fix.reason
    reason = shorten(words.flow(why), 1).rstrip(".。") if why else words("fails")
    return words("dont.why", title=words.flow(fix.title).rstrip(".。"), why=reason) + where


def _question(diagnosis: Diagnosis, one: IssueDiagnosis, failure: Failure | None, words: Words) -> Inquiry | None:
    """Return the question that decides most. Of a message alone the traceback is asked for, and never which model it is: nobody has them
    all in a list.
    """
    if diagnosis.questions and one.kind == "family" and failure is not None and not failure.frames:
        # It costs less than any experiment, and names the layer.
        return Inquiry(words("ask.traceback"))
    return _asked(diagnosis)


def _asked(diagnosis: Diagnosis) -> Inquiry | None:
    asked = next((question for question in diagnosis.questions if question.about != "model"), None)
    return None if asked is None else Inquiry(asked.ask, asked.about, asked.answers, _option(asked))


def _option(question: Question) -> str:
    options = answer_options(question)
    return options[0] if options else ""


def _others(diagnosis: Diagnosis, main: Failure | None, words: Words) -> tuple[str, ...]:
    """Return a line about each further failure that is no consequence, and one about those that are."""
    failures = diagnosis.report.failures
    known: dict[int | None, IssueDiagnosis] = {}
    for one in diagnosis.diagnoses:
        if one.confidence >= _WORTH:
            known.setdefault(one.failure, one)
    lines = []
    for index, failure in enumerate(failures):
        if failure is not main and failure.role == "cause":
            found = known.get(index)
            what = headline(diagnosis, found, words)[0] if found is not None else _message(failure)
            lines.append(words("also.line", line=failure.line, what=words.flow(what)))
    if len(lines) > _OTHERS:
        lines[_OTHERS - 1 :] = [words("also.more", n=len(lines) - _OTHERS + 1)]
    followers = sum(failure.role != "cause" for failure in failures if failure is not main)
    return (*lines, words("also.follow" if followers > 1 else "also.follows", n=followers)) if followers else tuple(lines)


def _message(failure: Failure) -> str:
    root = failure.root
    return redact_lines([": ".join(part for part in (root.name, root.message.strip().partition("\n")[0]) if part)])[0]


def _abstaining(diagnosis: Diagnosis, notes: tuple[str, ...], words: Words) -> Screen:
    failure = diagnosis.report.cause
    outside = diagnosis.outside
    reason = diagnosis.reason or "none"
    facts: list[str] = []
    if diagnosis.reason == "out-of-scope":
        title = words("outside", title=outside.title) if outside is not None else diagnosis.summary
        badge, tone = words("out-of-scope"), "dim"
        if failure is not None:
            facts.append(words("said", line=failure.root.line, text=_message(failure)))
        step = outside.next if outside is not None else ""
    else:
        title, badge, tone = diagnosis.summary or words(f"reason.{reason}"), words("unknown"), "bad"
        weak = [words("weak.short", title=headline(diagnosis, one, words)[0], percent=words.percent(one.confidence))
                for one in diagnosis.diagnoses[:2]]  # fmt: skip
        facts += weak
        library = failure.place.library.partition("/")[0] if failure is not None and failure.place.library else "torch"
        # What the page says is meant for readers, the other for curators.
        say = Words(diagnosis.language, "page")
        step = say(f"next.{diagnosis.reason or 'no-entry'}", package=library)
    spots = _spots(diagnosis)
    return Screen(
        badge=badge,
        title=words.flow(title),
        tone=tone,
        spots=spots,
        facts=tuple(words.flow(fact) for fact in facts),
        next=words.flow(step),
        question=_asked(diagnosis),
        others=_others(diagnosis, failure, words),
        notes=notes,
        language=words.language,
    )
