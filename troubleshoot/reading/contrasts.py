"""What the user already tried, and what came out: contrasts, read from the prose, the lists and the tables of a report.

A text is cut into clauses. In each the settings (a dtype, a card, a release, a switch) and the outcomes (works, NaN, an error, no change) are
found by tables of words. Settings are bound to the outcome of their clause or of the next one: a *run*. The first run that fails is the
user's own; every other one is held against it, and where they differ lies the experiment. Plans, questions, guesses, advice and hearsay are
no runs.

Nothing here is run unless a text has both a setting and an outcome; every step walks over the words once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import msgspec

from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading.contrast_words import CELLS, OFF, OPPOSITE, RELEASED, TRIED, WORDS
from troubleshoot.reading.mention_tables import FAMILIES, GPU_WORDS, PACKAGES
from troubleshoot.reading.report import Report

#: Lines of a report that are looked at, characters of such a line, and contrasts that are told.
_MOST_LINES = 400
_LONGEST = 1200
_MOST = 40

_TOKEN = searched(
    r"(?:pytorch|torch|python|cuda|vllm|transformers|cu)(?=[0-9])|--[a-z][a-z0-9-]{0,60}|v?[0-9]{1,6}(?:\.[0-9]{1,6}){1,4}(?:[.-]?(?:post|rc|dev|alpha|beta|a|b|git|m)[0-9]{0,12}){0,2}(?:\+[a-z0-9.]{1,20})?(?![a-z0-9])|[a-z0-9]++(?:'[a-z]{1,4})?"
    r"|!{3,9}|！{2,9}|->|=>|→|[\u3400-\u9fff]|[^\s\w\"`*'“”「」]"
)
_VERSION = anchored(r"v?[0-9]{1,4}(?:\.[0-9]{1,8}){1,4}(?:[.-]?(?:post|rc|dev|alpha|beta|a|b|git)[0-9]{0,12}){0,2}(?:\+[a-z0-9.]{1,20})?$")
_PIXELS = anchored(r"[0-9]{3,4}[x×*][0-9]{3,4}$")
_SIZE = anchored(r"[0-9]{1,4}(?:\.[0-9])?[bm]$")
_CARD = anchored(r"(?:[0-9]{1,2}x)?(?:rtx|gtx)?(?:9[678]0|10[5-8]0|16[56]0|20[678]0|30[5-9]0|40[6-9]0|50[6-9]0|p[456]000|a[2456]000)(?:d|ti|s|super|m)?$")
_NAMED_CARD = anchored(
    r"(?:[0-9]{1,2}x)?(t4|p4|p40|p100|k80|k40|m40|m60|v100s?|a2|a10g?|a16|a30|a40|a100s?|a800|h20|h100|h200|h800|gh200|b[23]00|gb[123]00?|l4|l20|l40s?|mi[0-9]{2,3}x?"
    r"|m[1-5]|910b|910c|titan|xavier|orin|gfx[0-9]{3,4})$"
)
_STEPS = frozenset("steps step iterations iters epochs tokens px seconds images 步 轮 个 张 条 次 x × × * 字".split())  # noqa: SIM905
_BEFORE_RELEASE = frozenset("到 成 回 本 release version tag".split())  # noqa: SIM905
_ENDS = frozenset(".!?;。！？；")
_BREAKS = frozenset(",，、:：()（）|—–") | {"->", "=>", "→"}
_CONJUNCTIONS = frozenset(
    "and but while whereas though although unless yet however or then whereas plus so because since vs versus 但 而 可 却".split()  # noqa: SIM905
)


class Contrast(msgspec.Struct, frozen=True):
    """One experiment whose outcome the report tells: ``gone``, ``same``, ``other`` (another failure), ``less`` or ``more``.

    ``value`` is what was tried, as written ("torch 2.1.2", "RTX 3090"), empty where the experiment says it all. ``quote`` is the clause.
    """

    experiment: str
    outcome: str
    value: str
    line: int
    quote: str = ""


class _Item(NamedTuple):
    """A word of a known class. ``dim`` is empty for outcomes and marks."""

    kind: str
    dim: str
    value: str
    at: int
    end: int
    text: str


@dataclass
class _Clause:
    items: list[_Item]
    line: int
    text: str
    opens: str = ""
    sep: str = ""
    settings: list[_Item] = field(default_factory=list)
    outcome: str = ""

    def has(self, kind: str) -> bool:
        return any(one.kind == kind for one in self.items)


@dataclass
class _Run:
    settings: list[_Item]
    outcome: str
    line: int
    text: str
    also: bool = False
    only: bool = False
    tried: bool = False
    explicit: bool = False
    denied: bool = False
    late: bool = False
    listed: bool = False
    near: bool = True


_SETTING, _OUTCOMES = "setting", ("works", "fails", "errors", "oom", "again", "same", "gone", "less", "better", "other")
_FAILING = ("fails", "errors", "oom", "again")


@cache
def _lexicon() -> dict[str, list[tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]]]:
    """Return the phrases by their first word, the longest first, each with its classes."""
    found: dict[tuple[str, ...], list[tuple[str, str, str]]] = {}
    for row in WORDS.splitlines():
        name, _, words = row.partition(": ")
        if not words or row[0] == "#":
            continue
        dim, equals, value = name.partition("=")
        for phrase in words.split():
            entry = (_SETTING, dim, value) if equals else (name, "", "")
            found.setdefault(tuple(_words(phrase.replace("_", " "))), []).append(entry)
    by_first: dict[str, list[tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]]] = {}
    for words_, entries in found.items():
        by_first.setdefault(words_[0], []).append((words_, tuple(dict.fromkeys(entries))))
    for phrases in by_first.values():
        phrases.sort(key=lambda one: -len(one[0]))
    return by_first


@cache
def _cells() -> dict[str, str]:
    rows = (row.partition(": ") for row in CELLS.splitlines() if row)
    return {word: name for name, _, words in rows for word in words.split()}


def _words(text: str) -> list[str]:
    return [match[0] for match in _TOKEN.finditer(text.lower().replace("’", "'").replace("_", " "))]


def find_contrasts(report: Report) -> tuple[Contrast, ...]:
    """Return what the report's own words say of experiments, in the order of its lines."""
    told = {row for failure in report.failures for one in failure.exceptions for row in range(one.line, one.last_line + 1)}
    told.update(frame.at for failure in report.failures for frame in failure.frames)
    lines = [
        (number, line[:_LONGEST])
        for line, number in zip(report.lines, report.numbers, strict=True)
        if line and number not in told
    ][:_MOST_LINES]
    runs = list(_runs(lines))
    return tuple(_contrasts(runs))[:_MOST]


