"""``diagnose()``: the whole way from a report to a diagnosis, in the order of docs/architecture.md."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from troubleshoot.basics.errors import InputError, TroubleshootError
from troubleshoot.engine.answers import environment_for, facts_with, given_answers, told_beside
from troubleshoot.engine.evidence import Fact, Facts
from troubleshoot.engine.findings import Findings
from troubleshoot.engine.fixes import fixes_for
from troubleshoot.engine.matching import Matches, Search, find_candidates, recalled
from troubleshoot.engine.matching.dependencies import changes_environment
from troubleshoot.engine.questions import Asked, next_question
from troubleshoot.engine.ranking import KNOWN, LIKELY, Hypothesis, rank
from troubleshoot.engine.records import seen_in
from troubleshoot.engine.result import Consulted, Diagnosis, Reason, Verdict
from troubleshoot.knowledge import KnowledgeBase, current_kb
from troubleshoot.reading.environment.machine import Environment
from troubleshoot.reading.report import Report
from troubleshoot.version import __version__

if TYPE_CHECKING:
    from troubleshoot.engine.consulting import Reading
    from troubleshoot.engine.live.seen import Seen
    from troubleshoot.reader import Prompt, Reply

#: Diagnoses that are kept; a face may show fewer.
_MOST = 8
#: ... and that are less likely than this are not worth a line.
_LEAST = 0.02

EnvironmentChoice = Literal["auto", "local", "report"]


class AsksModel(Protocol):
    """Whoever asks a language model: :class:`troubleshoot.Reader`, or one that has the answer already."""

    @property
    def model(self) -> str:
        """The model's name."""

    def ask(self, prompt: Prompt) -> Reply:
        """Return its answer, or why there is none; never raise."""


@dataclass(frozen=True)
class _Known:
    """What stays the same while answers are tried: the report, the base, the environment without answers, and what a model read."""

    report: Report
    environment: Environment
    base: KnowledgeBase
    search: Search
    seen: Seen | None = None
    reading: Reading | None = None

    def facts(self, given: Mapping[str, str]) -> Facts:
        """Return the facts with the user's answers; what a model read counts only where nothing else is known."""
        facts = facts_with(self.report, self.environment, given)
        if self.reading is None or not self.reading.facts:
            return facts
        read = {one.name: (Fact(one.value, "reader", one.line, one.quote),) for one in self.reading.facts if not facts.get(one.name)}
        return replace(facts, stated={**facts.stated, **read})

    def candidates(self, facts: Facts) -> Matches:
        """Hold the entries against the facts, and against what the tensors of a live exception show."""
        matches = find_candidates(self.search, facts)
        if self.seen is None:
            return matches
        from troubleshoot.engine.live import weigh

        return weigh(matches, self.seen)

    def ranked(self, facts: Facts, matches: Matches, most: int = 40) -> tuple[Hypothesis, ...]:
        """Return the hypotheses, best first; a model's ranking is one term of theirs."""
        if self.reading is None:
            return rank(matches, self.report, self.base, most)
        from troubleshoot.engine.consulting import decided

        return decided(rank(matches, self.report, self.base), self.reading, self.report, facts, self.search, self.base)


@dataclass(frozen=True)
class Examined:
    """A report before anything is left out: what was searched, all candidates (refuted ones too), and all hypotheses, best first."""

    report: Report
    base: KnowledgeBase
    search: Search
    facts: Facts
    matches: Matches
    hypotheses: tuple[Hypothesis, ...]


