"""A pasted text becomes an Environment. Text without any listing or dump costs a few substring searches."""

from __future__ import annotations

from collections.abc import Sequence

from troubleshoot.environment.model import Environment

#: One of these stands in every block that is understood. Each is rare in tracebacks and prose.
_MARKS = (
    "NVIDIA-SMI", "(UUID: ", "memory.total", " MiB", "gfx", "PyTorch version", "ersion:", "==", " @ ", "-e git", "Package ", "# packages in environment", "# Name",
    "dependencies:", '"name":', "troubleshoot_environment", "- Platform", "[pip", "[conda]",
)  # fmt: skip


def parse_environment(lines: Sequence[str], numbers: Sequence[int] | None = None, source: str = "report") -> Environment:
    """Return what the listings and dumps in a pasted text say; an Environment without facts where there are none.

    ``numbers`` are the line numbers to report (by default 1, 2, ...). Complete listings close the list of packages,
    ``nvidia-smi`` and ``collect_env`` that of accelerators.
    """
    text = "\n".join(lines)
    for mark in _MARKS:
        if mark in text:
            return _parse(lines, numbers if numbers is not None else range(1, len(lines) + 1), source, text)
    return Environment(source=source)


def _parse(lines: Sequence[str], numbers: Sequence[int], source: str, text: str) -> Environment:
    from troubleshoot.environment.draft import Draft

    draft = Draft(source)
    if "troubleshoot_environment" in text:
        from troubleshoot.environment.exchange import parse_own

        parse_own(draft, lines, numbers)
    if "ersion" in text and (":" in text):
        from troubleshoot.environment.dumps import parse_dumps

        parse_dumps(draft, lines, numbers, text)
    if "NVIDIA-SMI" in text or "(UUID: " in text or "MiB" in text or "gfx" in text:
        from troubleshoot.environment.smi import parse_smi

        parse_smi(draft, lines, numbers, text)
    if any(mark in text for mark in ("==", " @ ", "-e ", "Package ", "# Name", "dependencies:", '"name":', "# packages in environment")):
        from troubleshoot.environment.listings import parse_listings

        parse_listings(draft, lines, numbers, text)
    _infer(draft)
    return draft.finish()


def _infer(draft: object) -> None:
    from troubleshoot.environment.draft import Draft
    from troubleshoot.environment.dumps import built_for

    assert isinstance(draft, Draft)
    torch = draft.packages.get("torch")
    if torch and torch.version:
        built_for(draft, torch.version)
    if draft.closed_packages and "torch.cuda" not in draft.details:
        for suffix in ("11", "12"):
            runtime = draft.packages.get(f"nvidia-cuda-runtime-cu{suffix}")
            if runtime and runtime.version:
                draft.detail("torch.cuda", ".".join(runtime.version.split(".")[:2]))
