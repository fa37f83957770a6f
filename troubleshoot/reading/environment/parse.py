"""A pasted text becomes an Environment. Text without any listing or dump costs a few substring searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from troubleshoot.reading.environment.machine import Environment

if TYPE_CHECKING:
    from troubleshoot.reading.environment.gathering import Draft

#: One of these stands in every block that is understood. Each is rare in tracebacks and prose.
_MARKS = (
    "NVIDIA-SMI", "(UUID: ", "memory.total", "nvidia-smi", "gfx", "Product Name", "PyTorch version", "ersion:", "- Platform", "[pip",
    "[conda]", " @ file:", " @ http", " @ git+", "-e git", "Package ", "# packages in environment", "# Name", "dependencies:", '"name":',
    "troubleshoot_environment",
)  # fmt: skip


_LISTINGS = (" @ file:", " @ http", " @ git+", "-e git", "Package ", "# Name", "dependencies:", '"name":', "# packages in environment")


def _has_pin(text: str) -> bool:
    """``name==1.2``: code compares with a space around its operator, and seldom with a number."""
    return "==" in text and any("==" + digit in text for digit in "0123456789")


def parse_environment(lines: Sequence[str], numbers: Sequence[int] | None = None, source: str = "report") -> Environment:
    """Return what the listings and dumps in a pasted text say; an Environment without facts where there are none.

    ``numbers`` are the line numbers to report (by default 1, 2, ...). Complete listings close the list of packages,
    ``nvidia-smi`` and ``collect_env`` that of accelerators.
    """
    # A deep traceback repeats its lines: one of each is enough to look for a mark.
    once = "\n".join(dict.fromkeys(lines))
    if not (any(mark in once for mark in _MARKS) or _has_pin(once)):
        return Environment(source=source)
    return _parse(lines, numbers if numbers is not None else range(1, len(lines) + 1), source, once)


def _parse(lines: Sequence[str], numbers: Sequence[int], source: str, text: str) -> Environment:
    from troubleshoot.reading.environment.gathering import Draft

    draft = Draft(source)
    if "troubleshoot_environment" in text:
        from troubleshoot.reading.environment.exchange import parse_own

        parse_own(draft, lines, numbers)
    if "ersion" in text and (":" in text):
        from troubleshoot.reading.environment.dumps import parse_dumps

        parse_dumps(draft, lines, numbers, text)
    if any(mark in text for mark in ("NVIDIA-SMI", "(UUID: ", "nvidia-smi", "memory.total", "gfx", "Product Name")):
        from troubleshoot.reading.environment.smi import parse_smi

        parse_smi(draft, lines, numbers, text)
    if _has_pin(text) or any(mark in text for mark in _LISTINGS):
        from troubleshoot.reading.environment.listings import parse_listings

        parse_listings(draft, lines, numbers, text)
    _torch_build(draft)
    return draft.finish()


def _torch_build(draft: Draft) -> None:
    """PyPI's wheels for Linux have no local version; the CUDA runtime that they require tells what they were built for."""
    from troubleshoot.reading.environment.dumps import built_for

    torch = draft.packages.get("torch")
    if torch and torch.version:
        built_for(draft, torch.version)
    for suffix in ("-cu11", "-cu12", "-cu13", "") if torch else ():
        runtime = draft.packages.get(f"nvidia-cuda-runtime{suffix}")
        if runtime and runtime.version:
            draft.detail("torch.cuda", ".".join(runtime.version.split(".")[:2]))
