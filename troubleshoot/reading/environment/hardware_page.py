"""Writes ``docs/hardware.md`` from the tables: ``python -m troubleshoot.reading.environment.hardware_page > docs/hardware.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from troubleshoot.reading.environment import dtype_rules, gpus
from troubleshoot.reading.environment.dtype_support import support
from troubleshoot.reading.environment.machine import Accelerator

COLUMNS = (
    ("float16", "matmul"),
    ("float16", "convolution"),
    ("bfloat16", "matmul"),
    ("bfloat16", "convolution"),
    ("float8_e4m3fn", "matmul"),
    ("float4_e2m1fn_x2", "matmul"),
    ("tf32", "matmul"),
    ("int8", "matmul"),
    ("float64", "matmul"),
)

_INTRODUCTION = """# Which hardware has which dtype

Generated from `troubleshoot/reading/environment/gpus.py` and `troubleshoot/reading/environment/dtype_rules.py` by
`python -m troubleshoot.reading.environment.hardware_page > docs/hardware.md`; edit those files, not this one.

- **native**: the hardware computes in it.
- **emulated**: it works, by way of wider types, at the speed of float32 or below.
- **slow**: native, at a small fraction of the float32 rate.
- **none**: there is no such kernel, so operations raise or never reach the fast library.
- **?**: no source was found.

What is said here comes from the documents linked at each statement; this project did not measure it unless a verification record says so.
Each link was opened in November 2026 and compared with the statement, except those marked *not opened* or *in part*: they are listed
below the table with what was read instead. Memory sizes, and the chips of cards that the vendors' lists leave out, stand here without
a link.
"""


def page() -> str:
    """Return the whole page as Markdown."""
    return "\n".join((_INTRODUCTION, *_overview(), "", *_statements(), "", *_names())) + "\n"


def _overview() -> Iterator[str]:
    yield "## Overview"
    yield ""
    yield "| device | " + " | ".join(f"{dtype.replace('_e2m1fn_x2', '')} {operation}" for dtype, operation in COLUMNS) + " |"
    yield "|---" * (len(COLUMNS) + 1) + "|"
    for label, device in devices():
        states = (support(device, dtype, operation).state for dtype, operation in COLUMNS)
        yield f"| {label} | " + " | ".join("?" if state == "unknown" else state for state in states) + " |"


def devices() -> Iterator[tuple[str, Accelerator | str]]:
    """Yield every generation of the tables as (label in Markdown, a device that stands for it), and the CPU."""
    return ((label, device) for label, device, _ in named_devices())


def named_devices() -> Iterator[tuple[str, Accelerator | str, tuple[str, ...]]]:
    """Yield the same with the names of all cards of a generation."""
    for kind, capability, architecture, names in gpus.GENERATIONS:
        examples = ", ".join(name for name, _ in names[:3])
        where = f"{capability[0]}.{capability[1]} {architecture}" if capability else f"{kind} {architecture}"
        yield f"**{where}** ({examples})", Accelerator("", kind, "report", capability, architecture), tuple(name for name, _ in names)
    yield "**cpu**", "cpu", ("CPU",)


def _statements() -> Iterator[str]:
    yield "## Statements and their sources"
    yield ""
    yield "The first that fits decides."
    yield ""
    yield "| device | dtype | operation | state | what follows | source |"
    yield "|---|---|---|---|---|---|"
    for low, high, dtypes, operations, state, note, source in dtype_rules.NVIDIA:
        device = f"compute capability {_span(low, high)}"
        yield _row(device, dtypes, operations, state, note, source)
    for kind, architectures, dtypes, operations, state, note, source in dtype_rules.OTHERS:
        yield _row(f"{kind} {', '.join(architectures)}".strip(), dtypes, operations, state, note, source)
    yield ""
    yield "Sources that were not read, or not as a whole:"
    yield ""
    for source, how in dtype_rules.UNREAD.items():
        yield f"- <{source}>: {how}."
    yield ""
    yield "Known defects:"
    yield ""
    for names, dtype, operation, text, source in dtype_rules.CAVEATS:
        yield f"- {', '.join(names)}: {dtype} {operation} {text} ([source]({source}))."


def _span(low: tuple[int, int], high: tuple[int, int]) -> str:
    first = f"{low[0]}.{low[1]}"
    if high[0] >= 99:
        return f"{first} and later"
    return first if high == (low[0], low[1] + 1) else f"{first} to below {high[0]}.{high[1]}"


def _row(device: str, dtypes: Iterable[str], operations: tuple[str, ...], state: str, note: str, source: str) -> str:
    of = "all" if operations == dtype_rules.OPERATIONS else ", ".join(operations)
    return f"| {device} | {', '.join(dtypes)} | {of} | {state} | {note} | [source]({source}){_mark(source)} |"


def _mark(source: str) -> str:
    """Return what a reader must know of a source that was not read as a whole."""
    how = dtype_rules.UNREAD.get(source)
    return "" if how is None else " (in part)" if how.startswith("opened in part") else " (not opened)"


def _names() -> Iterator[str]:
    yield "## Names that are understood"
    yield ""
    yield "People write them in many ways (`V100-16GB`, `2080ti`, `NVIDIA A100-SXM4-80GB`, `sm_86`, `gfx90a`). Memory in GiB."
    yield ""
    yield "| generation | names |"
    yield "|---|---|"
    for kind, capability, architecture, names in gpus.GENERATIONS:
        where = f"{architecture} {capability[0]}.{capability[1]}" if capability else f"{architecture} ({kind})"
        listed = ", ".join(f"{name} ({'/'.join(f'{size:g}' for size in sizes)})" if sizes else name for name, sizes in names)
        yield f"| {where} | {listed} |"
    yield ""
    targets = ", ".join(f"{target} ({architecture})" for target, architecture in gpus.GFX.items())
    yield f"AMD targets: {targets}."


if __name__ == "__main__":
    sys.stdout.write(page())
