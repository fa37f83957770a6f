"""The compiled form of a knowledge base: one JSON file whose first line is the index, followed by one line per entry.

Start-up reads and decodes the index alone; an entry is decoded when it becomes a candidate. JSON, never pickle: a cache that others may
write must not be able to run code. Reading it needs neither YAML nor the compiler.
"""

from __future__ import annotations

import zlib

import msgspec

from troubleshoot.knowledge.word_classes import WORD_CLASSES

#: The first number is raised whenever the layout changes, so that an older cache is not read; phrases are filed under the words of their
#: classes, so that other classes make another format as well.
FORMAT = (13 << 32) + zlib.crc32("\n".join(WORD_CLASSES.values()).encode())

#: Length of the pieces that index the templates for text without blanks.
GRAM = 8

#: An owner that starts so is a group of kb/out-of-scope.yaml, not an entry.
SCOPE_OWNER = "out-of-scope:"


class Index(msgspec.Struct, frozen=True):
    """The first line. ``patterns`` are (kind, text, owners); kind is "t" for a template, "f" for one of a fallback, "p" for a
    phrase.

    ``keys`` leads from a word to templates that cannot match without it (or one of its alternatives), ``general`` to those of
    fallbacks, ``spoken`` from a word of a sentence to phrases; ``grams`` does the same with pieces of GRAM characters for text without
    blanks; ``always`` lists patterns that have no word; ``needs`` are the words that a text must have all of. ``recall`` is the place
    of the index by which resembling messages are found. ``ids``, ``causes``, ``scope``, ``word_odds`` and ``experiments`` are (offset,
    length) of lines, offsets counting from the end of the first line.
    """

    format: int
    version: str
    keys: dict[str, list[int]]
    general: dict[str, list[int]]
    spoken: dict[str, list[int]]
    grams: dict[str, list[int]]
    always: list[int]
    patterns: list[tuple[str, str, list[str]]]
    needs: list[list[str]]
    recall: tuple[int, int]
    ids: dict[str, tuple[int, int]]
    aliases: dict[str, str]
    causes: tuple[int, int]
    scope: tuple[int, int]
    word_odds: tuple[int, int]
    experiments: tuple[int, int]
    scope_exceptions: dict[str, str]
    stamps: list[tuple[str, int, int]] = []
    warnings: list[str] = []
