"""The files of a knowledge base: which there are, whether one changed, and reading one that may be anything.

Start-up needs the first two to tell whether the compiled base is current.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

#: How much words speak for causes; see word_odds.py.
WORD_ODDS_FILE = "word-odds.json"

#: Tables of words, which are compiled into the package; see basics/word_tables.py.
WORDS_FOLDER = "words"

#: Folders of a base that hold no entries.
_NOT_ENTRIES = frozenset({"examples", "records", WORDS_FOLDER})
_ENDINGS = (".yaml", ".yml")

#: Where a file cannot be looked at, its stamp has this size.
_UNSEEN = -1
#: Times are added up and kept within what JSON's readers take for an integer.
_TIME = (1 << 62) - 1

_KINDS = (
    (stat.S_ISDIR, "is a folder, not a file: rename it, or move its files elsewhere"),
    (stat.S_ISFIFO, "is a named pipe, not a file: remove it"),
    (stat.S_ISSOCK, "is a socket, not a file: remove it"),
    (stat.S_ISCHR, "is a device, not a file: remove it"),
    (stat.S_ISBLK, "is a device, not a file: remove it"),
)


class UnreadableError(OSError):
    """A file cannot be read as it stands; the text says what is wrong and what to do."""


def yaml_files(root: Path) -> list[Path]:
    """Return what is named like a YAML file of a base, in a stable order, without examples, records and words.

    It may be anything: :func:`read_regular` tells. A folder that cannot be listed is among them, so that it is told of too.
    """
    found: list[str] = []
    pending = [str(root)]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda one: one.name)
        except OSError:
            found.append(folder)
            continue
        below: list[str] = []
        for one in entries:
            if one.name.endswith(_ENDINGS):
                found.append(one.path)
            elif one.name not in _NOT_ENTRIES and not one.name.startswith(".") and _is_folder(one):
                below.append(one.path)
        pending += reversed(below)
    return [Path(path) for path in found]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def stamps(roots: Iterable[Path]) -> list[list[object]]:
    """Return path, times and size of every file: cheap to compare, enough to see that something changed.

    The times are that of the content and that of the rights, since a file that may be read at last has changed as well.
    """
    found: list[list[object]] = []
    for root in roots:
        odds = root / WORD_ODDS_FILE
        for path in (*yaml_files(root), *([odds] if os.path.lexists(odds) else [])):
            try:
                status = path.stat()
            except OSError:
                found.append([_text(path), 0, _UNSEEN])
            else:
                found.append([_text(path), (status.st_mtime_ns + status.st_ctime_ns) & _TIME, status.st_size])
    return found


def _text(path: Path) -> str:
    """Return a path as text that JSON can hold: names may be any bytes."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def read_regular(path: str | Path, most: int) -> bytes:
    """Return the bytes of a regular file of at most ``most`` bytes. Never waits, whatever lies at the path.

    Raises:
        UnreadableError: it is not one; the text says what is wrong and what to do.
    """
    try:
        # Opening a pipe would wait for somebody to write into it.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            _check(status, most)
            content = file.read(status.st_size + 1)
            if len(content) > status.st_size:
                # It grew meanwhile, or is one of the system's, whose sizes are not known.
                content += file.read(most + 1 - len(content))
    except UnreadableError:
        raise
    except (OSError, ValueError) as error:
        raise UnreadableError(_reason(Path(path), error)) from error
    if len(content) > most:
        raise UnreadableError(_too_large(len(content), most))
    return content


def _check(status: os.stat_result, most: int) -> None:
    for kind, text in _KINDS:
        if kind(status.st_mode):
            raise UnreadableError(text)
    if status.st_size > most:
        raise UnreadableError(_too_large(status.st_size, most))


def _too_large(size: int, most: int) -> str:
    return f"has {size:,} bytes, and at most {most:,} are read: split it, or move it out of the folder"


def _reason(path: Path, error: Exception) -> str:
    try:
        # A socket, for one, cannot even be opened, and neither can a folder on Windows.
        _check(path.stat(), sys.maxsize)
    except UnreadableError as told:
        return str(told)
    except (OSError, ValueError):
        pass
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        return "is a link to a file that does not exist (editors lock files so): remove it unless the file is being edited"
    if isinstance(error, PermissionError):
        return "may not be read by this user: change its permissions"
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"
