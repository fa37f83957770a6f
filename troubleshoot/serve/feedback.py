"""Feedback in one SQLite file: whether fixes worked. The only thing that several server processes share, and the only one that is kept.

Nothing of a report is stored unless the operator asks for it, and then with secrets, home folders, e-mail and IP addresses masked.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

from troubleshoot.errors import InputError
from troubleshoot.redact import redact_text

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
    """The open file. Safe to use from several threads and processes."""

    def __init__(self, path: Path, *, store_reports: bool = False) -> None:
        """Open or create the file.

        Raises:
            InputError: it cannot be opened, or is no such file.
        """
        self._store_reports = store_reports
        self._lock = threading.Lock()
        try:
            # Others on the machine have no business with it.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False, isolation_level=None)
            self._connection.execute("pragma journal_mode=wal")
            self._connection.execute("pragma synchronous=normal")
            self._connection.execute(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"{path} cannot be used for feedback: {error}") from None

    def add(self, issue: str, fix: str | None, worked: bool, report: str | None = None) -> None:
        """Note that a fix of an issue worked, or that it did not."""
        kept = redact_text(report, personal=True) if report and self._store_reports else None
        day = time.strftime("%Y-%m-%d", time.gmtime())
        with self._lock:
            self._connection.execute(
                "insert into feedback (day, issue, fix, worked, report) values (?, ?, ?, ?, ?)", (day, issue, fix, int(worked), kept)
            )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


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
