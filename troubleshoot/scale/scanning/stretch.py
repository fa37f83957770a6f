"""One pass over a stretch of a log: anchors are found, their neighbourhoods are cut out and read, everything else is only counted.

A neighbourhood (*region*) begins a little before an anchor and goes on as long as further anchors, or lines that belong to a traceback,
follow. A very long one is read in pieces that overlap, and each failure counts in the piece in which it begins: so does a failure at the
border of two stretches. That is why a log gives the same counts whole or in parts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from troubleshoot.basics.timelimit import OutOfTimeError, time_limit
from troubleshoot.reading.clean import CleanText, clean
from troubleshoot.reading.decode import decode
from troubleshoot.reading.failure_scan import quoted_lines, scan_streams, told_lines
from troubleshoot.reading.failures import assemble, fingerprint
from troubleshoot.reading.report import Failure
from troubleshoot.reading.stream import Chain, Scan
from troubleshoot.scale.scanning.anchors import Anchor
from troubleshoot.scale.scanning.examine import Examiner, rank_of, step_before, told_by
from troubleshoot.scale.scanning.finders import Finder, Hit
from troubleshoot.scale.scanning.problems import Spot, Tally
from troubleshoot.scale.scanning.repeats import Repeats, is_worth

_BEFORE = 8 << 10
_AFTER = 6 << 10
#: What goes on a traceback: frames, the sides of boxes, IPython's arrows, C++ stacks, pytest's lines, wrapped source.
_GOES_ON = (b'File "', "│".encode(), "❱".encode(), b"---->", b"--> ", b"frame #", b"\nE   ")
#: A region is read in pieces of this many bytes; neighbouring ones share the overlap, which no traceback should exceed.
PIECE = 1 << 20
OVERLAP = 256 << 10
#: A line longer than this is data, not prose: around an anchor as much of it is looked at.
_LINE = 2_000
#: Different lines that are diagnosed, and the shapes of lines that are remembered with their answer.
_MOST_LINES = 10_000
#: Different failures that are diagnosed; after them only the last one of a region is, for it may be the last one of all.
_MOST_FAILURES = 300
_UNDIAGNOSED = "not diagnosed: there are too many different failures"
_MOST_SHAPES = 20_000
#: Lines up to a failure among which the step is looked for.
_LINES_TO_STEP = 80
_DIGITS = b"0123456789"
#: After some stretches that took too long the limit is this part of what it was.
_LEAST_TIME = 20


@dataclass(frozen=True)
class _Line:
    """A line with words of a message or, ``symptom``, of a symptom."""

    number: int
    text: bytes
    symptom: bool


@dataclass
class _Region:
    """A neighbourhood while it is collected. ``first`` is its first line's number; failures count that begin at ``counted`` or later."""

    first: int
    counted: int
    data: bytearray = field(default_factory=bytearray)
    lines: list[_Line] = field(default_factory=list)


