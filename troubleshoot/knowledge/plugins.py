"""Overlays that installed packages bring: the entry-point group ``troubleshoot.kb`` names a package whose folder holds entries.

importlib.metadata would take longer to import than a whole diagnosis takes, so the few lines of ``entry_points.txt`` are read directly
(format: https://packaging.python.org/en/latest/specifications/entry-points/).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

GROUP = b"[troubleshoot.kb]"


def plugin_roots() -> tuple[Path, ...]:
    """Return the folders named by installed packages, in the order of ``sys.path``. Unreadable or missing ones are left out."""
    found: list[Path] = []
    for folder in dict.fromkeys(sys.path):
        try:
            names = [entry.name for entry in os.scandir(folder or ".") if entry.name.endswith(".dist-info")]
        except OSError:
            continue
        for name in sorted(names):
            try:
                content = (Path(folder) / name / "entry_points.txt").read_bytes()
            except OSError:
                continue
            if GROUP in content:
                found.extend(_folders(content.decode("utf-8", "replace")))
    return tuple(dict.fromkeys(found))


def _folders(content: str) -> list[Path]:
    import configparser
    import importlib.util

    parser = configparser.ConfigParser(delimiters=("=",), strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(content)
    folders: list[Path] = []
    for _, value in parser.items(GROUP.decode().strip("[]")):
        module, _, subfolder = value.strip().partition(":")
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            continue
        if spec is not None and spec.submodule_search_locations:
            folder = Path(next(iter(spec.submodule_search_locations))) / subfolder
            if folder.is_dir():
                folders.append(folder)
    return folders