# --- words to clauses -------------------------------------------------------------------------------------------------------------------
class _Token(NamedTuple):
    word: str
    start: int
    end: int


def _tokens(line: str) -> list[_Token]:
    low = line.lower().replace("’", "'").replace("_", " ")
    found = []
    for match in _TOKEN.finditer(low):
        word, start, end = match[0], match.start(), match.end()
        # A hyphen or a dot within a name: flash-attn, torch.compile.
        if word in ".-" and 0 < start and end < len(low) and low[start - 1].isalnum() and low[end].isascii() and low[end].isalnum():
            continue
        found.append(_Token("!!!" if word[:2] in ("!!", "！！") else word, start, end))
    return found


def _items(line: str, tokens: Sequence[_Token]) -> list[_Item]:
    """Return the words of known classes among the tokens, the longest phrases first."""
    lexicon = _lexicon()
    found: list[_Item] = []
    at = 0
    while at < len(tokens):
        size, entries = _phrase(tokens, at, lexicon)
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
        found += [_Item(kind, dim, value, at, at + size, text) for kind, dim, value in entries]
        at += size
    return found


def _within_a_name(line: str, tokens: Sequence[_Token], end: int) -> bool:
    """Tell whether a dtype is the beginning of a name: sdxl-vae-fp16-fix."""
    stop = tokens[end - 1].end
    return line[stop : stop + 1] == "-" and end < len(tokens) and tokens[end].start == stop + 1 and tokens[end].word not in ("mixed", "true", "only")


def _phrase(tokens: Sequence[_Token], at: int, lexicon: dict[str, list[tuple[tuple[str, ...], tuple[tuple[str, str, str], ...]]]]) -> tuple[int, tuple[tuple[str, str, str], ...]]:
    for words, entries in lexicon.get(tokens[at].word, ()):
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
            if words[-1] == "same" and row < len(tokens) and tokens[row].word not in _AFTER_SAME and tokens[row].word[:1].isalpha():
                # "the same prompt" tells of no outcome.
                continue
            return row - at, entries
    return 0, ()


