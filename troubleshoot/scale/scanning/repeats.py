"""Lines that a log repeats with other numbers, counted many at once.

Where a run has failed, every line may be a NaN loss. A line like one that was examined before is only counted, and here that is done for a
block at a time: its lines are counted by their shapes, and what is looked at one by one is the last line of each shape. The result is
that of looking at each line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from troubleshoot.scale.scanning.anchors import Anchor
from troubleshoot.scale.scanning.examine import RANK_WORDS, rank_of

_DIGITS = b"0123456789"
_LINE_ENDS = bytes.maketrans(b"\r", b"\n")
#: A block is worth it where it has a line that is known for every so many bytes: else looking for anchors alone is faster.
_WORTH = 1 << 10
#: What may follow the word of a rank, its number included; see examine._RANK.
_AFTER_WORD = 12


class Known(NamedTuple):
    """A shape whose lines all say ``key`` (None: nothing). ``witness`` is text by which a line is known to have an anchor.

    ``rank_word`` is the one word of the shape behind which a rank may stand.
    """

    key: str | None
    witness: bytes
    at_end: bool
    rank_word: bytes | None
    has_rank: bool


@dataclass
class Repeated:
    """The lines of one shape in a block: how many, where the last one begins and ends, and the ranks of all."""

    key: str | None
    count: int = 0
    index: int = 0
    start: int = 0
    stop: int = 0
    ranks: set[int] = field(default_factory=set)


class Repeats:
    """The shapes of lines that were examined and come again."""

    def __init__(self, anchors: Sequence[Anchor], longest: int) -> None:
        """Take the anchors, and the length from which on of a line only a part is looked at."""
        self._failures = tuple(one.text.translate(None, _DIGITS) for one in anchors if one.kind == "failure")
        self._others = tuple(one for one in anchors if one.kind != "failure" and one.text == one.text.translate(None, _DIGITS))
        self._longest = longest
        self._known: dict[bytes, Known | None] = {}

    def learn(self, shape: bytes, line: bytes, key: str | None) -> None:
        """Take note of a line that came again, with what lines of its shape say."""
        if shape not in self._known:
            self._known[shape] = self._made(shape, line, key)

    def _made(self, shape: bytes, line: bytes, key: str | None) -> Known | None:
        # With other numbers in it, a line may hold an anchor that begins a failure.
        if any(text in shape for text in self._failures):
            return None
        lowered = shape.lower()
        words = [(lowered.find(word), word) for word in RANK_WORDS for _ in range(lowered.count(word))]
        word = shape[words[0][0] : words[0][0] + len(words[0][1])] if len(words) == 1 else None
        for one in self._others:
            at = line.find(one.text)
            if at < 0:
                continue
            stop = at + len(one.text)
            if not one.whole:
                return Known(key, one.text, False, word, bool(words))
            if stop == len(line):
                return Known(key, one.text, True, word, bool(words))
            if not (line[stop : stop + 1].isalnum() or line[stop : stop + 1] == b"_"):
                return Known(key, line[at : stop + 1], False, word, bool(words))
        return None

    def take(self, block: bytes | bytearray, end: int) -> tuple[bytes | None, list[Repeated]] | None:
        """Take the known lines out of ``block[:end]``: return it with blanks in their place, and what was taken.

        The block is None where nothing is left of it. None where there are too few such lines.
        """
        lines = bytes(memoryview(block)[:end]).translate(_LINE_ENDS)
        shapes = lines.translate(None, _DIGITS).split(b"\n")
        rest = lines.split(b"\n")
        known, longest = self._known, self._longest
        found: dict[bytes, Repeated] = {}
        ranked: dict[bytes, set[bytes]] = {}
        taken = 0
        for index, shape in enumerate(shapes):
            one = known.get(shape)
            if one is None:
                continue
            line = rest[index]
            if not (line.endswith(one.witness) if one.at_end else one.witness in line) or len(line) >= longest:
                continue
            group = found.get(shape)
            if group is None:
                group = found[shape] = Repeated(one.key)
            group.count += 1
            group.index = index
            taken += 1
            if one.has_rank:
                ranked.setdefault(shape, set()).add(_around(line, one.rank_word))
            rest[index] = b" " * len(line)
        if not is_worth(taken, end):
            return None
        ends = list(accumulate(map(len, rest)))
        for group in found.values():
            group.stop = ends[group.index] + group.index
            group.start = group.stop - len(rest[group.index])
        for shape, parts in ranked.items():
            found[shape].ranks.update(rank for part in parts if (rank := rank_of(part)) is not None)
        left = b"\n".join(rest)
        return (None if left.isspace() else left), list(found.values())


def is_worth(lines: int, end: int) -> bool:
    """Tell whether so many known lines in a block of so many bytes are worth being taken out of it."""
    return lines * _WORTH >= end


def _around(line: bytes, word: bytes | None) -> bytes:
    """Return the part of a line that tells its rank: of thousands of lines only a few parts differ."""
    at = line.find(word) if word is not None else -1
    return line[max(0, at - 1) : at + len(word) + _AFTER_WORD] if word is not None and at >= 0 else line
