"""Attacks on patterns: each is run over the texts that are worst for it, and its time must not grow faster than they do.

The texts are made from the pattern itself. Backtracking is costly where a repeat takes many characters and what must follow never comes:
so every repeat is filled with what it takes, alone, together with each other repeat that takes the same, and with the beginning of the
pattern again and again, and the text is ended by what fits nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from time import process_time
from typing import Any

#: Repeats of fewer rounds than this are part of the text around them.
_LONG = 6
#: What is looked up in a class, in this order: the characters that people's logs are made of, then one of each odd kind.
_TRIED = "a1 A_.-/\\:=,'\"`()[]<>|*#%@&+~!?$;^{}\n\tzfx0Z\u00b2\u2003\u4e2d\u0663é\x00"
#: Characters of a text for the first look and for the last.
SIZES = (1_000, 4_000, 16_000, 64_000)
#: Seconds for each thousand characters that no pattern needs, and the growth that nothing linear has between two sizes of 1 to 4.
_SLOW = 0.01
_GROWTH = 6.5
_MEASURABLE = 0.004


@dataclass(frozen=True)
class Growth:
    """The worst text found for a pattern: ``text`` is what is repeated in it, ``seconds`` what its last two sizes took."""

    pattern: str
    text: str
    sizes: tuple[int, int]
    seconds: tuple[float, float]

    def __str__(self) -> str:
        """Tell it in one line."""
        small, large = self.seconds
        return (
            f"{self.pattern!r}: {small * 1000:.1f} ms for {self.sizes[0]:,} characters, {large * 1000:.1f} ms for {self.sizes[1]:,} "
            f"like {self.text[:120]!r}"
        )


def superlinear(
    pattern: re.Pattern[str], search: bool, run: Callable[[str], Any] | None = None, sizes: tuple[int, ...] = SIZES
) -> Growth | None:
    """Return the text over which a pattern grows faster than its length, or None where none of its worst texts makes it.

    ``search`` tells whether it is looked for anywhere or tried at one place. ``run`` is what is measured, the pattern itself by default.
    ``sizes`` are the characters of the texts, each four times those before.
    """
    run = run or (lambda text: _consume(pattern, text) if search else pattern.match(text))
    for make in _texts(pattern):
        before = 0.0
        for position, size in enumerate(sizes):
            text = make(size)
            took = _seconds(run, text)
            if took > _MEASURABLE and (took > _SLOW * size / 1000 or (position and before > _MEASURABLE / 8 and took > _GROWTH * before)):
                took = min(took, _seconds(run, text), _seconds(run, text))
                small = make(sizes[position - 1] if position else size // 4)
                before = min(_seconds(run, small), _seconds(run, small), _seconds(run, small))
                if took > _SLOW * size / 1000 or took > _GROWTH * before:
                    return Growth(pattern.pattern, make(60), (len(small), len(text)), (before, took))
            before = took
    return None


def _consume(pattern: re.Pattern[str], text: str) -> None:
    for _ in pattern.finditer(text):
        pass


def _seconds(run: Callable[[str], Any], text: str) -> float:
    start = process_time()
    run(text)
    return process_time() - start


# -- texts -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Repeat:
    before: str
    bodies: tuple[str, ...]
    after: str


def _texts(pattern: re.Pattern[str]) -> Iterator[Callable[[int], str]]:
    """Yield makers of texts of a wanted length."""
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    repeats: list[_Repeat] = []
    _walk(list(tree), "", "", repeats)
    whole = _shortest(list(tree))
    seen: set[tuple[str, str, str]] = set()

    def texts(head: str, unit: str, tail: str) -> Iterator[Callable[[int], str]]:
        if unit and (head, unit, tail) not in seen:
            seen.add((head, unit, tail))
            yield lambda size: head + (unit * (max(1, size - len(head) - len(tail)) // len(unit) + 1)) + tail

    bodies = list(dict.fromkeys(body for one in repeats for body in one.bodies))[:12]
    for one in repeats:
        for body in one.bodies:
            for tail in ("\x00", "", "\n", "!"):
                yield from texts(one.before, body, tail)
            yield from texts("", one.before + body, "\x00")
            yield from texts("", one.before + body * 40 + "\x00", "")
            yield from texts("", one.before + body * 400 + "\x00", "")
            if one.after:
                yield from texts(one.before, body + one.after, "\x00")
                yield from texts("", one.before + body + one.after, "\x00")
            for other in bodies:
                if other != body:
                    yield from texts(one.before, body + other, "\x00")
    if whole:
        yield from texts("", whole, "\x00")
        yield from texts("", whole + "\n", "")
        yield from texts("", whole[:-1], "\x00")
        yield from texts("", whole + " ", "")


def _walk(nodes: list[Any], before: str, after: str, found: list[_Repeat]) -> None:
    """Collect the long repeats below a sequence, each with the shortest text that leads to it and on from it."""
    for position, node in enumerate(nodes):
        kind, value = node
        rest = _shortest(nodes[position + 1 :]) + after
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            _, most, body = value
            body = list(body)
            if most >= _LONG:
                bodies = _fillings(body)
                if bodies:
                    found.append(_Repeat(before, bodies, rest[:20]))
            _walk(body, before, rest, found)
        elif kind is op.BRANCH:
            for branch in value[1]:
                _walk(list(branch), before, rest, found)
        elif kind is op.SUBPATTERN:
            _walk(list(value[3]), before, rest, found)
        elif kind is op.ATOMIC_GROUP:
            _walk(list(value), before, rest, found)
        elif kind in (op.ASSERT, op.ASSERT_NOT) and value[0] == 1:
            _walk(list(value[1]), before, rest, found)
        before = (before + _shortest([node]))[-200:]


def _fillings(body: list[Any]) -> tuple[str, ...]:
    """Return texts that one round of a repeat takes."""
    if len(body) == 1 and body[0][0] in (op.IN, op.ANY, op.NOT_LITERAL, op.CATEGORY):
        taken = _taken(body[0])
        # One of each kind: more would be told apart by nothing.
        return tuple(taken[:6])
    if len(body) == 1 and body[0][0] is op.SUBPATTERN:
        return _fillings(list(body[0][1][3]))
    if len(body) == 1 and body[0][0] is op.BRANCH:
        return tuple(text for branch in body[0][1][1] for text in _fillings(list(branch)))[:8]
    text = _shortest(body)
    fuller = _shortest(body, longer=True)
    return tuple(dict.fromkeys(one for one in (text, fuller) if one))


def _taken(node: Any) -> list[str]:
    try:
        tree = _parser.parse("")
        tree.append(node)
        from re import _compiler  # type: ignore[attr-defined]

        pattern = _compiler.compile(tree, 0)
    except Exception:
        return []
    return [char for char in _TRIED if pattern.fullmatch(char)]


def _shortest(nodes: list[Any], longer: bool = False) -> str:
    """Return a short text that a sequence matches, as far as a look at it tells; assertions are left out."""
    parts: list[str] = []
    for kind, value in nodes:
        if kind is op.LITERAL:
            parts.append(chr(value))
        elif kind in (op.IN, op.ANY, op.NOT_LITERAL):
            taken = _taken((kind, value))
            parts.append(taken[0] if taken else "a")
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, most, body = value
            rounds = max(least, 1) if longer and most else least
            parts.append(_shortest(list(body), longer) * min(rounds, 50))
        elif kind is op.BRANCH:
            branches = [_shortest(list(branch), longer) for branch in value[1]]
            parts.append(max(branches, key=len) if longer else min(branches, key=len) or max(branches, key=len))
        elif kind is op.SUBPATTERN:
            parts.append(_shortest(list(value[3]), longer))
        elif kind is op.ATOMIC_GROUP:
            parts.append(_shortest(list(value), longer))
    return "".join(parts)
