"""From one failure, or one line, of a log to what the knowledge base says about it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from troubleshoot.basics.redact import redact_data, redacted_start
from troubleshoot.basics.timelimit import OutOfTimeError, time_limit
from troubleshoot.engine.diagnosis import AsksModel, diagnose
from troubleshoot.engine.evidence import environment_of
from troubleshoot.engine.matching import Search
from troubleshoot.engine.result import Diagnosis
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.reading.clean import CleanText, clean
from troubleshoot.reading.environment.machine import Environment
from troubleshoot.reading.environment.merging import merge
from troubleshoot.reading.environment.parse import parse_environment
from troubleshoot.reading.mentions import find_mentions
from troubleshoot.reading.reader import read_report
from troubleshoot.reading.report import Failure, Mention, RaisedException, Report
from troubleshoot.scale.scanning.anchors import is_log_symptom

#: Bytes at a log's beginning that tell versions, GPU, model and configuration.
HEAD = 64 << 10
_BEFORE, _AFTER, _MOST_LINES = 40, 20, 1_500
_MESSAGE = 400

_STEP = re.compile(
    r"(?:global[_ ]?step|step|iter(?:ation)?|batch)s?['\"]?\s?[:=#\s]\s{0,2}\[?(\d{1,12})(?![\d.])|\|\s{0,8}(\d{1,12})/\d{1,12} \[",
    re.IGNORECASE,
)
_RANK = re.compile(rb"\[(?:default_?|[Rr]ank[ _:]?|RANK[ _:]?|[Ww]orker[ _:]?)(\d{1,5})\]|\brank['\"]?[ =:]{1,2}(\d{1,5})\b", re.IGNORECASE)
#: Words of which each match has one, in small letters.
RANK_WORDS = (b"rank", b"default", b"worker")


class Examiner:
    """Diagnoses what a scan comes across, with what the log's beginning says about versions, GPU and model."""

    def __init__(
        self,
        base: KnowledgeBase,
        head: bytes = b"",
        environment: Environment | None = None,
        *,
        language: str = "en",
        gpu: str | None = None,
        have: Mapping[str, str] | None = None,
        seconds: float | None = None,
        reader: AsksModel | None = None,
    ) -> None:
        """Read the beginning of the log. ``environment`` is what the user says of the machine, ``seconds`` the limit of time for a part.

        ``reader`` is a language model that reads failures too.
        """
        self.base = base
        self.seconds = seconds
        #: lines of the beginning that took too long to be read
        self.left_out = 0
        self._given = environment
        self._answers: dict[str, Any] = {"gpu": gpu, "have": have, "language": language}
        self._reader = reader
        self._head: tuple[Mention, ...] = ()
        self._stated = Environment()
        if head:
            try:
                with time_limit(seconds):
                    report = read_report(head)
                    stated = merge(environment_of(report), parse_environment(report.lines, report.numbers))
                self._head, self._stated = report.mentions, stated
            except OutOfTimeError:
                self.left_out = head.count(b"\n") + (head[-1:] != b"\n")

    def failure(
        self, failure: Failure, raised: set[int], cleaned: CleanText, quoted: set[int], told_at: set[int]
    ) -> dict[str, Any]:
        """Return what is known of a failure.

        ``raised`` are the numbers of the lines that exceptions nearby were read from (:func:`told_by`): of other failures' they are left
        out. ``quoted`` and ``told_at`` are those of lines that quote code and that tell errors.
        """
        if failure.role != "cause":
            return self.listed(failure)
        told = _told(failure)
        lines, numbers = _surroundings(failure, raised, cleaned)
        mentions = find_mentions(list(lines), list(numbers), quoted, told_at)
        report = Report(lines, numbers, (failure,), (*mentions, *self._mentions(mentions)), total_lines=len(lines))
        return redact_data({**told, **_summary(self._diagnose(report, self._reader))}, personal=False)

    def listed(self, failure: Failure, title: str = "") -> dict[str, Any]:
        """Return what a failure says of itself, for one that is not diagnosed."""
        return redact_data({**_told(failure), **_nothing(), "title": title}, personal=False)

    def line(self, number: int, line: bytes) -> tuple[str, dict[str, Any]] | None:
        """Return (key, what is known) of a line that stands alone, or None where it says nothing."""
        cleaned = clean(line.decode("utf-8", "replace"), None)
        text = " ".join(part for part in cleaned.lines if part).strip()
        if not text:
            return None
        bare = Report((text,), (number,), total_lines=1)
        patterns = self.base.index.patterns
        hits = [patterns[hit.pattern] for hit in Search(bare, self.base).hits]
        if not any(kind != "p" or is_log_symptom(pattern) for kind, pattern, _ in hits):
            return None
        diagnosis = self._diagnose(Report((text,), (number,), (), self._head, total_lines=1))
        if diagnosis.verdict == "unknown" or diagnosis.first is None:
            return None
        told = {
            "kind": "symptom",
            "role": "symptom",
            "exception": "",
            "message": redacted_start(text, _MESSAGE),
            "user": None,
            "library": None,
        }
        return diagnosis.first.issue, redact_data({**told, **_summary(diagnosis)}, personal=False)

    def _mentions(self, near: tuple[Mention, ...]) -> tuple[Mention, ...]:
        """Return the mentions of the log's beginning; what stands near the failure speaks for itself."""
        said = {(one.kind, one.name) for one in near}
        return tuple(one for one in self._head if (one.kind, one.name) not in said)

    def _diagnose(self, report: Report, reader: AsksModel | None = None) -> Diagnosis:
        environment = merge(environment_of(report), parse_environment(report.lines, report.numbers), self._stated)
        if self._given is not None:
            environment = merge(environment, self._given)
        return diagnose(report, environment=environment, kb=self.base, reader=reader, **self._answers)


