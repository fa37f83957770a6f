"""Overlays that installed packages bring: the entry-point group ``troubleshoot.kb`` names a package whose folder holds entries.

importlib.metadata would take longer to import than a whole diagnosis takes, so the few lines of ``entry_points.txt`` are read directly
(format: https://packaging.python.org/en/latest/specifications/entry-points/). Nothing of such a package is imported: a package that is
broken, or prints, or ends the process when it is imported must not do so in every program that asks for a diagnosis.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from troubleshoot.knowledge.files import UnreadableError, read_regular

GROUP = b"[troubleshoot.kb]"
ENTRY_POINTS = "entry_points.txt"
#: Bytes of an ``entry_points.txt``.
_MOST_BYTES = 1 << 20


def plugin_roots() -> tuple[Path, ...]:
    """Return the folders named by installed packages, in the order of ``sys.path``. Unreadable ones are left out.

    Where a package names none that is there, its ``entry_points.txt`` stands for it: no folder either, which is then told.
    """
    found: list[Path] = []
    for folder in dict.fromkeys(sys.path):
        try:
            with os.scandir(folder or ".") as listed:
                names = [entry.name for entry in listed if entry.name.endswith(".dist-info")]
        except (OSError, ValueError):
            continue
        for name in sorted(names):
            path = os.path.join(folder, name, ENTRY_POINTS)  # noqa: PTH118  (there are hundreds, and this is start-up)
            try:
                content = read_regular(path, _MOST_BYTES)
            except UnreadableError:
                continue
            if GROUP in content:
                found.extend(_folder(value) or Path(path) for value in _values(content.decode("utf-8", "replace")))
    return tuple(dict.fromkeys(found))


def _values(content: str) -> list[str]:
    """Return what stands behind the names in our group."""
    values: list[str] = []
    ours = False
    for line in content.splitlines():
        text = line.strip()
        if text.startswith("["):
            ours = text.encode() == GROUP
        elif ours and text and not text.startswith(("#", ";")):
            values.append(text.partition("=")[2].strip())
    return values


def _folder(value: str) -> Path | None:
    """Return the folder of ``package.module:subfolder``."""
    module, _, subfolder = value.partition(":")
    # Whatever a finder of another package raises, or ends, is that package's problem.
    with suppress(Exception, SystemExit):
        locations = _locations(module.strip())
        folder = Path(locations[0]) / subfolder.strip() if locations else None
        if folder is not None and os.path.isdir(folder):  # noqa: PTH112  (Path.is_dir raises where a folder above may not be entered)
            return folder
    return None


def _locations(module: str) -> list[str]:
    """Return the folders of a package. (``find_spec`` would import the packages above a dotted name: they are looked up one by one.)"""
    import importlib.machinery
    import importlib.util

    first, *rest = module.split(".")
    spec = importlib.util.find_spec(first) if first and first not in sys.modules else None
    loaded = sys.modules.get(first)
    places = list(spec.submodule_search_locations or ()) if spec is not None else list(getattr(loaded, "__path__", ()))
    name = first
    for part in rest:
        name = f"{name}.{part}"
        below = importlib.machinery.PathFinder.find_spec(name, places)
        places = list(below.submodule_search_locations or ()) if below is not None else []
    return places
