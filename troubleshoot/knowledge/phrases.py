"""Phrases: symptoms that people describe in prose, and words that conditions look for (syntax: docs/writing-entries.md).

A phrase holds in a sentence that has all its terms, in any order. Matching words instead of strings keeps it robust against the
order and the filling words of free prose, and one sentence keeps it from putting together what is not said together.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import msgspec

from troubleshoot.knowledge.word_classes import WORD_CLASSES, expand
from troubleshoot.lazy import lazy_attribute

#: A sentence longer than this many characters is a dump of options or data, not prose.
MAX_SENTENCE = 400

#: A first line of at most so many characters may be a title, which goes with each of so many sentences below it.
MAX_TITLE = 160
MOST_UNDER_TITLE = 8
#: Directly below a title stands prose, and not another line of a list.
_LONG = 60

_SENTENCE_END = re.compile(r"(?<!\bincl)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\baka)(?<!\bapprox)[.!?;](?=\s|$)|[。！？；\n]")
#: A shorter line was ended on purpose.
_WRAPPED = 50
#: The end of a line within a sentence, six words of prose before it at least, and how the next line goes on.
_WRAPS = re.compile(r"(?:[\w'\"`,.()/%→-]+ ){5}[\w'\"`()/%-]*[\w)`]$")
_GOES_ON = re.compile(r"[a-z][a-z'-]*(?:[,.;!?)]*(?: |$))")
#: A word with digits, an underscore or quotes may begin a new line of a log as well: it must be one that did not fit.
_WORD = re.compile(r"[`'\"(]*[^\W_][\w.'/-]*[`'\")]*[,.;!?]*(?= |$)")
#: The narrowest width to which prose is wrapped, and the longest line of such a text; a line of it may be a long word shorter.
_NARROW, _WIDE = 72, 100
_RAGGED = 12
#: Two sentences with none of these tell of nothing that goes wrong.
_TROUBLE = WORD_CLASSES["wrong"] + (
    "|but|although|though|however|instead|why|how|whereas|still|only|stays|remains|says|prints|printed|shows|returns"
    "|gives|gave|got|reports|wrong|unexpected|issue|problem|problems"
    "|identical|expected|shouldn't|supposed|thought|stuck|too|takes|slow|gone|disappears|fixed|fixes|flattens|plateaus|blurry"
    "|为什么|怎么|如何|问题|还是|但是|却|变|不一样"
)
_TROUBLE_WORDS = frozenset(word for word in _TROUBLE.split("|") if word.isascii())
_TROUBLE_PIECES = tuple(word for word in _TROUBLE.split("|") if not word.isascii())
_TOKEN = re.compile(r"[a-z0-9]+(?:[_'.+\-/][a-z0-9]+)*\+?")
#: Results that are trouble where prose tells of them; logs count them as well.
_RESULTS = frozenset({
    "nan", "nans", "inf", "black", "garbage", "gibberish", "always", "suddenly", "unfortunately", "worse", "different", "differ", "differs",
    "struggle", "struggles", "slower", "slowly", "faster", "drift", "drifts", "drop", "drops", "dropped", "noisy", "noise", "empty",
    "blank", "nonsense",
})  # fmt: skip
_RESULT_PIECES = ("乱", "全黑", "黑屏", "为空", "下降", "变差", "不一致", "差很多", "差得", "全是")
#: before a term that may hold anywhere in the report: the GPU and the dtype stand in lines of their own
ANYWHERE = "~"
_LEAST = re.compile(r"^\+[1-9]$")
#: half as a share, and no dtype
_PORTION = re.compile(r"\b(?:first|second|other|lower|upper|better|about|over|than|almost) half\b|\bhalf (?:of|a|an|my|way|as|hour)\b")
_PART = re.compile(r"[a-z0-9]+")
#: Prose begins with a word, and not with a time, a path, a prompt or a frame.
_SPOKEN = re.compile(r"(?!file \"|traceback|[\w.]*error:|warning|info|debug)[^\w/$>{|\\]*(?:[^\W\d_]|\d{0,4}[^\W\d_])", re.IGNORECASE)
#: An option of a command, an assignment, a line that goes on below.
_WRITTEN = re.compile(r"\s*(?:--[a-z]|[\w.\[\]'\"]+ ?=(?!=)|.*\\$)", re.IGNORECASE)
_PLAIN = re.compile(r"^[a-z0-9_'.+\-/*]+$")
_IN_WORDS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
#: Han, kana and hangul: written without blanks, so that terms match as substrings
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Sentence(msgspec.Struct, frozen=True):
    """One sentence (or line): its line number, its lowered text and its words."""

    line: int
    text: str
    lowered: str
    words: frozenset[str]


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
        return not (self.stems or self.pairs or self.pieces or self.cjk)

    def holds(self, sentence: Sentence) -> bool:
        """Tell whether one of the alternatives occurs in the sentence."""
        if not self.words.isdisjoint(sentence.words):
            return True
        if self.stems and any(word.startswith(self.stems) for word in sentence.words):
            return True
        if any(piece in sentence.lowered for piece in (*self.pieces, *self.cjk)):
            return True
        return any(parts <= sentence.words and _side_by_side(needle, sentence.lowered) for parts, needle in self.pairs)


def _side_by_side(needle: str, lowered: str) -> bool:
    """Tell whether words stand side by side in a text, however they are joined. (A pattern for each pair would take long to compile.)"""
    text = lowered.replace("_", " ").replace("-", " ")
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

    @lazy_attribute
    def text(self) -> str:
        """The lowered sentences, a line each."""
        return "\n".join([sentence.lowered for sentence in self._sentences])

    @lazy_attribute
    def has_cjk(self) -> bool:
        """Whether anything in it is written without blanks."""
        return CJK.search(self.text) is not None

    @lazy_attribute
    def sorted_words(self) -> list[str]:
        """The words in order, to find those that begin with a stem."""
        return sorted(self.words)

    def allows(self, term: Term) -> bool:
        """Tell whether one of a term's alternatives occurs anywhere."""
        allowed = self.allowed.get(term)
        if allowed is None:
            allowed = self.allowed[term] = not term.words.isdisjoint(self.words) or (not term.plain and self._has_other(term))
        return allowed

    def holds(self, term: Term) -> bool:
        """Tell whether a term holds in one of the sentences: two words as one must stand side by side."""
        return self.allows(term) and (not term.pairs or any(term.holds(sentence) for sentence in self._sentences))

    def _has_other(self, term: Term) -> bool:
        """Look for stems, pieces, Chinese and pairs of words."""
        for stem in term.stems:
            words = self.sorted_words
            position = bisect_left(words, stem)
            if position < len(words) and words[position].startswith(stem):
                return True
        for piece in term.pieces:
            if piece in self.text:
                return True
        if term.cjk and self.has_cjk:
            for piece in term.cjk:
                if piece in self.text:
                    return True
        return bool(term.pairs) and any(parts <= self.words for parts, _ in term.pairs)


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
        allowed = vocabulary.allowed
        for term in self.terms:
            # Most terms stand in many phrases and have been looked for.
            if not (allowed[term] if term in allowed else vocabulary.allows(term)):
                return False
        if not self.further and not self.around:
            return True
        return self._enough(vocabulary.allows) and all(map(vocabulary.holds, self.around))

    def _enough(self, holds: Callable[[Term], bool]) -> bool:
        return not self.least or sum(map(holds, self.further)) >= self.least


