"""Finding anchors in a block of bytes: hyperscan where it is installed, else a way that needs nothing but Python.

Both return the same hits, in the order of the block; which one runs changes the time alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Protocol

from troubleshoot.basics.errors import InputError
from troubleshoot.scale.scanning.anchors import Anchor

ENGINES = ("auto", "hyperscan", "python")

#: Offset of the first byte, and the anchor's number.
Hit = tuple[int, int]

_DIGITS = b"0123456789"
#: Everything but letters becomes a blank.
_WORDS = bytes(code if chr(code).isalpha() and code < 128 else 32 for code in range(256))
#: Distinct lines (without their digits) that are remembered; a log prints a few hundred.
_MOST_SHAPES = 50_000
#: ... and their bytes.
_MOST_HELD = 16 << 20
_SHORTEST_WORD = 4


class Finder(Protocol):
    """Finds anchors in blocks. ``name`` is the engine's."""

    name: str

    def find(self, block: bytes | bytearray, end: int) -> list[Hit]:
        """Return the hits in ``block[:end]``, sorted."""


def open_finder(anchors: Sequence[Anchor], engine: str = "auto") -> Finder:
    """Return a finder for the anchors.

    Raises:
        InputError: the engine is unknown, or hyperscan was asked for and is not installed.
    """
    if engine not in ENGINES:
        raise InputError(f"--finder {engine}: choose {', '.join(ENGINES[:-1])} or {ENGINES[-1]}")
    if engine != "python":
        try:
            return HyperscanFinder(anchors)
        except ImportError:
            if engine == "hyperscan":
                raise InputError("hyperscan is not installed. Run: pip install 'troubleshoot[scan]'") from None
    return PythonFinder(anchors)


class HyperscanFinder:
    """All anchors at once, by Hyperscan (https://intel.github.io/hyperscan/dev-reference/compilation.html)."""

    name = "hyperscan"

    def __init__(self, anchors: Sequence[Anchor]) -> None:
        """Compile the anchors: some 10 ms for a thousand. Raises ImportError without hyperscan."""
        import hyperscan

        self._lengths = [len(one.text) for one in anchors]
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        patterns = [re.escape(one.text) + (rb"\b" if one.whole else b"") for one in anchors]
        self._database.compile(expressions=patterns, ids=list(range(len(anchors))), flags=0)
        self._scratch = hyperscan.Scratch(self._database)
        self._ends: list[tuple[int, int]] = []

    def find(self, block: bytes | bytearray, end: int) -> list[Hit]:
        """Return the hits in ``block[:end]``, sorted."""
        self._ends = []
        data: Any = block if end == len(block) else memoryview(block)[:end]
        self._database.scan(data, match_event_handler=self._on_match, scratch=self._scratch)
        lengths = self._lengths
        hits = [(stop - lengths[number], number) for number, stop in self._ends]
        hits.sort()
        return hits

    def _on_match(self, number: int, _start: int, stop: int, _flags: int, _context: object) -> None:
        self._ends.append((number, stop))


class PythonFinder:
    """Looks at each *shape* of a line once: a log prints the same lines with other numbers in them.

    The digits are taken out of a block, what remains is split and made a set, and only shapes that were not seen before are searched. The
    few anchors that a shape holds are then looked for in the block itself.
    """

    name = "python"

    def __init__(self, anchors: Sequence[Anchor]) -> None:
        """File every anchor under its longest inner word; those without one are looked for as they are, whole words all at once."""
        self._anchors = tuple(anchors)
        self._seen: dict[bytes, tuple[int, ...]] = {}
        self._held = 0
        self._by_word: dict[bytes, list[int]] = {}
        self._always: list[int] = []
        self._bare = [one.text.translate(None, _DIGITS) for one in anchors]
        self._whole = {one.text: number for number, one in enumerate(anchors) if one.whole}
        # One character, then a word: the words are few, which keeps the pattern fast.
        firsts = b"".join(re.escape(text) for text in sorted({text[:1] for text in self._whole}))
        words = b"|".join(re.escape(text) for text in sorted({text[1:] for text in self._whole}))
        self._whole_words = re.compile(b"[%b](?:%b)(?![0-9A-Za-z_])" % (firsts, words)) if self._whole else None
        for number, one in enumerate(anchors):
            inner = _inner_words(self._bare[number])
            if inner:
                self._by_word.setdefault(max(inner, key=len), []).append(number)
            elif not one.whole:
                self._always.append(number)

    def find(self, block: bytes | bytearray, end: int) -> list[Hit]:
        """Return the hits in ``block[:end]``, sorted."""
        data = block if end == len(block) else block[:end]
        shapes = set(bytes(data).translate(None, _DIGITS).split(b"\n"))
        seen = self._seen
        fresh = shapes - seen.keys()
        if fresh:
            self._look_at(fresh)
        wanted: set[int] = set()
        for shape in shapes:
            numbers = seen.get(shape)
            if numbers:
                wanted.update(numbers)
        if len(seen) > _MOST_SHAPES or self._held > _MOST_HELD:
            seen.clear()
            self._held = 0
        hits: list[Hit] = []
        for number in wanted:
            text, whole = self._anchors[number].text, self._anchors[number].whole
            at = data.find(text)
            while at >= 0:
                if not whole or _ends_word(data, at + len(text), end):
                    hits.append((at, number))
                at = data.find(text, at + 1)
        hits.sort()
        return hits

    def _look_at(self, fresh: set[bytes]) -> None:
        """Note which anchors each new shape may hold."""
        lines = list(fresh)
        self._seen.update(dict.fromkeys(lines, ()))
        text = b"\n".join(lines) + b"\n"
        self._held += len(text)
        words = set(text.translate(_WORDS).split())
        candidates = list(self._always)
        for word in words & self._by_word.keys():
            candidates += self._by_word[word]
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        for number in candidates:
            bare = self._bare[number]
            at = text.find(bare)
            while at >= 0:
                row = bisect_right(starts, at) - 1
                self._note(lines[row], number)
                # One hit of an anchor in a shape is enough.
                at = text.find(bare, starts[row] + len(lines[row]))
        if self._whole_words is not None:
            for match in self._whole_words.finditer(text):
                found = self._whole.get(match[0])
                if found is not None:
                    self._note(lines[bisect_right(starts, match.start()) - 1], found)

    def _note(self, line: bytes, number: int) -> None:
        self._seen[line] = (*self._seen[line], number)


def _inner_words(text: bytes) -> list[bytes]:
    """Return the words of an anchor that are whole wherever it occurs: not the first or last, which the line may go on with."""
    words = text.translate(_WORDS)
    return [
        word
        for word in words.split()
        if len(word) >= _SHORTEST_WORD
        and (not words.startswith(word) or words.find(word, 1) > 0)
        and (not words.endswith(word) or words.find(word) < len(words) - len(word))
    ]


def _ends_word(block: bytes | bytearray, stop: int, end: int) -> bool:
    """Tell whether no letter, digit or underscore stands at ``stop``."""
    if stop >= end:
        return True
    code = block[stop]
    return not (48 <= code <= 57 or 65 <= code <= 90 or 97 <= code <= 122 or code == 95)
