"""``scan()``: files to units, units to tallies, tallies to problems."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache

from troubleshoot.basics.errors import InputError
from troubleshoot.knowledge import KnowledgeBase, load_kb
from troubleshoot.reader import Prompt, Reply
from troubleshoot.reader import Reader as Model
from troubleshoot.reading.environment.machine import Environment
from troubleshoot.scale.scanning.anchors import Anchor, anchors_of, digest
from troubleshoot.scale.scanning.examine import Examiner
from troubleshoot.scale.scanning.finders import Finder, open_finder
from troubleshoot.scale.scanning.problems import ScanResult, Tally, left_out_of, problems_of
from troubleshoot.scale.scanning.sources import find_files
from troubleshoot.scale.scanning.state import State
from troubleshoot.scale.scanning.units import UNIT, Unit, read_unit, units_of

#: (bytes read, bytes in all or 0, distinct problems so far)
Progress = Callable[[int, int, int], None]

_SAVE_EVERY = 2.0
#: Distinct failures that a model is asked about, for each process.
_READ = 20


@dataclass
class Sparing:
    """A model that is asked a few times only: a log may hold hundreds of distinct failures."""

    of: Model
    left: int = field(default=_READ)

    @property
    def model(self) -> str:
        """Its name."""
        return self.of.model

    def ask(self, prompt: Prompt) -> Reply:
        """Ask it, as long as it may be asked."""
        if self.left <= 0:
            return Reply(problem="busy")
        self.left -= 1
        return self.of.ask(prompt)


@dataclass(frozen=True)
class Options:
    """What a worker needs to know to read a unit; plain data, so that it can be sent to another process."""

    finder: str = "auto"
    overlays: tuple[str, ...] = ()
    environment: Environment | None = None
    gpu: str | None = None
    have: tuple[tuple[str, str], ...] = ()
    language: str = "en"
    seconds: float | None = None
    reader: Model | None = None


class Reader:
    """Reads units: the knowledge base, the anchors and the engine, made once per process."""

    def __init__(self, options: Options, kb: KnowledgeBase | None = None) -> None:
        """Load what reading needs."""
        self.base = kb if kb is not None else load_kb(options.overlays)
        self.anchors: tuple[Anchor, ...] = anchors_of(self.base)
        self.finder: Finder = open_finder(self.anchors, options.finder)
        self._options = options
        self._examiner: tuple[bytes, Examiner] | None = None
        self._model = Sparing(options.reader) if options.reader is not None else None
        # Waiting for a model is no work on the log.
        self._seconds = options.seconds
        if options.seconds is not None and options.reader is not None:
            self._seconds = options.seconds + _READ * (options.reader.seconds + 1)

    def examiner(self, head: bytes) -> Examiner:
        """Return the examiner for a log that begins so; that of the log before is used again where the log is the same."""
        if self._examiner is None or self._examiner[0] != head:
            one = self._options
            made = Examiner(
                self.base, head, one.environment, language=one.language, gpu=one.gpu, have=dict(one.have), seconds=self._seconds,
                reader=self._model,
            )  # fmt: skip
            self._examiner = (head, made)
        return self._examiner[1]

    def read(self, unit: Unit, progress: Callable[[int], None] | None = None) -> Tally:
        """Read one unit. Raises InputError where its file cannot be read."""
        return read_unit(unit, self.finder, self.anchors, self.examiner, progress)


@lru_cache(maxsize=1)
def _reader(options: Options) -> Reader:
    return Reader(options)


def _read_in_process(options: Options, unit: Unit) -> Tally | str:
    try:
        return _reader(options).read(unit)
    except InputError as error:
        return str(error)


def scan(
    paths: Iterable[str | os.PathLike[str]],
    *,
    jobs: int = 1,
    finder: str = "auto",
    kb: KnowledgeBase | None = None,
    overlays: Sequence[str] = (),
    environment: Environment | None = None,
    gpu: str | None = None,
    have: Mapping[str, str] | None = None,
    language: str = "en",
    state: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    unit: int = UNIT,
    timeout: float | None = None,
    reader: Model | None = None,
) -> ScanResult:
    """Find and diagnose every failure and symptom in logs: one row per distinct problem.

    ``paths`` are files (plain, gzip, xz, bzip2, zstd; any encoding), folders, or "-" for standard input. ``jobs``: processes, 0 for one per
    core. ``finder``: "hyperscan", "python", or "auto" for whichever is there. ``environment`` is what the caller knows of the machine;
    without it only what the logs say counts. ``state``: a file by which an interrupted
    scan goes on, and a log that grew is read from where it ended. ``timeout``: seconds that one stretch of a log may take,
    by an alarm signal in the main thread; what takes longer is left out, see ``left_out``. ``reader`` is a language model that reads the
    first distinct failures too; without it nothing is sent.

    Raises:
        InputError: a path does not exist, or none can be read.
    """
    started = time.monotonic()
    files, skipped = find_files(os.fspath(path) for path in paths)
    options = Options(finder, tuple(overlays), environment, gpu, tuple(sorted((have or {}).items())), language, timeout, reader)
    reading = Reader(options, kb)
    if kb is not None and jobs != 1:
        raise InputError("several processes each load the knowledge base: name folders of entries with overlays=, or use jobs=1")
    whose = f"{reading.base.version}-{digest(reading.anchors)}" + (f"-{reader.model}" if reader is not None else "")
    kept = State(os.fspath(state), whose) if state is not None else None
    run = _Run(reading, options, jobs or os.cpu_count() or 1, kept, progress, unit)
    run.go(files)
    if not run.tallies and run.skipped:
        raise InputError("; ".join(run.skipped))
    notes = (*([kept.damaged] if kept is not None and kept.damaged else []), *_notes(run.tallies.values()))
    return ScanResult(
        problems_of(run.tallies), len(run.tallies), sum(one.lines for one in run.tallies.values()),
        sum(one.bytes for one in run.tallies.values()), time.monotonic() - started, reading.finder.name,
        (*skipped, *run.skipped), notes, left_out_of(run.tallies),
    )  # fmt: skip


def _notes(tallies: Iterable[Tally]) -> tuple[str, ...]:
    dropped = unread = undiagnosed = 0
    for one in tallies:
        dropped += one.dropped
        unread += one.unread
        undiagnosed += one.undiagnosed
    notes = []
    if dropped:
        notes.append(f"{dropped} occurrences of further problems are not listed: there are too many different ones")
    if unread:
        notes.append(f"{unread} lines that resemble symptoms were not looked at: there are too many different ones")
    if undiagnosed:
        notes.append(f"{undiagnosed} failures are listed and were not diagnosed: there are too many different ones")
    return tuple(notes)


class _Run:
    """One scan: what is still to be read, what was found."""

    def __init__(self, reader: Reader, options: Options, jobs: int, state: State | None, progress: Progress | None, unit: int) -> None:
        self.reader = reader
        self.options = options
        self.jobs = jobs
        self.state = state
        self.progress = progress
        self.unit = unit
        self.tallies: dict[str, Tally] = {}
        self.skipped: list[str] = []
        self._done = 0
        self._total = 0
        self._saved = time.monotonic()

    def go(self, files: list[str]) -> None:
        """Read all files."""
        units: list[Unit] = []
        known: dict[str, tuple[int, Tally]] = {}
        for file in files:
            done, tally, rest = self.state.known(file) if self.state is not None else (0, Tally(), None)
            if rest is not None:
                tally.add(rest, file)
                self.tallies[file] = tally
                continue
            try:
                units += units_of(file, done, self.unit) or self._empty(file)
            except InputError as error:
                self.skipped.append(str(error))
                continue
            known[file] = (done, tally)
        self._total = 0 if any(unit.stop is None for unit in units) else sum(unit.size for unit in units)
        for unit, answer in self._read_all(units):
            if isinstance(answer, str):
                self.skipped.append(answer)
            else:
                self._add(unit, answer, known)
        if self.state is not None:
            self.state.save()

    def _empty(self, file: str) -> list[Unit]:
        """An empty file counts as read."""
        self.tallies.setdefault(file, Tally())
        return []

    def _add(self, unit: Unit, found: Tally, known: dict[str, tuple[int, Tally]]) -> None:
        done, tally = known[unit.path]
        whole = unit.stop is not None and unit.size == self.unit
        if self.state is not None and not whole:
            before = Tally.from_state(tally.to_state())
            self.state.note(unit.path, unit.stop, done, before, found)
        tally.add(found, unit.path)
        if whole:
            known[unit.path] = (unit.start + unit.size, tally)
            if self.state is not None:
                self.state.note(unit.path, unit.stop, unit.start + unit.size, tally, None)
        self.tallies[unit.path] = tally
        if self.jobs > 1 and self.progress is not None:
            self._done += found.bytes
            self.progress(self._done, self._total, self._distinct())
        if self.state is not None and time.monotonic() - self._saved > _SAVE_EVERY:
            self.state.save()
            self._saved = time.monotonic()

    def _distinct(self) -> int:
        return len({key for tally in self.tallies.values() for key in tally.rows})

    def _read_all(self, units: list[Unit]) -> Iterator[tuple[Unit, Tally | str]]:
        """Read units, in their order, here or on several processes."""
        if self.jobs == 1 or len(units) < 2:
            for unit in units:
                try:
                    yield unit, self.reader.read(unit, self._advance)
                except InputError as error:
                    yield unit, str(error)
            return
        from concurrent.futures import ProcessPoolExecutor

        with ProcessPoolExecutor(min(self.jobs, len(units))) as pool:
            waiting: list[tuple[Unit, Future[Tally | str]]] = []
            rest = iter(units)
            try:
                # No more than a few units ahead, so that what is found does not pile up.
                for unit in rest:
                    waiting.append((unit, pool.submit(_read_in_process, self.options, unit)))
                    if len(waiting) >= 4 * self.jobs:
                        first, future = waiting.pop(0)
                        yield first, future.result()
                for first, future in waiting:
                    yield first, future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _advance(self, count: int) -> None:
        self._done += count
        if self.progress is not None:
            self.progress(self._done, self._total, self._distinct())
