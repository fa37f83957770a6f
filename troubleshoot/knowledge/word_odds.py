"""How much each word of a report speaks for each cause (``word-odds.json`` of a knowledge base).

A family's conditions ask for single facts. What else a report says, in whatever words, tells its causes apart as well: the numbers are
those of a logistic regression over labelled public reports (``troubleshoot kb learn``; docs/accuracy.md says what they are worth). They
weigh the causes of a family that answers anyway, and never make an entry a candidate.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from troubleshoot.basics.errors import KnowledgeError, KnowledgeProblem
from troubleshoot.knowledge.files import UnreadableError, read_regular

FORMAT = 1

#: Numbers are written as printable characters: this one is a weight of 0, its neighbours are one ``unit`` more or less.
ZERO = ord("O")
#: The farthest that a character goes to either side: from "%" to "y".
FARTHEST = 42
#: A word's rarity is counted in these steps from the first of the characters.
RARITY_STEP = 0.1
LEAST = ZERO - FARTHEST
#: JSON would write a backslash as two.
_INSTEAD = {ord("\\"): ord("]")}


#: Bytes of a table; the shipped one has 0.5 MB.
_MOST_BYTES = 64 << 20


class WordOdds(msgspec.Struct, frozen=True):
    """The table. ``words`` has for each word one character for its rarity (the inverse document frequency of text retrieval) and one for
    each cause, in the order of ``causes``; ``unit`` is what one step adds to the log-odds of a report of one known word; ``reports``
    counts the reports that it was fitted to.
    """

    format: int = FORMAT
    reports: int = 0
    unit: float = 0.0
    causes: tuple[str, ...] = ()
    words: dict[str, str] = {}


def read_word_odds(path: Path) -> WordOdds:
    """Read a table.

    Raises:
        KnowledgeError: the file cannot be read, is no table, or has another format.
    """
    try:
        table = msgspec.json.decode(read_regular(path, _MOST_BYTES), type=WordOdds)
    except UnreadableError as error:
        raise KnowledgeError((KnowledgeProblem(path, 1, "", str(error)),)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise KnowledgeError((KnowledgeProblem(path, 1, "", f"is no table of words ({error}): make it anew with kb learn"),)) from error
    if table.format != FORMAT:
        raise KnowledgeError((KnowledgeProblem(path, 1, "format", f"is {table.format}, not {FORMAT}"),))
    for word, row in table.words.items():
        if len(row) != 1 + len(table.causes):
            raise KnowledgeError((KnowledgeProblem(path, 1, word, f"has {len(row)} characters for {len(table.causes)} causes"),))
        if not row.isascii():
            raise KnowledgeError((KnowledgeProblem(path, 1, word, f"has characters that are no weights: {row!r}"),))
    return table


def row_of(rarity: float, steps: Iterable[int]) -> str:
    """Return a word's characters; weights beyond the farthest are cut off."""
    return "".join(chr(_INSTEAD.get(code, code)) for code in (_code(round(rarity / RARITY_STEP) - FARTHEST), *map(_code, steps)))


def _code(steps: int) -> int:
    return ZERO + max(-FARTHEST, min(FARTHEST, steps))
