"""The result of a scan as one HTML page that needs nothing else."""

from __future__ import annotations

from troubleshoot.scale.scanning.problems import Problem, ScanResult
from troubleshoot.scale.scanning.scan_text import masked, place, ranges, summary_line
from troubleshoot.telling.document import Block, Document, Point, Prose, Section, Table
from troubleshoot.telling.html import to_html

_MOST_TABLE = 500
_MOST_DETAIL = 100


def result_page(result: ScanResult, *, personal: bool = False) -> str:
    """Return the page: a table of all problems, then each with its places and what to do."""
    rows = tuple(
        (str(one.count), one.verdict, one.issue or one.role, _what(one, personal), place(one.first, personal), place(one.last, personal))
        for one in result.problems[:_MOST_TABLE]
    )
    table = Table(("count", "verdict", "diagnosis", "what", "first", "last"), rows)
    blocks: list[Block] = [Prose(summary_line(result)), *([table] if rows else [])]
    blocks += [Point(note, "?") for note in (*result.notes, *(masked(str(one), personal) for one in result.left_out), *result.skipped)]
    sections = [Section("All", tuple(blocks), wide=True)]
    sections += [Section(f"{number}.", _detail(one, personal)) for number, one in enumerate(result.problems[:_MOST_DETAIL], 1)]
    count = len(result.problems)
    page = Document(badge="", title=f"{count} distinct problem{'s' * (count != 1)}", sections=tuple(sections))
    return to_html((page,))


def _what(one: Problem, personal: bool) -> str:
    message = " ".join(masked(one.message, personal).split())
    return (f"{one.exception}: {message}" if one.exception else message)[:200]


def _detail(one: Problem, personal: bool) -> tuple[Block, ...]:
    out: list[Block] = [Prose(_what(one, personal))]
    if one.verdict != "unknown":
        out.append(Prose(f"{one.verdict}, {one.confidence:.0%}: `{one.issue}`, {one.title}"))
        if one.advice:
            out.append(Point(one.advice + (f" (`{one.command}`)" if one.command else "")))
    if one.reader:
        out.append(Point(f"read by {one.reader}"))
    ranks = f", ranks {ranges(one.ranks)}" if one.ranks else ""
    out.append(Point(f"{one.count} times{ranks}; first {place(one.first, personal)}, last {place(one.last, personal)}"))
    out += [Point(f"in {masked(spot, personal)}") for spot in (one.user, one.library) if spot]
    return tuple(out)
