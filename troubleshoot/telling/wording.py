"""Findings → Diagnosis: what the engine found, in the words of the knowledge base and in the reader's language."""

from __future__ import annotations

from troubleshoot.basics.redact import redacted_start
from troubleshoot.engine.findings import Findings
from troubleshoot.engine.fixes import HeldFix, actions
from troubleshoot.engine.matching.releases import affected_texts, affected_zh
from troubleshoot.engine.questions import Asked
from troubleshoot.engine.ranking import Hypothesis
from troubleshoot.engine.result import Diagnosis, EvidenceItem, FixAdvice, IssueDiagnosis, Outside, Question, TriedInVain
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.knowledge.schema import Entry, Fix
from troubleshoot.version import __version__

#: Fixes with a library's name in them are many; the shown forms of this many fixes are kept.
_MOST_SHOWN = 20_000

#: title, reason, command, code, and the reason without the advice
_Shown = tuple[str, str, str | None, str | None, str]


def worded(found: Findings, language: str) -> Diagnosis:
    """Return what was found in a language."""
    diagnoses = tuple(_issue(hypothesis, fixes, found.base, language) for hypothesis, fixes in found.issues)
    return Diagnosis(
        verdict=found.verdict,
        reason=found.reason,
        summary=_summary(found, diagnoses, language),
        report=found.report,
        environment=found.environment,
        diagnoses=diagnoses,
        questions=tuple(_question(one, language) for one in found.questions),
        knowledge=found.base.version,
        tool=__version__,
        language=language,
        errors=found.errors,
        refuted=tuple((issue, _said(item, language)) for issue, item in found.refuted),
        tried=tuple(_tried(name, fact.line, found.base, language) for name, fact in found.tried.items()),
        reader=found.reader,
        outside=_outside(found, language),
    )


def _outside(found: Findings, language: str) -> Outside | None:
    group = found.outside
    if group is None:
        return None
    chinese = language == "zh"
    step = "" if group.next is None else group.next.zh if chinese else group.next.en
    # One kind may have a group for its messages and another for its exceptions.
    kind = group.id.removesuffix("-class").removesuffix("-text")
    return Outside(kind, group.title.zh if chinese else group.title.en, step)


def _tried(name: str, line: int | None, base: KnowledgeBase, language: str) -> TriedInVain:
    told = base.experiments.experiments[name].name
    text = f"你已经试过“{told.zh}”，没有变化" if language == "zh" else f"you already tried this, and nothing changed: {told.en}"
    return TriedInVain(name, text, line)


def _question(one: Asked, language: str) -> Question:
    text = one.ask.zh if language == "zh" and one.ask.zh else one.ask.en
    return Question(text, one.about, tuple(one.ask.answers or ()), one.decides)


def _summary(found: Findings, diagnoses: tuple[IssueDiagnosis, ...], language: str) -> str:
    """Return one sentence that says what was found, or why nothing was."""
    chinese, report, reason = language == "zh", found.report, found.reason
    if found.verdict != "unknown" and diagnoses:
        first = diagnoses[0]
        if not first.note:
            return first.title
        if first.kind == "family":
            return f"{first.title}{'：' if chinese else ': '}{first.note}"
        return f"{first.title}（{first.note}）" if chinese else f"{first.title} ({first.note})"
    if report.reason == "empty":
        return "报告是空的。" if chinese else "The report is empty."
    if report.reason == "binary":
        return "这不是文本，无法读取。" if chinese else "This is not text; paste the traceback or the log as text."
    if found.outside is not None:
        title = found.outside.title.zh if chinese else found.outside.title.en
        return f"不属于精度、dtype 或设备问题：{title}" if chinese else f"Not a precision, dtype or device problem: {title}"
    if reason == "no-failure":
        return "报告中没有发现错误，也没有已知症状。" if chinese else "No failure and no known symptom was found in the report."
    if reason == "too-little":
        return "信息太少，无法判断原因。" if chinese else "There is too little in the report to tell the cause."
    failure = report.cause
    line = failure.root.message.splitlines()[0] if failure and failure.root.message else ""
    what = f"{failure.root.type}: {redacted_start(line, 120)}".strip(": ") if failure else ""
    return f"知识库中没有与“{what}”对应的条目。" if chinese else f"No known issue explains: {what}"


