"""The last failure of a log, read from its end: the answer to "why did it stop" without reading the whole of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from troubleshoot.scale.scanning.log_scan import Reader
from troubleshoot.scale.scanning.problems import LeftOut, ScanResult, Tally, left_out_of, problems_of
from troubleshoot.scale.scanning.sources import blocks, is_plain
from troubleshoot.scale.scanning.units import Unit, line_start

_FIRST = 4 << 20


def last_failure(path: str, reader: Reader) -> ScanResult:
    """Return the last failure of a log as its only problem, counted in the part that was read; of a log without one the last symptom.

    A plain file is read backwards, in parts of 4 MiB, 16 MiB, ...; a compressed one, or standard input, from its beginning.
    Raises InputError where the log cannot be read.
    """
    started = time.monotonic()
    if not is_plain(path):
        tally = reader.read(Unit(path, 0, None))
        return _result(path, tally, _of_failure(tally) or tally, reader, started, left_out_of({path: tally}))
    stop = Path(path).stat().st_size
    read = Tally()
    symptoms: tuple[Tally, int] | None = None
    part = _FIRST
    left_out: list[LeftOut] = []
    while stop > 0:
        start = max(0, stop - part)
        found = reader.read(Unit(path, start, stop))
        read.bytes += found.bytes
        read.lines += found.lines
        if found.left_out:
            slow = Tally(lines=found.lines, left_out=found.left_out, left_out_more=found.left_out_more)
            left_out += left_out_of({path: _numbered(path, start, slow)})
        failure = _of_failure(found)
        if failure is not None:
            return _result(path, read, _numbered(path, start, failure), reader, started, left_out)
        if found.rows and symptoms is None:
            symptoms = (found, start)
        stop, part = start, part * 4
    last = _numbered(path, symptoms[1], symptoms[0]) if symptoms is not None else Tally()
    return _result(path, read, last, reader, started, left_out)


def _of_failure(tally: Tally) -> Tally | None:
    """Return a tally of the failures alone, of causes where there are any; None where nothing failed."""
    for wanted in (("cause",), ("victim", "launcher")):
        rows = {key: row for key, row in tally.rows.items() if row.told["kind"] == "failure" and row.told["role"] in wanted}
        if rows:
            return Tally(rows, tally.lines, tally.bytes)
    return None


def _numbered(path: str, start: int, tally: Tally) -> Tally:
    """Return the tally with line numbers of the whole file: the lines before ``start`` are counted, not read."""
    before = Tally()
    with Path(path).open("rb", buffering=0) as file:
        own = line_start(file, start)
        file.seek(0)
        before.lines = sum(block.count(b"\n", 0, end) for block, end in blocks(file, own))
    before.add(tally, path)
    return before


def _result(path: str, read: Tally, tally: Tally, reader: Reader, started: float, left_out: Sequence[LeftOut]) -> ScanResult:
    problems = problems_of({path: tally})
    last = max(problems, key=lambda one: one.last.line, default=None)
    return ScanResult(
        (last,) if last else (), 1, read.lines, read.bytes, time.monotonic() - started, reader.finder.name,
        notes=("read from the end: counts are those of the part that was read",) if last and read.bytes else (),
        left_out=tuple(left_out),
    )  # fmt: skip
