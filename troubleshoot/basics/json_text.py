r"""JSON that can be shown: characters that steer a terminal or hide text are written as \uXXXX, which is the same value."""

from __future__ import annotations

import json
import re
from typing import Any

from troubleshoot.basics.invisible import INVISIBLE

_HIDDEN = f"[\x7f-\x9f\u2028\u2029\ud800-\udfff]|{INVISIBLE}"


def json_text(data: Any, indent: int | None = None) -> str:
    """Return data as JSON on one line or indented; what can be read stays as it is."""
    return escaped(json.dumps(data, ensure_ascii=False, indent=indent))


def escaped(text: str) -> str:
    """Return JSON with control, reordering and invisible characters escaped: they stand in strings only."""
    return text if text.isascii() and "\x7f" not in text else re.sub(_HIDDEN, _escape, text)


def ascii_json(text: str) -> str:
    """Return JSON with everything but ASCII escaped."""
    return text if text.isascii() else re.sub("[^\x00-\x7f]", _escape, text)


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"
