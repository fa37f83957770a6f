"""Timing side by side, and tables of what was measured."""

from __future__ import annotations

import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figures:
    """Seconds of several runs of one thing."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.seconds)

    def text(self) -> str:
        """Return the median with the half-width of the middle half of the runs."""
        if len(self.seconds) < 4:
            return duration(self.median)
        low, _, high = statistics.quantiles(self.seconds, n=4)
        return f"{duration(self.median)} ± {duration((high - low) / 2)}"


@dataclass
class Section:
    """One part of the page: a table of (what, figure, ratio, budget) and remarks."""

    title: str
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)

    def add(self, what: str, figure: str, ratio: str = "", budget: str = "") -> None:
        """Add a row, and print it."""
        self.rows.append((what, figure, ratio, budget))
        print(f"  {what:<64} {figure:>22} {ratio:>12}  {budget}", flush=True)

    def say(self, remark: str) -> None:
        """Add a remark, and print it."""
        self.remarks.append(remark)
        print(f"  {remark}", flush=True)


def duration(seconds: float) -> str:
    """Return seconds in the unit that suits them."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms" if seconds < 2 else f"{seconds:.2f} s"


def in_turn(runs: int, *calls: Callable[[], object]) -> list[Figures]:
    """Run calls in turn (A B C A B C ...) after one run that does not count; return the seconds of each."""
    for call in calls:
        call()
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(runs):
        for call, own in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call()
            own.append(time.perf_counter() - start)
    return [Figures(tuple(one)) for one in seconds]


def ratio(one: Figures, other: Figures) -> float:
    """Return the median of the ratios, pair by pair."""
    return statistics.median(a / b for a, b in zip(one.seconds, other.seconds, strict=True))


def cpu_of(command: Sequence[str], *, shell: bool = False) -> float:
    """Return the processor seconds of a command and its children: what counts on one core, and does not count the neighbours."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command if not shell else " ".join(command), shell=shell, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
