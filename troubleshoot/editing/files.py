"""Files that are edited, and those that never are; writing with a way back."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from troubleshoot.errors import InputError

_PACKAGES = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_REMOTE = re.compile(r"[/\\](?:transformers_modules|datasets_modules|diffusers_modules)[/\\]")
_MOST_BACKUPS = 1000


def protected(path: str) -> str | None:
    """Return why a file is never edited, or None."""
    name = Path(path).name
    if _REMOTE.search(path):
        return (
            f"{name} is a model's remote code in the Hugging Face cache: it is never edited, the next download would undo it. "
            "Use a live patch (`troubleshoot run --try-fixes`, troubleshoot.apply), or pin a revision that is right"
        )
    if _PACKAGES.search(path):
        return f"{name} belongs to an installed package: it is never edited. Upgrade the package, or use a live patch (troubleshoot.apply)"
    library = os.path.realpath(os.path.dirname(os.__file__))  # noqa: PTH120
    if os.path.realpath(path).startswith((library + os.sep, os.path.realpath(os.path.join(sys.prefix, "lib")) + os.sep)):  # noqa: PTH118
        return f"{name} belongs to the Python installation: it is never edited"
    return None


def unified_diff(path: str, before: bytes, after: bytes) -> str:
    """Return the unified diff of one file, as ``git apply`` and ``patch`` read it; paths are shown from the working folder."""
    shown = os.path.relpath(path) if os.path.realpath(path).startswith(os.path.realpath(os.getcwd()) + os.sep) else path  # noqa: PTH109
    shown = shown.replace(os.sep, "/")
    absolute = shown.startswith("/")
    old, new = (data.decode("utf-8", "surrogateescape").splitlines(keepends=True) for data in (before, after))
    lines = []
    for line in difflib.unified_diff(old, new, shown if absolute else f"a/{shown}", shown if absolute else f"b/{shown}"):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def apply_files(files: Mapping[str, tuple[bytes, bytes]]) -> dict[str, str]:
    """Write new contents, by path (before, after), each in one step, and return the path of each backup.

    Raises:
        InputError: a file has changed meanwhile, or cannot be written; nothing is half written.
    """
    for path, (before, _) in files.items():
        try:
            now = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror or error}") from error
        if now != before:
            raise InputError(f"{path} has changed since it was read; nothing was written. Run the command again")
    return {path: _write(path, before, after) for path, (before, after) in files.items()}


def _write(path: str, before: bytes, after: bytes) -> str:
    real = os.path.realpath(path)
    folder = os.path.dirname(real)  # noqa: PTH120
    temporary = ""
    try:
        backup = _backup(real, before)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{Path(real).name}.", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(real, temporary)
        os.replace(temporary, real)  # noqa: PTH105
    except OSError as error:
        with suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise InputError(f"cannot write {path}: {error.strerror or error}; it is as it was") from error
    return backup


def _backup(path: str, data: bytes) -> str:
    """Write the backup under a name that is free: one that is there is never touched."""
    for number in range(_MOST_BACKUPS):
        name = f"{path}.orig" if number == 0 else f"{path}.orig.{number}"
        try:
            with open(name, "xb") as file:  # noqa: PTH123
                file.write(data)
        except FileExistsError:
            continue
        shutil.copymode(path, name)
        return name
    raise InputError(f"{path}.orig to {path}.orig.{_MOST_BACKUPS - 1} all exist: remove some")
