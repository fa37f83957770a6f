"""Looking up what the interface says, in one language."""

from __future__ import annotations

from troubleshoot.render.strings import TABLES


class Words:
    """The table of one language: ``words("seen.works")``, ``words("percent", n=97)``. An unknown language is English."""

    def __init__(self, language: str) -> None:
        self.language = language if language in TABLES else "en"
        self._table = TABLES[self.language]

    def __call__(self, key: str, **values: object) -> str:
        """Return the text of a key with its holes filled. Raises KeyError for a key that is not in the tables."""
        text = self._table[key]
        return text.format(**values) if values else text

    def percent(self, value: float) -> str:
        """Return a probability as a percentage; certainty is never claimed beyond 99 %."""
        return self("percent", n=max(0, min(99, round(value * 100))))

    def list(self, items: tuple[str, ...] | list[str]) -> str:
        """Return the items separated as the language does it."""
        return ("、" if self.language == "zh" else ", ").join(items)
