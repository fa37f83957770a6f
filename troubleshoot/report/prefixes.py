"""Prefixes that launchers, containers, loggers and editors put before each line: recognised, removed, and used to tell streams apart.

Well-known ones have patterns. Others are inferred: whatever stands before ``File "...", line N`` on several lines is a prefix.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

_MARK = 'File "'
_FRAME = re.compile(r'File "[^"\n]{1,4096}", line \d')
_HEADER = "Traceback (most recent call last):"
#: Characters that a well-known prefix begins with.
_FIRSTS = frozenset("[(0123456789")
_SYSLOG = frozenset("JFMASOND")
_LEVELS = frozenset("IWEFD")
_MOST_PARTS = 8
_MOST_TEMPLATES = 12
_MOST_ANCHORS = 2000

_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
_DATE = r"(?:\d{4}[-/]\d\d[-/]\d\d|\d\d[-/]\d\d[-/]\d{4}|\d\d-\d\d)"


@lru_cache(maxsize=1)
def _part() -> re.Pattern[str]:
    """The well-known parts. ``stream`` tells processes apart, ``rank`` is the rank; the others are dropped."""
    return re.compile(
        r"[ \t]*(?:"
        r"(?P<r1>\[(?:default_?|rank[ _:]?|RANK[ _:]?|Rank[ _:]?|worker[ _:]?)(?P<rank1>\d{1,5})\]:?)[ ]?"
        r"|(?P<r2>\[\d+,(?P<rank2>\d{1,5})\]<std(?:out|err|diag)>:?)[ ]?"
        r"|(?P<r3>\((?:[\w.:-]{1,80} )?(?:rank=(?P<rank3>\d{1,5}) )?pid=\d+[^()\n]{0,60}\))[ ]?"
        rf"|(?P<t1>[\[(]?{_DATE}(?:T|, ?| )(?:{_CLOCK})[\])]?)(?: - | \| |[ \t:]|$)"
        rf"|(?P<t2>\[?{_CLOCK}\]?)(?: - | \| |[ \t]|$)"
        r"|(?P<t3>(?:std(?:out|err)) [FP](?: |$))"
        r"|(?P<t4>[IWEFD]\d{4} \d\d:\d\d:\d\d\.\d{1,9} +\d{1,9} [^\]\n]{1,160}\] ?)"
        rf"|(?P<t5>[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d [\w.-]{{1,80}} [\w./@-]{{1,80}}(?:\[\d+\])?: )"
        rf"|(?P<t6>(?:INFO|ERROR|WARNING|DEBUG|CRITICAL) {_DATE} {_CLOCK} \[[\w./-]{{1,80}}:\d+\](?: |$))"
        r"|(?P<t7>\[(?:INFO|ERROR|WARNING|WARN|DEBUG|CRITICAL|FATAL)[ \t]*\] ?)"
        r"|(?P<t8>\[[\w./-]{1,80}\.py:\d{1,6}(?::[\w<>]{1,80})?\] ?)"
        r"|(?P<t9>\[PID \d+\] ?)"
        r")"
    )


def strip_prefixes(lines: list[str]) -> tuple[list[str], list[str], dict[str, int], list[bool] | None] | None:
    """Return (lines without prefixes, stream of each line, rank of each stream that has one, which lines have a time).

    None where there are no prefixes.
    """
    anchors = _anchors(lines)
    if anchors is None:
        return None
    learned = _learn(lines, anchors)
    part = _part()
    bare: list[str] = []
    streams: list[str] = []
    ranks: dict[str, int] = {}
    stamped: list[bool] = []
    changed = False
    for line in lines:
        at = 0
        stream = ""
        timed = False
        for _ in range(_MOST_PARTS):
            match = part.match(line, at) if line[at : at + 1] else None
            if match and match.end() > at:
                at = match.end()
                kind = match.lastgroup or ""
                if kind[0] == "t":
                    timed = True
                else:
                    rank = match["rank1"] or match["rank2"] or match["rank3"]
                    stream += match[0].strip()
                    if rank is not None:
                        ranks[stream] = int(rank)
                continue
            if learned:
                match = learned.pattern.match(line, at)
                if match and match.end() > at:
                    at = match.end()
                    if learned.streams:
                        name = match[0].strip()
                        stream += name
                        number = learned.rank(name)
                        if number is not None:
                            ranks[stream] = number
                    continue
            break
        if at:
            changed = True
            line = line[at:]
        bare.append(line)
        streams.append(stream)
        stamped.append(timed)
    if not changed:
        return None
    # A longer stream name ([rank0] after a container's) inherits the rank that its beginning was given.
    for stream in dict.fromkeys(streams):
        if stream and stream not in ranks:
            known = [rank for name, rank in ranks.items() if stream.startswith(name)]
            if known:
                ranks[stream] = known[0]
    return bare, streams, ranks, stamped if any(stamped) else None


class _Learned:
    """Prefixes inferred from the frames of this text."""

    def __init__(self, pattern: re.Pattern[str], streams: bool, digits: bool) -> None:
        self.pattern = pattern
        self.streams = streams
        self.digits = digits

    def rank(self, name: str) -> int | None:
        match = re.search(r"rank[ _:=]?(\d{1,5})", name, re.IGNORECASE) or (re.search(r"\d{1,5}", name) if self.digits else None)
        if not match:
            return None
        return int(match[1] if match.re.groups else match[0])


def _anchors(lines: list[str]) -> list[tuple[int, int]] | None:
    """Return (line, column) of frames and headers that something stands before; None where no line can have a prefix."""
    anchors: list[tuple[int, int]] = []
    likely = False
    for row, line in enumerate(lines):
        first = line[:1]
        if first == " ":
            # Most lines of a traceback: behind blanks only a frame or a header tells of a prefix.
            if _MARK not in line and _HEADER not in line:
                continue
        elif not likely and (
            first in _FIRSTS
            or ((first in _SYSLOG or first in _LEVELS) and line[1:5].isdigit())
            or (first in _SYSLOG and line[3:4] == " " and line[6:7] == " ")
        ):
            likely = True
        at = line.find(_MARK)
        if at > 0 and not line[:at].isspace():
            if _FRAME.match(line, at):
                anchors.append((row, at))
                likely = True
        elif at < 0:
            at = line.find(_HEADER)
            if at > 0 and not line[:at].isspace():
                anchors.append((row, at))
                likely = True
        if not likely and first and line.startswith(("stderr ", "stdout ", "ERROR ", "INFO ", "WARNING ")):
            likely = True
    return anchors if likely else None


def _learn(lines: list[str], anchors: list[tuple[int, int]]) -> _Learned | None:
    counts: dict[str, list[int]] = {}
    lettered: set[str] = set()
    for row, column in anchors[:_MOST_ANCHORS]:
        head = lines[row][:column]
        if len(head) > 400:
            continue
        rest = head[_skip_parts(head, 0) :].rstrip()
        # What is unknown may stand before what is known: a container's name before a time.
        for split in re.finditer(r"[ |:\])>]+", rest):
            at = head.find(rest) + split.end()
            if rest[split.end() :] and _skip_parts(head, at) > at + 3:
                rest = rest[: split.end()].rstrip()
                break
        if not rest.strip() or len(rest) > 120 or not _prefix_like(rest):
            continue
        template = _template(rest)
        counts.setdefault(template, []).append(row)
        if any(letter.isalpha() for letter in rest):
            lettered.add(template)
    # Once is an accident (a progress bar before a header); twice is a prefix.
    chosen = [template for template, rows in counts.items() if len(rows) >= 2][:_MOST_TEMPLATES]
    if not chosen:
        return None
    pattern = re.compile("|".join(sorted(chosen, key=len, reverse=True)))
    digits = lettered.isdisjoint(chosen)
    numbered = digits and _counts_up(lines, pattern)
    return _Learned(pattern, not numbered and any(r"\d" in template for template in chosen), digits)


def _skip_parts(line: str, at: int) -> int:
    """Return the column after the well-known parts that begin at ``at``."""
    part = _part()
    for _ in range(_MOST_PARTS):
        match = part.match(line, at) if line[at : at + 1] else None
        if not match or match.end() == at:
            break
        at = match.end()
    return at


def _prefix_like(rest: str) -> bool:
    last = rest[-1]
    if "Traceback" in rest or "it/s" in rest or '"' in rest or rest.strip() == "traceback :" or not rest.strip("|+-> "):
        return False
    return last in ":|])>-" or last.isdigit()


def _template(rest: str) -> str:
    """Turn one prefix into a pattern: digits and blanks may vary."""
    stripped = rest.lstrip()
    pieces = re.split(r"(\d+|[ \t]+)", stripped)
    body = "".join(r"\d+" if piece.isdigit() else r"[ \t]+" if piece.isspace() else re.escape(piece) for piece in pieces if piece)
    return rf"[ \t]*{body}(?:[ \t]|(?=[^\w ])|$)" if stripped[-1].isdigit() else rf"[ \t]*{body}[ \t]?"


def _counts_up(lines: list[str], pattern: re.Pattern[str]) -> bool:
    """Tell whether the numbers are line numbers: each one more than the one before."""
    values: list[int] = []
    for line in lines[:2000]:
        match = pattern.match(line)
        if match:
            digits = re.search(r"\d+", match[0])
            if digits:
                values.append(int(digits[0][:9]))
    steps = sum(1 for one, other in pairwise(values) if other == one + 1)
    return len(values) >= 3 and steps * 10 >= 8 * (len(values) - 1)