@lru_cache(maxsize=8192)
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
        tuple((frozenset(_PART.findall(one)), one.replace("_", " ").replace("-", " ")) for one in whole if "_" in one),
        tuple(one for one in other if not CJK.search(one)),
        tuple(one for one in other if CJK.search(one)),
    )


def terms_of(phrase: str) -> list[str]:
    """Return the terms of a phrase, lowered, with the words of its classes."""
    return expand(phrase.lower()).split()


@lru_cache(maxsize=8192)
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
        return max(_PART.findall(alternative), key=len, default=None)
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
    """The sentences of a text, and which phrases hold in them."""

    def __init__(self, found: list[Sentence], vocabulary: Vocabulary | None = None) -> None:
        """Take the sentences, and the words of the text that they are from where they are not all of it."""
        self.sentences = found
        self.vocabulary = vocabulary or Vocabulary(found)
        self.words = self.vocabulary.words
        self._said: dict[str, Sentence | None] = {}

    @lazy_attribute
    def under_title(self) -> list[Sentence]:
        """The first sentences after a title, each taken together with it: people name the dtype there, and below it what goes wrong."""
        title = _title(self.sentences)
        if title is None:
            return []
        below: list[Sentence] = []
        silent = 0
        for one in self.sentences[1 : MOST_UNDER_TITLE + 1]:
            if one.line == silent or not _is_spoken(one):
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
            parsed = parse_phrase(phrase)
            possible = parsed.possible(self.vocabulary)
            self._said[phrase] = next((one for one in self.sentences if parsed.holds(one)), None) if possible else None
        return self._said[phrase]


def _title(found: list[Sentence]) -> Sentence | None:
    """Return the first line of a text if it is a single short sentence of prose, and no entry of a list."""
    if len(found) < 2 or found[1].line == found[0].line:
        return None
    first, second = found[0], found[1]
    apart = second.line > first.line + 1 or first.text.startswith("#") or len(second.text) >= _LONG or CJK.search(second.text) is not None
    return first if apart and len(first.text) <= MAX_TITLE and _is_spoken(first) else None


