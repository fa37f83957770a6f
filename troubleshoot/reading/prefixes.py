"""Prefixes that launchers, containers, loggers and editors put before each line: recognised, removed, and used to tell streams apart.

Well-known ones have patterns. Others are inferred: whatever stands before ``File "...", line N`` on several lines is a prefix.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, pairwise

from troubleshoot.basics.patterns import anchored, searched

_MARK = 'File "'
_FRAME = anchored(r'File "[^"\n]{1,4096}", line \d')
_HEADER = "Traceback (most recent call last):"
#: Characters that a well-known prefix begins with.
_FIRSTS = frozenset("[(0123456789")
_SYSLOG = frozenset("JFMASOND")
_LEVELS = frozenset("IWEFD")
_MOST_PARTS = 8
_MOST_TEMPLATES = 12
_MOST_ANCHORS = 2000
#: Characters of a line in which its prefix ends, and of a learned prefix.
_LONGEST_HEAD, _LONGEST_LEARNED = 400, 120
#: Places of a head at which a known part is looked for: a container's name has a few words.
_MOST_SPLITS = 12
#: No job prints more streams than this; further names are data that look like prefixes.
_MOST_STREAMS = 4096

_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
_DATE = r"(?:\d{4}[-/]\d\d[-/]\d\d|\d\d[-/]\d\d[-/]\d{4}|\d\d-\d\d)"


@lru_cache(maxsize=1)
def _part() -> re.Pattern[str]:
    """The well-known parts. ``stream`` tells processes apart, ``rank`` is the rank; the others are dropped."""
    return anchored(
        r"[ \t]*+(?:"
        r"(?P<r1>\[(?:default_?|rank[ _:]?|RANK[ _:]?|Rank[ _:]?|worker[ _:]?)(?P<rank1>\d{1,5})\]:?)[ ]?"
        r"|(?P<r2>\[\d+,(?P<rank2>\d{1,5})\]<std(?:out|err|diag)>:?)[ ]?"
        r"|(?P<r3>\((?:[\w.:-]{1,80} )?(?:rank=(?P<rank3>\d{1,5}) )?pid=\d++[^()\n]{0,60}\))[ ]?"
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
    names: dict[str, None] = {}
    ranks: dict[str, int] = {}
    stamped: list[bool] = []
    changed = False
    for line in lines:
        if not line:
            bare.append(line)
            streams.append("")
            stamped.append(False)
            continue
        at = 0
        stream = ""
        timed = False
        for _ in range(_MOST_PARTS):
            match = part.match(line, at) if at < len(line) else None
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
                end = learned.end(line, at)
                if end > at:
                    name = line[at:end].strip()
                    at = end
                    if learned.streams:
                        stream += name
                        number = learned.rank(name)
                        if number is not None:
                            ranks[stream] = number
                    continue
            break
        if at:
            changed = True
            line = line[at:]
        if len(names) >= _MOST_STREAMS and stream not in names:
            stream = ""
        names[stream] = None
        bare.append(line)
        streams.append(stream)
        stamped.append(timed)
    if not changed:
        return None
    # A longer stream name ([rank0] after a container's) inherits the rank that its beginning was given.
    lengths = sorted({len(name) for name in ranks})
    for stream in names:
        if stream and stream not in ranks:
            known = next((stream[:length] for length in lengths if stream[:length] in ranks), None)
            if known is not None:
                ranks[stream] = ranks[known]
    return bare, streams, ranks, stamped if any(stamped) else None


#: What varies in a prefix from line to line: digits (those that everybody types) and blanks.
_VARIES = searched(r"[0-9]+|[ \t]+")
_NUMBER = searched(r"[0-9]+")
_RANK = searched(r"rank[ _:=]?([0-9]{1,5})", re.IGNORECASE)


def _shape(text: str) -> str:
    """Return a text with each number as ``0`` and each run of blanks as one blank: two prefixes of one kind have the same."""
    return _VARIES.sub(lambda match: "0" if match[0][0] not in " \t" else " ", text)


class _Learned:
    """Prefixes inferred from the frames of this text, as shapes; they are compared, and never become patterns."""

    def __init__(self, shapes: list[str], digits: bool) -> None:
        self.shapes = tuple(sorted(shapes, key=len, reverse=True))
        self.digits = digits
        self.streams = False

    def end(self, line: str, at: int) -> int:
        """Return where a learned prefix of a line that begins at ``at`` ends, with the blank behind it; ``at`` where there is none."""
        head = line[at : at + _LONGEST_HEAD]
        bare = head.lstrip(" \t")
        shape = _shape(bare)
        if not shape.startswith(self.shapes):
            return at
        start = at + len(head) - len(bare)
        for one in self.shapes:
            if shape.startswith(one):
                end = self._behind(line, start, one)
                if end is not None:
                    return end
        return at

    @staticmethod
    def _behind(line: str, start: int, shape: str) -> int | None:
        end = start
        for char in shape:
            # A number or a run of blanks is as long as it is in this line; every other character is itself.
            varying = _VARIES.match(line, end) if char in "0 " else None
            end = varying.end() if varying else end + 1
        behind = line[end : end + 1]
        if shape[-1] == "0" and behind and behind not in " \t" and (behind.isalnum() or behind == "_"):
            return None
        return end + (behind in (" ", "\t"))

    def rank(self, name: str) -> int | None:
        match = _RANK.search(name) or (_NUMBER.search(name[:_LONGEST_LEARNED]) if self.digits else None)
        if not match:
            return None
        return int((match[1] if match.re.groups else match[0])[:5])


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


_SPLIT = searched(r"[ |:\])>]+")


def _learn(lines: list[str], anchors: list[tuple[int, int]]) -> _Learned | None:
    counts: dict[str, int] = {}
    lettered: set[str] = set()
    for row, column in anchors[:_MOST_ANCHORS]:
        head = lines[row][:column]
        if len(head) > _LONGEST_HEAD:
            continue
        rest = head[_skip_parts(head, 0) :].rstrip()
        # What is unknown may stand before what is known: a container's name before a time.
        for split in islice(_SPLIT.finditer(rest), _MOST_SPLITS):
            at = head.find(rest) + split.end()
            if rest[split.end() :] and _skip_parts(head, at) > at + 3:
                rest = rest[: split.end()].rstrip()
                break
        if not rest.strip() or len(rest) > _LONGEST_LEARNED or not _prefix_like(rest):
            continue
        shape = _shape(rest.lstrip(" \t"))
        counts[shape] = counts.get(shape, 0) + 1
        if any(letter.isalpha() for letter in rest):
            lettered.add(shape)
    # Once is an accident (a progress bar before a header); twice is a prefix.
    chosen = [shape for shape, times in counts.items() if times >= 2][:_MOST_TEMPLATES]
    if not chosen:
        return None
    learned = _Learned(chosen, lettered.isdisjoint(chosen))
    numbered = learned.digits and _counts_up(lines, learned)
    learned.streams = not numbered and any("0" in shape for shape in chosen)
    return learned


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
    return last in ":|])>-0123456789"


def _counts_up(lines: list[str], learned: _Learned) -> bool:
    """Tell whether the numbers are line numbers: each one more than the one before."""
    values: list[int] = []
    for line in lines[:2000]:
        end = learned.end(line, 0)
        digits = _NUMBER.search(line[:end]) if end else None
        if digits:
            values.append(int(digits[0][:9]))
    steps = sum(1 for one, other in pairwise(values) if other == one + 1)
    return len(values) >= 3 and steps * 10 >= 8 * (len(values) - 1)
