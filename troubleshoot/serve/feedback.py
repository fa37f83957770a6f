"""Feedback in one SQLite file: whether fixes worked. The only thing that several server processes share, and the only one that is kept.

Nothing of a report is stored unless the operator asks for it, and then only what a worker has masked: secrets, home folders, e-mail and IP
addresses.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.serve.errors import RequestError

_log = logging.getLogger("troubleshoot.serve")

_SCHEMA = """
create table if not exists feedback (
  id integer primary key,
  day text not null,
  issue text not null,
  fix text,
  worked integer not null check (worked in (0, 1)),
  report text
)
"""
#: Seconds to wait for another process that writes.
_PATIENCE = 5.0


class Feedback:
    """The file. Safe to use from several threads and processes.

    It is opened for each note: who replaces, mends or removes it meanwhile is noticed, and nothing is told to be stored that is not.
    """

    def __init__(self, path: Path) -> None:
        """Create the file where there is none.

        Raises:
            InputError: it cannot be opened, or is no such file.
        """
        self._path = path
        try:
            _opened(path).close()
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"{path} cannot be used for feedback: {error}") from None

    def add(self, issue: str, fix: str | None, worked: bool, report: str | None = None, until: float = math.inf) -> None:
        """Note that a fix of an issue worked, or that it did not. ``report`` is stored as it is: mask it before.

        After ``until``, by time.monotonic(), nothing is stored any more: the client was told so, and may send it again.

        Raises:
            RequestError: 507 where it could not be stored, 503 where it was too late; then nothing of it is.
        """
        day = time.strftime("%Y-%m-%d", time.gmtime())
        try:
            with contextlib.closing(_opened(self._path, until)) as connection:
                connection.execute("begin immediate")
                if time.monotonic() >= until:
                    raise RequestError(503, "Others write to the file of feedback. Try again in a moment.", code="timeout")
                connection.execute(
                    "insert into feedback (day, issue, fix, worked, report) values (?, ?, ?, ?, ?)", (day, issue, fix, int(worked), report)
                )
                connection.execute("commit")
        except (OSError, sqlite3.Error) as error:
            _log.error("feedback not stored", extra={"fields": {"reason": str(error)}})
            raise RequestError(507, _told(error), code="not_stored") from None


def _opened(path: Path, until: float = math.inf) -> sqlite3.Connection:
    # Others on the machine have no business with it.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, timeout=max(0.0, min(_PATIENCE, until - time.monotonic())), isolation_level=None)
    try:
        connection.execute(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _told(error: Exception) -> str:
    """Return what a client is told: why nothing was stored, and nothing of where."""
    # SQLITE_READONLY_DBMOVED and its like begin with what they are a case of.
    kind = getattr(error, "sqlite_errorname", "").split("_")[1:2]
    why = {
        "FULL": "the disk is full", "READONLY": "the file can only be read", "BUSY": "another program has locked the file",
        "LOCKED": "another program has locked the file", "CORRUPT": "the file is damaged", "NOTADB": "the file is damaged",
    }.get("".join(kind), "the file cannot be written")  # fmt: skip
    return f"The feedback was not stored: {why}. The server's operator can mend that; diagnoses are not affected."


def counts(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the counts of a feedback file, one object per issue and fix: ``{"issue", "fix", "worked", "failed"}``, sorted by issue.

    ``fix`` is None where the feedback was about the diagnosis as a whole. The file is only read.

    Raises:
        InputError: there is no such file, or it is no feedback file.
    """
    name = Path(path)
    if not name.is_file():
        raise InputError(f"{name}: there is no such feedback file. It is the one that `troubleshoot serve --feedback FILE` writes.")
    query = "select issue, fix, sum(worked), sum(1 - worked) from feedback group by issue, fix order by issue, fix is null, fix"
    try:
        connection = sqlite3.connect(f"{name.resolve().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)
        try:
            rows = connection.execute(query).fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise InputError(f"{name} is no feedback file: {error}") from None
    return [{"issue": issue, "fix": fix, "worked": worked, "failed": failed} for issue, fix, worked, failed in rows]