def _is_spoken(sentence: Sentence) -> bool:
    """Tell prose from log lines, messages, code and the columns of a table."""
    text = sentence.text
    return _SPOKEN.match(sentence.lowered) is not None and "  " not in text and "\t" not in text and _WRITTEN.match(text) is None


#: Nobody said anything.
SILENCE = Speech([])


def tokens(lowered: str) -> set[str]:
    """Return the words of a lowered text and, where it has any, its pairs of neighbouring CJK characters."""
    found = set(_PART.findall(lowered))
    if CJK.search(lowered):
        found.update(lowered[index : index + 2] for index in range(len(lowered) - 1) if lowered[index] > "\u3040")
    return found


def sentences(lines: list[tuple[int, str]]) -> list[Sentence]:
    """Split numbered lines into sentences.

    A sentence does not run over the end of a line, for logs and prose mix in reports, unless prose is plainly wrapped there.
    """
    found: list[Sentence] = []
    begun: tuple[int, str] | None = None
    before = ""
    for number, written in lines:
        # Phones and word processors write doesn’t with a typographic apostrophe.
        line = written.replace("’", "'") if "’" in written else written
        if not line.strip():
            if not before.endswith((",", "，")):
                before = ""
            continue
        parts = _SENTENCE_END.split(line)
        first = number
        if begun is not None:
            if len(begun[1]) + len(parts[0]) < MAX_SENTENCE and _goes_on(before, line):
                first, parts[0] = begun[0], f"{begun[1]} {parts[0].strip()}"
            else:
                _add(found, *begun)
            begun = None
        if _may_go_on(line):
            begun, before = (first if len(parts) == 1 else number, parts.pop()), line
        for part in parts:
            _add(found, first, part)
            first = number
    if begun is not None:
        _add(found, *begun)
    return found


def _may_go_on(line: str) -> bool:
    """Tell whether a line stops in the middle of a sentence: after a comma, or as wide as lines of prose are wrapped."""
    if line.endswith((",", "，")):
        return _SPOKEN.match(line.strip()) is not None
    return len(line) >= _WRAPPED and _WRAPS.search(line[-_WRAPPED - 50 :]) is not None


def _goes_on(before: str, line: str) -> bool:
    text = line.strip()
    if before.endswith((",", "，")):
        return text[0].islower() or CJK.match(text) is not None
    if not before:
        return False
    if _GOES_ON.match(line) is not None:
        return True
    if not _NARROW - _RAGGED <= len(before) <= _WIDE:
        return False
    word = _WORD.match(line)
    return word is not None and len(before) + 1 + len(word[0]) > _NARROW


def _add(found: list[Sentence], number: int, part: str) -> None:
    text = part.strip()
    if len(text) < 2:
        return
    lowered = text.lower()
    if len(lowered) <= MAX_SENTENCE:
        found.append(_sentence(number, text, lowered))
        return
    # Of a long line its clauses count, each on its own.
    for clause in re.split(r"[,，]", lowered):
        if 2 < len(clause) <= MAX_SENTENCE:
            found.append(_sentence(number, clause.strip(), clause.strip()))


def neighbours(found: list[Sentence]) -> list[Sentence]:
    """Join each sentence with the one after it where they tell of trouble: people name the tensor in one and what it does in the next."""
    return [
        Sentence(one.line, f"{one.text}. {other.text}", f"{one.lowered}. {other.lowered}", one.words | other.words)
        for one, other in pairwise([sentence for sentence in found if "|" not in sentence.text])
        if other.line - one.line <= 2 and len(one.text) + len(other.text) < MAX_SENTENCE and _tell_of_trouble(one, other)
    ]


def _tell_of_trouble(one: Sentence, other: Sentence) -> bool:
    return _troubled(one) or _troubled(other) or _bad_results(one, other)


def _troubled(sentence: Sentence) -> bool:
    return not _TROUBLE_WORDS.isdisjoint(sentence.words) or any(piece in sentence.lowered for piece in _TROUBLE_PIECES)


def _bad_results(one: Sentence, other: Sentence) -> bool:
    found = _holds_results(one) or _holds_results(other)
    return found and _is_spoken(one) and _is_spoken(other)


def _holds_results(sentence: Sentence) -> bool:
    return not _RESULTS.isdisjoint(sentence.words) or any(piece in sentence.lowered for piece in _RESULT_PIECES)


def _sentence(number: int, text: str, lowered: str) -> Sentence:
    words = set(_TOKEN.findall(lowered))
    for word in tuple(words):
        if not word.isalnum():
            words.update(_PART.findall(word))
    if "half" in words and _PORTION.search(lowered) and "half" not in _PORTION.sub("", lowered):
        words.discard("half")
    return Sentence(number, text, lowered, frozenset(words))
