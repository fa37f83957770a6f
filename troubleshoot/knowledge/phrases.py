"""Phrases: symptoms that people describe in prose, and words that conditions look for (syntax: docs/writing-entries.md).

A phrase holds in a sentence that has all its terms, in any order. Matching words instead of strings keeps it robust against the
order and the filling words of free prose, and one sentence keeps it from putting together what is not said together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from troubleshoot.basics.lazy import lazy_attribute
from troubleshoot.basics.patterns import anchored
from troubleshoot.knowledge.sentences import CJK, WORD_PART, Sentence, cjk_pairs, is_spoken
from troubleshoot.knowledge.word_classes import expand

#: A first line of at most so many characters may be a title, which goes with each of so many sentences below it.
MAX_TITLE = 160
MOST_UNDER_TITLE = 8
#: Directly below a title stands prose, and not another line of a list.
_LONG = 60

#: before a term that may hold anywhere in the report: the GPU and the dtype stand in lines of their own
ANYWHERE = "~"
_LEAST = anchored(r"^\+[1-9]$")
_PLAIN = anchored(r"^[a-z0-9_'.+\-/*]+$")
#: More than a base has phrases and terms: the same term of two phrases stays one object, which is looked for once in a text.
_KEPT = 65_536
#: Of more sentences than this one walk through them finds the pieces of all phrases; in fewer, each is looked for by itself.
_MANY_SENTENCES = 400
_IN_WORDS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


@dataclass(frozen=True, eq=False)
class Term:
    """One term: its alternatives, sorted by how they are looked for. The same term of two phrases is one object."""

    alternatives: tuple[str, ...]
    words: frozenset[str]
    stems: tuple[str, ...]
    pairs: tuple[tuple[frozenset[str], str], ...]
    pieces: tuple[str, ...]
    cjk: tuple[str, ...]

    @lazy_attribute
    def plain(self) -> bool:
        """Whether its words are all that there is to look up, as it is with half of the terms."""
        return not self.cjk and self.latin

    @lazy_attribute
    def latin(self) -> bool:
        """Whether its words are all that there is to look up in a text without CJK characters."""
        return not (self.stems or self.pairs or self.pieces)

    def holds(self, sentence: Sentence) -> bool:
        """Tell whether one of the alternatives occurs in the sentence."""
        if not self.words.isdisjoint(sentence.words):
            return True
        if self.stems and any(word.startswith(self.stems) for word in sentence.words):
            return True
        if any(piece in sentence.lowered for piece in (*self.pieces, *self.cjk)):
            return True
        return any(parts <= sentence.words and _side_by_side(needle, _apart(sentence.lowered)) for parts, needle in self.pairs)


def _apart(lowered: str) -> str:
    """Return a text in which words that are joined by ``_`` or ``-`` have a blank between them, as the needles of pairs do."""
    return lowered.replace("_", " ").replace("-", " ")


def _side_by_side(needle: str, text: str) -> bool:
    """Tell whether words stand side by side in a text without joints. (A pattern for each pair would take long to compile.)"""
    at = text.find(needle)
    while at >= 0:
        end = at + len(needle)
        after = text[end : end + 2]
        # "temperature 0" is not in "temperature 0.6".
        goes_on = after[:1] in _IN_WORDS or (after[:1] == "." and after[1:].isdigit() and needle[-1].isdigit())
        if text[at - 1 : at] not in _IN_WORDS and not goes_on:
            return True
        at = text.find(needle, at + 1)
    return False


class Vocabulary:
    """All words of a text, to tell at once that a phrase cannot hold in any of its sentences."""

    def __init__(self, found: list[Sentence]) -> None:
        """Collect the words of sentences."""
        self._sentences = found
        self.words: set[str] = set().union(*[sentence.words for sentence in found])
        self.allowed: dict[Term, bool] = {}
        self._held: dict[Term, bool] = {}
        self._has: dict[str, bool] = {}

    @lazy_attribute
    def text(self) -> str:
        """The lowered sentences, a line each."""
        return "\n".join([sentence.lowered for sentence in self._sentences])

    @lazy_attribute
    def has_cjk(self) -> bool:
        """Whether anything in it is written without blanks."""
        return CJK.search(self.text) is not None

    @property
    def keys(self) -> set[str]:
        """What leads into the index of phrases: the words, and the pairs of CJK characters."""
        return self.words | self._cjk_pairs if self.has_cjk else self.words

    @lazy_attribute
    def _cjk_pairs(self) -> set[str]:
        return cjk_pairs(self.text)

    @lazy_attribute
    def sorted_words(self) -> list[str]:
        """The words in order, to find those that begin with a stem."""
        return sorted(self.words)

    def allows(self, term: Term) -> bool:
        """Tell whether one of a term's alternatives occurs anywhere."""
        allowed = self.allowed.get(term)
        if allowed is None:
            allowed = self.allowed[term] = not term.words.isdisjoint(self.words) or (not term.plain and self.has_other(term))
        return allowed

    def holds(self, term: Term) -> bool:
        """Tell whether a term holds in one of the sentences: two words as one must stand side by side."""
        if not term.pairs or not self.allows(term):
            return self.allows(term)
        held = self._held.get(term)
        if held is None:
            alone = not term.words.isdisjoint(self.words) or self._has_part(term)
            held = alone or any(parts <= self.words and _side_by_side(needle, self._apart) for parts, needle in term.pairs)
            self._held[term] = held
        return held

    @lazy_attribute
    def _apart(self) -> str:
        return _apart(self.text)

    def has_other(self, term: Term) -> bool:
        """Look for stems, pieces, Chinese and pairs of words."""
        return self._has_part(term) or any(parts <= self.words for parts, _ in term.pairs)

    def _has_part(self, term: Term) -> bool:
        for stem in term.stems:
            words = self.sorted_words
            position = bisect_left(words, stem)
            if position < len(words) and words[position].startswith(stem):
                return True
        if any(map(self._has_piece, term.pieces)):
            return True
        return bool(term.cjk) and self.has_cjk and any(map(self._has_piece, term.cjk))

    def _has_piece(self, piece: str) -> bool:
        found = self._has.get(piece)
        if found is None:
            key = _cjk_key(piece)
            found = self._has[piece] = (len(key) < 2 or key in self._cjk_pairs) and piece in self.text
        return found


