"""Words to clauses: the settings and the outcomes that a clause names, found by the tables of ``contrast_words``, and which clauses state
what happened.

Names of cards, releases and models are recognised by their form; everything else stands in the tables. Each token is looked at once, and a
phrase has a few words, so that the work grows with the text alone.
"""

# ruff: noqa: SIM905  (lists of words read better as text)
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.basics.word_tables import FAMILIES, PACKAGES
from troubleshoot.reading.contrast_words import CELLS, OFF, RELEASED, WORDS

#: What ends a release: 2.6.0rc1, 1.13.0a0, 2.4.0.post1, 2.5.1+cu124.
_SUFFIX = r"(?:[.-]?(?:post|rc|dev|alpha|beta|a|b|git)[0-9]{0,12}){0,2}(?:\+[a-z0-9.]{1,20})?"
#: A package glued to its release, an option, a release, a word, signs. Chinese is taken letter by letter.
_TOKEN = searched(
    r"(?:pytorch|torch|python|cuda|vllm|transformers)(?=[0-9])|--[a-z][a-z0-9-]{0,60}"
    rf"|v?[0-9]{{1,6}}(?:\.[0-9]{{1,8}}){{1,4}}(?:{_SUFFIX}|[bm])(?![a-z0-9])|[a-z0-9]++(?:'[a-z]{{1,4}})?"
    r"|!{3,9}|！{2,9}|->|=>|→|[\u3400-\u9fff]|[^\s\w\"`*'“”「」]"
)
_VERSION = anchored(rf"v?[0-9]{{1,6}}(?:\.[0-9]{{1,8}}){{1,4}}{_SUFFIX}$")
_PIXELS = anchored(r"[0-9]{3,4}[x×*][0-9]{3,4}$")
_SIZE = anchored(r"[0-9]{1,4}(?:\.[0-9])?[bm]$")
_CARD = anchored(
    r"(?:[0-9]{1,2}x)?(?:rtx|gtx)?(?:9[678]0|10[5-8]0|16[56]0|20[678]0|30[5-9]0|40[6-9]0|50[6-9]0|p[456]000|a[2456]000)"
    r"(?:d|ti|s|super|m)?$"
)
_NAMED_CARD = anchored(
    r"(?:[0-9]{1,2}x)?(?:t4|p4|p40|p100|k80|k40|m40|m60|v100s?|a2|a10g?|a16|a30|a40|a100s?|a800|h20|h100|h200|h800|gh200|b[23]00"
    r"|gb[123]00?|l4|l20|l40s?|mi[0-9]{2,3}x?|m[1-5]|910b|910c|titan|xavier|orin|gfx[0-9]{3,4})$"
)
_MAKERS = frozenset("rtx gtx geforce tesla titan radeon rx quadro nvidia xp".split())
_CARD_ENDS = frozenset("ti super pro max ultra laptop".split())
#: What may stand between the name of a package and its version.
_BEFORE_VERSION = frozenset("= == version release : is at to back tag 到 换 成 v of from".split())
#: ... and between a batch and its size.
_BEFORE_COUNT = frozenset("size of = : 设 为 成 改 降 到 是".split())
_STEPS = frozenset("steps step iterations iters epochs tokens px seconds images 步 轮 个 张 条 次 x × × * 字".split())
_BEFORE_RELEASE = frozenset("到 成 回 本 release version tag".split())
_ENDS = frozenset(".!?;。！？；")
_BREAKS = frozenset(",，、:：()（）|—–") | {"->", "=>", "→"}
_CONJUNCTIONS = frozenset(
    "and but while whereas though although unless yet however or then whereas plus so because since vs versus 但 而 可 却".split()
)


class Item(NamedTuple):
    """A word of a known class. ``dim`` is empty for outcomes and marks."""

    kind: str
    dim: str
    value: str
    at: int
    end: int
    text: str

    @property
    def key(self) -> str:
        """Dimension and value, as the tables write them."""
        return f"{self.dim}={self.value}"


@dataclass
class Clause:
    """A stretch of a sentence. ``opens`` is its first word, ``sep`` what stood before it, ``settings`` those that hold in it."""

    items: list[Item]
    line: int
    text: str
    opens: str = ""
    sep: str = ""
    settings: list[Item] = field(default_factory=list)
    outcome: str = ""

    def has(self, kind: str) -> bool:
        """Tell whether a word of a kind stands in it."""
        return any(one.kind == kind for one in self.items)

    def says(self, word: str) -> bool:
        """Tell whether a marked word stands in it, in lower case."""
        return any(one.text.lower() == word for one in self.items)

    def switches_off(self) -> bool:
        """Tell whether it speaks of something that is switched off or taken out, and not only denies something."""
        return any(one.kind == "off" and one.text.lower() not in _MERELY_NOT for one in self.items)


