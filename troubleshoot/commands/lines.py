"""``troubleshoot kb lines``: make the table by which a traceback's lines of code tell a release."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from troubleshoot.basics.errors import InputError
from troubleshoot.commands import process
from troubleshoot.commands.diagnose import load


def run(packages: Sequence[str], *, cache: str | None, check: str | None, kb: Sequence[str], output: str | None) -> int:
    """Read the releases, write the table and tell what it holds. Return 1 where ``check`` finds a line that rules out its own release."""
    from troubleshoot.curation.line_table import gather, make_table, wrong_lines
    from troubleshoot.curation.traced_files import TRACED
    from troubleshoot.engine.lines.table import LineTable
    from troubleshoot.knowledge.cache import write_atomically

    for name in packages:
        if name not in TRACED:
            raise InputError(f"--package {name}: the packages are {', '.join(sorted(TRACED))}")
    if packages and output is None:
        raise InputError("with --package the table is not whole: name a file for it with --output")
    frames = _count(check)
    target = Path(output) if output else _shipped()
    folder = Path(cache) if cache else _cache_folder()
    progress = _Progress()
    try:
        sources = gather(load(kb), folder, packages, progress.show)
        content = make_table(sources, progress.show)
    except OSError as error:
        raise InputError(f"sources cannot be kept in {folder}: {error.strerror or error}. Name another folder with --cache") from None
    finally:
        progress.clear()
    table = LineTable(content)
    wrong = wrong_lines(table, sources, frames) if frames else []
    if not write_atomically(target, content):
        raise InputError(f"{target} cannot be written: name another file with --output")
    # The temporary file was its writer's alone; this one goes into a checkout and into wheels.
    target.chmod(0o644)
    lines = []
    for name, one in table.index.packages.items():
        files = sum(1 for file in table.index.files if file.startswith(f"{one.folder}/"))
        left = f"; left out: {', '.join(one.left_out)}" if one.left_out else ""
        lines.append(f"{name}: {files} files of {len(one.releases)} releases, {one.releases[0]} to {one.releases[-1]}{left}")
    lines.append(f"{target}: {len(content) / 1000:.0f} kB, releases up to {table.index.made}")
    if frames:
        found = f"{len(wrong)} rule out their own release" if wrong else "all keep theirs"
        lines.append(f"{frames} lines drawn from the releases: {found}")
    process.write("\n".join([*lines, *wrong]) + "\n", None)
    return 1 if wrong else 0


def _count(text: str | None) -> int:
    if text is None:
        return 0
    if not text.isdigit() or not 0 < int(text) <= 1_000_000:
        raise InputError(f"--check {text}: give the number of lines to draw")
    return int(text)


def _shipped() -> Path:
    from troubleshoot.engine.lines.inferring import FILE
    from troubleshoot.knowledge.base import checkout_root

    return checkout_root("Name a file of your own: --output FILE") / FILE


def _cache_folder() -> Path:
    from troubleshoot.lab.verify.isolated import cache_root

    return cache_root().parent / "released-sources"


class _Progress:
    """A line on a terminal's stderr; nothing elsewhere."""

    def __init__(self) -> None:
        self._shown = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, text: str, done: int, total: int) -> None:
        """Show what is being read."""
        if self._shown:
            filled = 20 * done // max(total, 1)
            sys.stderr.write(f"\r\x1b[2K[{'#' * filled}{'.' * (20 - filled)}] {done}/{total} {text}"[:110])
            sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