@dataclass(frozen=True)
class Phrase:
    """A parsed phrase: all of its terms must hold in one sentence, ``least`` of the ``further`` ones, and those ``around`` it anywhere."""

    text: str
    terms: tuple[Term, ...]
    further: tuple[Term, ...] = ()
    least: int = 0
    around: tuple[Term, ...] = ()

    def holds(self, sentence: Sentence) -> bool:
        """Tell whether every term, and enough of the further ones, occur in the sentence."""
        return all(term.holds(sentence) for term in self.terms) and self._enough(lambda term: term.holds(sentence))

    def possible(self, vocabulary: Vocabulary) -> bool:
        """Tell whether every term, and enough of the further ones, occur somewhere in a text."""
        allowed, words, cjk = vocabulary.allowed, vocabulary.words, vocabulary.has_cjk
        for term in self.terms:
            # Most terms stand in many phrases and have been looked for; this is Vocabulary.allows without the call.
            if term not in allowed:
                bare = term.plain if cjk else term.latin
                allowed[term] = not term.words.isdisjoint(words) or (not bare and vocabulary.has_other(term))
            if not allowed[term]:
                return False
        if not self.further and not self.around:
            return True
        return self._enough(vocabulary.allows) and all(map(vocabulary.holds, self.around))

    def _enough(self, holds: Callable[[Term], bool]) -> bool:
        return not self.least or sum(map(holds, self.further)) >= self.least


