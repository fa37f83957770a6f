"""Which causes the words of a report speak for, whatever conditions hold (the table: :mod:`troubleshoot.knowledge.word_odds`)."""

from __future__ import annotations

import math
from collections.abc import Set

from troubleshoot.basics.lazy import lazy_attribute
from troubleshoot.basics.patterns import anchored
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.sentences import tokens
from troubleshoot.knowledge.word_odds import FARTHEST, LEAST, RARITY_STEP, ZERO, WordOdds

#: Words that are shown: in fewer than one of twelve reports, and no number, single letter or piece of a Chinese sentence with its stop.
_RARE = chr(LEAST + round(3.5 / RARITY_STEP))
_READABLE = anchored(r"(?=.*[a-z])[a-z0-9]{2,}|[\u4e00-\u9fff]{2}")
#: ... and that lie so many steps apart for the two causes.
_CLEARLY = FARTHEST // 3
#: The length of a report of some forty words, as rare as they come: from here on its words count fully.
ENOUGH = 35.0
#: What the words count beside the weights and conditions that a curator gave a family's causes. Chosen on reports and threads that the
#: words were not fitted to: with more, the threads that they were fitted to gain, and others lose (docs/accuracy.md).
STRENGTH = 0.35


class Leaning:
    """What the words of one report say about causes. Nothing is looked up before a family asks."""

    def __init__(self, base: KnowledgeBase | None = None, words: Set[str] = frozenset()) -> None:
        """Keep the words; without a base, nothing leans to any side."""
        self._base = base
        self._words = words
        self._odds: dict[str, float] = {}

    @lazy_attribute
    def _table(self) -> WordOdds:
        return self._base.word_odds if self._base is not None else WordOdds()

    @lazy_attribute
    def _columns(self) -> dict[str, int]:
        return {cause: column for column, cause in enumerate(self._table.causes, start=1)}

    @lazy_attribute
    def _rows(self) -> dict[str, str]:
        known = self._table.words
        # Sorted: the last digit of a sum of many numbers depends on their order.
        return {word: known[word] for word in sorted(self._words & known.keys())}

    @lazy_attribute
    def _step(self) -> float:
        # The length of the report as a vector of its words' rarities: of a long report each word counts less. A few words say little.
        length = math.hypot(*[RARITY_STEP * steps for steps in self._column(0, LEAST)])
        return STRENGTH * self._table.unit / max(length, ENOUGH)

    def _column(self, column: int, zero: int) -> list[int]:
        # Through one string: a call for each of the words of a report would cost more than all else here.
        return [code - zero for code in "".join([row[column] for row in self._rows.values()]).encode("ascii")]

    def odds(self, cause: str) -> float:
        """Return what the words add to the log-odds of a cause; 0 for one that the table does not know."""
        known = self._odds.get(cause)
        if known is None:
            column = self._columns.get(cause)
            known = self._odds[cause] = self._step * sum(self._column(column, ZERO)) if column is not None else 0.0
        return known

    def telling(self, cause: str, rather_than: str, known: str = "", most: int = 4) -> tuple[str, ...]:
        """Return the words that speak most for a cause rather than for another one, the strongest first; none that the text ``known`` has.

        Numbers and everyday words count in the sum, but tell a reader nothing, and are left out.
        """
        one, other = self._columns.get(cause), self._columns.get(rather_than)
        if one is None or other is None:
            return ()
        beside = tokens(known.lower())
        by = {
            word: ord(row[one]) - ord(row[other])
            for word, row in self._rows.items()
            if row[0] >= _RARE and word not in beside and _READABLE.fullmatch(word)
        }
        return tuple(sorted((word for word in by if by[word] >= _CLEARLY), key=lambda word: (-by[word], word))[:most])


#: Where there is no report, as when an issue is recalled.
NO_LEANING = Leaning()
