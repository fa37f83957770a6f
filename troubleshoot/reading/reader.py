"""Text to Report."""

from __future__ import annotations

from troubleshoot.reading.clean import clean
from troubleshoot.reading.decode import decode, encodable, is_binary, looks_binary
from troubleshoot.reading.failure_scan import quoted_lines, scan_streams, told_lines
from troubleshoot.reading.failures import assemble
from troubleshoot.reading.mentions import find_mentions
from troubleshoot.reading.report import Report

#: Characters (bytes of a file) up to which a report is kept whole.
WHOLE_LIMIT = 2 << 20


def read_report(text: str | bytes) -> Report:
    """Read a pasted text or the bytes of a log; never raises, whatever is in it."""
    if isinstance(text, bytes):
        if is_binary(text):
            return empty_report("binary")
        text = decode(text)
    else:
        text = encodable(text)
    if looks_binary(text):
        return empty_report("binary")
    if len(text) > WHOLE_LIMIT:
        from troubleshoot.reading.report_files import read_long_text

        return read_long_text(text)
    return read_lines(text, None, text.count("\n") + (text[-1:] not in ("", "\n")))


def read_lines(text: str, numbers: list[int] | None, total: int, truncated: bool = False) -> Report:
    """Read the lines of ``text``, whose numbers (None: 1, 2, ...) are those in a text of ``total`` lines."""
    if not text.strip():
        return empty_report("empty", total)
    cleaned = clean(text, numbers)
    if not any(cleaned.lines):
        return empty_report("empty", total)
    found = scan_streams(cleaned)
    mentions = find_mentions(cleaned.lines, cleaned.numbers, quoted_lines(found), told_lines(found))
    return Report(tuple(cleaned.lines), tuple(cleaned.numbers), assemble(found), mentions, truncated or cleaned.cut, total)


def empty_report(reason: str, total: int = 0) -> Report:
    """Return the report of a text that holds nothing to read."""
    return Report((), (), total_lines=total, reason=reason)
