"""Measure everything and write ``docs/benchmarks.md``: ``python tests/benchmarks/run.py [--short] [--rivals FOLDER] [--only PART]``.

The complete run takes some twenty minutes on two cores and wants an idle machine; ``--short`` a few minutes, on smaller logs, with fewer
runs, and writes nothing unless ``--output`` is given. Nothing is asserted here: CI holds the costs that can be counted
(``test_costs.py``).
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import growth
import rivals
import scanning
from budgets import EMPTY_APP, EXAMPLE, four_kilobytes, unknown_message, worst_texts
from measuring import Section, duration, in_turn, ratio

from troubleshoot import diagnose, load_kb

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
PACKAGES = ("torch", "transformers", "typer", "msgspec", "rapidfuzz", "hyperscan", "pyarrow", "ray", "fastapi", "uvicorn")


def start_up(short: bool) -> Section:
    """The whole process beside an empty interpreter and an empty typer application."""
    section = Section("Start-up")
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder) / "empty.py"
        app.write_text(EMPTY_APP, encoding="utf-8")
        script = Path(sys.executable).with_name("troubleshoot")
        command = [str(script)] if script.exists() else [sys.executable, "-m", "troubleshoot"]
        commands = ([sys.executable, "-c", "pass"], [sys.executable, str(app), "first", "x"], [*command, "diagnose", str(EXAMPLE)])
        calls = [lambda one=one: subprocess.run(one, stdout=subprocess.DEVNULL, check=True) for one in commands]  # type: ignore[misc]
        nothing, empty, ours = in_turn(5 if short else 40, *calls)
    section.add("python -c pass", nothing.text(), f"{ratio(nothing, empty):.2f} × typer")
    section.add("an empty two-command typer application", empty.text(), "1.00 × typer")
    section.add("troubleshoot diagnose FILE", ours.text(), f"{ratio(ours, empty):.2f} × typer", "≤ 1.25 ×")
    return section


def latency(short: bool) -> Section:
    """In process, with the shipped knowledge base."""
    section = Section("In process")
    text = four_kilobytes()
    bare = text[text.index("Traceback") :]
    cases = {
        "diagnose(text), a traceback of 4 KB": (bare, "≤ 1 ms"),
        "the same with prose, versions and a GPU before it": (text, ""),
        "the same, no template fits": (unknown_message(text), "≤ 3 ms"),
    }
    calls = [lambda one=one: diagnose(one, environment="report") for one, _ in cases.values()]  # type: ignore[misc]
    for (name, (_, budget)), figures in zip(cases.items(), in_turn(50 if short else 500, *calls), strict=True):
        section.add(name, figures.text(), "", budget)
    return section


def worst(short: bool) -> Section:
    """Texts of 1 MB that are hard to read or to match, and their halves."""
    section = Section("Worst cases: 1 MB pasted")
    base = load_kb()
    for name, text in list(worst_texts().items())[: 3 if short else None]:
        half = text[: len(text) // 2]
        whole_time, half_time = in_turn(
            1 if short else 5,
            lambda text=text: diagnose(text, environment="report", kb=base),  # type: ignore[misc]
            lambda half=half: diagnose(half, environment="report", kb=base),  # type: ignore[misc]
        )
        section.add(name, whole_time.text(), f"{ratio(whole_time, half_time):.1f} × half of it", "≤ 1 s, about 2 ×")
    return section


def fleet(short: bool) -> Section:
    """Reports per second and core of ``diagnose_table``, and what a million costs."""
    section = Section("Many reports")
    try:
        import pyarrow as pa
    except ImportError:
        section.say("pyarrow is not installed: left out.")
        return section
    from troubleshoot.batch import diagnose_table

    base = load_kb()
    count = 200 if short else 2_000
    for name, text in (("of 4 KB, all different", four_kilobytes()), ("of 4 KB, no template fits", unknown_message(four_kilobytes()))):
        table = pa.table({"text": [f"job {number}\n{text}" for number in range(count)]})
        (figures,) = in_turn(1 if short else 5, lambda table=table: diagnose_table(table, kb=base))  # type: ignore[misc]
        each = figures.median / count
        section.add(f"diagnose_table, reports {name}", f"{1 / each:,.0f} reports/s", f"{each * 1e6 / 3600:.2f} core hours per million")
    return section


def lint(short: bool) -> Section:
    """Linting the shipped knowledge base."""
    section = Section("kb lint")
    command = [sys.executable, "-m", "troubleshoot", "kb", "lint"]
    (figures,) = in_turn(1 if short else 3, lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=False))
    section.add(f"troubleshoot kb lint, {len(load_kb().ids())} entries", figures.text())
    return section


def program(title: str, name: str, *arguments: str) -> Section:
    """Run another benchmark of this folder and show what it prints."""
    section = Section(title)
    if not (HERE / name).exists():
        section.say(f"{name} is not there: left out.")
        return section
    done = subprocess.run([sys.executable, str(HERE / name), *arguments], capture_output=True, text=True, check=False, cwd=ROOT)
    text = done.stdout.rstrip()
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        section.say(f"It ended with status {done.returncode}: {last}")
    if text:
        print(text, flush=True)
        section.blocks.append(f"```text\n{text}\n```")
    return section


def machine() -> list[str]:
    """Return what the figures depend on."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        model = next((line.partition(": ")[2] for line in info.read_text().splitlines() if line.startswith("model name")), model)
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    tools = []
    for name in ("grep", "rg"):
        if shutil.which(name):
            tools.append(subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout.splitlines()[0])
    return [
        f"{datetime.date.today().isoformat()}, {platform.system()} {platform.release()}, {model}, {os.cpu_count()} cores",
        f"Python {platform.python_version()}, {', '.join(versions)}" + (f"; {', '.join(tools)}" if tools else ""),
    ]