def diagnose(
    source: str | bytes | os.PathLike[str] | BaseException | Report,
    *,
    environment: str | os.PathLike[str] | Environment = "auto",
    kb: KnowledgeBase | None = None,
    language: str = "en",
    answers: Mapping[str, str] | None = None,
    gpu: str | None = None,
    have: Mapping[str, str] | None = None,
    reader: AsksModel | None = None,
) -> Diagnosis:
    """Diagnose a pasted report (``str`` is always text), a file (``os.PathLike``) or a live exception.

    ``environment``: "auto" (local facts only where the report is from this machine), "local", "report" (only what the report says), the
    path of an environment dump, or an Environment. ``answers`` are facts by name (``{"package.apex": "absent"}``), ``gpu`` a GPU's
    name, ``have`` package versions. ``reader`` is a language model that reads the report too (docs/reader.md): without it nothing is sent.

    Raises:
        InputError: a file or an answer cannot be used; never for an exception, where ``errors`` says what went wrong.
        KnowledgeError: there is no knowledge base to read.
    """
    if isinstance(source, BaseException):
        return _diagnose_exception(source, environment, kb, language, answers, gpu, have, reader)
    base = kb if kb is not None else current_kb()
    return _worded(_find(_read(source), environment, base, given_answers(answers, gpu, have, base), None, reader), language)


def question_for_model(
    source: str | bytes | os.PathLike[str] | Report,
    *,
    environment: str | os.PathLike[str] | Environment = "auto",
    kb: KnowledgeBase | None = None,
    answers: Mapping[str, str] | None = None,
    gpu: str | None = None,
    have: Mapping[str, str] | None = None,
) -> Prompt | None:
    """Return what :func:`diagnose` would send to a reader; None where it would not ask one. Nothing is sent.

    Raises:
        InputError: a file or an answer cannot be used.
        KnowledgeError: there is no knowledge base to read.
    """
    from troubleshoot.engine.consulting import question_about

    one = examine(source, environment=environment, kb=kb, answers=answers, gpu=gpu, have=have)
    asked = question_about(one.report, one.facts, one.matches, one.hypotheses, one.base)
    return asked.prompt if asked is not None else None


def examine(
    source: str | bytes | os.PathLike[str] | Report,
    *,
    environment: str | os.PathLike[str] | Environment = "report",
    kb: KnowledgeBase | None = None,
    answers: Mapping[str, str] | None = None,
    gpu: str | None = None,
    have: Mapping[str, str] | None = None,
) -> Examined:
    """Return what :func:`diagnose` weighs, for those who ask why it came out so.

    Raises:
        InputError: a file or an answer cannot be used.
        KnowledgeError: there is no knowledge base to read.
    """
    report = _read(source)
    base = kb if kb is not None else current_kb()
    given = given_answers(answers, gpu, have, base)
    stated = environment_for(report, environment)
    known = _Known(report, stated, base, Search(report, base, *told_beside(stated, given)))
    facts, matches, hypotheses = _weigh(known, environment, given)
    return Examined(report, base, known.search, facts, matches, hypotheses)


def _diagnose_exception(
    exception: BaseException,
    environment: str | os.PathLike[str] | Environment,
    kb: KnowledgeBase | None,
    language: str,
    answers: Mapping[str, str] | None,
    gpu: str | None,
    have: Mapping[str, str] | None,
    reader: AsksModel | None,
) -> Diagnosis:
    """An exception handler must not be made worse: whatever goes wrong here is told in ``errors``."""
    try:
        from troubleshoot.engine.live import conclude, look, tell
        from troubleshoot.reading import report_from_exception

        seen = look(exception)
        report = tell(report_from_exception(exception), seen)
        # The program that raised it is this one: its environment is the local one.
        local = "local" if environment == "auto" else environment
        base = kb if kb is not None else current_kb()
        return conclude(_worded(_find(report, local, base, given_answers(answers, gpu, have, base), seen, reader), language), seen)
    except Exception as error:
        return Diagnosis(
            verdict="unknown",
            reason="too-little",
            summary="The diagnosis itself failed.",
            report=Report((), ()),
            environment=Environment(),
            diagnoses=(),
            questions=(),
            knowledge="",
            tool=__version__,
            language=language,
            errors=(f"{type(error).__name__}: {error}",),
        )


def _read(source: str | bytes | os.PathLike[str] | Report) -> Report:
    if isinstance(source, Report):
        return source
    if isinstance(source, str | bytes):
        from troubleshoot.reading import read_report

        return read_report(source)
    given: object = source
    if not (isinstance(given, os.PathLike) or hasattr(given, "read")):
        raise InputError(f"what can be diagnosed is text, bytes, a path, a stream of bytes or an exception, not {type(source).__name__}")
    from troubleshoot.reading import read_report_file

    return read_report_file(source)


