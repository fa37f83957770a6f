"""Many reports at once: a sequence of texts, or an Arrow table, which Spark's ``mapInArrow``, Dask and Ray hand out in batches.

Reports that are equal letter by letter are diagnosed once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.redact import redact_data, redact_text, redacted_start
from troubleshoot.engine.diagnosis import diagnose
from troubleshoot.engine.result import Diagnosis
from troubleshoot.knowledge import KnowledgeBase, load_kb
from troubleshoot.reading.environment.machine import Environment

if TYPE_CHECKING:
    import pyarrow as pa

#: Diagnoses that are kept for reports that come again, and the length of the reports that are remembered.
_REMEMBERED = 512
_SHORT = 64 << 10
#: A date that a log gives, as ISO 8601 or with slashes.
_DATE = re.compile(r"(?<!\d)(20[0-9]{2})[-/](0[1-9]|1[0-2])[-/](0[1-9]|[12][0-9]|3[01])(?!\d)")

#: The columns that :func:`diagnose_table` adds, with their Arrow types. Empty texts and nulls: not known.
COLUMNS: Mapping[str, str] = {
    "verdict": "string",
    "reason": "string",
    "issue": "string",
    "cause": "string",
    "title": "string",
    "confidence": "double",
    "cause_confidence": "double",
    "exception": "string",
    "message": "string",
    "fingerprint": "string",
    "place_user": "string",
    "place_library": "string",
    "failures": "int32",
    "model": "string",
    "torch": "string",
    "transformers": "string",
    "gpu": "string",
    "week": "string",
    "fix": "string",
    "fix_command": "string",
    "knowledge": "string",
    "error": "string",
}
_MESSAGE = 500


def diagnose_many(
    texts: Iterable[str | bytes],
    *,
    environment: str | Environment = "report",
    kb: KnowledgeBase | None = None,
    language: str = "en",
) -> Iterator[Diagnosis]:
    """Yield the diagnosis of each report, in their order.

    What each may take for granted is as for ``diagnose()``; by default only what it says.

    Raises:
        InputError: the environment cannot be used.
        KnowledgeError: there is no knowledge base to read.
    """
    base = kb if kb is not None else load_kb()
    known: dict[str | bytes, Diagnosis] = {}
    for text in texts:
        diagnosis = known.get(text)
        if diagnosis is None:
            diagnosis = diagnose(text, environment=environment, kb=base, language=language)
            if len(known) >= _REMEMBERED:
                known.clear()
            if len(text) <= _SHORT:
                known[text] = diagnosis
        yield diagnosis


def diagnose_table(table: pa.Table, *, column: str = "text", kb: KnowledgeBase | None = None, language: str = "en") -> pa.Table:
    """Diagnose every row of a table: ``column`` (string or binary) is replaced by the columns of :data:`COLUMNS`, the others stay.

    A column ``time`` (timestamp, date or text) gives the week; without one the first date in the report does. A row that cannot be
    diagnosed says why in ``error``; the table always has as many rows as it was given, in their order.

    Raises:
        InputError: there is no such column, or it holds neither text nor bytes.
    """
    import pyarrow as pa

    texts = _texts(table, column)
    base = kb if kb is not None else load_kb()
    times = table.column("time").to_pylist() if "time" in table.column_names else [None] * len(texts)
    known: dict[str | bytes, dict[str, Any]] = {}
    rows: list[dict[str, Any]] = []
    for text, time in zip(texts, times, strict=True):
        row = known.get(text)
        if row is None:
            row = _row(text, base, language)
            if len(known) >= _REMEMBERED:
                known.clear()
            if len(text) <= _SHORT:
                known[text] = row
        rows.append({**row, "week": _week(str(time)) or row["week"]} if time is not None else row)
    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in COLUMNS.items()])
    found = pa.Table.from_pylist(rows, schema=schema)
    kept = [name for name in table.column_names if name != column and name not in COLUMNS]
    return pa.table({**{name: table.column(name) for name in kept}, **{name: found.column(name) for name in COLUMNS}})


def _texts(table: pa.Table, column: str) -> list[str | bytes]:
    import pyarrow as pa

    if column not in table.column_names:
        raise InputError(f"there is no column {column!r}; there are {', '.join(table.column_names) or 'none'}")
    kind = table.schema.field(column).type
    # A frame without rows, or with nothing in them, has no type.
    if not (
        pa.types.is_null(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    ):
        raise InputError(f"column {column!r} is of type {kind}: give text or bytes")
    return [one if one is not None else "" for one in table.column(column).to_pylist()]


def _row(text: str | bytes, base: KnowledgeBase, language: str) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row["knowledge"] = base.version
    try:
        diagnosis = diagnose(text, environment="report", kb=base, language=language)
    except Exception as error:
        # One report in millions must not end the job.
        return {**row, "verdict": "unknown", "error": redact_text(f"{type(error).__name__}: {error}")}
    report = diagnosis.report
    row.update(verdict=diagnosis.verdict, reason=diagnosis.reason, failures=len(report.failures))
    failure = report.cause
    if failure is not None:
        row.update(
            exception=failure.root.type, message=redacted_start(failure.root.message, _MESSAGE), fingerprint=failure.fingerprint,
            place_user=failure.place.user, place_library=failure.place.library,
        )  # fmt: skip
    first = diagnosis.first
    if first is not None and diagnosis.verdict != "unknown":
        row.update(
            issue=first.issue, cause=first.cause, title=first.title, confidence=first.confidence, cause_confidence=first.cause_confidence
        )
        if first.recommended:
            row.update(fix=first.recommended[0].title, fix_command=first.recommended[0].command)
    row["model"] = next((one.value for one in report.mentions if one.kind == "model"), None)
    for name in ("torch", "transformers"):
        package = diagnosis.environment.package(name)
        row[name] = (package.version or None) if package is not None else None
    accelerators = diagnosis.environment.accelerators
    row["gpu"] = accelerators[0].name if accelerators else None
    row["week"] = _week(text[:100_000].decode("utf-8", "replace") if isinstance(text, bytes) else text[:100_000])
    return redact_data(row, personal=False)


def _week(text: str) -> str | None:
    """Return the ISO week (2026-W47) of the first date in a text."""
    match = _DATE.search(text)
    if match is None:
        return None
    from datetime import date

    try:
        year, week, _ = date(int(match[1]), int(match[2]), int(match[3])).isocalendar()
    except ValueError:
        return None
    return f"{year}-W{week:02d}"