def _issue(hypothesis: Hypothesis, fixes: tuple[HeldFix, ...], base: KnowledgeBase, language: str) -> IssueDiagnosis:
    entry = hypothesis.entry
    chinese = entry.zh if language == "zh" else None
    weighted = hypothesis.weighted
    note = ""
    if weighted is not None:
        note = (weighted.zh if language == "zh" else None) or weighted.note or ""
        if not note and hypothesis.cause in base.causes.causes:
            title = base.causes.causes[hypothesis.cause].title
            note = title.zh if language == "zh" else title.en
    elif entry.affected and hypothesis.candidate.affected.state is None:
        # The releases are part of the claim, and nobody has said which one it is.
        ranges = _affected(entry, language)
        note = f"若为 {'、'.join(ranges)}" if language == "zh" else f"if {' and '.join(ranges)}"
    return IssueDiagnosis(
        issue=entry.id,
        cause=hypothesis.cause,
        failure=hypothesis.candidate.failure,
        title=chinese.title if chinese else entry.title,
        confidence=hypothesis.confidence,
        cause_confidence=hypothesis.cause_confidence,
        explanation=(chinese.explanation if chinese else entry.explanation).strip(),
        note=note,
        # A cause by itself is told as an entry; an entry of the base may bear its name.
        kind=entry.kind if entry.id in base.index.ids and base.entry(entry.id) is entry else "cause",
        impact=entry.impact,
        affected=_affected(entry, language),
        models=entry.models,
        evidence=(*(_said(item, language) for item in hypothesis.candidate.evidence), *_words(hypothesis, language)),
        fixes=tuple(_advice(one, hypothesis, language) for one in fixes),
        references=tuple(one.url for one in entry.references),
        verify=f"troubleshoot verify {entry.id}" if entry.verify else None,
        facts=_facts(hypothesis),
    )


def _affected(entry: Entry, language: str) -> tuple[str, ...]:
    return tuple(map(affected_zh, entry.affected)) if language == "zh" else affected_texts(entry.affected)


def _said(item: EvidenceItem, language: str) -> EvidenceItem:
    """Return evidence in a language; what is quoted stays as it is."""
    return EvidenceItem(item.state, item.kind, item.zh if language == "zh" and item.zh else item.text, item.line)


#: The facts that a message's holes tell of operands, and what they operate on. The rest of a message is quoted, not taken apart.
_TOLD = ("dtype.", "device.", "name.kernel", "name.argument", "name.method")


def _facts(hypothesis: Hypothesis) -> dict[str, str]:
    """Return what the message names, and the operation of its innermost frame."""
    context = hypothesis.candidate.context
    told = {name: value for name, value in context.bindings.items() if name.startswith(_TOLD)}
    frames = context.failure.failure.root.frames if context.failure is not None else ()
    operation = context.values("op")[:1] if frames else ()
    # What frames further out call is not what failed.
    return {**told, "op": operation[0].value} if operation and operation[0].line == frames[-1].at else told


def _words(hypothesis: Hypothesis, language: str) -> tuple[EvidenceItem, ...]:
    """Return the words of the report that told the family's causes apart."""
    told = hypothesis.candidate.telling_words(hypothesis.cause) if hypothesis.weighted is not None else ()
    if not told:
        return ()
    text = f"这类原因的报告常见的词：{'、'.join(told)}" if language == "zh" else f"words of reports with this cause: {', '.join(told)}"
    return (EvidenceItem("supports", "words", text),)


def _show(fix: Fix, entry: Entry, language: str) -> _Shown:
    """Return what is shown of a fix whatever the environment."""
    title, reason, why = fix.title, fix.reason, fix.reason
    code = actions.code(fix.action)
    if actions.kind_of(fix.action) == "advice":
        code = None
        advice = str(fix.action.get("advice", ""))
        reason = f"{advice.rstrip()} {reason}".strip() if advice not in (title, reason) else reason
    if language == "zh":
        translation = fix.zh or (entry.zh.fixes.get(fix.id) if entry.zh else None)
        if translation is not None:
            title, why = translation.title, translation.reason or why
            reason = " ".join(part for part in (translation.advice, translation.reason) if part) or reason
    return title, reason, actions.command(fix.action), code, why


def _advice(held: HeldFix, hypothesis: Hypothesis, language: str) -> FixAdvice:
    fix, fit = held.fix, held.fit
    shown: dict[tuple[int, str, str], tuple[Fix, _Shown]] = hypothesis.candidate.context.programs.shown
    key = (id(fix), hypothesis.entry.id, language)
    known = shown.get(key)
    if known is None or known[0] is not fix:
        if len(shown) >= _MOST_SHOWN:
            shown.clear()
        known = shown[key] = (fix, _show(fix, hypothesis.entry, language))
    title, reason, command, code, plain = known[1]
    why, warning = fit.why, fit.warning
    if language == "zh":
        why = plain if fix.expected == "fails" else fit.why_zh or why
        warning = fit.warning_zh or warning
    return FixAdvice(
        id=fix.id,
        kind=fix.kind,
        title=title,
        applicability=fix.applicability,
        fits=fit.fits,
        why=why,
        reason=reason,
        command=command,
        code=code,
        expected=fix.expected,
        warning=warning,
        seen=held.seen,
        action=dict(fix.action),
    )
