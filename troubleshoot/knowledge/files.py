"""The files of a knowledge base, without reading them: what start-up needs to tell whether the compiled base is current."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

#: How much words speak for causes; see word_odds.py.
WORD_ODDS_FILE = "word-odds.json"

#: Folders of a base that hold no entries.
_NOT_ENTRIES = frozenset({"examples", "records"})


def yaml_files(root: Path) -> list[Path]:
    """Return the YAML files of a base in a stable order, without examples and records."""
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _NOT_ENTRIES and not name.startswith("."))
        found.extend(Path(folder) / name for name in sorted(names) if name.endswith((".yaml", ".yml")))
    return found


def stamps(roots: Iterable[Path]) -> list[list[object]]:
    """Return path, modification time and size of every file: cheap to compare, enough to see that something changed."""
    found: list[list[object]] = []
    for root in roots:
        odds = root / WORD_ODDS_FILE
        for path in (*yaml_files(root), *([odds] if odds.is_file() else [])):
            stat = path.stat()
            found.append([str(path), stat.st_mtime_ns, stat.st_size])
    return found