def _worded(found: Findings, language: str) -> Diagnosis:
    """Put what was found into words: the one step to the right, when all is known."""
    from troubleshoot.telling.wording import worded

    return worded(found, language)


def _find(
    report: Report,
    environment: str | os.PathLike[str] | Environment,
    base: KnowledgeBase,
    given: Mapping[str, str],
    seen: Seen | None = None,
    reader: AsksModel | None = None,
) -> Findings:
    stated = environment_for(report, environment)
    known = _Known(report, stated, base, Search(report, base, *told_beside(stated, given)), seen)
    weighed = _weigh(known, environment, given)
    consulted = None
    if reader is not None:
        known, weighed, consulted = _consult(known, environment, given, weighed, reader)
    facts, matches, hypotheses = weighed
    shown = [one for one in hypotheses if one.confidence >= _LEAST or one is hypotheses[0]]
    verdict, reason = _verdict(report, matches, hypotheses)
    outside = base.out_of_scope[next(iter(matches.out_of_scope.values()))] if reason == "out-of-scope" else None
    return Findings(
        verdict=verdict,
        reason=reason,
        report=report,
        environment=facts.environment,
        base=base,
        issues=tuple((one, fixes_for(one, base, seen_in(base.roots))) for one in shown[:_MOST]),
        questions=_question(known, given, hypotheses),
        outside=outside,
        errors=tuple(base.warnings),
        tried=matches.tried.in_vain,
        refuted=tuple(
            (one.entry.id, item) for one in matches.candidates if (item := one.refuted_by if one.own > 0 else one.contradicted_by)
        ),
        reader=consulted,
    )


_Weighed = tuple[Facts, Matches, tuple[Hypothesis, ...]]


def _consult(
    known: _Known,
    environment: str | os.PathLike[str] | Environment,
    given: Mapping[str, str],
    weighed: _Weighed,
    reader: AsksModel,
) -> tuple[_Known, _Weighed, Consulted]:
    """Let a model read the report, and weigh all again with what of it is believed; without an answer, all stays as it is."""
    from troubleshoot.engine.consulting import believed, question_about

    question = question_about(known.report, *weighed, known.base)
    if question is None:
        return known, weighed, Consulted(reader.model, asked=False)
    reply = reader.ask(question.prompt)
    reading = believed(reply.text, question) if reply.problem is None else None
    if reading is None:
        return known, weighed, Consulted(reader.model, problem=reply.problem or "form", detail=reply.detail)
    known = replace(known, reading=reading)
    again = _weigh(known, environment, given)
    before, now = (_answered(hypotheses) for _, _, hypotheses in (weighed, again))
    consulted = Consulted(
        reader.model, causes=reading.causes, issue=reading.entry, facts=reading.facts, contrasts=reading.contrasts, dropped=reading.dropped,
        changed=before != now,
    )  # fmt: skip
    return known, again, consulted


def _answered(hypotheses: tuple[Hypothesis, ...]) -> str | None:
    return hypotheses[0].cause if hypotheses and hypotheses[0].confidence >= LIKELY else None


def _weigh(known: _Known, environment: str | os.PathLike[str] | Environment, given: Mapping[str, str]) -> _Weighed:
    facts = known.facts(given)
    matches = known.candidates(facts)
    hypotheses = known.ranked(facts, matches)
    hypotheses, facts, matches = _look_at_accelerators(known, environment, given, hypotheses, facts, matches)
    return facts, matches, hypotheses


