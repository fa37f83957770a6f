"""A verification as one HTML page that needs nothing else: the table of fixes, a chart of their errors, the tracebacks."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from troubleshoot.lab.verify.outcomes import FixOutcome, Verification
from troubleshoot.lab.verify.verify_text import memory_text, timing_rows, timing_text, where
from troubleshoot.telling import render_documents
from troubleshoot.telling.document import Bar, Block, Chart, Code, Document, Folded, Point, Prose, Section, Table, filled

#: The chart spans relative errors from 1e-7 (float32's rounding) to 10.
_LEAST, _MOST = -7.0, 1.0
_TONES = {"works": "good", "fails": "bad", "skipped": "dim"}
_VERDICTS = {"verified": "good", "cannot-run": "warn"}


def render_html(results: Sequence[Verification]) -> str:
    """Return the page. Home directories and secrets are masked."""
    return render_documents(tuple(map(_document, results)), "html", redact=True)


def _document(one: Verification) -> Document:
    before, fixes = one.before, one.fixes
    seen: list[Block] = [Prose(before.outcome), *(Prose(text) for text in (before.error, before.why) if text)]
    if before.diagnosed_as:
        seen.append(Prose(f"Diagnosed as `{before.diagnosed_as}`"))
    outcomes = tuple((_outcome(fix), _TONES[fix.outcome]) for fix in fixes)
    table = Table(("Fix", "Outcome", "Why", "Bytes per parameter"), tuple(map(_row, fixes)), outcomes)
    chart = Chart("relative errors of the fixes, logarithmic", tuple(_bar(fix) for fix in fixes if fix.relative_error is not None))
    failed = [_traceback(f"Traceback with {fix.id}", fix.traceback) for fix in fixes if fix.outcome == "fails"]
    timing: list[Block] = []
    if one.timing is not None:
        timing = [Prose(timing_text(one.timing)), *(Point(f"`{name}`: {value}") for name, value in timing_rows(one.timing))]
    sections = filled(
        Section("Stand-in", (Prose(one.stand_in),) if one.stand_in else ()),
        Section("Before", (*seen, *_traceback("Traceback", before.traceback))),
        Section("Fixes", (table,) if fixes else (), wide=True),
        Section("Relative error against the reference", (chart,) if chart.bars else (), wide=True),
        Section("Tracebacks", tuple(block for blocks in failed for block in blocks)),
        Section("Timing", tuple(timing)),
        Section("Note", (Prose("Not yet run on CUDA: nothing is claimed for a GPU."),) if one.device != "cuda" else ()),
    )
    return Document(one.verdict, one.issue, subtitle=where(one), tone=_VERDICTS.get(one.verdict, "bad"), sections=sections)


def _row(fix: FixOutcome) -> tuple[str, ...]:
    weight = "" if fix.weights_bytes_per_parameter is None else f"{fix.weights_bytes_per_parameter:g}{memory_text(fix.price)}"
    return f"{fix.title} `{fix.id}`".strip(), _outcome(fix), fix.why, weight


def _outcome(fix: FixOutcome) -> str:
    return f"{fix.outcome} (expected: {fix.expected})" if fix.surprising and fix.outcome != "skipped" else fix.outcome


def _traceback(title: str, text: str | None) -> tuple[Block, ...]:
    return (Folded(title, (Code(text),)),) if text else ()


def _bar(fix: FixOutcome) -> Bar:
    error = fix.relative_error or 0.0
    share = (min(max(log10(error), _LEAST), _MOST) - _LEAST) / (_MOST - _LEAST) if error > 0 else 0.0
    return Bar(fix.id, ((share, _TONES[fix.outcome]),), f"{error:.2g}")
