"""Phrases: symptoms that people describe in prose, and words that conditions look for (syntax: docs/writing-entries.md).

A phrase holds in a sentence that has all its terms, in any order. Matching words instead of strings keeps it robust against the
order and the filling words of free prose, and one sentence keeps it from putting together what is not said together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

#: A sentence longer than this many characters is a dump of options or data, not prose.
MAX_SENTENCE = 400

_SENTENCE_END = re.compile(r"[.!?;](?=\s|$)|[。！？；\n]")
_TOKEN = re.compile(r"[a-z0-9]+(?:[_'.+\-/][a-z0-9]+)*\+?")
_PART = re.compile(r"[a-z0-9]+")
_PLAIN = re.compile(r"^[a-z0-9_'.+\-/*]+$")
#: Han, kana and hangul: written without blanks, so that terms match as substrings
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True)
class Sentence:
    """One sentence (or line): its line number, its lowered text and its words."""

    line: int
    text: str
    lowered: str
    words: frozenset[str]


@dataclass(frozen=True)
class Phrase:
    """A parsed phrase: every term is a tuple of alternatives."""

    text: str
    terms: tuple[tuple[str, ...], ...]

    def holds(self, sentence: Sentence) -> bool:
        """Tell whether every term occurs in the sentence."""
        return all(any(_occurs(one, sentence) for one in term) for term in self.terms)


def _occurs(alternative: str, sentence: Sentence) -> bool:
    if not _PLAIN.match(alternative):
        return alternative in sentence.lowered
    if alternative.endswith("*"):
        stem = alternative[:-1]
        return any(word.startswith(stem) for word in sentence.words)
    if alternative in sentence.words:
        return True
    if "_" in alternative:
        return re.search(rf"(?<![a-z0-9]){re.escape(alternative).replace('_', '[ _-]')}(?![a-z0-9])", sentence.lowered) is not None
    return False


@lru_cache(maxsize=8192)
def parse_phrase(text: str) -> Phrase:
    """Parse a phrase: blanks separate terms, bars alternatives."""
    terms = [tuple(alternative for alternative in term.split("|") if alternative) for term in text.lower().split()]
    # Plain words are looked up, the others searched for: the cheap terms decide first.
    terms.sort(key=lambda term: sum(not alternative.isalnum() for alternative in term))
    return Phrase(text, tuple(terms))


@lru_cache(maxsize=8192)
def phrase_keys(phrase: Phrase) -> tuple[tuple[str, ...], ...]:
    """Return groups of index keys (see :func:`tokens`): a sentence in which the phrase holds has a key of every group."""
    groups: list[tuple[str, ...]] = []
    for term in phrase.terms:
        keys = [_key(alternative) for alternative in term]
        if all(keys):
            groups.append(tuple(dict.fromkeys(key for key in keys if key)))
    return tuple(groups)


def _key(alternative: str) -> str | None:
    if _PLAIN.match(alternative):
        if alternative.endswith("*"):
            return None
        # a_b stands for two words side by side: the longer one is the key
        return max(_PART.findall(alternative), key=len, default=None)
    run = "".join(CJK.findall(alternative)[:2])
    return run if len(run) == 2 and run in alternative else None


def tokens(lowered: str) -> set[str]:
    """Return the words of a lowered text and, where it has any, its pairs of neighbouring CJK characters."""
    found = set(_PART.findall(lowered))
    if CJK.search(lowered):
        found.update(lowered[index : index + 2] for index in range(len(lowered) - 1) if lowered[index] > "\u3040")
    return found


def sentences(lines: list[tuple[int, str]]) -> list[Sentence]:
    """Split numbered lines into sentences. A sentence does not run over the end of a line: logs and prose mix in reports."""
    found: list[Sentence] = []
    for number, line in lines:
        for part in _SENTENCE_END.split(line):
            text = part.strip()
            if len(text) < 2:
                continue
            lowered = text.lower()
            if len(lowered) > MAX_SENTENCE:
                # Of a long line its clauses count, each on its own.
                for clause in re.split(r"[,，]", lowered):
                    if 2 < len(clause) <= MAX_SENTENCE:
                        found.append(_sentence(number, clause.strip(), clause.strip()))
                continue
            found.append(_sentence(number, text, lowered))
    return found


def _sentence(number: int, text: str, lowered: str) -> Sentence:
    words = set(_TOKEN.findall(lowered))
    for word in tuple(words):
        if not word.isalnum():
            words.update(_PART.findall(word))
    return Sentence(number, text, lowered, frozenset(words))
