"""What a scan knows so far, kept in a file, so that it goes on where it was interrupted and a log that grew is read from there."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.saving import save
from troubleshoot.knowledge.files import UnreadableError, read_regular
from troubleshoot.scale.scanning.problems import Tally
from troubleshoot.scale.scanning.units import head_mark

_SCHEMA = 2
_WHAT = "troubleshoot scan"
#: How every state begins, by which a damaged one is told from another file.
_BEGINS = b'{"what": "troubleshoot scan"'
_MOST_BYTES = 1 << 30


class State:
    """Per file: how far it was read in whole units, the tally of these, and that of the part behind them."""

    def __init__(self, path: str, version: str) -> None:
        """Open the state in a file that need not exist. ``version`` changes with the knowledge base: what another one found is not used.

        Raises:
            InputError: the file is no state.
        """
        self._path = Path(path)
        self._version = version
        self._files: dict[str, dict[str, Any]] = {}
        #: what is to be told of what was kept, if anything
        self.damaged = ""
        if not os.path.lexists(path):
            return
        try:
            content = read_regular(path, _MOST_BYTES)
        except UnreadableError as error:
            raise InputError(f"--state {path}: {error}, or name another file") from None
        try:
            data = json.loads(content)
        except (ValueError, RecursionError) as error:
            if not content.startswith(_BEGINS):
                raise InputError(f"{path} is no state of a scan ({error}). Delete it, or name another file.") from None
            data = {"what": _WHAT, "schema": _SCHEMA, "version": version}
        if not isinstance(data, dict) or data.get("what") != _WHAT:
            raise InputError(f"{path} is no state of a scan. Name another file: it would be overwritten.")
        if data.get("schema") == _SCHEMA and data.get("version") == version:
            if data.get("crc32") == _checksum(data.get("files")):
                self._files = data["files"]
            else:
                self.damaged = f"{path} is damaged: everything is read again, and the state is made anew"

    def known(self, file: str) -> tuple[int, Tally, Tally | None]:
        """Return (bytes read in whole units, their tally, the tally of the rest where the file has not changed)."""
        entry = self._files.get(_name(file))
        if entry is None or file == "-":
            return 0, Tally(), None
        try:
            status = Path(file).stat()
            same = head_mark(file, entry["size"]) == entry["head"] and status.st_size >= entry["size"]
        except OSError:
            return 0, Tally(), None
        if not same:
            return 0, Tally(), None
        rest = Tally.from_state(entry["rest"]) if entry["rest"] and status.st_size == entry["size"] else None
        if rest is not None and status.st_mtime_ns != entry["mtime"]:
            rest = None
        return entry["done"], Tally.from_state(entry["tally"]), rest

    def note(self, file: str, size: int | None, done: int, tally: Tally, rest: Tally | None) -> None:
        """Note that ``size`` bytes of a file (None: all of it) were read, ``done`` of them in whole units; :meth:`save` keeps it."""
        if file == "-":
            return
        status = Path(file).stat()
        # The file may have grown meanwhile: its size is what was read of it.
        size = status.st_size if size is None else size
        self._files[_name(file)] = {
            "size": size,
            "mtime": status.st_mtime_ns,
            "head": head_mark(file, size),
            "done": done,
            "tally": tally.to_state(),
            "rest": rest.to_state() if rest is not None else None,
        }

    def save(self) -> None:
        """Write the state: a reader, and a crash, see the old file or the new one."""
        data = {"what": _WHAT, "schema": _SCHEMA, "version": self._version, "crc32": _checksum(self._files), "files": self._files}
        try:
            save(self._path, json.dumps(data, ensure_ascii=False).encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise InputError(f"{self._path} cannot be written: {error.strerror or error}") from None


def _checksum(files: object) -> int:
    return zlib.crc32(json.dumps(files).encode())


def _name(file: str) -> str:
    return str(Path(file).resolve())
