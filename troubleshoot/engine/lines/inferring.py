"""Which release a traceback is from, where nobody says: the frames' code stands at their lines in some releases only.

Only frames with their code count. A line number alone stands in nearly every release, and a wrong guess is worse than none.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from troubleshoot.reading.environment.machine import Environment, Package
from troubleshoot.reading.environment.package_names import distribution_of
from troubleshoot.reading.places import locate
from troubleshoot.reading.report import Frame, Report

if TYPE_CHECKING:
    from troubleshoot.engine.lines.table import LineTable

#: The packages in the table by their folder below site-packages, so that nothing is read for a report without them.
FOLDERS = frozenset({"accelerate", "diffusers", "open_clip", "peft", "torch", "transformers"})

#: Different frames of a package that are looked up at most: a long log must not take long.
_MOST = 200

#: The table's name in the folder of the knowledge base.
FILE = "lines.bin"


def infer_releases(environment: Environment, report: Report, table: LineTable | None = None) -> Environment:
    """Return the environment with the releases that the report's frames tell, of packages whose version nobody states.

    ``table`` is the shipped one by default. Frames that contradict each other, or whose code no release has at that line, are of a
    modified or unknown installation: then nothing is told of that package.
    """
    waiting = _frames(environment, report)
    if not waiting:
        return environment
    table = table if table is not None else _shipped_table()
    if table is None:
        return environment
    told = [package for folder, frames in waiting.items() if (package := _told(distribution_of(folder), frames, table)) is not None]
    if not told:
        return environment
    names = {one.name for one in told}
    return replace(environment, packages=(*(one for one in environment.packages if one.name not in names), *told))


@lru_cache(maxsize=1)
def _shipped_table() -> LineTable | None:
    """Read here, not at start-up: most commands, and many reports, need none."""
    from troubleshoot.engine.lines.table import read_table
    from troubleshoot.knowledge.base import shipped_root

    return read_table(shipped_root() / FILE)


#: A place in a package: its file below site-packages, the line and its code.
_Place = tuple[str, int, str]


def _frames(environment: Environment, report: Report) -> dict[str, dict[_Place, Frame]]:
    """Return by folder the places, with the first frame at each, of packages in the table whose version is unknown."""
    found: dict[str, dict[_Place, Frame]] = {}
    for failure in report.failures:
        for frame in failure.frames:
            if frame.code is None or frame.number is None:
                continue
            folder, file = locate(frame.path)
            if folder not in FOLDERS or not _installed(frame.path, file):
                continue
            if folder not in found:
                known = environment.package(distribution_of(folder))
                if known is not None and (known.absent or known.version):
                    continue
                found[folder] = {}
            if len(found[folder]) < _MOST:
                found[folder].setdefault((file, frame.number, frame.code), frame)
    return found


def _installed(path: str, file: str) -> bool:
    """Tell whether a file is that of an installed package, or shown by its place below one; a checkout may be at any commit."""
    return "-packages/" in path or path == file


def _told(name: str, frames: dict[_Place, Frame], table: LineTable) -> Package | None:
    together: int | None = None
    line: int | None = None
    for place, frame in frames.items():
        bits = table.releases_with(*place)
        if bits is None:
            continue
        narrowed = bits if together is None else together & bits
        if not narrowed:
            return None
        if narrowed != together:
            together, line = narrowed, frame.at
    if together is None:
        return None
    releases = table.releases(name, together)
    if releases is None:
        return None
    one = releases.only
    return Package(name, one or "", "lines", line, None if one else releases)