def _look_at_accelerators(
    known: _Known,
    choice: str | os.PathLike[str] | Environment,
    given: Mapping[str, str],
    hypotheses: tuple[Hypothesis, ...],
    facts: Facts,
    matches: Matches,
) -> tuple[tuple[Hypothesis, ...], Facts, Matches]:
    """Look at this machine's GPU only now that a likely candidate's evidence or fixes need it, and only for local reports."""
    environment = facts.environment
    local = environment.source == "local" and choice in ("auto", "local")
    if not local or environment.accelerators or environment.closed_accelerators or not hypotheses or hypotheses[0].confidence < LIKELY:
        return hypotheses, facts, matches
    from troubleshoot.reading.environment.local import local_environment
    from troubleshoot.reading.environment.merging import merge

    looked = replace(known, environment=merge(known.environment, local_environment(accelerators=True)))
    facts = looked.facts(given)
    matches = known.candidates(facts)
    return looked.ranked(facts, matches), facts, matches


def recall(
    issue: str, cause: str | None = None, *, kb: KnowledgeBase, language: str = "en", answers: Mapping[str, str] | None = None
) -> Diagnosis:
    """Return the diagnosis of an issue that was found before, whose report is gone: its fixes held against what is still known.

    Where a fact of ``answers`` rules the issue out, the entry that it refines answers, as in :func:`diagnose`.

    Raises:
        UnknownIssueError: there is no such issue.
        InputError: an answer cannot be used.
    """
    report = Report((), ())
    known = _Known(report, Environment(), kb, Search(report, kb))
    given = given_answers(answers, None, None, kb)

    def hypothesis(facts: Facts) -> Hypothesis:
        candidate = recalled(kb.entry(issue), facts, known.search)
        while candidate.refuted_by is not None and candidate.entry.refines:
            candidate = recalled(kb.entry(candidate.entry.refines[0]), facts, known.search)
        entry = candidate.entry
        weighted = next((one for one in entry.causes if one.cause == cause), entry.causes[0] if entry.causes else None)
        of = entry.cause or (weighted.cause if weighted is not None else "")
        return Hypothesis(candidate, of, None if entry.cause else weighted, LIKELY, LIKELY)

    facts = known.facts(given)
    now = hypothesis(facts)
    found = Findings(
        "likely", None, report, facts.environment, kb, ((now, fixes_for(now, kb, seen_in(kb.roots))),),
        _question(known, given, (now,)),
    )  # fmt: skip
    told = _worded(found, language)
    return replace(told, diagnoses=tuple(replace(one, evidence=(), failure=None) for one in told.diagnoses))


def _verdict(report: Report, matches: Matches, hypotheses: tuple[Hypothesis, ...]) -> tuple[Verdict, Reason | None]:
    if hypotheses and hypotheses[0].confidence >= KNOWN:
        return "known", None
    if hypotheses and hypotheses[0].confidence >= LIKELY:
        return "likely", None
    if report.reason is not None:
        return "unknown", "no-failure"
    causes = [index for index, failure in enumerate(report.failures) if failure.role == "cause"]
    if any(index in matches.out_of_scope for index in causes):
        return "unknown", "out-of-scope"
    if hypotheses:
        return "unknown", "too-little"
    if not report.failures:
        return "unknown", "no-failure"
    return "unknown", "no-entry"


def _undecided(now: Hypothesis, base: KnowledgeBase) -> tuple[str, ...]:
    """Return the facts that the fixes hang on where none fits for sure: what fits need not wait for another."""
    from troubleshoot.engine.fixes.select import candidate_fixes, fit_of

    fits = [fit_of(fix, now.candidate.context, now.cause) for fix in candidate_fixes(now, base)]
    if any(fit.fits and not fit.late for fit in fits):
        return ()
    return tuple(fit.about for fit in fits if fit.fits is None and fit.about)


def _question(known: _Known, given: Mapping[str, str], hypotheses: tuple[Hypothesis, ...]) -> tuple[Asked, ...]:
    """Return the question to ask; what answers would change is reckoned, and nothing is ranked again."""
    if not hypotheses:
        return ()
    facts = hypotheses[0].candidate.context.facts

    def under(about: str, answer: str) -> Facts | None:
        try:
            return known.facts({**given, about: answer}) if changes_environment(about) else facts.with_answers({about: answer})
        except TroubleshootError:
            return None

    return next_question(hypotheses, _undecided(hypotheses[0], known.base), known.base, under, given)
