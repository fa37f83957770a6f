"""The short answer in the lines of a terminal: what says most goes in first, until the lines are full."""

from __future__ import annotations

import re

import msgspec

from troubleshoot.telling.code_lines import folded
from troubleshoot.telling.layout import clip, columns, pad, paint, visible, without_asides, wrap
from troubleshoot.telling.screen import Advice, Screen
from troubleshoot.telling.words import Words

#: Lines of the short answer: with the command and the prompt, a terminal of 24 rows shows all of it.
MOST_LINES = 16
_LEAST_WIDTH, _MOST_WIDTH = 40, 120
#: Lines that one part may take.
_TITLE, _FACTS, _DONT, _NEXT, _ASK = 3, 3, 2, 3, 2
#: Lines of code that the first fix may have, and another one.
_CODE_FIRST, _CODE = 5, 3
#: Comments stand in a column where no line of code before them is longer.
_COLUMN = 44

#: Where a sentence may end before it does.
_CLAUSE = r"; |；|: |：|, (?:so|which|but|and|while|because) |[。.] "

#: Pieces of text with their styles.
Line = tuple[tuple[str, str], ...]


class _Part(msgspec.Struct, frozen=True):
    """Lines that are shown together or not at all: ``place`` orders them on the screen, their order in a list is that of importance."""

    place: int
    lines: list[Line]


def screen_text(screen: Screen, *, color: bool = False, width: int = 80, more: str = "") -> str:
    """Return the short answer in at most 16 lines of ``width`` columns (taken between 40 and 120). ``more`` says where the rest is."""
    width = max(_LEAST_WIDTH, min(_MOST_WIDTH, width))
    words = Words(screen.language)
    parts = _parts(screen, width, words, more)
    shown, left = [], MOST_LINES - 1
    for part in parts:
        if part.lines and len(part.lines) <= left:
            shown.append(part)
            left -= len(part.lines)
    lines: list[Line] = []
    before = 0
    for part in sorted(shown, key=lambda one: one.place):
        # What is found and what to do stand apart; the last line too, where there is room.
        if before and (before < _DO <= part.place or (before < _LAST <= part.place and left > 0)):
            lines.append(())
        lines += part.lines
        before = part.place
    return "\n".join("".join(paint(text, style, color) for text, style in line).rstrip() for line in lines) + "\n"


#: Where on the screen each part stands.
_HEAD, _SPOT, _FACT, _OTHER, _NOTE, _DO, _DONTS, _QUESTION, _LAST = 1, 2, 3, 4, 5, 10, 20, 21, 30


def _parts(screen: Screen, width: int, words: Words, more: str) -> list[_Part]:
    """Return the parts, the most important first."""
    facts = _facts(screen, width)
    fixes = _fixes(screen.fixes, width)
    donts = [_Part(_DONTS, _item("✗", "bad", text, width, _DONT)) for text in screen.donts]
    others = [_Part(_OTHER, [(("  " + _fit(text, width - 2, 1)[0], ""),)]) for text in screen.others]
    return [
        _Part(_HEAD, _head(screen, width)),
        _Part(_LAST, _last(screen, width, words, more)),
        _Part(_DO, _next(screen, width, words)),
        *fixes[:1],
        *(_Part(_SPOT, [_spot(one.where, one.code, width)]) for one in screen.spots),
        *facts[:1],
        *(_Part(_NOTE, [(("  " + line, "warn"),) for line in _fit(note, width - 2, 2)]) for note in screen.notes[:2]),
        *fixes[1:2],
        *others,
        *donts[:1],
        *facts[1:2],
        *(() if screen.question is None else [_Part(_QUESTION, _ask(screen, width))]),
        *fixes[2:],
        *donts[1:],
        *facts[2:],
    ]


def _head(screen: Screen, width: int) -> list[Line]:
    badge = visible(screen.badge)
    first, *rest = _fit(screen.title, width, _TITLE, width - columns(badge) - 3)
    gap = width - columns(first) - columns(badge)
    return [((first, "bold"), (" " * gap, ""), (badge, screen.tone or "bold")), *(((part, "bold"),) for part in rest)]


def _fit(text: str, width: int, most: int, first: int | None = None) -> list[str]:
    """Return a text in at most so many lines: whole, or without asides, or up to the end of a clause, or cut behind a word."""
    text = visible(text)
    if not text.strip():
        return [""]
    short = without_asides(text)
    stop = "。" if text[-1:] == "。" else "." if text[-1:] == "." else ""
    for shorter in (text, short, *(short[: match.start()] + stop for match in reversed(list(re.finditer(_CLAUSE, short))))):
        lines = wrap(shorter, width, first)
        if len(lines) <= most and (shorter or not text):
            return [clip(line, width) for line in lines]
    lines = wrap(short, width, first)
    last = wrap(lines[:most][-1], width - 1)[0]
    return [clip(line, width) for line in (*lines[: most - 1], last.rstrip(" ,;:，；：") + "…")]