def _named(line: str, tokens: Sequence[_Token], at: int, found: list[_Item]) -> _Item | None:
    """Return the card, the release or the model whose name begins at a token."""
    word = tokens[at].word
    end = at + 1
    after = tokens[end].word if end < len(tokens) else ""
    if word in ("rtx", "gtx", "geforce", "tesla", "titan", "radeon", "rx", "quadro", "nvidia") and after:
        while end < len(tokens) and end < at + 4 and (_CARD.match(tokens[end].word) or _NAMED_CARD.match(tokens[end].word) or tokens[end].word in ("rtx", "gtx", "geforce", "tesla", "xp", "ti", "super", "laptop") or (tokens[end].word.isdigit() and len(tokens[end].word) > 3)):
            end += 1
        if end > at + 1 or word == "titan":
            return _setting(line, tokens, "gpu", at, end)
    if (_NAMED_CARD.match(word) or _CARD.match(word)) and after not in _STEPS and not _is_size(line, tokens[at].end):
        while end < len(tokens) and tokens[end].word in ("ti", "super", "pro", "max", "ultra", "laptop"):
            end += 1
        return _setting(line, tokens, "gpu", at, end)
    if word in _OLDER and after not in _NO_RELEASE and (after in PACKAGES or after in RELEASED):
        return _setting(line, tokens, "release", at, end + 1)
    if _PIXELS.match(word):
        return _Item(_SETTING, "size", word, at, end, word)
    if (word in PACKAGES and word not in _NO_RELEASE) or word in RELEASED:
        while end < len(tokens) and end < at + 3 and tokens[end].word in ("=", "==", "version", "release", ":", "is", "at", "to", "back", "tag", "到", "换", "成", "v", "of", "from"):
            end += 1
        if end < len(tokens) and _VERSION.match(tokens[end].word) and not _SIZE.match(tokens[end].word):
            return _setting(line, tokens, "release", at, end + 1)
        return None
    if found and found[-1].end == at and found[-1].kind == _SETTING and found[-1].dim not in ("release", "gpu"):
        return None
    beside = tokens[at - 1].word if at else ""
    if _VERSION.match(word) and not _SIZE.match(word) and (
        word.count(".") > 1 or word[0] == "v" or "rc" in word or beside in _BEFORE_RELEASE or after in ("nightly", "release", "版")
        or any(one.dim == "release" and at - one.end < 5 for one in found[-3:])
    ):
        return _setting(line, tokens, "release", at, end)
    if _SIZE.match(word) or word.rstrip("0123456789.") in FAMILIES and word not in _NO_MODEL:
        while end < len(tokens) and end < at + 5 and (_SIZE.match(tokens[end].word) or tokens[end].word in FAMILIES or _VERSION.match(tokens[end].word) and tokens[end].start == tokens[end - 1].end + 1 and line[tokens[end].start - 1] == "-"):
            end += 1
        return _setting(line, tokens, "weights", at, end)
    return None


def _is_size(line: str, end: int) -> bool:
    """Tell whether a number goes on as 960*540, 1080/2000 or 1660_x do."""
    return line[end : end + 1] in _TIMES and line[end : end + 1] != "" and (line[end] in "%/_" or line[end + 1 : end + 4].isdigit() and len(line[end + 1 : end + 4]) == 3)


def _setting(line: str, tokens: Sequence[_Token], dim: str, at: int, end: int) -> _Item:
    text = line[tokens[at].start : tokens[end - 1].end]
    return _Item(_SETTING, dim, text.lower(), at, end, text)


_IMPERATIVES = frozenset("use try please append".split())  # noqa: SIM905
_NO_RELEASE = frozenset("datasets evaluate hub ray accelerate lightning flax".split())  # noqa: SIM905
_NO_MODEL = frozenset("t sd sam opt command phi led bark clip flux controlnet unet siglip dino encodec detr vit stable".split())  # noqa: SIM905
_TIMES = ("*", "×", "%", "/", "_")
_MERELY_NOT = frozenset("no not 不 没 没有 minus zero out".split())  # noqa: SIM905
_AFTER_SAME = frozenset("on with in for under too again there here at as if when either regardless no whether and or but 的".split())  # noqa: SIM905
_SWITCHED = frozenset("true false 0 1 none no off on yes 16 32 auto".split())  # noqa: SIM905
_OLDER = frozenset("older old newer newest latest previous earlier nightly new different another other".split())  # noqa: SIM905


def _sentences(line: str, number: int) -> Iterator[tuple[list[_Clause], str]]:
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
        elif word in _BREAKS or (word in "-/+=" and (row + 1 == len(tokens) or tokens[row + 1].word not in _SWITCHED) and token.end < len(line) and line[token.end : token.end + 1] == " "):
            bounds.append((start, row, "", sep))
            start, sep = row + 1, word
        elif word in _CONJUNCTIONS and row > start:
            bounds.append((start, row, "", sep))
            start, sep = row, word
    bounds.append((start, len(tokens), "\n", sep))
    clauses: list[_Clause] = []
    for begin, end, mark, before in bounds:
        if end > begin:
            own = [one for one in items if begin <= one.at < end]
            text = line[tokens[begin].start : tokens[end - 1].end]
            words = [one.word for one in tokens[begin:end]]
            clause = _Clause(own, number, text, words[0], before)
            clause.settings = _settings(own, words, begin)
            clauses.append(clause)
        if mark:
            if clauses:
                yield clauses, mark
            clauses = []