@lru_cache(maxsize=_KEPT)
def _term(text: str) -> Term:
    alternatives = tuple(alternative for alternative in text.split("|") if alternative)
    plain = [one for one in alternatives if _PLAIN.match(one)]
    whole = [one for one in plain if not one.endswith("*")]
    other = [one for one in alternatives if not _PLAIN.match(one)]
    return Term(
        alternatives,
        frozenset(whole),
        tuple(one[:-1] for one in plain if one.endswith("*")),
        # a_b: two words side by side, however they are joined
        tuple((frozenset(WORD_PART.findall(one)), one.replace("_", " ").replace("-", " ")) for one in whole if "_" in one),
        tuple(one for one in other if not CJK.search(one)),
        tuple(one for one in other if CJK.search(one)),
    )


def terms_of(phrase: str) -> list[str]:
    """Return the terms of a phrase, lowered, with the words of its classes."""
    return expand(phrase.lower()).split()


@lru_cache(maxsize=_KEPT)
def parse_phrase(text: str) -> Phrase:
    """Parse a phrase: blanks separate terms, bars alternatives, ``<fp16>`` is a class of words, of the terms behind ``+2`` two
    suffice, and one with ``~`` may hold anywhere.
    """
    written = terms_of(text)
    around = tuple(_term(one[1:]) for one in written if one.startswith(ANYWHERE))
    terms, further, least = _split([one for one in written if not one.startswith(ANYWHERE)])
    # Whole words are looked up, the others searched for: the cheap terms decide first.
    terms.sort(key=lambda term: len(term.alternatives) - len(term.words) + len(term.pairs))
    return Phrase(text, tuple(terms), tuple(further), least, around)


def _split(terms: list[str]) -> tuple[list[Term], list[Term], int]:
    """Split terms at ``+2``: of those behind it, two are enough."""
    for position, term in enumerate(terms):
        if _LEAST.match(term):
            return [_term(one) for one in terms[:position]], [_term(one) for one in terms[position + 1 :]], int(term[1:])
    return [_term(term) for term in terms], [], 0


@lru_cache(maxsize=8192)
def phrase_keys(phrase: Phrase) -> tuple[tuple[str, ...], ...]:
    """Return groups of index keys (see :func:`tokens`): a text in which the phrase holds has a key of every group."""
    return _groups((*phrase.terms, *phrase.around))


def _groups(terms: tuple[Term, ...]) -> tuple[tuple[str, ...], ...]:
    groups: list[tuple[str, ...]] = []
    for term in terms:
        keys = [_key(alternative) for alternative in term.alternatives]
        if all(keys):
            groups.append(tuple(dict.fromkeys(key for key in keys if key)))
    return tuple(groups)


def _key(alternative: str) -> str | None:
    if _PLAIN.match(alternative):
        if alternative.endswith("*"):
            return None
        # a_b stands for two words side by side: the longer one is the key
        return max(WORD_PART.findall(alternative), key=len, default=None)
    run = "".join(CJK.findall(alternative)[:2])
    return run if len(run) == 2 and run in alternative else None


@lru_cache(maxsize=8192)
def phrase_words(phrase: Phrase) -> frozenset[str] | None:
    """Return words of which a sentence has at least one where the phrase holds; None where stems or CJK pieces would do as well."""
    groups = [group for group in _groups(phrase.terms) if not any(CJK.search(key) for key in group)]
    if not groups:
        return None
    fewest: tuple[str, ...] = min(groups, key=len)
    return frozenset(fewest)


