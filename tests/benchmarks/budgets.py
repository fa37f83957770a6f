"""Measure the budgets and print each figure next to its budget: ``python tests/benchmarks/budgets.py [--short]``.

Figures are medians, and ratios are measured side by side (A B A B ...), because machines differ and drift. Nothing is asserted: a slow
neighbour must not fail a build. ``tests/benchmarks/test_costs.py`` holds what can be counted.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import synthetic_base

from troubleshoot import diagnose, load_kb
from troubleshoot.knowledge import KnowledgeBase

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "blip2-half.txt"

EMPTY_APP = """\
import typer
app = typer.Typer()
@app.command()
def first(name: str) -> None:
    print(name)
@app.command()
def second(name: str) -> None:
    print(name)
app()
"""


def four_kilobytes() -> str:
    """Return the example with torch's call frames repeated up to 4 KB, as deep models print it."""
    text = EXAMPLE.read_text(encoding="utf-8")
    call = text[
        text.index('  File "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py"') : text.index(
            '  File "/usr/lib/python3.11/site-packages/transformers/models/blip_2/modeling_blip_2.py", line 1372'
        )
    ]
    head, mark, tail = text.partition('  File "/usr/lib/python3.11/site-packages/transformers/models/blip_2/modeling_blip_2.py", line 1372')
    while len(head) + len(mark) + len(tail) < 4096:
        head += call
    return head + mark + tail


def unknown_message(text: str) -> str:
    """Return the same report with a message that no template fits."""
    return text.replace("expected scalar type Float but found Half", "the quux of this frobnicator has gone to the moon")


def median(function: Callable[[], object], runs: int) -> float:
    """Return the median seconds of a call."""
    function()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def paired(one: Callable[[], object], other: Callable[[], object], runs: int) -> tuple[float, float, float]:
    """Return the medians of two calls measured in turn, and the median of their ratios pair by pair."""
    one()
    other()
    first, second = [], []
    for _ in range(runs):
        for function, seconds in ((one, first), (other, second)):
            start = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - start)
    return statistics.median(first), statistics.median(second), statistics.median(a / b for a, b in zip(first, second, strict=True))


def show(what: str, figure: str, budget: str) -> None:
    """Print one line of the table."""
    print(f"{what:<58} {figure:>22}   budget {budget}", flush=True)


def start_up(runs: int) -> None:
    """The whole process beside an empty two-command typer app."""
    with tempfile.TemporaryDirectory() as folder:
        app = Path(folder) / "empty.py"
        app.write_text(EMPTY_APP, encoding="utf-8")
        program = Path(sys.executable).with_name("troubleshoot")
        command = [str(program)] if program.exists() else [sys.executable, "-m", "troubleshoot"]

        def ours() -> None:
            subprocess.run([*command, "diagnose", str(EXAMPLE)], stdout=subprocess.DEVNULL, check=True)

        def empty() -> None:
            subprocess.run([sys.executable, str(app), "first", "x"], stdout=subprocess.DEVNULL, check=True)

        mine, theirs, ratio = paired(ours, empty, runs)
    show(f"troubleshoot diagnose FILE ({mine * 1e3:.0f} ms; empty app {theirs * 1e3:.0f} ms)", f"{ratio:.2f} x", "<= 1.25 x")


def latency(base: KnowledgeBase, runs: int) -> None:
    """In process, the shipped base."""
    text = four_kilobytes()
    bare = text[text.index("Traceback") :]
    # As a program calls it: the base is found anew each time.
    show("diagnose(text), 4 KB traceback", f"{median(lambda: diagnose(bare, environment='report'), runs) * 1e3:.2f} ms", "<= 1 ms")
    prose = f"{median(lambda: diagnose(text, environment='report'), runs) * 1e3:.2f} ms"
    show("the same with prose, versions and a GPU before it", prose, "none")
    other = unknown_message(text)
    show("the same, no template fits", f"{median(lambda: diagnose(other, environment='report', kb=base), runs) * 1e3:.2f} ms", "<= 3 ms")


def growth(base: KnowledgeBase, runs: int) -> None:
    """10,000 entries beside 300."""
    small, large = synthetic_base(300, base), synthetic_base(10_000, base)
    for name, text in (("a template fits", four_kilobytes()), ("none fits", unknown_message(four_kilobytes()))):
        few, many, ratio = paired(
            lambda text=text: diagnose(text, environment="report", kb=large),  # type: ignore[misc]
            lambda text=text: diagnose(text, environment="report", kb=small),  # type: ignore[misc]
            runs,
        )
        show(f"10,000 entries beside 300, {name} ({few * 1e3:.2f} and {many * 1e3:.2f} ms)", f"{ratio:.2f} x", "<= 2 x")


def worst_texts() -> dict[str, str]:
    """Return texts of 1 MB that are hard to read or to match."""
    size = 1_000_000
    frame = '  File "/usr/lib/python3.11/site-packages/torch/nn/functional.py", line 2900, in layer_norm\n    return torch.layer_norm(\n'
    units = {
        "one line": "a",
        "template beginnings": "expected scalar type Float but found ",
        "tracebacks": f"Traceback (most recent call last):\n{frame}RuntimeError: expected scalar type Float but found Half\n",
        "headers alone": "Traceback (most recent call last):\n",
        "prose with symptoms": "the loss is nan and the image is black. ",
        "quotes": "> " * 30 + "RuntimeError: x\n",
        "boxes": "│ RuntimeError: expected scalar type Float │\n",
        "digits": "1234567890 " * 9 + "\n",
        "open brackets": "([{<" * 20 + "\n",
        "Chinese": "训练损失变成 nan，图片全黑。\n",
    }
    return {name: (unit * (size // len(unit.encode()) + 1))[:size] for name, unit in units.items()}


def worst(base: KnowledgeBase) -> None:
    """Any paste of 1 MB."""
    slowest, name, growth_ = 0.0, "", 0.0
    for title, text in worst_texts().items():
        half = text[: len(text) // 2]
        whole_time = median(lambda text=text: diagnose(text, environment="report", kb=base), 1)  # type: ignore[misc]
        half_time = median(lambda half=half: diagnose(half, environment="report", kb=base), 1)  # type: ignore[misc]
        growth_ = max(growth_, whole_time / max(half_time, 0.01))
        if whole_time > slowest:
            slowest, name = whole_time, title
    show(f"1 MB paste, the slowest of {len(worst_texts())} ({name})", f"{slowest:.2f} s", "<= 1 s")
    show("1 MB beside 0.5 MB, the steepest", f"{growth_:.1f} x", "about 2 x: linear")


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="fewer runs, for CI")
    short = parser.parse_args().short
    base = load_kb()
    print(f"Python {platform.python_version()}, {platform.machine()}, {len(base.ids())} entries")
    start_up(5 if short else 25)
    latency(base, 50 if short else 300)
    growth(base, 20 if short else 100)
    worst(base)


if __name__ == "__main__":
    main()