def _settings(items: list[_Item], words: list[str], begin: int) -> list[_Item]:
    """Return a clause's settings, with those switched off marked, and without what was only the old value."""
    found = [one for one in items if one.kind == _SETTING]
    change = [one for one in items if one.kind == "change"]
    kept: list[_Item] = []
    for one in found:
        between = lambda mark: all(not (mark.end <= other.at < one.at) for other in found)  # noqa: E731, B023
        before = [mark for mark in items if mark.end <= one.at and one.at - mark.end <= 3 and between(mark)]
        after = [mark for mark in items if 0 <= mark.at - one.end <= 3]
        if any(mark.kind == "instead" and mark.text.lower() not in ("把", "将", "从", "from", "was") for mark in before) or words[:1] == ["was"]:
            continue
        if one.dim == "attention" and any(mark.dim == "release" and mark.end == one.at for mark in items):
            continue
        if any(one.end <= mark.at and any(mark.end <= other.at and other.dim == one.dim for other in found) for mark in change):
            continue
        off = any(mark.kind == "off" for mark in before) or any(mark.kind == "isoff" for mark in after)
        if one.dim == "compile" and one.value == "off":
            off = False
        if off and one.dim in OFF and one.value != "off":
            one = one._replace(value="off", text=f"without {one.text}")
        elif off and one.dim == "dtype" and one.value in ("float16", "bfloat16", "mixed"):
            one = one._replace(dim="autocast", value="off", text="")
        elif off:
            continue
        kept.append(one)
    return kept


def _resolved(clause: _Clause) -> str:
    """Return the outcome that a clause tells, or ""; "mixed" where it tells two."""
    signs: list[str] = []
    for one in clause.items:
        if one.kind not in _OUTCOMES or any(mark.kind == "against" and 0 <= one.at - mark.end < 3 for mark in clause.items):
            continue
        negated = any(
            mark.kind == "not" and mark.end <= one.at and one.at - mark.end <= 3
            and not any(mark.end <= other.at < one.at and other.kind in (_SETTING, *_OUTCOMES) for other in clause.items)
            for mark in clause.items
        )
        kind = one.kind
        if negated:
            kind = {"works": "fails", "fails": "works", "errors": "works", "oom": "works", "again": "works", "gone": "same", "less": "", "better": "", "other": "", "same": "same"}[kind]
            if one.kind == "same" and "same" in one.text:
                kind = ""
        if kind:
            signs.append(kind)
    if not signs:
        return ""
    if "other" in signs and "works" not in signs:
        return "other" if len(signs) > 1 or clause.items[-1].text.lower() != "instead" else ""
    signs = [sign for sign in signs if sign != "other"]
    if "same" in signs:
        return "same"
    if "gone" in signs:
        return "works"
    if "better" in signs and any(one.text.lower() == "than" for one in clause.items):
        return "works"
    if "less" in signs or "better" in signs:
        return "less"
    if "works" in signs and len(set(signs)) > 1:
        return "mixed"
    return min(signs, key=("oom", "errors", "fails", "again", "works").index)


# --- clauses to runs --------------------------------------------------------------------------------------------------------------------
_SILENT = ("plan", "guess", "advice", "quote", "if")


def _told(clauses: list[_Clause], mark: str) -> list[_Clause]:
    """Return the clauses that state what happened: no plans, guesses, advice, hearsay or questions, and nothing that hangs on them."""
    kept: list[_Clause] = []
    silent = False
    hushed: list[_Item] = []
    for row, clause in enumerate(clauses):
        if silent and (clause.has("but") or clause.opens in ("because", "因为")):
            silent = False
            if not clause.settings and clause.opens not in ("because", "因为"):
                clause.settings = hushed
        if any(clause.has(kind) for kind in _SILENT):
            silent = True
        elif row == 0 and clause.opens in _IMPERATIVES and clause.text[len(clause.opens) :][:1] == " ":
            silent = True
        elif any(one.kind == "ask" for one in clause.items) and (any(one.kind == "ask" and not one.text.isascii() for one in clause.items) or (mark in "?？" and any(one.kind == "ask" and clause.items and one is clause.items[0] for one in clause.items))):
            silent = True
        if silent:
            hushed = [*hushed, *clause.settings]
        else:
            kept.append(clause)
    if mark in "?？" and len(kept) == len(clauses):
        if len(clauses) == 1 and clauses[0].settings and not _resolved(clauses[0]):
            return kept
        kept = kept[:-1]
    return kept


