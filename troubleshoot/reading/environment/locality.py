"""Is a pasted traceback from this machine? Local facts speak for it only then.

Paths are compared as strings. Nothing on a pasted path is opened: quoted source lines are compared with the file of the same relative
path below our own site-packages.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

#: Files that are read at most, and bytes of each.
_MOST_FILES = 4
_MOST_BYTES = 2_000_000


def is_local(
    frames: Iterable[tuple[str, int | None, str | None]],
    *,
    prefix: str | None = None,
    site_packages: Sequence[str] | None = None,
) -> bool:
    """Tell whether frames (file, line number, quoted source line) come from this interpreter's installation.

    At least one frame must lie below its site-packages (or, for the standard library alone, its prefix), none below another's, and every
    quoted line that can be looked up must be the installed one.
    """
    homes = _homes(site_packages)
    root = _plain(sys.prefix if prefix is None else prefix)
    inside: list[tuple[str, str, int | None, str | None]] = []
    for file, number, code in frames:
        path = _plain(file)
        if ".." in path.split("/"):
            continue
        home = next((one for one in homes if path.startswith(one + "/")), None)
        if home is not None:
            inside.append((home, path[len(home) + 1 :], number, code))
        elif _in_some_site_packages(path) and not path.startswith(root + "/"):
            return False
    if not inside:
        return False
    return _lines_agree(inside)


def _homes(given: Sequence[str] | None) -> tuple[str, ...]:
    entries = [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))] if given is None else given
    return tuple(dict.fromkeys(_plain(entry) for entry in entries))


def _plain(path: str) -> str:
    path = path.replace("\\", "/").rstrip("/")
    if os.name == "nt":
        path = path.lower()
    return path


def _in_some_site_packages(path: str) -> bool:
    return "/site-packages/" in path or "/dist-packages/" in path


def _lines_agree(inside: Sequence[tuple[str, str, int | None, str | None]]) -> bool:
    """False where an installed file lacks the quoted line at that number, or is not installed at all."""
    files: dict[tuple[str, str], list[str] | None] = {}
    for home, relative, number, code in inside:
        if not number or not code:
            continue
        key = (home, relative)
        if key not in files:
            if len(files) >= _MOST_FILES:
                continue
            files[key] = _read(home, relative)
        lines = files[key]
        if lines is None:
            return False
        if number > len(lines) or _squeezed(code) not in _squeezed(" ".join(lines[number - 1 : number + 30])):
            return False
        if not _squeezed(code).startswith(_squeezed(lines[number - 1])[:20]):
            return False
    return True


def _read(home: str, relative: str) -> list[str] | None:
    try:
        with open(home + "/" + relative, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read(_MOST_BYTES).splitlines()
    except OSError:
        return None


def _squeezed(text: str) -> str:
    return "".join(text.split())