_SETTING = "setting"
OUTCOMES = ("works", "fails", "errors", "oom", "again", "same", "gone", "less", "better", "other", "effect")
#: Outcomes that are failures; ``again`` is one of no kind ("it happens").
FAILING = ("fails", "errors", "oom", "again")


#: (kind, dimension, value) of a phrase; the phrases that begin with a word.
_Meaning = tuple[str, str, str]
_Phrases = list[tuple[tuple[str, ...], tuple[_Meaning, ...]]]


@cache
def _lexicon() -> dict[str, _Phrases]:
    """Return the phrases by their first word, the longest first, each with its classes."""
    found: dict[tuple[str, ...], list[_Meaning]] = {}
    for row in WORDS.splitlines():
        name, _, words = row.partition(": ")
        if not words or row[0] == "#":
            continue
        dim, equals, value = name.partition("=")
        for phrase in words.split():
            entry = (_SETTING, dim, value) if equals else (name, "", "")
            found.setdefault(tuple(_words(phrase.replace("_", " "))), []).append(entry)
    by_first: dict[str, _Phrases] = {}
    for words_, entries in found.items():
        by_first.setdefault(words_[0], []).append((words_, tuple(dict.fromkeys(entries))))
    for phrases in by_first.values():
        phrases.sort(key=lambda one: -len(one[0]))
    return by_first


@cache
def _cells() -> dict[str, str]:
    rows = (row.partition(": ") for row in CELLS.splitlines() if row)
    return {word: name for name, _, words in rows for word in words.split()}


def cell_outcome(cell: str) -> str:
    """Return what a mark in a table's cell means: ✓, yes, no."""
    return _cells().get(cell.lower(), "")


def _words(text: str) -> list[str]:
    return [match[0] for match in _TOKEN.finditer(text.lower().replace("’", "'").replace("_", " "))]


class Token(NamedTuple):
    """A word, a number or a sign in lower case, and where it stands."""

    word: str
    start: int
    end: int


def _tokens(line: str) -> list[Token]:
    low = line.lower().replace("’", "'").replace("_", " ")
    found = []
    for match in _TOKEN.finditer(low):
        word, start, end = match[0], match.start(), match.end()
        # A hyphen or a dot within a name: flash-attn, torch.compile.
        if word in ".-" and start and end < len(low) and low[start - 1].isalnum() and low[end].isascii() and low[end].isalnum():
            continue
        found.append(Token("!!!" if word[:2] in ("!!", "！！") else word, start, end))
    return found


def _items(line: str, tokens: Sequence[Token]) -> list[Item]:
    """Return the words of known classes among the tokens, the longest phrases first."""
    found: list[Item] = []
    at = 0
    while at < len(tokens):
        size, entries = _phrase(tokens, at)
        named = _named(line, tokens, at, found)
        if size and any(dim == "dtype" for _, dim, _ in entries) and _within_a_name(line, tokens, at + size):
            size = 0
        if named is not None and named.end - at >= size:
            found.append(named)
            at = named.end
            continue
        if not size:
            at += 1
            continue
        text = line[tokens[at].start : tokens[at + size - 1].end]
        if line[tokens[at + size - 1].end :][:3] == ".py" or ("_" in text and entries[0][1] == "weights"):
            # A name in code: base_model.
            at += size
            continue
        found += [Item(kind, dim, value, at, at + size, text) for kind, dim, value in entries]
        at += size
    return found


def _within_a_name(line: str, tokens: Sequence[Token], end: int) -> bool:
    """Tell whether a dtype is the beginning of a name: sdxl-vae-fp16-fix."""
    stop = tokens[end - 1].end
    if line[stop : stop + 1] != "-" or end == len(tokens) or tokens[end].start > stop + 1:
        return False
    return tokens[end].word not in ("mixed", "true", "only")


def _phrase(tokens: Sequence[Token], at: int) -> tuple[int, tuple[_Meaning, ...]]:
    """Return how many tokens the longest known phrase has that begins at a token, and what it means."""
    for words, entries in _lexicon().get(tokens[at].word, ()):
        row = at
        for word in words:
            if word == "=":
                if row < len(tokens) and tokens[row].word in ("=", ":"):
                    row += 1
                continue
            if row >= len(tokens) or tokens[row].word != word:
                break
            row += 1
        else:
            if words[-1] == "same" and row < len(tokens) and not _ends_same(tokens[row].word):
                # "the same prompt" tells of no outcome.
                continue
            return row - at, entries
    return 0, ()