def _runs(lines: list[tuple[int, str]]) -> Iterator[_Run]:
    pending: list[_Item] = []
    referred: list[_Item] = []
    before: _Run | None = None
    header: _Run | None = None
    tried = listed = False
    table: list[list[str]] = []
    for number, line in lines:
        stripped = line.strip()
        if not header:
            pending = []
        listed = (listed and _BULLET.match(stripped) is not None) or (stripped.endswith((":", "：")) and _TRIED_SO_FAR.search(stripped) is not None)
        if stripped[:1] == ">":
            referred = [one for clauses, _ in _sentences(stripped.lstrip("> "), number) for clause in clauses for one in clause.settings]
            continue
        if stripped[:1] == "|" and stripped.count("|") > 2:
            table.append([cell.strip() for cell in stripped.strip("|").split("|")])
            if len(table) > 1:
                yield from _row(table[0], table[-1], number, stripped)
            continue
        table = []
        if _LOGGED.match(stripped):
            continue
        if stripped[:5].lower() in ("- [ ]", "* [ ]"):
            continue
        bullet = _BULLET.match(stripped)
        if bullet:
            stripped = stripped[bullet.end() :]
        else:
            header = None
        code, mark, comment = stripped.partition(" #")
        if mark and code.strip() and comment.strip() and ". " not in code:
            found = list(_commented(code, comment, number))
            if found:
                before = found[-1]
                yield from found
            continue
        for clauses, mark in _sentences(stripped, number):
            told = _told(clauses, mark)
            found, pending = _bind(told, pending or referred, before, tried or bool(referred))
            for run in found if listed and bullet else ():
                run.tried = run.listed = bool(run.settings)
            tried = any(clause.has("tried") or clause.has("also") for clause in told)
            if header and not found and pending:
                found, pending = [_Run(pending, header.outcome, number, stripped, header.also)], []
            if found:
                referred, before = [], found[-1]
            yield from found
        if not bullet and before and not before.settings and stripped.endswith(_OPEN) and before.line == number:
            header = before


#: How a line ends that a list goes on with.
_OPEN = (":", "：", " with", " on", " for", " when", " using", " under", " in")


def _commented(code: str, comment: str, number: int) -> Iterator[_Run]:
    """Yield the runs of ``code  # what came out``."""
    written = [one for clauses, _ in _sentences(code, number) for clause in clauses for one in clause.settings]
    for clauses, mark in _sentences(comment, number):
        found, _ = _bind(_told(clauses, mark), [], None)
        for run in found:
            run.settings = run.settings or written
            yield run
            if run.outcome in _FAILING and written and {one.dim for one in run.settings} & {one.dim for one in written} and run.settings is not written:
                yield _Run(written, "works", number, code.strip())


_LOGGED = anchored(r"[/\\$!]|File |python3? |[^ ]{0,200}\.py[\": ]|(?:\S{0,24} ){0,3}\S{0,24}\b(?:WARNING|INFO|DEBUG|ERROR|FAILED|PASSED|Traceback)\b")
_TRIED_SO_FAR = searched(r"\btried\b|\btested\b|\bdone so far\b|\battempt(?:s|ed)\b|试过|尝试", re.IGNORECASE)
_BULLET = anchored(r"(?:[-*+•] (?:\[[xX]\] )?|\d{1,2}[.)] )")


def _row(head: list[str], row: list[str], number: int, text: str) -> Iterator[_Run]:
    """Yield the runs of a table's row: its labels and its heading are the settings of each cell that holds an outcome."""
    label: list[_Item] = []
    outcomes: list[tuple[int, str]] = []
    unknown: list[int] = []
    for at, cell in enumerate(row):
        clause = _cell(cell, number)
        outcome = _resolved(clause) or (_cells().get(cell.lower(), "") if at else "")
        if at and outcome:
            outcomes.append((at, outcome))
        elif at and cell and not clause.settings:
            unknown.append(at)
        else:
            label += clause.settings
    if outcomes:
        outcomes += [(at, "fails") for at in unknown]
    for at, outcome in outcomes:
        above = _cell(head[at], number).settings if at < len(head) else []
        if label or above:
            yield _Run([*label, *above], outcome, number, text)


def _cell(cell: str, number: int) -> _Clause:
    tokens = _tokens(cell)
    items = _items(cell, tokens)
    return _Clause(items, number, cell, settings=_settings(items, [], 0))


