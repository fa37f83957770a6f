"""Logs cut into units that can be read apart, on several cores or another day."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from troubleshoot.basics.errors import InputError
from troubleshoot.scale.scanning.anchors import Anchor
from troubleshoot.scale.scanning.examine import HEAD, Examiner
from troubleshoot.scale.scanning.finders import Finder
from troubleshoot.scale.scanning.problems import Tally
from troubleshoot.scale.scanning.sources import BLOCK, blocks, is_plain, open_log
from troubleshoot.scale.scanning.stretch import OVERLAP, Stretch

#: Bytes of a plain file that are read as one unit.
UNIT = 64 << 20
_SMALL = 64 << 10

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Unit:
    """A part of one file. ``stop`` None: the whole of a file that cannot be read from any offset."""

    path: str
    start: int
    stop: int | None

    @property
    def size(self) -> int:
        """Bytes on disk; 0 where it is not known."""
        return self.stop - self.start if self.stop is not None else 0


def units_of(path: str, done: int = 0, unit: int = UNIT) -> list[Unit]:
    """Return the units of a file from the byte ``done`` on. Raises InputError where it cannot be read."""
    try:
        if not is_plain(path):
            return [Unit(path, 0, None)]
        size = Path(path).stat().st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    return [Unit(path, start, min(start + unit, size)) for start in range(done, size, unit)]


def read_unit(
    one: Unit, finder: Finder, anchors: Sequence[Anchor], examiner_for: Callable[[bytes], Examiner], progress: Progress | None = None
) -> Tally:
    """Read one unit. ``examiner_for`` makes an examiner of a log's beginning.

    Raises:
        InputError: the file cannot be read, or is binary.
    """
    if one.stop is None or one.start == 0:
        file = open_log(one.path)
        head = bytes(file.peek(HEAD)[:HEAD])  # type: ignore[attr-defined]
        if one.stop is not None:
            file.close()
    else:
        head = read_head(one.path)
    examiner = examiner_for(head)
    if one.stop is None:
        stretch = Stretch(finder, anchors, examiner)
        note_head(examiner, stretch.tally)
        with file:
            for block, end in blocks(file):
                stretch.feed(block, end)
                if progress:
                    progress(end)
        return stretch.close_tally()
    try:
        with Path(one.path).open("rb", buffering=0) as raw:
            return _read_part(raw, one, finder, anchors, examiner, progress)
    except OSError as error:
        raise InputError(f"{one.path} cannot be read: {error.strerror or error}") from None


def note_head(examiner: Examiner, tally: Tally) -> None:
    """Note that the log's beginning took too long: versions and GPU are those that failures tell."""
    if examiner.left_out:
        tally.leave_out(1, examiner.left_out)


def _read_part(raw: BinaryIO, one: Unit, finder: Finder, anchors: Sequence[Anchor], examiner: Examiner, progress: Progress | None) -> Tally:
    assert one.stop is not None
    size = os.fstat(raw.fileno()).st_size
    start = line_start(raw, one.start)
    stop = line_start(raw, one.stop) if one.stop < size else size
    lead = line_start(raw, max(0, start - OVERLAP))
    last = stop == size
    stretch = Stretch(finder, anchors, examiner, lead=start - lead, until=None if last else stop - lead)
    if one.start == 0:
        note_head(examiner, stretch.tally)
    raw.seek(lead)
    for block, end in blocks(raw, stop - lead, last=last):
        stretch.feed(block, end)
        if progress:
            progress(end)
    # A failure that began before the border is read to its end.
    beyond = 0
    while stretch.busy and beyond < OVERLAP and not last:
        for block, end in blocks(raw, _SMALL, _SMALL, last=False):
            stretch.feed(block, end)
            beyond += end
            break
        else:
            break
    tally = stretch.close_tally()
    tally.bytes = stop - start
    return tally


def line_start(file: BinaryIO, at: int) -> int:
    """Return the offset of the first line that begins at ``at`` or later; ``at`` itself within a line that is longer than a block."""
    if at <= 0:
        return 0
    file.seek(at - 1)
    data = file.read(BLOCK)
    found = data.find(b"\n")
    return at + found if found >= 0 else at


def read_head(path: str, size: int = HEAD) -> bytes:
    """Return the first bytes of a plain file."""
    with Path(path).open("rb") as file:
        return file.read(size)


def head_mark(path: str, size: int) -> int:
    """Return a checksum of a file's first bytes, by which a rotated file is told from one that grew."""
    return zlib.crc32(read_head(path, min(4096, size)))
