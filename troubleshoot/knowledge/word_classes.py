"""Word classes: ``<bf16>`` in a phrase stands for every word that people have for it, as a hole of a template does for a type.

A class holds English and Chinese words, so that one phrase is understood in both languages, in any mixture.
"""

from __future__ import annotations

from troubleshoot.basics import word_tables
from troubleshoot.basics.patterns import searched

#: The words of each class, as the alternatives of a term (kb/words/classes.yaml).
WORD_CLASSES = word_tables.CLASSES

_NAME = searched(r"<([a-z0-9]+)>")


def expand(phrase: str) -> str:
    """Put the words of the classes into a lowered phrase; an unknown class stays as it is, and no text holds it."""
    return _NAME.sub(lambda match: WORD_CLASSES.get(match[1], match[0]), phrase) if "<" in phrase else phrase