def _spot(where: str, code: str, width: int) -> Line:
    where, code = visible(where), visible(code)
    if columns(where) + columns(code) + 5 > width and "…/" in where:
        # The file's own name says more than its package where both do not fit.
        where = where.rpartition("…/")[2]
    where = clip(where, width // 2)
    return (("  " + where, "dim"), ("   " + clip(code, width - columns(where) - 5), "code"))


def _facts(screen: Screen, width: int) -> list[_Part]:
    return [_Part(_FACT, [(("  " + line, ""),) for line in _fit(text, width - 2, _FACTS)]) for text in screen.facts]


def _fixes(fixes: tuple[Advice, ...], width: int) -> list[_Part]:
    shown = [_code(one, width, _CODE if at else _CODE_FIRST) for at, one in enumerate(fixes)]
    short = [columns(lines[0]) for one, lines in zip(fixes, shown, strict=True) if len(lines) == 1]
    column = max((length for length in short if length <= _COLUMN), default=0)
    parts = [_fix(str(number), one, lines, width, column) for number, (one, lines) in enumerate(zip(fixes, shown, strict=True), 1)]
    return [_Part(_DO + number, lines) for number, lines in enumerate(parts)]


def _code(one: Advice, width: int, most: int) -> list[str]:
    """Return the code of a fix in lines that fit; none where they cannot be made to, or are too many to be read at a glance."""
    lines = folded("\n".join(map(visible, one.code.split("\n"))), one.language, width - 3) if one.code else []
    return lines if len(lines) <= most else []


def _fix(mark: str, one: Advice, code: list[str], width: int, column: int) -> list[Line]:
    lead = (f"{mark}  ", "bold")
    title, remark = visible(one.title), visible(one.remark)
    if not code:
        lines = _item(mark, "bold", title, width, 2, style="bold")
        # A reason is shown whole or not at all; here nothing hangs on it.
        return [*lines, *(_comment(remark, width, 1) if 5 + columns(remark) <= width else ())]
    said = f"{title}; {remark}" if remark else title
    lines = [((lead if at == 0 else ("   ", "")), (line, "code")) for at, line in enumerate(code)]
    if len(code) == 1:
        for text in dict.fromkeys((said, title)):
            for start in dict.fromkeys((max(column, columns(code[0])), columns(code[0]))):
                if 3 + start + 3 + columns(text) <= width:
                    whole: list[Line] = [(lead, (pad(code[0], start), "code"), ("   " + text, "dim"))]
                    return whole if text == said else [*whole, *_comment(remark, width, 1)]
    return [*lines, *_comment(said, width, 2)]


def _comment(text: str, width: int, most: int) -> list[Line]:
    return [(("     " + line, "dim"),) for line in _fit(text, width - 5, most)] if text else []


def _item(mark: str, tone: str, text: str, width: int, most: int, *, style: str = "") -> list[Line]:
    lines = _fit(text, width - 3, most)
    return [(((f"{mark}  " if at == 0 else "   "), tone), (line, style)) for at, line in enumerate(lines)]


def _ask(screen: Screen, width: int) -> list[Line]:
    assert screen.question is not None
    lines = _item("?", "warn", screen.question.text, width, _ASK)
    option = visible(screen.question.option)
    if not option:
        return lines
    if sum(columns(text) for text, _ in lines[-1]) + 3 + columns(option) <= width:
        return [*lines[:-1], (*lines[-1], ("   ", ""), (option, "code"))]
    return [*lines, (("   ", ""), (clip(option, width - 3), "code"))]


def _next(screen: Screen, width: int, words: Words) -> list[Line]:
    if not screen.next:
        return []
    return [(("  " + line, ""),) for line in _fit(words("next.lead", step=screen.next), width - 2, _NEXT)]


def _last(screen: Screen, width: int, words: Words, more: str) -> list[Line]:
    parts = [words("last.verify", command=screen.verify)] if screen.verify else []
    if more:
        parts.append(words("last.more", how=more))
    text = "   ".join(map(visible, parts))
    # A command is shown whole or not at all.
    shown = [text] if columns(text) <= width else [part for part in map(visible, parts) if columns(part) <= width]
    return [((line, "dim"),) for line in shown if line]
