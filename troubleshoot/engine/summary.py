"""One sentence that says what was found, or why nothing was."""

from __future__ import annotations

from troubleshoot.basics.redact import redacted_start
from troubleshoot.engine.matching import Matches
from troubleshoot.engine.result import IssueDiagnosis, Reason, Verdict
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.reading.report import Report


def summarise(
    verdict: Verdict,
    reason: Reason | None,
    report: Report,
    diagnoses: tuple[IssueDiagnosis, ...],
    matches: Matches,
    base: KnowledgeBase,
    language: str = "en",
) -> str:
    """Return the summary in the user's language."""
    chinese = language == "zh"
    if verdict != "unknown" and diagnoses:
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
    if reason == "out-of-scope":
        group = base.out_of_scope[next(iter(matches.out_of_scope.values()))]
        title = group.title.zh if chinese else group.title.en
        return f"不属于精度、dtype 或设备问题：{title}" if chinese else f"Not a precision, dtype or device problem: {title}"
    if reason == "no-failure":
        return "报告中没有发现错误，也没有已知症状。" if chinese else "No failure and no known symptom was found in the report."
    if reason == "too-little":
        return "信息太少，无法判断原因。" if chinese else "There is too little in the report to tell the cause."
    failure = report.cause
    line = failure.root.message.splitlines()[0] if failure and failure.root.message else ""
    what = f"{failure.root.type}: {redacted_start(line, 120)}".strip(": ") if failure else ""
    return f"知识库中没有与“{what}”对应的条目。" if chinese else f"No known issue explains: {what}"