def _bind(clauses: list[_Clause], pending: list[_Item], before: _Run | None, carried: bool = False) -> tuple[list[_Run], list[_Item]]:
    """Bind settings to outcomes in the told clauses of a sentence. Return the runs, and settings whose outcome is still to come.

    ``pending`` are settings of the sentence before that had no outcome, ``before`` is the last run that was read.
    """
    runs: list[_Run] = []
    held: list[_Item] = []
    last = pending or (before.settings if before else [])
    header = ""
    tried = neither = also_held = False
    for clause in clauses:
        outcome = _resolved(clause)
        settings = clause.settings
        also = clause.has("also") or clause.has("both")
        previous = runs[-1] if runs else before
        tried = tried or clause.has("tried") or clause.has("change")
        neither = neither or clause.opens in ("neither", "nor")
        if not settings and last and not held:
            if any(one.kind == "off" and one.text.lower() not in _MERELY_NOT for one in clause.items) and not clause.has("ison") and (outcome or clause.opens in ("without", "leave")):
                settings = [_flipped(one) for one in last if one.dim in OFF and one.value != "off"][:1] or [
                    one._replace(dim="autocast", value="off", text="") for one in last if f"{one.dim}={one.value}" in ("dtype=float16", "dtype=bfloat16")
                ][:1]
                pending = []
            elif clause.has("ison") and outcome:
                settings = [one._replace(value="on") for one in last if one.dim in OFF and one.value == "off"]
        if not outcome and settings and runs and (clause.has("unless") or clause.opens == "unless"):
            outcome = "works" if runs[-1].outcome in _FAILING else ""
        if outcome == "mixed":
            runs += _split(clause)
            held, last = [], settings
            continue
        if not outcome and previous and _ellipsis(clause, bool(held), neither):
            none = any(one.text.lower() == "none" for one in clause.items)
            outcome = "works" if previous.outcome in _FAILING or none else "fails" if previous.outcome == "works" else ""
            also = False
        if outcome:
            if not settings and not held and outcome == "works" and clause.text.lower().startswith(("no error", "without any error", "没有报错", "无报错")):
                # Wrong numbers come without an error too.
                continue
            if clause.has("gone") and any(one.kind in _FAILING for one in clause.items):
                # "The NaN on my 3090 is gone with ...": the card is where it was.
                settings = [one for one in settings if one.dim != "gpu"]
            if also and not settings and not tried and {"gpu", "release"} <= {one.dim for one in held}:
                # "On my 3090 (torch 2.3) it is black too": who says so, and nothing that was changed.
                held = []
            own, held_before = [*held, *settings], bool(held)
            if not own and runs and not any(clause.has(kind) for kind in ("only", "tried", "change")):
                if _amends(runs[-1], clause, outcome, also):
                    continue
                pending = []
            own = own or (pending if outcome != "same" and not also or carried else [])
            runs.append(_Run(own, outcome, clause.line, clause.text, also or also_held, clause.has("only"), tried))
            now = any(part.has("now") for part in clauses)
            runs[-1].late = now or (previous is not None and previous.outcome in _FAILING) or any(one.text.lower() == "than" for one in clause.items)
            runs[-1].near = now or bool(settings or held_before)
            runs[-1].explicit = clause.has("only")
            runs[-1].denied = outcome == "works" and (clause.has("not") or clause.has("gone"))
            last = own or last
            header = outcome if clause.has("gone") or clause.has("works") else ""
            held, pending, also_held = [], [], False
        elif settings:
            if header and (clause.sep == ":" or clause.sep == "：" or clause.opens == "or" or (clause.sep == "," and runs[-1].text == "")):
                runs.append(_Run(settings, header, clause.line, ""))
            elif runs and also and not held:
                runs.append(_Run(settings, "again", clause.line, clause.text, True))
            else:
                held = [*held, *settings]
                also_held = also_held or also
            last = settings
    if not runs and held and clauses and clauses[-1].settings and clauses[-1].text.lower().endswith((" too", " as well")):
        # "Not just the T4, the A10G too."
        return [_Run(clauses[-1].settings, "again", clauses[-1].line, clauses[-1].text, True)], []
    for run in runs:
        run.text = run.text or clauses[-1].text
    return runs, held or ([] if runs else pending)


