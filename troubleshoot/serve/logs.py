"""Logs as lines of JSON on stderr. Nothing of a report is ever in them, and what is in them is redacted all the same."""

from __future__ import annotations

import logging
import time
import traceback
from typing import Any

import msgspec

from troubleshoot.redact import redact_data, redact_text

_ENCODER = msgspec.json.Encoder(enc_hook=str)
_MOST_FRAMES = 12


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


def log_config() -> dict[str, Any]:
    """Return the logging configuration of the server's processes."""
    handler = {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}
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