class Speech:
    """The sentences of a text, and which phrases hold in them.

    Which sentences hold a term is an integer with a bit for each of them, so that a phrase costs the same in a long log as in a question.
    """

    def __init__(self, found: list[Sentence], vocabulary: Vocabulary | None = None, known: Sentence | None = None) -> None:
        """Take the sentences, and the words of the text that they are from where they are not all of it.

        ``known`` is what holds of the whole text, wherever it was said: a term that holds in it holds in every sentence.
        """
        self.sentences = found
        self.known = known
        self.vocabulary = vocabulary or Vocabulary([*found, known] if known is not None else found)
        self.words = self.vocabulary.words
        self._said: dict[str, Sentence | None] = {}
        self._holding: dict[Term, int] = {}
        self._bits: dict[str, int] = {}
        self._stems: dict[str, int] = {}
        self._pieces: dict[str, int] = {}
        self._pairs: dict[str, int] = {}

    def expect(self, phrases: list[str]) -> None:
        """Look for the pieces and pairs of words of some phrases in one walk through the sentences, where these are many."""
        if len(self.sentences) < _MANY_SENTENCES:
            return
        pieces: dict[str, set[str]] = {}
        pairs: dict[tuple[str, ...], set[str]] = {}
        terms = {term for text in phrases for one in [parse_phrase(text)] for term in (*one.terms, *one.further)}
        for term in terms:
            for piece in term.cjk:
                pieces.setdefault(_cjk_key(piece), set()).add(piece)
            for _, needle in term.pairs:
                first = tuple(WORD_PART.findall(needle)[:2])
                if len(first) == 2:
                    pairs.setdefault(first, set()).add(needle)
        rows: dict[str, list[int]] = {piece: [] for same in (*pieces.values(), *pairs.values()) for piece in same}
        cjk = self.vocabulary.has_cjk
        for row, sentence in enumerate(self.sentences):
            lowered = sentence.lowered
            if cjk and not lowered.isascii():
                for key in (cjk_pairs(lowered) | set(lowered)) & pieces.keys():
                    for piece in pieces[key]:
                        if piece in lowered:
                            rows[piece].append(row)
            words = WORD_PART.findall(lowered)
            near = pairs.keys() & set(pairwise(words))
            if near:
                apart = _apart(lowered)
                for needle in {needle for pair in near for needle in pairs[pair]}:
                    if _side_by_side(needle, apart):
                        rows[needle].append(row)
        self._pieces.update((piece, _bits(rows[piece])) for same in pieces.values() for piece in same)
        self._pairs.update((needle, _bits(rows[needle])) for same in pairs.values() for needle in same)

    @lazy_attribute
    def _with_word(self) -> dict[str, list[int]]:
        """For each word the sentences that have it."""
        rows: dict[str, list[int]] = {}
        for row, sentence in enumerate(self.sentences):
            for word in sentence.words:
                rows.setdefault(word, []).append(row)
        return rows

    @lazy_attribute
    def _sorted_words(self) -> list[str]:
        return sorted(self._with_word)

    @lazy_attribute
    def _text(self) -> tuple[str, list[int]]:
        """The lowered sentences, a line each, and where each of them begins."""
        starts: list[int] = []
        size = 0
        for sentence in self.sentences:
            starts.append(size)
            size += len(sentence.lowered) + 1
        return "\n".join([sentence.lowered for sentence in self.sentences]), starts

    def holding(self, term: Term) -> int:
        """Return the sentences in which one of a term's alternatives occurs, a bit for each."""
        found = self._holding.get(term)
        if found is None:
            everywhere = self.known is not None and term.holds(self.known)
            found = self._holding[term] = (1 << len(self.sentences)) - 1 if everywhere else self._look_for(term)
        return found

    def _look_for(self, term: Term) -> int:
        with_word = self._with_word
        found = 0
        for word in term.words:
            if word in with_word:
                found |= self._having(word)
        for stem in term.stems:
            found |= self._with_stem(stem)
        for piece in (*term.pieces, *term.cjk):
            found |= self._with_piece(piece)
        for parts, needle in term.pairs:
            found |= self._with_pair(parts, needle)
        return found

    def _with_pair(self, parts: frozenset[str], needle: str) -> int:
        found = self._pairs.get(needle)
        if found is None:
            both = -1
            for part in parts:
                both &= self._having(part)
            near = [row for row in _rows(both) if _side_by_side(needle, _apart(self.sentences[row].lowered))] if both else []
            found = self._pairs[needle] = _bits(near)
        return found

    def _with_stem(self, stem: str) -> int:
        found = self._stems.get(stem)
        if found is None:
            words = self._sorted_words
            rows: set[int] = set()
            for position in range(bisect_left(words, stem), len(words)):
                if not words[position].startswith(stem):
                    break
                rows.update(self._with_word[words[position]])
            found = self._stems[stem] = _bits(sorted(rows))
        return found

    def _having(self, word: str) -> int:
        found = self._bits.get(word)
        if found is None:
            found = self._bits[word] = _bits(self._with_word.get(word, []))
        return found

    def _with_piece(self, piece: str) -> int:
        found = self._pieces.get(piece)
        if found is None:
            found = self._pieces[piece] = self._find_piece(piece)
        return found

    def _find_piece(self, piece: str) -> int:
        text, starts = self._text
        rows: list[int] = []
        at = text.find(piece)
        while at >= 0:
            row = bisect_right(starts, at) - 1
            rows.append(row)
            # Once in a sentence is enough.
            at = text.find(piece, starts[row + 1]) if row + 1 < len(starts) else -1
        return _bits(rows)

    @lazy_attribute
    def under_title(self) -> list[Sentence]:
        """The first sentences after a title, each taken together with it: people name the dtype there, and below it what goes wrong."""
        title = _title(self.sentences)
        if title is None:
            return []
        below: list[Sentence] = []
        silent = 0
        for one in self.sentences[1 : MOST_UNDER_TITLE + 1]:
            if one.line == silent or not is_spoken(one):
                silent = one.line
            else:
                below.append(Sentence(one.line, one.text, f"{title.lowered} {one.lowered}", title.words | one.words))
        return below

    def told(self, phrase: str) -> Sentence | None:
        """Return the first sentence in which a phrase holds together with the title."""
        parsed = parse_phrase(phrase)
        return next((one for one in self.under_title if parsed.holds(one)), None) if parsed.possible(self.vocabulary) else None

    def said(self, phrase: str) -> Sentence | None:
        """Return the first sentence in which a phrase holds."""
        if phrase not in self._said:
            self._said[phrase] = self._first(parse_phrase(phrase))
        return self._said[phrase]

    def _first(self, phrase: Phrase) -> Sentence | None:
        if not phrase.possible(self.vocabulary):
            return None
        if self.known is not None and phrase.terms and phrase.holds(self.known):
            # What is known says it by itself, whatever the sentences say.
            return self.known
        if not self.sentences:
            return None
        found = -1
        for term in phrase.terms:
            found &= self.holding(term)
            if not found:
                return None
        if found < 0:
            found = (1 << len(self.sentences)) - 1
        if phrase.least:
            found = _at_least(phrase.least, [self.holding(term) for term in phrase.further], found)
        return self.sentences[(found & -found).bit_length() - 1] if found else None