class Stretch:
    """Reads blocks of a log in order; :attr:`tally` holds what was found. Lines count from 1 at the first block."""

    def __init__(self, finder: Finder, anchors: Sequence[Anchor], examiner: Examiner, *, lead: int = 0, until: int | None = None) -> None:
        """Start a pass. The first ``lead`` bytes and those from ``until`` on belong to the neighbouring stretches.

        They are read for the sake of failures that reach over the border, and nothing that begins in them counts.
        """
        self.tally = Tally()
        self._finder = finder
        self._failures = frozenset(number for number, one in enumerate(anchors) if one.kind == "failure")
        self._symptoms = frozenset(number for number, one in enumerate(anchors) if one.kind == "symptom")
        self._examiner = examiner
        self._lead = lead
        self._until = until
        self._offset = 0
        #: line of the stretch's first own byte, and of the first byte after it
        self._own_first = 1
        self._own_past: int | None = None
        self._line = 1
        self._tail = b""
        self._region: _Region | None = None
        self._left = 0
        self._consumed = 1
        self._known: dict[bytes, str | None] = {}
        self._asked = 0
        self._diagnosed = 0
        self._undiagnosed: set[str] = set()
        self._seconds = examiner.seconds
        #: the shapes of lines that took too long
        self._slow: set[bytes] = set()
        self._repeats = Repeats(anchors, _LINE)
        #: lines of this block that are like an earlier one, and whether there were many of them in the last one
        self._again = 0
        self._dense = False
        #: by problem, the last place whose step is still to be looked for, with the line and what is before it
        self._unstepped: dict[str, tuple[Spot, bytes, bytes | None]] = {}

    @property
    def busy(self) -> bool:
        """Whether a region is open: the bytes that follow may belong to a failure that began already."""
        return self._region is not None

    @property
    def line(self) -> int:
        """The number of the line after the last block."""
        return self._line

    def feed(self, block: bytes | bytearray, end: int) -> None:
        """Read ``block[:end]``, which ends with a line."""
        start = self._offset
        self._mark_borders(block, end)
        self._again = 0
        owned = start >= self._lead and self._own_past is None
        hits = self._hits_beside_repeats(block, end) if self._dense and owned and self._region is None else None
        if hits is None:
            hits = self._finder.find(block, end)
        if not hits and self._region is None:
            self._line += block.count(b"\n", 0, end)
            self._remember(block, 0, end)
        else:
            failures = [at for at, number in hits if number in self._failures]
            lines = [(at, number) for at, number in hits if number not in self._failures]
            self._walk(block, end, failures, lines)
        self._dense = is_worth(self._again, end)
        self._look_for_steps()

    def _hits_beside_repeats(self, block: bytes | bytearray, end: int) -> list[Hit] | None:
        """Count the lines that are known, and return the hits in the others; None where the block has to be looked at as a whole."""
        taken = self._repeats.take(block, end)
        if taken is None:
            return None
        left, repeated = taken
        hits = self._finder.find(left, end) if left is not None else []
        if any(number in self._failures for _, number in hits):
            # What surrounds a failure is read together with it.
            return None
        for one in repeated:
            self._again += one.count
            if one.key is None:
                continue
            row = self.tally.rows.get(one.key)
            if row is None:
                self.tally.dropped += one.count
                continue
            line = _Line(self._line + block.count(b"\n", 0, one.start), bytes(block[one.start : one.stop]), True)
            row.count += one.count - 1
            self._see_again(one.key, line, bytes(block[max(0, one.start - _LINE) : one.start]))
            row.ranks.update(one.ranks)
        return hits

    def finish(self) -> None:
        """Read what is still open: the end of the log, or nothing has come for a while."""
        if self._region is not None:
            self._close()
            self._look_for_steps()

    # -- borders -------------------------------------------------------------------------------------------------------------

    def _mark_borders(self, block: bytes | bytearray, end: int) -> None:
        start = self._offset
        self._offset += end
        if start < self._lead <= self._offset:
            self._own_first = self._consumed = self._line + block.count(b"\n", 0, self._lead - start)
        if self._until is not None and start < self._until <= self._offset:
            self._own_past = self._line + block.count(b"\n", 0, self._until - start)
        elif self._until is not None and start >= self._until and self._own_past is None:
            self._own_past = self._line

    def _owns(self, line: int) -> bool:
        return line >= self._own_first and (self._own_past is None or line < self._own_past) and self._offset > self._lead

    def close_tally(self) -> Tally:
        """Return the tally with lines counted from 1 at the stretch's first own byte."""
        self.finish()
        past = self._line if self._own_past is None else self._own_past
        shift = self._own_first - 1
        self.tally.left_out = [(first - shift, last - shift) for first, last in self.tally.left_out]
        for row in self.tally.rows.values():
            row.first = Spot(row.first.line - shift, row.first.rank, row.first.step)
            row.last = Spot(row.last.line - shift, row.last.rank, row.last.step)
        self.tally.lines = past - self._own_first
        self.tally.bytes = (self._offset if self._until is None else min(self._offset, self._until)) - self._lead
        return self.tally

    # -- regions -------------------------------------------------------------------------------------------------------------

    def _walk(self, block: bytes | bytearray, end: int, failures: list[int], lines: list[Hit]) -> None:
        """Go through a block with hits: cut the regions out of it, look at single lines between them."""
        at, counted, hit, line_hit, looked = 0, 0, 0, 0, -1
        number = self._line

        def number_at(offset: int) -> int:
            nonlocal counted, number
            if offset > counted:
                number += block.count(b"\n", counted, offset)
                counted = offset
            return number

        while at < end:
            if self._region is None:
                if hit >= len(failures):
                    stop = end
                else:
                    start = max(at, failures[hit] - _BEFORE)
                    stop = max(at, block.rfind(b"\n", at, start) + 1) if start > at else at
            else:
                stop, hit = self._stop(block, at, end, failures, hit)
            while line_hit < len(lines) and lines[line_hit][0] < stop:
                place, anchor = lines[line_hit]
                line_hit += 1
                if place >= looked:
                    first, looked = _line_around(block, place, end)
                    self._single(_Line(number_at(place), bytes(block[first:looked]), anchor in self._symptoms), block, first)
            if self._region is None:
                if stop < end or hit < len(failures):
                    self._open(number_at(stop), self._tail if stop == 0 else b"")
                    # Everything up to the anchor belongs to the region for certain.
                    self._left = max(0, failures[hit] + _AFTER - stop)
                at = stop
                if stop >= end:
                    break
            else:
                self._region.data += block[at:stop]
                number_at(stop)
                if stop < end or self._left <= 0:
                    self._close(stop_line=number)
                at = stop
                while self._region is not None and len(self._region.data) > PIECE + OVERLAP:
                    self._split()
        number_at(end)
        self._line = number
        self._remember(block, 0 if self._region is not None else min(at, end), end)

    def _stop(self, block: bytes | bytearray, at: int, end: int, failures: list[int], hit: int) -> tuple[int, int]:
        """Return where the open region ends in this block, and the number of the first anchor behind it."""
        limit = at + self._left
        while True:
            while hit < len(failures) and failures[hit] - _BEFORE <= limit:
                limit = max(limit, failures[hit] + _AFTER)
                hit += 1
            if limit >= end:
                break
            further = max(block.rfind(mark, max(at, limit - _AFTER), limit) for mark in _GOES_ON) + _AFTER
            if further <= limit or further < _AFTER:
                break
            limit = further
        if limit >= end:
            # A mark near the end of the block keeps the region open beyond it.
            further = max(block.rfind(mark, max(at, end - _AFTER), end) for mark in _GOES_ON)
            self._left = max(limit, further + _AFTER if further >= 0 else 0) - end
            return end, hit
        self._left = 0
        stop = block.find(b"\n", max(limit - 1, 0), end) + 1
        return stop or end, hit

    def _open(self, number: int, before: bytes) -> None:
        self._region = _Region(number - before.count(b"\n"), self._consumed)
        self._region.data += before

    def _split(self) -> None:
        """Read the first piece of a long region, and keep what the next one needs of it."""
        region = self._region
        assert region is not None
        cut = region.data.rfind(b"\n", 0, PIECE) + 1 or PIECE
        border = region.first + region.data.count(b"\n", 0, cut)
        self._read(region, border, bytes(region.data[: PIECE + OVERLAP]))
        keep = max(0, cut - OVERLAP)
        keep = region.data.rfind(b"\n", 0, keep) + 1
        following = _Region(region.first + region.data.count(b"\n", 0, keep), max(border, region.counted))
        following.data += region.data[keep:]
        following.lines = [one for one in region.lines if one.number >= border]
        self._region = following

    def _close(self, stop_line: int | None = None) -> None:
        region = self._region
        assert region is not None
        self._region = None
        self._left = 0
        self._read(region, None, bytes(region.data))
        self._consumed = self._line if stop_line is None else stop_line
        self._tail = b""

    def _remember(self, block: bytes | bytearray, start: int, end: int) -> None:
        """Keep the end of the block, for an anchor at the beginning of the next one."""
        first = max(start, end - _BEFORE)
        if first > start:
            first = block.find(b"\n", first, end) + 1 or end
        older = self._tail if start == 0 and first == 0 else b""
        if len(older) + end > _BEFORE:
            older = older[older.find(b"\n", max(0, len(older) + end - _BEFORE)) + 1 :]
        self._tail = older + bytes(block[first:end])

    # -- reading -------------------------------------------------------------------------------------------------------------

    def _read(self, region: _Region, border: int | None, data: bytes) -> None:
        """Read a region's text; count the failures that begin before ``border`` (None: all)."""
        try:
            with time_limit(self._seconds):
                self._read_text(region, border, data)
        except OutOfTimeError:
            self._be_shorter()
            past = border if border is not None else region.first + data.count(b"\n") + (data[-1:] != b"\n")
            self.tally.leave_out(max(region.first, region.counted), past - 1)

    def _read_text(self, region: _Region, border: int | None, data: bytes) -> None:
        text = decode(data)
        rows = text.count("\n") + (text[-1:] != "\n")
        cleaned = clean(text, list(range(region.first, region.first + rows)))
        found = scan_streams(cleaned)
        failures = {failure.fingerprint: failure for failure in assemble(found, None)}
        occurrences: dict[str, list[Chain]] = {}
        for chain in found.chains:
            occurrences.setdefault(fingerprint(chain.exceptions), []).append(chain)
        counted: list[tuple[str, Chain]] = []
        for key in failures:
            chains = [one for one in occurrences[key] if not one.from_footer] or occurrences[key]
            for chain in chains:
                begin = min(min((frame.at for frame in one.frames), default=one.line) for one in chain.exceptions)
                if begin >= region.counted and (border is None or begin < border) and self._owns(begin):
                    counted.append((key, chain))
        self._count(failures, counted, found, cleaned)
        told: set[int] = set()
        spans: list[tuple[int, int]] = []
        if region.lines:
            exceptions = [one for chain in found.chains for one in chain.exceptions]
            told = told_by(exceptions)
            spans = _joined((min((frame.at for frame in one.frames), default=one.line), one.last_line) for one in exceptions)
        for line in region.lines:
            if border is None or line.number < border:
                # Between its frames a traceback quotes code, messages among it; another rank may well print a symptom there.
                quoted = line.number in told or (not line.symptom and _is_within(line.number, spans))
                if not quoted:
                    self._check(line, None)

    def _count(self, failures: dict[str, Failure], counted: list[tuple[str, Chain]], found: Scan, cleaned: CleanText) -> None:
        """Count the failures that were read from some text, each diagnosed when it comes for the first time."""
        if not counted:
            return
        raised = told_by([one for chain in found.chains for one in chain.exceptions])
        quoted, told_at = quoted_lines(found), told_lines(found)
        last, _ = max(counted, key=lambda one: one[1].exceptions[0].line)

        def tell(key: str) -> dict[str, Any]:
            failure = failures[key]
            if key != last and self._diagnosed >= _MOST_FAILURES and failure.role == "cause":
                self._undiagnosed.add(key)
                self.tally.undiagnosed += 1
                return self._examiner.listed(failure, _UNDIAGNOSED)
            if key in self._undiagnosed:
                self._undiagnosed.remove(key)
                self.tally.undiagnosed -= 1
            self._diagnosed += 1
            return self._examiner.failure(failure, raised, cleaned, quoted, told_at)

        spots: dict[int, Spot] = {}
        for key, chain in counted:
            row = self.tally.rows.get(key)
            if row is not None and row.told["role"] == "victim" and failures[key].role == "cause":
                # Where it came first, something else had failed before it.
                row.told = tell(key)
            spot = Spot(chain.exceptions[0].line, chain.rank)
            spots[id(spot)] = spot
            self.tally.see(key, spot, lambda key=key: tell(key))  # type: ignore[misc]
        if last in self._undiagnosed:
            self.tally.rows[last].told = tell(last)
        # Only the first and the last place of a problem are told with their step, and each line is searched for it once.
        step_of = cache(lambda row: step_before(cleaned.lines[row : row + 1]))
        rows = [self.tally.rows[key] for key in dict.fromkeys(key for key, _ in counted) if key in self.tally.rows]
        for spot in {id(spot): spot for row in rows for spot in (row.first, row.last) if id(spot) in spots}.values():
            past = bisect_right(cleaned.numbers, spot.line)
            before = (step_of(row) for row in range(past - 1, max(0, past - _LINES_TO_STEP) - 1, -1))
            spot.step = next((step for step in before if step is not None), None)

    # -- single lines ------------------------------------------------------------------------------------------------------------

    def _single(self, line: _Line, block: bytes | bytearray, at: int) -> None:
        if self._region is not None:
            self._region.lines.append(line)
        else:
            self._check(line, bytes(block[max(0, at - _LINE) : at]))

    def _check(self, line: _Line, before: bytes | None) -> None:
        """Count a line that holds words of a symptom or of a message, where the knowledge base knows it."""
        if not self._owns(line.number):
            return
        shape = line.text.translate(None, _DIGITS)
        if shape in self._known:
            key = self._known[shape]
            self._again += 1
            self._repeats.learn(shape, line.text, key)
            if key is not None:
                self._see_again(key, line, before)
            return
        if self._asked >= _MOST_LINES:
            self.tally.unread += 1
            return
        if shape in self._slow:
            self.tally.leave_out(line.number, line.number)
            return
        self._asked += 1
        try:
            with time_limit(self._seconds):
                answer = self._examiner.line(line.number, line.text)
        except OutOfTimeError:
            self._be_shorter()
            self._slow.add(shape)
            self.tally.leave_out(line.number, line.number)
            return
        if len(self._known) < _MOST_SHAPES:
            self._known[shape] = answer[0] if answer else None
        if answer:
            self.tally.see(answer[0], _spot(line, before), lambda: answer[1])


    def _be_shorter(self) -> None:
        """A log may hold many stretches that take too long: less and less time is given to them."""
        if self._seconds is not None and self._examiner.seconds is not None:
            self._seconds = max(self._seconds / 2, self._examiner.seconds / _LEAST_TIME)

    def _see_again(self, key: str, line: _Line, before: bytes | None) -> None:
        """Count a line of a known problem. The step is looked for later: all but the last place are forgotten."""
        spot = Spot(line.number, rank_of(line.text))
        self.tally.see(key, spot, dict)
        row = self.tally.rows.get(key)
        if row is not None and (row.last is spot or row.first is spot):
            self._unstepped[key] = (spot, line.text, before)

    def _look_for_steps(self) -> None:
        for spot, text, before in self._unstepped.values():
            spot.step = _step(text, before)
        self._unstepped.clear()


def _spot(line: _Line, before: bytes | None) -> Spot:
    return Spot(line.number, rank_of(line.text), _step(line.text, before))


def _step(text: bytes, before: bytes | None) -> int | None:
    step = step_before([text.decode("utf-8", "replace")])
    if step is None and before:
        step = step_before(before.decode("utf-8", "replace").replace("\r", "\n").split("\n"))
    return step


def _line_around(block: bytes | bytearray, at: int, end: int) -> tuple[int, int]:
    """Return the bounds of the line, or of the state of a progress bar, around an offset; of a very long one those of a part."""
    least, most = max(0, at - _LINE), min(end, at + _LINE)
    first = max(block.rfind(b"\n", least, at), block.rfind(b"\r", least, at)) + 1 or least
    stops = [stop for stop in (block.find(b"\n", at, most), block.find(b"\r", at, most)) if stop >= 0]
    return first, min(stops, default=most)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans of lines, first and last, in order and without overlaps."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _is_within(line: int, spans: list[tuple[int, int]]) -> bool:
    at = bisect_right(spans, line, key=lambda one: one[0])
    return at > 0 and line <= spans[at - 1][1]
