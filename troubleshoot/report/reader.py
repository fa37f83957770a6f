"""Text to Report."""

from __future__ import annotations

from troubleshoot.report.clean import clean
from troubleshoot.report.decode import decode, is_binary, looks_binary
from troubleshoot.report.failures import assemble
from troubleshoot.report.mentions import find_mentions
from troubleshoot.report.model import Report
from troubleshoot.report.scan import quoted_lines, scan
from troubleshoot.report.source import Source


def read_report(text: str | bytes) -> Report:
    """Read a pasted text or the bytes of a log; never raises, whatever is in it."""
    if isinstance(text, bytes):
        if is_binary(text):
            return Report((), (), reason="binary")
        text = decode(text)
    if looks_binary(text):
        return Report((), (), reason="binary")
    lines, numbers = clean(text)
    if not any(lines):
        return Report((), (), total_lines=len(lines), reason="empty")
    source = Source(lines, numbers)
    found = scan(source)
    mentions = find_mentions(lines, numbers, quoted_lines(found))
    return Report(tuple(lines), tuple(numbers), assemble(found.chains), mentions, total_lines=len(lines))