def _cjk_key(piece: str) -> str:
    """Return what leads to a piece in CJK: its first pair that begins so, else its one such character; empty for other pieces."""
    pairs = cjk_pairs(piece)
    if pairs:
        return min(pairs, key=piece.find)
    found = CJK.search(piece)
    return found[0] if found else ""


def _bits(rows: list[int]) -> int:
    """Return the integer with a bit set for each of some rows, which are in order."""
    if not rows:
        return 0
    data = bytearray(rows[-1] // 8 + 1)
    for row in rows:
        data[row >> 3] |= 1 << (row & 7)
    return int.from_bytes(data, "little")


def _rows(bits: int) -> list[int]:
    """Return the rows of which an integer has the bits, in order."""
    data = bits.to_bytes((bits.bit_length() + 7) // 8, "little")
    return [index * 8 + bit for index, byte in enumerate(data) if byte for bit in range(8) if byte >> bit & 1]


def _at_least(least: int, holding: list[int], among: int) -> int:
    """Return the rows that at least so many of the integers have, among some."""
    reached = [among] + [0] * least
    for bits in holding:
        for count in range(least, 0, -1):
            reached[count] |= reached[count - 1] & bits
    return reached[least]


def _title(found: list[Sentence]) -> Sentence | None:
    """Return the first line of a text if it is a single short sentence of prose, and no entry of a list."""
    if len(found) < 2 or found[1].line == found[0].line:
        return None
    first, second = found[0], found[1]
    apart = second.line > first.line + 1 or first.text.startswith("#") or len(second.text) >= _LONG or CJK.search(second.text) is not None
    return first if apart and len(first.text) <= MAX_TITLE and is_spoken(first) else None


#: Nobody said anything.
SILENCE = Speech([])


