"""Costs that are counted, not timed, and so the same on every machine: ``python tests/benchmarks/counts.py`` writes ``counts.json``.

Counted are calls of the package's own functions and the peak of what Python allocates, for fixed reports and a fixed log. Comprehensions
and generators are left out, which newer interpreters inline.
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parent))

from budgets import four_kilobytes, unknown_message
from synthetic import synthetic_base

import troubleshoot
from troubleshoot import diagnose, load_kb
from troubleshoot.knowledge import KnowledgeBase

STORED = Path(__file__).with_name("counts.json")
#: How much more than stored is still taken for the same, by unit: allocations differ between interpreters.
TOLERANCE = {"calls": 1.05, "KiB": 1.5}
_PACKAGE = str(Path(troubleshoot.__file__).parent)


def calls(work: Callable[[], object]) -> int:
    """Return how many functions of the package a piece of work calls, once everything that is kept is there."""
    work()
    count = 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        if event == "call" and frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_code.co_name[:1] != "<":
            count += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def peak(work: Callable[[], object]) -> int:
    """Return the KiB that a piece of work allocates at its peak."""
    work()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] // 1024
    finally:
        tracemalloc.stop()


def healthy_log(lines: int) -> bytes:
    """Return a log in which nothing fails."""
    return b"".join(b"[rank%d]: INFO step %d loss 0.%05d lr 1e-5\n" % (n % 8, n, n * 7919 % 100_000) for n in range(lines))


def scan_work(data: bytes) -> Callable[[], object]:
    """Return what scans a log in memory with the engine that is always there."""
    from troubleshoot.scale.scanning.anchors import anchors_of
    from troubleshoot.scale.scanning.examine import Examiner
    from troubleshoot.scale.scanning.finders import open_finder
    from troubleshoot.scale.scanning.stretch import Stretch

    base = load_kb()
    anchors = anchors_of(base)
    finder = open_finder(anchors, "python")

    def work() -> None:
        stretch = Stretch(finder, anchors, Examiner(base))
        for at in range(0, len(data), 1 << 20):
            block = data[at : at + (1 << 20)]
            stretch.feed(block, len(block))
        stretch.close_tally()

    return work


def measure() -> dict[str, int]:
    """Count everything; a name ends with its unit."""
    base = load_kb()
    large: KnowledgeBase = synthetic_base(2_000, base)
    found = four_kilobytes()
    missed = unknown_message(found)
    counts = {}
    for name, text in (("a report of 4 KB", found), ("a report that fits nothing", missed)):
        for size, kb in (("", base), (", 2,000 entries", large)):
            counts[f"diagnose {name}{size}, calls"] = calls(partial(diagnose, text, environment="report", kb=kb))
    counts["diagnose a report of 4 KB, KiB"] = peak(lambda: diagnose(found, environment="report", kb=base))
    healthy = healthy_log(100_000)
    counts["scan 100,000 healthy lines, calls"] = calls(scan_work(healthy))
    counts["scan 100,000 healthy lines and 100 NaN losses, calls"] = calls(scan_work(healthy + b"step 3 loss nan\n" * 100))
    counts["scan 100,000 healthy lines, KiB"] = peak(scan_work(healthy))
    return counts


def regressions(counts: dict[str, int], stored: dict[str, int]) -> list[str]:
    """Return what costs more than it did."""
    return [
        f"{name}: {counts[name]:,}, stored {before:,}"
        for name, before in stored.items()
        if counts[name] > before * TOLERANCE[name.rpartition(" ")[2]]
    ]


if __name__ == "__main__":
    STORED.write_text(json.dumps(measure(), indent=2) + "\n", encoding="utf-8")
    print(STORED.read_text(encoding="utf-8"), end="")
