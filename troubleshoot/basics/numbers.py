"""Numbers as people and programs write them."""

from __future__ import annotations


def whole_number(text: str) -> int | None:
    """Return the number that a text of one to nine ASCII digits says, else None.

    ``str.isdigit`` takes characters that ``int`` refuses (a raised two), and ``int`` refuses more than 4,300 digits.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None