def page(sections: list[Section], seconds: float, short: bool) -> str:
    """Return docs/benchmarks.md."""
    out = [
        "# Benchmarks",
        "",
        "Written by `python tests/benchmarks/run.py`; not edited by hand. Figures are medians ± half of the middle half of the runs;"
        " what is compared was run in turn, and ratios are medians of the ratios, pair by pair.",
        "",
        *(f"- {line}" for line in machine()),
        f"- one run of {seconds / 60:.0f} minutes" + (", in the short form: few runs, small logs" if short else ""),
    ]
    for one in sections:
        out += ["", f"## {one.title}", ""]
        if one.rows:
            out += ["| what | figure | ratio | budget |", "|---|---|---|---|", *(f"| {' | '.join(row)} |" for row in one.rows)]
        for remark in one.remarks:
            out += ["", remark]
        for block in one.blocks:
            out += ["", block]
    return "\n".join(out) + "\n"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a few minutes; writes nothing unless --output is given")
    parser.add_argument("--output", type=Path, help="default: docs/benchmarks.md")
    parser.add_argument("--rivals", type=Path, help="where the other tools are installed (downloads them); left out without it")
    parser.add_argument("--only", help="one part, by its name")
    options = parser.parse_args()
    short: bool = options.short
    curve: growth.Curve = {}

    def grown() -> Section:
        section, found = growth.measure(5 if short else 200, (300, 1_000) if short else growth.SIZES)
        curve.update(found)
        section.blocks.append("![growth](benchmarks-growth.svg)")
        return section

    parts: dict[str, Callable[[], Section]] = {
        "start-up": lambda: start_up(short),
        "in-process": lambda: latency(short),
        "growth": grown,
        "worst": lambda: worst(short),
        "scan": lambda: scanning.beside_grep(64 if short else 1024, 1 if short else 5),
        "stream": lambda: scanning.streamed(int(2e8 if short else 1e10)),
        "fleet": lambda: fleet(short),
        "server": lambda: program("Server", "serve.py", "--seconds", "10" if short else "600"),
        "handler": lambda: program("Handler and live exceptions", "live.py"),
        "watch": lambda: program("watch beside DebugUnderflowOverflow", "watch.py", *(("--layers", "1", "--runs", "3") if short else ())),
        "lint": lambda: lint(short),
    }
    if options.rivals:
        parts["rivals"] = lambda: rivals.compare(options.rivals.resolve(), 1 if short else 10)
    if options.only and options.only not in parts:
        parser.error(f"--only {options.only}: choose {', '.join(parts)}" + ("" if options.rivals else "; rivals needs --rivals FOLDER"))
    started = time.monotonic()
    sections = []
    for name, part in parts.items():
        if options.only in (None, name):
            print(f"{name} ({duration(time.monotonic() - started)})", flush=True)
            sections.append(part())
    output = options.output or (None if short or options.only else ROOT / "docs" / "benchmarks.md")
    if output is not None:
        output.write_text(page(sections, time.monotonic() - started, short), encoding="utf-8")
        if curve:
            output.with_name("benchmarks-growth.svg").write_text(growth.drawn(curve), encoding="utf-8")


if __name__ == "__main__":
    main()
