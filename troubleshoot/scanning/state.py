"""What a scan knows so far, kept in a file, so that it goes on where it was interrupted and a log that grew is read from there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from troubleshoot.errors import InputError
from troubleshoot.scanning.model import Tally
from troubleshoot.scanning.units import head_mark

_SCHEMA = 1


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
        try:
            data = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise InputError(f"{path} is no state of a scan ({error}). Delete it, or name another file.") from None
        if not isinstance(data, dict) or data.get("what") != "troubleshoot scan":
            raise InputError(f"{path} is no state of a scan. Name another file: it would be overwritten.")
        if data.get("schema") == _SCHEMA and data.get("version") == version:
            self._files = data["files"]

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
        data = {"what": "troubleshoot scan", "schema": _SCHEMA, "version": self._version, "files": self._files}
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("w", encoding="utf-8") as file:
                json.dump(data, file, ensure_ascii=False)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
        except OSError as error:
            raise InputError(f"{self._path} cannot be written: {error.strerror or error}") from None


def _name(file: str) -> str:
    return str(Path(file).resolve())