def step_before(lines: Sequence[str]) -> int | None:
    """Return the last step that some lines of a log name."""
    for line in reversed(lines):
        steps = _STEP.findall(line[:2000])
        if steps:
            return int(steps[-1][0] or steps[-1][1])
    return None


def rank_of(line: bytes) -> int | None:
    """Return the rank that a line of a log names, or None."""
    match = _RANK.search(line[:2000])
    return int(match[1] or match[2]) if match else None


def _told(failure: Failure) -> dict[str, Any]:
    return {
        "kind": "failure",
        "role": failure.role,
        "exception": failure.root.type,
        "message": redacted_start(failure.root.message, _MESSAGE),
        "user": failure.place.user,
        "library": failure.place.library,
    }


def _surroundings(failure: Failure, raised: set[int], cleaned: CleanText) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the lines around a failure without those of other failures."""
    numbers = cleaned.numbers
    start = min(min((frame.at for frame in one.frames), default=one.line) for one in failure.exceptions)
    stop = max(one.last_line for one in failure.exceptions)
    first, past = bisect_left(numbers, start - _BEFORE), bisect_right(numbers, stop + _AFTER)
    past = min(past, first + _MOST_LINES)
    own = told_by(failure.exceptions)
    rows = [row for row in range(first, past) if numbers[row] not in raised or numbers[row] in own]
    return tuple(cleaned.lines[row] for row in rows), tuple(numbers[row] for row in rows)


def told_by(exceptions: Sequence[RaisedException]) -> set[int]:
    """Return the numbers of the lines that exceptions were read from: frames with their code, and messages."""
    numbers: set[int] = set()
    for one in exceptions:
        numbers.update(range(one.line, min(one.last_line, one.line + 200) + 1))
        for frame in one.frames:
            numbers.update((frame.at, frame.at + 1))
    return numbers


def _nothing() -> dict[str, Any]:
    return {"verdict": "unknown", "issue": None, "cause": None, "title": "", "confidence": 0.0, "advice": "", "command": None,
            "reader": None}  # fmt: skip


def _summary(diagnosis: Diagnosis) -> dict[str, Any]:
    first = diagnosis.first
    if diagnosis.verdict == "unknown" or first is None:
        return {**_nothing(), "title": diagnosis.summary, "reader": _read_by(diagnosis)}
    fix = first.recommended[0] if first.recommended else None
    return {
        "verdict": diagnosis.verdict, "issue": first.issue, "cause": first.cause, "title": first.title,
        "confidence": round(first.confidence, 3), "advice": fix.title if fix else "", "command": fix.command if fix else None,
        "reader": _read_by(diagnosis),
    }  # fmt: skip


def _read_by(diagnosis: Diagnosis) -> str | None:
    """Return the model that read the failure too, or why it did not."""
    one = diagnosis.reader
    if one is None or not one.asked:
        return None
    return one.model if one.problem is None else f"{one.model}: {one.problem} {one.detail}".strip()