def _ends_same(word: str) -> bool:
    """Tell whether "the same" with this word behind it tells of an outcome: "the same NaN", "the same with SDPA"."""
    if word in _AFTER_SAME or not word[:1].isalpha():
        return True
    return any(words == (word,) and entries[0][0] in FAILING for words, entries in _lexicon().get(word, ()))


def _named(line: str, tokens: Sequence[Token], at: int, found: list[Item]) -> Item | None:
    """Return the card, the release or the model whose name begins at a token."""
    word = tokens[at].word
    if word.isalpha() and word not in _names():
        # Most words: names that are no words of the tables have a digit.
        return None
    after = tokens[at + 1].word if at + 1 < len(tokens) else ""
    if word in _MAKERS and after:
        end = _while(tokens, at + 1, 3, _is_of_card)
        if end > at + 1 or word == "titan":
            return _setting(line, tokens, "gpu", at, end)
    if _is_card(word) and after not in _STEPS and not _is_size(line, tokens[at].end):
        return _setting(line, tokens, "gpu", at, _while(tokens, at + 1, 2, _CARD_ENDS.__contains__))
    if word in ("bs", "batch", "batchsize"):
        end = _while(tokens, at + 1, 4, _BEFORE_COUNT.__contains__)
        if end == len(tokens) or not tokens[end].word.isdigit():
            return None
        size = "small" if tokens[end].word == "1" else f"of {tokens[end].word}"
        return _setting(line, tokens, "batch", at, end + 1)._replace(value=size)
    if _PIXELS.match(word):
        return _setting(line, tokens, "size", at, at + 1)
    if word in _OLDER and _is_released(after):
        return _setting(line, tokens, "release", at, at + 2)
    if _is_released(word):
        end = _while(tokens, at + 1, 2, _BEFORE_VERSION.__contains__)
        is_version = end < len(tokens) and _VERSION.match(tokens[end].word) and not _SIZE.match(tokens[end].word)
        if not is_version:
            return None
        text = f"{line[tokens[at].start : tokens[at].end]} {line[tokens[end].start : tokens[end].end]}"
        return _setting(line, tokens, "release", at, end + 1)._replace(text=text)
    if found and found[-1].end == at and found[-1].kind == _SETTING and found[-1].dim not in ("release", "gpu"):
        # A version right behind a kernel or a flag is that of the kernel.
        return None
    if _is_bare_release(word, tokens[at - 1].word if at else "", after) or (
        _VERSION.match(word) and not _SIZE.match(word) and any(one.dim == "release" and at - one.end < 5 for one in found[-3:])
    ):
        return _setting(line, tokens, "release", at, at + 1)
    if _SIZE.match(word) or (word.rstrip("0123456789.") in FAMILIES and word not in _NO_MODEL):
        return _setting(line, tokens, "weights", at, _while(tokens, at + 1, 4, lambda one: _SIZE.match(one) is not None or one in FAMILIES))
    return None


@cache
def _names() -> frozenset[str]:
    """Return the words without a digit that a card, a release, a model or a batch's size begins with."""
    return frozenset({"bs", "batch", "batchsize", "titan", "xavier", "orin", *_MAKERS, *_OLDER, *PACKAGES, *RELEASED, *FAMILIES})


def _while(tokens: Sequence[Token], at: int, most: int, fits: Callable[[str], bool]) -> int:
    """Return where the tokens from ``at`` on that fit end, ``most`` of them."""
    end = at
    while end < len(tokens) and end < at + most and fits(tokens[end].word):
        end += 1
    return end


def _is_card(word: str) -> bool:
    return _NAMED_CARD.match(word) is not None or _CARD.match(word) is not None


def _is_of_card(word: str) -> bool:
    return _is_card(word) or word in _MAKERS or word in _CARD_ENDS or (word.isdigit() and len(word) > 3)


def _is_released(word: str) -> bool:
    return (word in PACKAGES or word in RELEASED) and word not in _NO_RELEASE


