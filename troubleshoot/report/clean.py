"""A pasted text to lines without decoration: terminal codes, HTML, quoting and log prefixes removed, numbers kept."""

from __future__ import annotations

import re
from functools import lru_cache

_ANSI = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_=>78]|[()][A-Z0-9])"


@lru_cache(maxsize=1)
def _ansi() -> re.Pattern[str]:
    return re.compile(_ANSI)


def clean(text: str) -> tuple[list[str], list[int]]:
    """Return the lines of ``text`` without decoration, and their numbers in it, counted from 1."""
    if "\x1b" in text:
        text = _ansi().sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines, list(range(1, len(lines) + 1))