def _ellipsis(clause: _Clause, held: bool, neither: bool) -> bool:
    """Tell whether a clause denies the outcome before it: "cpu: none", "eager doesn't", "neither A nor B gave me that"."""
    marks = [one for one in clause.items if one.kind == "not"]
    if not marks or not (clause.settings or held):
        return False
    if neither:
        return True
    if not clause.settings:
        return len(clause.text) < 20
    if any(one.text.lower() == "none" for one in marks):
        return True
    first, final = clause.settings[0], clause.settings[-1]
    return any(mark.at >= final.end and mark is marks[-1] for mark in marks) or any(mark.end + 1 == first.at and "'" in mark.text for mark in marks)


def _amends(run: _Run, clause: _Clause, outcome: str, also: bool) -> bool:
    """Let a clause that has an outcome and no setting say more of the run before it; tell whether it is about that run."""
    if outcome == "same" and run.outcome in _FAILING:
        run.also = True
    elif outcome in _FAILING and run.outcome == "works" and run.settings and (run.denied or clause.has("but") or clause.sep in ("but", "却", "但")):
        run.outcome = outcome
    elif outcome == "works" and clause.has("gone") and run.outcome in _FAILING:
        run.outcome = outcome
    elif outcome in _FAILING and also:
        run.also = True
    return not (outcome in _FAILING and run.outcome == "works")


def _flipped(one: _Item) -> _Item:
    return one._replace(value="off", text=f"without {one.text}")


def _split(clause: _Clause) -> list[_Run]:
    """Bind settings and outcomes one by one where a single clause has several of both."""
    order = [one for one in clause.items if one.kind in _OUTCOMES or one in clause.settings]
    known = {one.at: one for one in clause.settings}
    runs: list[_Run] = []
    held: list[_Item] = []
    first_outcome = bool(order) and order[0].kind in _OUTCOMES
    said = ""
    for one in order:
        if one.kind in _OUTCOMES:
            part = _Clause([mark for mark in clause.items if one.at - 4 <= mark.at <= one.at and mark.kind in ("not", one.kind)], clause.line, clause.text)
            said = _resolved(part)
            if held and not first_outcome:
                runs.append(_Run(held, said, clause.line, clause.text))
                held = []
        elif one.at in known:
            if first_outcome and said:
                runs.append(_Run([known[one.at]], said, clause.line, clause.text))
            else:
                held = [*held, known[one.at]]
    return [run for run in runs if run.outcome not in ("", "mixed")]


# --- runs to contrasts ------------------------------------------------------------------------------------------------------------------
def _contrasts(runs: list[_Run]) -> Iterator[Contrast]:
    """Hold every run against the first one that fails."""
    if any(one.dim == "compile" and one.value == "on" for run in runs for one in run.settings):
        for run in runs:
            run.settings = [one._replace(dim="compile", value="off") if (one.dim, one.value) == ("attention", "eager") else one for one in run.settings]
    failing = [run for run in runs if run.outcome in _FAILING]
    main = next((run for run in failing if not run.also and not any(f"{one.dim}={one.value}" in _ALTERNATIVE for one in run.settings) and not (run.outcome == "oom" and run.tried) and not run.listed), None)
    if main is None:
        worked = {one.dim for run in runs if run.outcome == "works" for one in run.settings}
        main = next((run for run in failing if not run.listed and not worked.isdisjoint(one.dim for one in run.settings)), None)
    theirs: dict[str, set[str]] = {}
    for one in main.settings if main else ():
        theirs.setdefault(one.dim, set()).add(one.value)
    seen: set[tuple[str, str, str]] = set()
    found = [contrast for run in runs for contrast in _against(run, main, theirs)]
    if main is not None and any(run.outcome == "works" and not run.settings for run in runs):
        main.only = True
    if not any(one.outcome == "gone" for one in found):
        found += [contrast for run in failing if run.only for contrast in _only(run)]
    for contrast in found:
        if True:
            key = (contrast.experiment, contrast.outcome, contrast.value.lower())
            if key not in seen:
                seen.add(key)
                yield contrast


#: Settings that are always a second try.
_ALTERNATIVE = frozenset(("batch=small", "input=short", "lr=low", "weights==other", "fresh=yes", "seed=other", "nodes=off", "release=changed"))
_CHANGED = frozenset(("off", "float32", "cpu", "before", "mixed", "older", "old", "previous", "earlier", "nightly", "newest", "latest", "newer"))
#: Which of several things that differ is what was tried: a switch or a release before a dtype, and the card last.
_LATER = {"dtype": 1, "device": 1, "weights": 2, "gpu": 3}


