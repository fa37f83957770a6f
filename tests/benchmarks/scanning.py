"""``scan`` beside grep and ripgrep on one core, with the same anchors; and a log of 10 GB in bounded memory.

``python tests/benchmarks/scanning.py [--mib 1024] [--runs 5] [--stream 10e9]``. Processor time is compared: both read the page cache.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from logs import write
from measuring import Figures, Section, cpu_of, duration, ratio

SCAN = [sys.executable, "-m", "troubleshoot", "scan"]


def one_core() -> list[str]:
    """Return the beginning of a command that stays on one core."""
    return ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if shutil.which("taskset") else []


def beside_grep(mib: int, runs: int) -> Section:
    """Scan a healthy log, and one with failures, beside ``grep -F -f ANCHORS LOG | cat``."""
    section = Section(f"Scanning a log of {mib} MiB on one core")
    with tempfile.TemporaryDirectory() as folder:
        anchors = Path(folder) / "anchors"
        anchors.write_bytes(subprocess.run([*SCAN, "--anchors"], capture_output=True, check=True).stdout)
        section.say(f"{len(anchors.read_bytes().splitlines())} anchors; processor time of the whole process; LC_ALL=C")
        for name, sick in (("healthy", False), ("with a failure and 200 NaN losses per 8 MiB", True)):
            log = Path(folder) / "train.log"
            with log.open("wb") as out:
                write(mib << 20, out, sick=sick)
            _one_log(section, name, log, anchors, runs)
    return section


def _one_log(section: Section, name: str, log: Path, anchors: Path, runs: int) -> None:
    grep = " ".join(["LC_ALL=C", *one_core(), "grep", "-F", "-f", str(anchors), str(log), "| cat"])
    commands = {"grep -F -f": ([grep], True)}
    if shutil.which("rg"):
        commands["ripgrep -F -f"] = ([" ".join([*one_core(), "rg", "-j1", "-a", "-F", "-f", str(anchors), str(log), "| cat"])], True)
    try:
        import hyperscan  # noqa: F401

        commands["scan, hyperscan"] = ([*one_core(), *SCAN, str(log), "--finder", "hyperscan"], False)
    except ImportError:
        section.say("hyperscan is not installed: pip install 'troubleshoot[scan]'")
    commands["scan, Python alone"] = ([*one_core(), *SCAN, str(log), "--finder", "python"], False)
    seconds: dict[str, list[float]] = {}
    for _ in range(runs):
        for what, (command, shell) in commands.items():
            seconds.setdefault(what, []).append(cpu_of(command, shell=shell))
    base = Figures(tuple(seconds["grep -F -f"]))
    budgets = {"scan, hyperscan": "≥ 1.0 ×", "scan, Python alone": "≥ 0.15 ×"}
    size = log.stat().st_size
    for what, found in seconds.items():
        one = Figures(tuple(found))
        section.add(
            f"{what} ({name})",
            f"{one.text()}, {size / one.median / 2**20:,.0f} MiB/s",
            f"{ratio(base, one):.2f} × grep",
            budgets.get(what, ""),
        )


def streamed(size: int) -> Section:
    """Scan a log that is made as it is read, and note how much memory that takes."""
    section = Section(f"A log of {size / 1e9:g} GB through a pipe")
    maker = subprocess.Popen([sys.executable, str(Path(__file__).with_name("logs.py")), str(size)], stdout=subprocess.PIPE)
    start = time.perf_counter()
    scanner = subprocess.Popen([*SCAN, "-", "-f", "jsonl"], stdin=maker.stdout, stdout=subprocess.PIPE)
    assert scanner.stdout is not None
    peak = 0
    status = Path(f"/proc/{scanner.pid}/status")
    os.set_blocking(scanner.stdout.fileno(), False)
    parts: list[bytes] = []
    while scanner.poll() is None:
        for line in status.read_text().splitlines() if status.exists() else []:
            if line.startswith("VmHWM:"):
                peak = max(peak, int(line.split()[1]))
        if part := scanner.stdout.read():
            parts.append(part)
        time.sleep(0.05)
    if part := scanner.stdout.read():
        parts.append(part)
    maker.wait()
    seconds = time.perf_counter() - start
    summary = json.loads(b"".join(parts).splitlines()[-1])
    section.add("bytes", f"{summary['bytes']:,}")
    section.add("lines", f"{summary['lines']:,}")
    section.add("distinct problems", str(summary["problems"]))
    section.add("time, the making of the log included", duration(seconds), f"{summary['bytes'] / seconds / 2**20:,.0f} MiB/s")
    section.add("peak memory of the scan", f"{peak / 1024:,.0f} MiB", "", "bounded")
    return section


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--stream", type=float, default=0)
    options = parser.parse_args()
    if options.mib:
        beside_grep(options.mib, options.runs)
    if options.stream:
        streamed(int(options.stream))


if __name__ == "__main__":
    main()
