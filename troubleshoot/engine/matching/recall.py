"""Messages that fit no template because they were cut, retyped or slightly reworded: which template do they resemble?

A suggestion, never a match: what it finds starts with lower odds and needs other evidence. rapidfuzz compares in order
(``token_set_ratio`` would take "expected Float found Half" for its reverse), and only with templates that share one of their rare words
with the message.
"""

from __future__ import annotations

import re

from troubleshoot.basics.patterns import searched
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.sentences import tokens
from troubleshoot.knowledge.templates import Captured, compile_template, literal_text
from troubleshoot.reading.report import RaisedException

#: Characters of a message that are compared: what makes it known stands at its beginning.
_LONGEST = 240
#: A shorter message says too little to resemble anything.
_SHORTEST = 24
#: How alike they must be (0 to 100), and which share of the template's literal text the message must reach.
_ALIKE = 86.0
_SHARE = 0.55


#: A message that is the beginning of a template, and at least this long, was cut rather than reworded: however little of it is left.
_CUT = 30


#: Words of a message that are held against others, and templates whose words may be meant.
_MOST_WORDS = 80
#: A shorter word has too few letters to tell what it was.
_LEAST_LETTERS = 4
_LETTERS = (("rn", "m"), ("vv", "w"), ("1", "l"), ("i", "l"), ("0", "o"), ("5", "s"))
_WORD = searched(r"[a-z0-9_]+")
#: What the holes for dtypes and devices may hold.
_DTYPES = frozenset({
    "half", "float", "double", "bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "long", "byte", "bool",
    "halftensor", "floattensor", "cuda", "cpu",
})  # fmt: skip


def shape(word: str) -> str:
    """Return a word as it looks: what a camera, a scan or a tired eye takes for each other is spelled alike (``rn`` and ``m``)."""
    for written, read in _LETTERS:
        word = word.replace(written, read)
    return word


def reread(exception: RaisedException, base: KnowledgeBase) -> list[tuple[int, tuple[Captured, ...]]]:
    """Return the templates that a message fits once the letters are put right that look alike, with what their holes caught.

    A word is put right only where it is none of the words of the templates that share a rare word with the message, and looks like one.
    """
    message = " ".join(exception.message[:_LONGEST].lower().split())
    written = _WORD.findall(message)[:_MOST_WORDS]
    if len(message) < _SHORTEST or len(message) != len(" ".join(exception.message[:_LONGEST].split())):
        return []
    shapes = base.rare_shapes(shape)
    meant = {rare for word in written for rare in shapes.get(shape(word), ())}
    numbers = base.similar_templates(tokens(message) | meant)
    known = {word for number in numbers for word in _WORD.findall(literal_text(base.index.patterns[number][1]))} | _DTYPES
    looks = {shape(word): word for word in sorted(known) if len(word) >= _LEAST_LETTERS}

    def right(match: re.Match[str]) -> str:
        word = match[0]
        return word if word in known else looks.get(shape(word), word)

    repaired = _WORD.sub(right, message)
    if repaired == message:
        return []
    found = []
    for number in numbers:
        match = compile_template(base.index.patterns[number][1]).search(repaired, repaired)
        if match is not None:
            found.append((number, match.captured))
    return found


def recall(exception: RaisedException, base: KnowledgeBase) -> list[tuple[int, bool]]:
    """Return the templates that an exception's message resembles most, the best first; mostly none.

    Each comes with whether the message is its beginning, word for word: then it was cut, and says nearly as much as the whole.
    """
    message = " ".join(exception.message[:_LONGEST].lower().split())
    if len(message) < _SHORTEST:
        return []
    numbers = base.similar_templates(tokens(message))
    if not numbers:
        return []
    from rapidfuzz import fuzz

    # Those who cut at the end of a sentence leave a full stop where the template goes on, or dots.
    beginning = message.rstrip(". …") if len(message) >= _CUT else ""
    found: list[tuple[float, int, bool]] = []
    for number in numbers:
        literal = literal_text(base.index.patterns[number][1])
        cut = bool(beginning) and literal.startswith(beginning)
        if not cut and len(message) < _SHARE * len(literal):
            continue
        # A cut message is the beginning of the template; a longer one holds it.
        score = fuzz.partial_ratio(message, literal, score_cutoff=_ALIKE) if len(literal) >= _SHORTEST else 0.0
        if score:
            found.append((-score, number, cut))
    found.sort()
    return [(number, cut) for score, number, cut in found if score <= found[0][0] + 2.0][:3]
