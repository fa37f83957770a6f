"""Looking up what the interface says, in one language."""

from __future__ import annotations

import re

from troubleshoot.telling.strings import TABLES

#: A blank that a folded line left between Chinese characters, or beside full-width punctuation.
_CHINESE_BLANK = "(?<=[\u3000-\u303f\uff00-\uff65])\\s+|\\s+(?=[\u3000-\u303f\uff00-\uff65])|(?<=[\u4e00-\u9fff])\\s+(?=[\u4e00-\u9fff])"


class Words:
    """The table of one language: ``words("seen.works")``, ``words("percent", n=97)``. An unknown language is English.

    ``face`` is where it is said: "page" for a page with buttons and fields, "" for all else. ``KEY@page`` is what the page says instead.
    """

    def __init__(self, language: str, face: str = "") -> None:
        self.language = language if language in TABLES else "en"
        self.face = face
        self._table = TABLES[self.language]

    def __call__(self, key: str, **values: object) -> str:
        """Return the text of a key with its holes filled. Raises KeyError for a key that is not in the tables."""
        text = self._table.get(f"{key}@{self.face}") or self._table[key]
        return text.format(**values) if values else text

    def percent(self, value: float) -> str:
        """Return a probability as a percentage; certainty is never claimed beyond 99 %."""
        return self("percent", n=max(0, min(99, round(value * 100))))

    def paren(self, text: str) -> str:
        """Return the text in parentheses, ready to be appended."""
        return f"（{text}）" if self.language == "zh" else f" ({text})"

    def flow(self, text: str) -> str:
        """Return a text of several lines as one paragraph; Chinese has no blanks around its own characters and punctuation."""
        text = " ".join(text.split())
        return re.sub(_CHINESE_BLANK, "", text) if self.language == "zh" else text

    def list(self, items: tuple[str, ...] | list[str]) -> str:
        """Return the items separated as the language does it."""
        return ("、" if self.language == "zh" else ", ").join(items)