def _is_bare_release(word: str, before: str, after: str) -> bool:
    """Tell whether a version without a name is a release: 0.20.2, v2.1, 3.0rc1, "back to 2.1"."""
    if not _VERSION.match(word) or _SIZE.match(word):
        return False
    if before in ("with", "in", "on", "under") and (word[0] != "0" or before == "in") and len(word.partition(".")[2]) == 2:
        return True
    return word.count(".") > 1 or word[0] == "v" or "rc" in word or before in _BEFORE_RELEASE or after in ("nightly", "release", "版")


def _is_size(line: str, end: int) -> bool:
    """Tell whether a number goes on as 960*540, 1080/2000 or 1660_x do, and not as 4090*8 does."""
    sign, rest = line[end : end + 1], line[end + 1 : end + 4]
    return sign in ("%", "/", "_") or (sign in ("*", "×") and len(rest) == 3 and rest.isdigit())


def _setting(line: str, tokens: Sequence[Token], dim: str, at: int, end: int) -> Item:
    text = line[tokens[at].start : tokens[end - 1].end]
    return Item(_SETTING, dim, text.lower(), at, end, text)


#: Words between a mark and what it is about.
_FAR = 3
#: "From A to B" and "把 A 换成 B" name the old value only where another one follows.
_FROM = ("把", "将", "从", "from", "was")
_IMPERATIVES = frozenset("use try please append".split())
_NO_RELEASE = frozenset("datasets evaluate hub ray accelerate lightning flax".split())
_NO_MODEL = frozenset("t sd sam opt command phi led bark clip flux controlnet unet siglip dino encodec detr vit stable".split())
_MERELY_NOT = frozenset("no not 不 没 没有 minus zero out".split())
_AFTER_SAME = frozenset("on with in for under too again there here at as if when either regardless no whether and or but 的".split())
_SWITCHED = frozenset("true false 0 1 none no off on yes 16 32 auto".split())
_OLDER = frozenset("older old newer newest latest previous earlier nightly new different another other".split())


def sentences(line: str, number: int) -> Iterator[tuple[list[Clause], str]]:
    """Yield the clauses of each sentence of a line, and the mark that ends it."""
    tokens = _tokens(line)
    items = _items(line, tokens)
    bounds: list[tuple[int, int, str, str]] = []
    start, sep = 0, ""
    taken = {row for one in items for row in range(one.at + 1, one.end)}
    for row, token in enumerate(tokens):
        word = token.word
        if row in taken:
            continue
        if word == "." and row and tokens[row - 1].word.isdigit() and len(tokens[row - 1].word) < 3 and row + 1 < len(tokens):
            # "1. bf16 2. no tf32"
            bounds.append((start, row, "", sep))
            start, sep = row + 1, ","
            continue
        if word in _ENDS and (word != "." or row + 1 == len(tokens) or tokens[row + 1].start > token.end):
            bounds.append((start, row, word, sep))
            start, sep = row + 1, word
        elif word in _BREAKS or (word in "-/+=" and line[token.end : token.end + 1] == " " and not _is_switched(tokens, row + 1)):
            bounds.append((start, row, "", sep))
            start, sep = row + 1, word
        elif word in _CONJUNCTIONS and row > start:
            bounds.append((start, row, "", sep))
            start, sep = row, word
    bounds.append((start, len(tokens), "\n", sep))
    clauses: list[Clause] = []
    for begin, end, mark, before in bounds:
        if end > begin:
            own = [one for one in items if begin <= one.at < end]
            text = line[tokens[begin].start : tokens[end - 1].end]
            words = [one.word for one in tokens[begin:end]]
            clause = Clause(own, number, text, words[0], before)
            clause.settings = _settings(own, words[0])
            clauses.append(clause)
        if mark:
            if clauses:
                yield clauses, mark
            clauses = []


def _is_switched(tokens: Sequence[Token], at: int) -> bool:
    return at < len(tokens) and tokens[at].word in _SWITCHED