def _against(run: _Run, main: _Run | None, theirs: dict[str, set[str]]) -> Iterator[Contrast]:
    failing = run.outcome in _FAILING
    if failing and any(one.dim == "release" and one.value == "since" for one in run.settings):
        yield Contrast("other-release", "gone", "before", run.line, run.text)
        return
    if run is main or (failing and run.only and not run.also):
        return
    outcome = run.outcome if run.outcome in ("same", "less", "other") else "gone" if run.outcome == "works" else "same"
    if failing and main is not None and (
        (run.outcome == "oom" and main.outcome != "oom") or {run.outcome, main.outcome} == {"fails", "errors"}
    ):
        outcome = "other"
    elif run.outcome == "oom" and main is None and run.tried:
        outcome = "other"
    if run.outcome == "works" and "on" in theirs.get("quantization", ()) and any(one.dim == "dtype" for one in run.settings) and "dtype" not in theirs:
        if not any(one.dim == "quantization" for one in run.settings):
            yield Contrast("no-quantization", "gone", "", run.line, run.text)
            return
    differing = [one for one in run.settings if one.value not in theirs.get(one.dim, ())]
    shared = [one for one in differing if one.dim in theirs]
    others = [one for one in differing if _experiment(one, theirs, run.outcome == "works")]
    if any(one.dim == "release" and one.value != "changed" for one in others):
        others = [one for one in others if one.value != "changed"]
    if len({one.value.split()[0] for one in others if one.dim == "release"}) > 1 and not (run.tried or run.late or run.also):
        # A list of versions is an environment.
        others = [one for one in others if one.dim != "release"]
        shared = [one for one in shared if one.dim != "release"]
    if any(one.dim == "fresh" for one in others):
        others = [one for one in others if one.dim != "release"]
    if any(one.dim == "dtype" for one in others):
        others = [one for one in others if one.dim != "autocast" or one.text]
    tier = min((_LATER.get(one.dim, 0) for one in others), default=0)
    others = [one for one in others if _LATER.get(one.dim, 0) == tier]
    if not shared:
        if run.outcome == "works" and not (run.late or run.tried or run.only or run.denied or main is None and len(run.settings) == 1):
            # What works before anything fails is mostly the user's own setting, as far as it goes.
            others = [one for one in others if f"{one.dim}={one.value}" in _ALTERNATIVE and not one.text[-1:].isdigit() or one.value.split()[0] in _CHANGED]
        if run.outcome == "works" and not (run.near or run.denied):
            others = []
        if failing and outcome != "other" and not (run.also or run.tried or run.outcome == "oom" or any(one.value == "off" or f"{one.dim}={one.value}" in _ALTERNATIVE for one in others)):
            for one in differing:
                theirs.setdefault(one.dim, set()).add(one.value)
            return
        others = [one for one in others if (one.dim, one.value) != ("dtype", "float16") or run.tried or run.outcome == "same"]
        others = [one for one in others if one.dim != "weights" or one.value == "=other" or (failing and run.also)]
    for one in shared or others:
        experiment = _experiment(one, theirs, run.outcome == "works")
        if experiment:
            yield Contrast(experiment, outcome, _value(one, experiment), run.line, run.text)


def _only(run: _Run) -> Iterator[Contrast]:
    """What "only with two GPUs" says of one."""
    for one in run.settings:
        experiment = OPPOSITE.get(f"{one.dim}={one.value}") or (OFF.get(one.dim, "") if one.value == "on" and run.explicit else "")
        if experiment:
            yield Contrast(experiment, "gone", "", run.line, run.text)


def _experiment(one: _Item, theirs: dict[str, set[str]], working: bool) -> str:
    key = f"{one.dim}={one.value}"
    if one.dim == "gpu":
        return "other-gpu"
    if one.dim == "distributed" and "distributed" in theirs:
        return "no-distributed"
    if one.dim == "size":
        return "short-input" if any(_area(one.value) < _area(other) for other in theirs.get("size", ())) else ""
    if one.dim == "release":
        return "" if one.value == "since" else "other-release"
    if one.dim == "weights":
        return "other-weights"
    if one.value == "off":
        return OFF.get(one.dim, "")
    if one.dim == "attention":
        return "other-attention"
    if key == "device=cuda" and "mps" not in theirs.get("device", ()) and not any(one[:1] == "m" for one in theirs.get("gpu", ())) or key == "device=gpu" and "cpu" not in theirs.get("device", ()):
        return ""
    if key == "autocast=on":
        return "autocast" if working else ""
    return TRIED.get(key, "")


def _area(size: str) -> int:
    width, _, height = size.replace("×", "x").replace("*", "x").partition("x")
    return int(width) * int(height)


def _value(one: _Item, experiment: str) -> str:
    if experiment in ("other-gpu", "other-release", "other-weights", "other-attention") or (one.value == "off" and one.dim in ("distributed", "zero")):
        return one.text
    return ""
