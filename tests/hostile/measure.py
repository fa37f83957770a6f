"""Does the time for a text grow linearly with its length?  Processor time of a diagnosis, with its JSON, of every hostile text.

    python -m tests.hostile.measure [NAME...] [--size 1048576] [--top 40] [--jobs 2] [--face diagnose] [--entries]

A NAME is a pattern (``clean/*``); without one, all are measured, and with ``--entries`` those of each template and phrase too. Every
text is read in a process of its own, at growing lengths, and with a limit of processor time: a hang is found at a few kilobytes.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from typing import Any

from .generators import GENERATORS, Generator, entry_generators

KB = 1024
MB = KB * KB
#: Linear is 4 from one length to the next; the rest is noise.
WORST_RATIO = 5.5
#: Seconds below which a ratio says nothing.
NEGLIGIBLE = 0.05
#: Seconds that a megabyte may take.
BUDGET = 1.0
#: Seconds that a child may take for each length; what takes longer at a short one is not tried at a longer one.
LIMIT = 12.0


def _diagnose(text: str) -> object:
    import troubleshoot
    from troubleshoot.telling import render

    return render(troubleshoot.diagnose(text, environment="report"), "json")


def _rendered(format: str) -> Callable[[str], object]:
    def face(text: str) -> object:
        import troubleshoot
        from troubleshoot.telling import render

        return render(troubleshoot.diagnose(text, environment="report"), format, redact=True, full=True)

    return face


def _chat(text: str) -> object:
    from troubleshoot.serve.chat.understanding import understand

    return understand(text)


@lru_cache(maxsize=1)
def _reader() -> Any:
    from troubleshoot.scale.scanning.log_scan import Options, Reader

    return Reader(Options(finder="python"))


def _scan(text: str) -> object:
    from troubleshoot.scale.scanning.stretch import Stretch

    data = text.encode("utf-8", "replace")
    data = data if data.endswith(b"\n") else data + b"\n"
    reader = _reader()
    stretch = Stretch(reader.finder, reader.anchors, reader.examiner(data[: 64 * KB]))
    stretch.feed(data, len(data))
    return stretch.close_tally()


#: What is done with a text.
FACES: dict[str, Callable[[str], object]] = {
    "diagnose": _diagnose, "text": _rendered("text"), "markdown": _rendered("markdown"), "html": _rendered("html"), "chat": _chat,
    "scan": _scan,
}  # fmt: skip


@dataclass
class Growth:
    """Seconds by length. ``ended`` says why there are not more of them: the limit, or an exception."""

    name: str
    seconds: dict[int, float] = field(default_factory=dict)
    ended: str = ""

    @property
    def ratio(self) -> float:
        """How much more the longest took than the one before it, at four times the length."""
        if self.ended:
            return math.inf
        if len(self.seconds) < 2:
            return 0.0
        (short, quick), (long, slow) = list(self.seconds.items())[-2:]
        return (slow / max(quick, 1e-4)) ** (math.log(4) / math.log(long / short)) if slow >= NEGLIGIBLE else 0.0

    @property
    def per_megabyte(self) -> float:
        """Seconds for a megabyte: measured, or extended as the time grew; infinite after the limit."""
        if self.ended or not self.seconds:
            return math.inf
        length = max(self.seconds)
        power = max(1.0, math.log(self.ratio) / math.log(4)) if self.ratio > 0 else 1.0
        return float(self.seconds[length] * (MB / length) ** power)

    def fault(self, budget: float | None = BUDGET, negligible: float = NEGLIGIBLE) -> str:
        """Return what is wrong with it, or nothing; without a budget, how long it takes does not matter."""
        if self.ended:
            return self.ended
        length = max(self.seconds, default=0)
        # What stays far below the budget all the same is noise of a busy machine.
        noise = max(negligible, (budget or 0.0) * length / MB / 2)
        if self.ratio > WORST_RATIO and self.seconds[length] >= noise:
            return f"grows {self.ratio:.1f}-fold at four times the length"
        if budget is not None and max(self.seconds, default=0) >= MB and self.per_megabyte > budget:
            return f"{self.per_megabyte:.2f} s for a megabyte"
        return ""


def _child(make: Generator, sizes: Iterable[int], face: str, limit: float, pipe: Connection) -> None:
    """Measure one generator; runs in a process that may be ended at any moment."""
    act = FACES[face]
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    try:
        for size in sizes:
            text = make(size)
            seconds = math.inf
            # The better of two runs, unless the first has shown enough.
            for _ in range(2):
                _limit(limit)
                started = time.process_time()
                act(text)
                seconds = min(seconds, time.process_time() - started)
                if seconds < NEGLIGIBLE / 8 or seconds > limit / 4:
                    break
            pipe.send((size, seconds))
            if seconds * 4 > limit:
                pipe.send((size, math.inf))
                break
    except BaseException as error:
        pipe.send((0, f"{type(error).__name__}: {error}"[:300]))
    finally:
        pipe.close()


def _limit(seconds: float) -> None:
    """Let this process have so many more seconds of processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = math.ceil(used.ru_utime + used.ru_stime + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def warm_up() -> None:
    """Load what every diagnosis loads, before processes are forked."""
    from troubleshoot.knowledge import load_kb
    from troubleshoot.knowledge.templates import compile_template

    for act in FACES.values():
        act("Traceback (most recent call last):\nRuntimeError: expected scalar type Half but found Float\n")
    # As in a server that has run for a while: compiling costs the same whatever is pasted.
    for kind, text, _ in load_kb().index.patterns:
        if kind != "p":
            compile_template(text)


def measure(
    generators: Mapping[str, Generator], sizes: Iterable[int], *, face: str = "diagnose", jobs: int = 2, limit: float = LIMIT
) -> Iterator[Growth]:
    """Yield how the time of each grows. Lengths go up, and stop where the next one would pass the limit."""
    warm_up()
    lengths = sorted(sizes)
    fork = multiprocessing.get_context("fork")
    waiting = iter(generators.items())
    running: dict[Connection, tuple[multiprocessing.process.BaseProcess, Growth]] = {}
    while True:
        while len(running) < jobs:
            following = next(waiting, None)
            if following is None:
                break
            name, make = following
            mine, theirs = fork.Pipe(duplex=False)
            process = fork.Process(target=_child, args=(make, lengths, face, limit, theirs), daemon=True)
            process.start()
            theirs.close()
            running[mine] = process, Growth(name)
        if not running:
            return
        for pipe in wait(list(running)):
            assert isinstance(pipe, Connection)
            process, growth = running[pipe]
            try:
                size, seconds = pipe.recv()
            except EOFError:
                del running[pipe]
                process.join()
                if len(growth.seconds) < len(lengths) and not growth.ended:
                    past = max(growth.seconds, default=0)
                    size = next(one for one in lengths if one > past)
                    limited = process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL)
                    what = "its limit of processor time" if limited else f"code {process.exitcode}"
                    growth.ended = f"ended by {what} at {size // KB} KB"
                yield growth
                continue
            if isinstance(seconds, str):
                growth.ended = seconds
            elif math.isinf(seconds):
                if size < max(lengths):
                    growth.ended = f"{growth.seconds[size]:.1f} s at {size // KB} KB"
            else:
                growth.seconds[size] = seconds


