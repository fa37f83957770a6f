"""``troubleshoot verify``: reproduce an issue here and try its fixes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.json_text import json_text
from troubleshoot.commands import process
from troubleshoot.commands.diagnose import load, pairs

if TYPE_CHECKING:
    from troubleshoot.knowledge import KnowledgeBase
    from troubleshoot.lab.verify.outcomes import Verification


def run(
    issue: str | None,
    *,
    all_: bool,
    cause: str | None,
    case: str | None,
    device: str | None,
    fixes: Sequence[str],
    isolated: bool,
    yes: bool,
    releases: Sequence[str],
    timeout: str | None,
    record: str | None,
    models: Sequence[str],
    gpu: str | None,
    timing: bool,
    format: str,
    kb: Sequence[str],
    output: str | None,
) -> int:
    """Verify one issue, those of a cause, or all. Return 0 where all is as the knowledge base says, 1 where not, 2 where it cannot run
    here.
    """
    format = process.check_format(format, ("text", "json", "html"))
    if sum((issue is not None, all_, cause is not None)) != 1:
        raise InputError("name one issue, or --cause CODE, or --all. Those with a case: troubleshoot kb list --format json")
    limit = process.seconds_of(timeout)
    pinned = pairs("--with", releases, "transformers==4.50.2")
    base = load(kb)
    from troubleshoot.lab.verify.pricing import Prices
    from troubleshoot.lab.verify.runner import verify

    prices = Prices(tuple(models), _gpu_memory(gpu), timing)
    progress = _Progress()
    results: list[Verification] = []
    try:
        for one, name in _chosen(base, issue, cause, case):
            results.append(
                verify(
                    one,
                    case=name,
                    device=device,
                    fixes=fixes,
                    isolate=isolated,
                    releases=pinned,
                    timeout=limit,
                    kb=base,
                    progress=progress.of(one),
                    prices=prices,
                    consent=lambda text: yes or progress.ask(text),
                )
            )
    finally:
        progress.clear()
    if record is not None:
        from troubleshoot.lab.verify.records import write_records

        write_records(record, results)
    process.write(_rendered(results, format, single=issue is not None, width=process.width(output)), output)
    if issue is not None:
        return results[0].exit_code
    ran = [one for one in results if one.verdict != "cannot-run"]
    return (1 if any(one.exit_code for one in ran) else 0) if ran else 2


def _chosen(base: KnowledgeBase, issue: str | None, cause: str | None, case: str | None) -> list[tuple[str, str | None]]:
    """Return (issue, case) of everything to verify."""
    if issue is not None:
        return [(base.entry(issue.strip()).id, case)]
    from troubleshoot.lab.verify.registry import cases_of

    found: list[tuple[str, str | None]] = []
    for id_ in base.ids():
        entry = base.entry(id_)
        for one in cases_of(id_, entry.verify.case if entry.verify is not None else None):
            if cause is None or cause == (entry.cause or one.cause):
                found.append((id_, one.name))
    if not found:
        raise InputError(f"no entry of the cause {cause!r} has a case")
    return found


def _gpu_memory(name: str | None) -> float | None:
    """Return the memory in GiB of the GPU that the user names."""
    if name is None:
        return None
    from troubleshoot.reading.environment.hardware import accelerator_from_text

    one = accelerator_from_text(name)
    if one is None or one.memory is None:
        raise InputError(f"--gpu {name}: its memory is not known from this name. Give one with its memory, such as V100-16GB or RTX 4090")
    return one.memory


def _rendered(results: Sequence[Verification], format: str, *, single: bool, width: int) -> str:
    if format == "json":
        from troubleshoot.basics.redact import redact_data

        data = [redact_data(one.to_dict(), personal=False) for one in results]
        return json_text(data[0] if single else data, indent=2) + "\n"
    if format == "html":
        from troubleshoot.lab.verify.verify_page import render_html

        return render_html(results)
    from troubleshoot.lab.verify.verify_text import render_summary, render_verification

    return render_verification(results[0], width=width) if single else render_summary(results)


class _Progress:
    """A bar on a terminal's stderr; nothing elsewhere."""

    def __init__(self) -> None:
        self._shown = sys.stderr is not None and sys.stderr.isatty()

    def of(self, issue: str) -> Callable[[str, int, int], None]:
        """Return the function that shows the progress of one verification."""

        def show(text: str, done: int, total: int) -> None:
            if self._shown:
                filled = 20 * done // max(total, 1)
                sys.stderr.write(f"\r\x1b[2K[{'#' * filled}{'.' * (20 - filled)}] {done}/{total} {issue}: {text}"[:118])
                sys.stderr.flush()

        return show

    def ask(self, download: str) -> bool:
        """Ask on a terminal whether so much may be downloaded; elsewhere the answer is no."""
        if not self._shown or sys.stdin is None or not sys.stdin.isatty():
            return False
        import signal

        self.clear()
        sys.stderr.write(f"{download}, into the cache folder. Go on? [y/N] ")
        sys.stderr.flush()
        # While verifying, Ctrl-C is only noted; here it must end the waiting.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return sys.stdin.readline().strip().lower() in ("y", "yes")
        finally:
            signal.signal(signal.SIGINT, before)

    def clear(self) -> None:
        """Remove the bar."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
