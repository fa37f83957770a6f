"""Sentences: what a report says, cut into the stretches in which phrases are looked for."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.knowledge.word_classes import WORD_CLASSES

#: A sentence longer than this many characters is a dump of options or data, not prose.
MAX_SENTENCE = 400
_SENTENCE_END = searched(r"(?<!\bincl)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\baka)(?<!\bapprox)[.!?;](?=\s|$)|[。！？；\n]")
#: Of longer logs the sentences at the beginning and at the end count.
_MOST = 16_000
#: A shorter line was ended on purpose.
_WRAPPED = 50
#: The end of a line within a sentence, six words of prose before it at least, and how the next line goes on.
_WRAPS = searched(r"(?<![\w'\"`,.()/%→-])(?:[\w'\"`,.()/%→-]++ ){5}[\w'\"`()/%-]{0,100}(?<=[\w)`])$")
_GOES_ON = anchored(r"[a-z][a-z'-]*+(?:[,.;!?)]*+(?: |$))")
#: A word with digits, an underscore or quotes may begin a new line of a log as well: it must be one that did not fit.
_WORD = anchored(r"[`'\"(]*+[^\W_][\w.'/-]*+[`'\")]*+[,.;!?]*+(?= |$)")
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
_TOKEN = searched(r"[a-z0-9]+(?:[_'.+\-/][a-z0-9]+)*\+?")
#: Results that are trouble where prose tells of them; logs count them as well.
_RESULTS = frozenset({
    "nan", "nans", "inf", "black", "garbage", "gibberish", "always", "suddenly", "unfortunately", "worse", "different", "differ", "differs",
    "struggle", "struggles", "slower", "slowly", "faster", "drift", "drifts", "drop", "drops", "dropped", "noisy", "noise", "empty",
    "blank", "nonsense",
})  # fmt: skip
_RESULT_PIECES = ("乱", "全黑", "黑屏", "为空", "下降", "变差", "不一致", "差很多", "差得", "全是")
#: half as a share, and no dtype
_PORTION = searched(r"\b(?:first|second|other|lower|upper|better|about|over|than|almost) half\b|\bhalf (?:of|a|an|my|way|as|hour)\b")
_RESULTS_DENIED = frozenset(word for word in WORD_CLASSES["nan"].split("|") if word.isascii() and word.isalpha()) | {"overflow", "black"}
_NAN = f"(?:{'|'.join(sorted(_RESULTS_DENIED, key=len, reverse=True))})"
#: A result that is denied, or counted as none by a log: it did not happen. Denied of another dtype or device ("no NaN in float32"), it
#: is half of a comparison, whose other half says that it did.
_DENIED = searched(
    r"\b(?:no|not|never|without|neither|nor|free of)(?: "
    rf"(?:a|any|the|more|longer|become|becomes|became|go|goes|went|get|gets|got|see|saw|{_NAN})){{0,3}} {_NAN}\b(?! check)"
    rf"|n't (?:\w{{1,12}} ){{0,2}}{_NAN}\b|(?:没有|不是|没|未|并非)(?:出现|变成|变|发生|任何|是|再){{0,2}} ?{_NAN}"
    rf"|\b(?:\w{{1,12}}_)?{_NAN}\b['\"]?(?: ?[:=?]{{1,2}} ?| )(?:false\b|no\b|none\b|0(?![.\w]))"
)
_COMPARED = searched(
    "|".join(re.escape(word) for word in f"{WORD_CLASSES['fp32']}|{WORD_CLASSES['bf16']}|{WORD_CLASSES['cpu']}".split("|"))
)
WORD_PART = searched(r"[a-z0-9]+")
#: Prose begins with a word, and not with a time, a path, a prompt or a frame.
_SPOKEN = anchored(r"(?!file \"|traceback|[\w.]*error:|warning|info|debug)[^\w/$>{|\\]*+(?:[^\W\d_]|\d{0,4}[^\W\d_])", re.IGNORECASE)
#: An option of a command, an assignment, a line that goes on below.
_WRITTEN = anchored(r"\s*+(?:--[a-z]|[\w.\[\]'\"]++ ?=(?!=)|.*\\$)", re.IGNORECASE)
#: Han, kana and hangul: written without blanks, so that terms match as substrings
CJK = searched(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class Sentence(msgspec.Struct, frozen=True, gc=False):
    """One sentence (or line): its line number, its lowered text and its words."""

    line: int
    text: str
    lowered: str
    words: frozenset[str]


def tokens(lowered: str) -> set[str]:
    """Return the words of a lowered text and, where it has any, its pairs of neighbouring CJK characters."""
    found = set(WORD_PART.findall(lowered))
    return found | cjk_pairs(lowered) if CJK.search(lowered) else found


def cjk_pairs(lowered: str) -> set[str]:
    """Return the pairs of neighbouring CJK characters."""
    return {lowered[index : index + 2] for index in range(len(lowered) - 1) if lowered[index] > "\u3040"}


def sentences(lines: list[tuple[int, str]]) -> list[Sentence]:
    """Split numbered lines into sentences.

    A sentence does not run over the end of a line, for logs and prose mix in reports, unless prose is plainly wrapped there.
    """
    if len(lines) <= _MOST:
        found = _split(lines)
        found = found if len(found) <= _MOST else found[: _MOST // 2] + found[-_MOST // 2 :]
    else:
        # The middle of a long log need not be cut into sentences.
        found = [*_split(lines[: _MOST // 2])[: _MOST // 2], *_split(lines[-_MOST // 2 :])[-_MOST // 2 :]]
    return _without_denied(found)


def _without_denied(found: list[Sentence]) -> list[Sentence]:
    """Leave out the words of a result that the report only ever denies: "no NaN", "nan: False". With one plain mention, all count."""
    denied: dict[int, frozenset[str]] = {}
    for row, one in enumerate(found):
        results = one.words & _RESULTS_DENIED
        if results:
            if _COMPARED.search(one.lowered) or not results.isdisjoint(_words(_DENIED.sub("", one.lowered))):
                return found
            denied[row] = results
    for row, results in denied.items():
        found[row] = Sentence(found[row].line, found[row].text, found[row].lowered, found[row].words - results)
    return found


def _split(lines: list[tuple[int, str]]) -> list[Sentence]:
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
    for clause in searched(r"[,，]").split(lowered):
        if 2 < len(clause) <= MAX_SENTENCE:
            found.append(_sentence(number, clause.strip(), clause.strip()))


def neighbours(found: list[Sentence]) -> list[Sentence]:
    """Join each sentence with the one after it where they tell of trouble: people name the tensor in one and what it does in the next."""
    return [
        Sentence(one.line, f"{one.text}. {other.text}", f"{one.lowered}. {other.lowered}", one.words | other.words)
        for one, other in pairwise([sentence for sentence in found if "|" not in sentence.text])
        if other.line - one.line <= 2 and len(one.text) + len(other.text) < MAX_SENTENCE and _tell_of_trouble(one, other)
    ]


def is_spoken(sentence: Sentence) -> bool:
    """Tell prose from log lines, messages, code and the columns of a table."""
    text = sentence.text
    return _SPOKEN.match(sentence.lowered) is not None and "  " not in text and "\t" not in text and _WRITTEN.match(text) is None


def _tell_of_trouble(one: Sentence, other: Sentence) -> bool:
    return _troubled(one) or _troubled(other) or _bad_results(one, other)


def _troubled(sentence: Sentence) -> bool:
    return not _TROUBLE_WORDS.isdisjoint(sentence.words) or any(piece in sentence.lowered for piece in _TROUBLE_PIECES)


def _bad_results(one: Sentence, other: Sentence) -> bool:
    found = _holds_results(one) or _holds_results(other)
    return found and is_spoken(one) and is_spoken(other)


def _holds_results(sentence: Sentence) -> bool:
    return not _RESULTS.isdisjoint(sentence.words) or any(piece in sentence.lowered for piece in _RESULT_PIECES)


def _words(lowered: str) -> set[str]:
    words = set(_TOKEN.findall(lowered))
    for word in tuple(words):
        if not word.isalnum():
            words.update(WORD_PART.findall(word))
    return words


def _sentence(number: int, text: str, lowered: str) -> Sentence:
    words = _words(lowered)
    if "half" in words and _PORTION.search(lowered) and "half" not in _PORTION.sub("", lowered):
        words.discard("half")
    return Sentence(number, text, lowered, frozenset(words))