def selected(names: list[str], entries: bool) -> dict[str, Generator]:
    """Return the generators whose names fit one of the patterns."""
    found = {**GENERATORS, **(dict(entry_generators()) if entries or any(":" in name for name in names) else {})}
    if not names:
        return found
    return {name: make for name, make in found.items() if any(fnmatchcase(name, one) for one in names)}


def table(measured: list[Growth], sizes: list[int], top: int) -> str:
    """Return the worst as lines."""
    lines = ["  ".join([f"{f'{size // KB} KB':>8}" for size in sizes]) + f"  {'ratio':>6}  name"]
    for one in sorted(measured, key=lambda one: (-one.per_megabyte, -one.ratio))[:top]:
        cells = "  ".join(f"{one.seconds[size]:>8.3f}" if size in one.seconds else f"{'-':>8}" for size in sizes)
        lines.append(f"{cells}  {one.ratio:>6.1f}  {one.name}{f'  ({one.ended})' if one.ended else ''}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; the status says whether anything is at fault."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.hostile.measure", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="patterns of names")
    parser.add_argument("--size", type=int, default=MB, help="the longest text")
    parser.add_argument("--top", type=int, default=40, help="how many are printed")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--face", choices=FACES, default="diagnose")
    parser.add_argument("--entries", action="store_true", help="with those of each template and phrase")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one length")
    parser.add_argument("--faults", action="store_true", help="print only those at fault")
    given = parser.parse_args(arguments)
    sizes = [size for size in (4 * KB, 16 * KB, 64 * KB, 256 * KB) if size < given.size] + [given.size]
    measured: list[Growth] = []
    chosen = selected(given.names, given.entries)
    for growth in measure(chosen, sizes, face=given.face, jobs=given.jobs, limit=given.limit):
        measured.append(growth)
        if sys.stderr.isatty():
            print(f"\r{len(measured)} of {len(chosen)}", end="", file=sys.stderr, flush=True)
    faulty = [one for one in measured if one.fault()]
    with suppress(BrokenPipeError):
        print(table(faulty if given.faults else measured, sizes, given.top))
        print(f"{len(faulty)} of {len(measured)} at fault")
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
