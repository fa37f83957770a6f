"""Following logs as they are written: problems are reported when they occur, through rotation and truncation."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from troubleshoot.scale.scanning.examine import HEAD
from troubleshoot.scale.scanning.log_scan import Reader
from troubleshoot.scale.scanning.problems import Problem, ScanResult, Tally, left_out_of, problems_of
from troubleshoot.scale.scanning.stretch import Stretch
from troubleshoot.scale.scanning.units import note_head

_CHUNK = 256 << 10
_POLL = 0.25
#: Seconds without news after which an unfinished line or failure counts as complete.
_QUIET = 1.0
#: A line longer than this is not waited for.
_LONGEST = 4 << 20

Report = Callable[[Problem], None]


class Follower:
    """One log that grows: bytes go in, new problems come out as soon as they are complete."""

    def __init__(self, name: str, reader: Reader, report: Report) -> None:
        """Follow a log under the name that its places carry."""
        self._name = name
        self._reader = reader
        self._report = report
        self._done = Tally()
        self._said: set[str] = set()
        self._open()

    def _open(self) -> None:
        self._stretch: Stretch | None = None
        self._carry = b""
        self._fresh = time.monotonic()

    def feed(self, data: bytes) -> None:
        """Read what was written."""
        self._fresh = time.monotonic()
        data = self._carry + data
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) > _LONGEST:
            cut = len(data)
        self._carry = data[cut:]
        self._read(data[:cut])

    def idle(self, quiet: float = _QUIET) -> None:
        """Tell that nothing was written: after a while a last line without its end is read, and what is open reported."""
        if time.monotonic() - self._fresh >= quiet and self._stretch is not None:
            self._stretch.finish()
            self._tell()

    def restart(self) -> None:
        """Tell that the log begins anew: it was rotated or truncated."""
        self._end()
        self._open()

    def tally(self) -> Tally:
        """Return everything counted, and end."""
        self._end()
        return self._done

    def _end(self) -> None:
        if self._carry:
            self._read(self._carry + b"\n")
            self._carry = b""
        if self._stretch is not None:
            self._stretch.finish()
            self._tell()
            self._done.add(self._stretch.close_tally(), self._name)
            self._stretch = None

    def _read(self, data: bytes) -> None:
        if not data:
            return
        if self._stretch is None:
            examiner = self._reader.examiner(data[:HEAD])
            self._stretch = Stretch(self._reader.finder, self._reader.anchors, examiner)
            note_head(examiner, self._stretch.tally)
        self._stretch.feed(data, len(data))
        self._tell()

    def _tell(self) -> None:
        assert self._stretch is not None
        fresh = {key: row for key, row in self._stretch.tally.rows.items() if key not in self._said}
        if fresh:
            self._said |= fresh.keys()
            # Lines go on from those of the file before a rotation only in the sum at the end.
            for one in problems_of({self._name: Tally(fresh)}):
                self._report(one)


def follow_stdin(follower: Follower) -> None:
    """Follow standard input to its end."""
    descriptor = sys.stdin.fileno()
    pollable = os.name != "nt"
    while True:
        if pollable and not select.select([descriptor], [], [], _POLL)[0]:
            follower.idle()
            continue
        data = os.read(descriptor, _CHUNK)
        if not data:
            return
        follower.feed(data)


def follow_files(followers: dict[str, Follower], stopped: Callable[[], bool]) -> None:
    """Follow files as ``tail -F`` does, until ``stopped`` says so."""
    tails = {path: _tail(path, follower) for path, follower in followers.items()}
    while not stopped():
        read = [next(tail) for tail in tails.values()]
        if not any(read):
            for follower in followers.values():
                follower.idle()
            time.sleep(_POLL)


def _tail(path: str, follower: Follower) -> Iterator[bool]:
    """Yield, each time it is asked, whether there was something new to read."""
    file: BinaryIO | None = None
    known: os.stat_result | None = None
    while True:
        if file is None:
            try:
                file = Path(path).open("rb", buffering=0)  # noqa: SIM115
            except OSError:
                # Between the renaming of the old file and the making of the new one.
                yield False
                continue
            known = os.fstat(file.fileno())
        data = file.read(_CHUNK)
        if data:
            follower.feed(data)
            yield True
            continue
        try:
            now = Path(path).stat()
        except OSError:
            yield False
            continue
        assert known is not None
        if (now.st_ino, now.st_dev) != (known.st_ino, known.st_dev) or now.st_size < file.tell():
            # Rotated or truncated. What the old file got after the last read still counts.
            rest = file.read()
            if rest:
                follower.feed(rest)
            file.close()
            file = None
            follower.restart()
            yield True
            continue
        yield False


def result_of(followers: dict[str, Follower], reader: Reader, seconds: float) -> ScanResult:
    """Return everything that followers counted."""
    tallies = {path: follower.tally() for path, follower in followers.items()}
    return ScanResult(
        problems_of(tallies), len(tallies), sum(one.lines for one in tallies.values()), sum(one.bytes for one in tallies.values()),
        seconds, reader.finder.name, left_out=left_out_of(tallies),
    )  # fmt: skip