def _settings(items: list[Item], opens: str) -> list[Item]:
    """Return a clause's settings, with those switched off marked, and without what was only the old value."""
    found = [one for one in items if one.kind == _SETTING]
    change = [mark for mark in items if mark.kind == "change"]
    kept: list[Item] = []
    for row, one in enumerate(found):
        # What stands shortly before it, and behind the setting before it.
        before = [mark for mark in items if one.at - _FAR <= mark.end <= one.at and (not row or found[row - 1].at < mark.end)]
        replaced = opens == "was" or any(mark.kind == "instead" and mark.text.lower() not in _FROM for mark in before)
        if not replaced:
            replaced = any(one.end <= mark.at and any(mark.end <= other.at and other.dim == one.dim for other in found) for mark in change)
        of_release = one.dim == "attention" and any(other.dim == "release" and other.end == one.at for other in found)
        if replaced or of_release:
            continue
        off = any(mark.kind == "off" for mark in before) or any(mark.kind == "isoff" and 0 <= mark.at - one.end <= _FAR for mark in items)
        out = any(mark.kind == "out" and 0 <= mark.at - one.end <= _FAR for mark in items)
        off = off or (out and any(mark.kind == "take" for mark in before))
        if not off or one.key == "compile=off":
            kept.append(one)
        elif one.dim in OFF and one.value != "off":
            kept.append(one._replace(value="off", text=f"without {one.text}"))
        elif one.dim == "dtype" and one.value in ("float16", "bfloat16", "mixed"):
            kept.append(one._replace(dim="autocast", value="off", text=""))
    return kept


#: What an outcome becomes where it is denied.
_DENIED = {"works": "fails", "gone": "same", "same": "same", "effect": "same", **dict.fromkeys(FAILING, "works")}


def outcome_of(clause: Clause) -> str:
    """Return the outcome that a clause tells, or ""; "mixed" where it tells two."""
    signs: list[str] = []
    for one in clause.items:
        if one.kind not in OUTCOMES or any(mark.kind == "against" and 0 <= one.at - mark.end < 3 for mark in clause.items):
            continue
        negated = any(
            mark.kind == "not"
            and mark.end <= one.at <= mark.end + _FAR
            and not any(mark.end <= other.at < one.at and other.kind in (_SETTING, *OUTCOMES) for other in clause.items)
            for mark in clause.items
        )
        kind = one.kind
        if negated or (kind == "effect" and clause.opens in ("neither", "nor")):
            kind = "" if "same" in one.text else _DENIED.get(kind, "")
        if kind and kind != "effect":
            signs.append(kind)
    if not signs:
        return "runs" if clause.has("runs") else ""
    if "other" in signs and "works" not in signs:
        return "" if signs == ["other"] and clause.says("instead") else "other"
    signs = [sign for sign in signs if sign != "other"]
    if "same" in signs:
        # "The same in float32 is finite."
        return "works" if "works" in signs else "same"
    if "gone" in signs:
        return "works"
    if "better" in signs and clause.says("than"):
        return "works"
    if "less" in signs or "better" in signs:
        return "less"
    if "works" in signs and len(set(signs)) > 1:
        return "mixed"
    return min(signs, key=("oom", "errors", "fails", "again", "works").index)


_SILENT = ("plan", "guess", "advice", "quote")


def _supposes(clause: Clause) -> bool:
    """Tell whether a clause only supposes something: "if X"; "it is right if X" tells of an outcome."""
    row = next((row for row, one in enumerate(clause.items) if one.kind == "if"), None)
    return row is not None and not any(one.kind in OUTCOMES for one in clause.items[:row])


def _asks(clause: Clause, mark: str) -> bool:
    """Tell whether a clause is a question: 吗 stands anywhere in it, an English word for asking at its beginning."""
    asking = [one for one in clause.items if one.kind == "ask"]
    if clause.opens in ("would", "could", "should"):
        return True
    return any(not one.text.isascii() for one in asking) or (mark in "?？" and bool(asking) and asking[0] is clause.items[0])


def told(clauses: list[Clause], mark: str) -> list[Clause]:
    """Return the clauses that state what happened: no plans, guesses, advice, hearsay or questions, and nothing that hangs on them."""
    kept: list[Clause] = []
    silent = False
    hushed: list[Item] = []
    for row, clause in enumerate(clauses):
        if silent and (clause.has("but") or clause.opens in ("because", "因为")):
            silent = False
            if not clause.settings and clause.opens not in ("because", "因为"):
                clause.settings = hushed
        orders = row == 0 and clause.opens in _IMPERATIVES and clause.text[len(clause.opens) :][:1] == " "
        if orders or any(clause.has(kind) for kind in _SILENT) or _supposes(clause) or _asks(clause, mark):
            silent = True
        if silent:
            hushed = [*hushed, *clause.settings]
        else:
            kept.append(clause)
    if mark in "?？" and len(kept) == len(clauses):
        if len(clauses) == 1 and clauses[0].settings and not outcome_of(clauses[0]):
            return kept
        kept = kept[:-1]
    return kept


def clause_of(cell: str, number: int) -> Clause:
    """Return a table's cell as a clause."""
    items = _items(cell, _tokens(cell))
    return Clause(items, number, cell, settings=_settings(items, ""))
