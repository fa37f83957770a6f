"""Logs as lines of JSON on stderr. Nothing of a report is ever in them, and what is in them is redacted all the same."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import time
import traceback
from typing import Any

import msgspec

from troubleshoot.basics.redact import redact_data, redact_text

_ENCODER = msgspec.json.Encoder(enc_hook=str)
_MOST_FRAMES = 12
#: Lines that wait to be written, and seconds that they get when the process ends.
_MOST_LINES, _LAST_WORDS = 10_000, 1.0


class JsonFormatter(logging.Formatter):
    """One object per line: time, level, logger, message, and the fields that were given with it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": redact_text(record.getMessage(), personal=True),
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            line.update(redact_data(fields))
        if record.exc_info and record.exc_info[1] is not None:
            line.update(redact_data(trouble(record.exc_info[1])))
        return _ENCODER.encode(line).decode()


def trouble(error: BaseException) -> dict[str, Any]:
    """Return an exception as fields: its class and the places it passed. Its message may quote a report, so it is left out."""
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    return {"exception": type(error).__name__, "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]}


class LineHandler(logging.Handler):
    """Writes lines to stderr in a thread of its own: what reads them may stop reading, and the disk may be full."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: queue.Queue[str | None] = queue.Queue(_MOST_LINES)
        self._thread: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Hand the line on; what cannot be written in time is dropped."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="log", daemon=True)
            self._thread.start()
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(self.format(record))

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            with contextlib.suppress(OSError, ValueError):
                # Not sys.stderr: it keeps what it could not write, and fails again with the next line and when the process ends.
                os.write(2, f"{line}\n".encode())

    def close(self) -> None:
        """Give what waits a moment to be written."""
        super().close()
        if self._thread is not None:
            with contextlib.suppress(queue.Full):
                self._lines.put_nowait(None)
            self._thread.join(_LAST_WORDS)


def log_config() -> dict[str, Any]:
    """Return the logging configuration of the server's processes."""
    handler = {"class": "troubleshoot.serve.logs.LineHandler", "formatter": "json"}
    quiet = {"handlers": ["stderr"], "level": "WARNING", "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "troubleshoot.serve.logs.JsonFormatter"}},
        "handlers": {"stderr": handler},
        "loggers": {
            "troubleshoot": {**quiet, "level": "INFO"},
            "uvicorn": {**quiet, "level": "INFO"},
            "uvicorn.error": {"level": "INFO"},
            "uvicorn.access": quiet,
            "mcp": quiet,
            "asyncio": quiet,
        },
    }
