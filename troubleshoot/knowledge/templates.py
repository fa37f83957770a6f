"""Message templates: literal text with typed holes, alternatives and optional tails (syntax: docs/writing-entries.md).

A template compiles to a pattern over text that was lowered and whose white space was collapsed. Every repetition is bounded, a gap of text
ends where the template begins anew, and the pattern is tried near its longest literal only: so the cost is linear in what is pasted. A
second form without any blanks serves terminals that wrapped inside a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from troubleshoot.basics.dtypes import (
    JOINED_DTYPE,
    NAMED_DTYPE,
    device_index,
    parse_device,
    parse_dtype,
    parse_dtype_name,
    parse_tensor_type,
)
from troubleshoot.basics.lazy import lazy_attribute
from troubleshoot.basics.patterns import searched
from troubleshoot.knowledge.sentences import WORD_PART

#: hole type -> pattern over lowered text; (with blanks allowed, without)
_HOLES: dict[str, tuple[str, str]] = {
    "dtype": (r"(?:struct |unsigned |signed )?[a-z][\w.:<>]{0,60}", JOINED_DTYPE),
    "dtype_name": (NAMED_DTYPE, r"[`'\"(\[{<]{0,2}" + JOINED_DTYPE),
    "tensor_type": (r"(?:struct |unsigned |signed )?[a-z][\w.:<>\[\]]{0,60}", JOINED_DTYPE),
    "device": (r"[a-z]{2,12}(?: ?:\d{1,3})?", r"[a-z]{2,12}(?::\d{1,3})?"),
    "int": (r"[-+]?\d{1,20}", r"[-+]?\d{1,20}"),
    "float": (r"[-+]?(?:\d{1,20}(?:\.\d{0,20})?(?:e[-+]?\d{1,4})?|nan|inf)",) * 2,
    "version": (r"\d[\w.+-]{0,40}",) * 2,
    "name": (r"[a-z_][\w.:<>-]{0,100}",) * 2,
    "path": (r"\S{1,200}",) * 2,
    "text": (r".{0,200}?",) * 2,
}

#: words of literal text, and their parts that can serve as index keys (phrases.tokens makes the same ones of a report)
_WORD = searched(r"[a-z0-9_]+")
_PART = searched(r"[a-z0-9]{3,}")


#: More than a base has templates, in both forms.
_KEPT = 16_384


class TemplateError(ValueError):
    """A template's syntax is wrong; ``position`` counts characters from 0."""

    def __init__(self, template: str, position: int, problem: str) -> None:
        self.position = position
        super().__init__(f"{problem}\n    {template}\n    {' ' * position}^")


@dataclass(frozen=True)
class Literal:
    """Text that must occur as it is, without case."""

    text: str


@dataclass(frozen=True)
class Hole:
    """A typed gap whose content becomes a fact."""

    name: str
    type: str


@dataclass(frozen=True)
class Choice:
    """One of several branches."""

    branches: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True)
class Optional_:  # noqa: N801  (typing.Optional is another thing)
    """A part that may be missing."""

    body: tuple[Node, ...]


Node = Literal | Hole | Choice | Optional_


@dataclass(frozen=True)
class Captured:
    """What one hole caught: the original spelling."""

    name: str
    type: str
    text: str


@dataclass(frozen=True)
class Template:
    """A parsed template with its pattern."""

    text: str
    nodes: tuple[Node, ...]
    holes: tuple[Hole, ...]
    #: The pattern's source.
    source: str
    #: Literal text that every match holds, and how many characters of a match may lie before it and, with it, from its beginning on.
    probe: str
    before: int
    behind: int

    @lazy_attribute
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern; most templates are told by their probe not to be there."""
        return searched(self.source)

    @lazy_attribute
    def pairs(self) -> frozenset[tuple[str, str]]:
        """Words that stand side by side in every match: a text without them needs not be searched."""
        found: set[tuple[str, str]] = set()
        for index, node in enumerate(self.nodes):
            if isinstance(node, Literal):
                lowered = _collapse(node.text)
                words = list(WORD_PART.finditer(lowered))
                # What touches a hole may be part of a longer word.
                if words and index > 0 and words[0].start() == 0:
                    del words[0]
                if words and index < len(self.nodes) - 1 and words[-1].end() == len(lowered):
                    del words[-1]
                found.update((one[0], other[0]) for one, other in pairwise(words))
        return frozenset(found)

    def search(self, lowered: str, original: str, start: int = 0, end: int | None = None) -> TemplateMatch | None:
        """Find the first match in ``lowered``; captures are read from ``original``, which has the same length."""
        for first, last in self.stretches(lowered, start, len(lowered) if end is None else end):
            match = self.match_within(lowered, original, first, last)
            if match is not None:
                return match
        return None

    def stretches(self, lowered: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield from where to where a match may lie: around each probe. Stretches that touch are one, so that nothing is searched twice."""
        if not self.probe:
            yield start, end
            return
        size = len(self.probe)
        found = lowered.find(self.probe, start, end)
        while found >= 0:
            first, last = max(start, found - self.before), found + self.behind
            # The last probe whose stretch touches this one, and so on.
            while last - first < _LONGEST_STRETCH:
                further = lowered.rfind(self.probe, found + 1, min(end, last + self.before + size))
                if further < 0:
                    break
                found, last = further, further + self.behind
            yield first, min(end, last)
            found = lowered.find(self.probe, found + 1, end)

    def match_within(self, lowered: str, original: str, start: int, end: int) -> TemplateMatch | None:
        """Find the first match in a stretch."""
        match = self.pattern.search(lowered, start, end)
        while match is not None:
            captured = self._captured(match, original)
            if captured is not None:
                return TemplateMatch(match.start(), match.end(), captured)
            match = self.pattern.search(lowered, match.start() + 1, end)
        return None

    def _captured(self, match: re.Match[str], original: str) -> tuple[Captured, ...] | None:
        found: list[Captured] = []
        for index, hole in enumerate(self.holes):
            start, end = match.span(f"h{index}")
            if start < 0:
                continue
            text = original[start:end].rstrip(".:,;" if hole.type != "text" else "")
            if hole.type == "dtype" and parse_dtype(text) is None:
                return None
            if hole.type == "dtype_name" and parse_dtype_name(text) is None:
                return None
            if hole.type == "tensor_type" and parse_tensor_type(text) is None and parse_dtype(text) is None:
                return None
            if hole.type == "device" and parse_device(text) is None:
                return None
            found.append(Captured(hole.name, hole.type, text))
        return tuple(found)


@dataclass(frozen=True)
class TemplateMatch:
    """Where a template matched, and what its holes caught."""

    start: int
    end: int
    captured: tuple[Captured, ...]


def facts_of(captured: tuple[Captured, ...], roles: dict[str, str]) -> dict[str, str]:
    """Turn captures into facts: ``dtype.expected``, ``device.weight``, ``number.scale``, ... and again under their roles."""
    facts: dict[str, str] = {}
    for one in captured:
        names = [one.name] + ([roles[one.name]] if one.name in roles else [])
        for name in names:
            if one.type == "dtype":
                facts[f"dtype.{name}"] = parse_dtype(one.text) or one.text
            elif one.type == "dtype_name":
                facts[f"dtype.{name}"] = parse_dtype_name(one.text) or one.text
            elif one.type == "tensor_type":
                pair = parse_tensor_type(one.text)
                facts[f"dtype.{name}"] = pair[1] if pair else (parse_dtype(one.text) or one.text)
                if pair:
                    facts[f"device.{name}"] = pair[0]
            elif one.type == "device":
                facts[f"device.{name}"] = parse_device(one.text) or one.text
                index = device_index(one.text)
                if index is not None:
                    facts[f"number.{name}"] = str(index)
            elif one.type in ("int", "float"):
                facts[f"number.{name}"] = one.text
            elif one.type == "version":
                facts[f"version.{name}"] = one.text
            elif one.type == "name":
                facts[f"name.{name}"] = one.text
            else:
                facts[f"text.{name}"] = one.text
    return facts


@lru_cache(maxsize=16_384)
def parse_template(text: str) -> tuple[Node, ...]:
    """Parse a template.

    Raises:
        TemplateError: unbalanced brackets, an unknown hole type, an empty name, no text at all.
    """
    if not text.strip():
        raise TemplateError(text, 0, "an empty template would match everywhere")
    nodes, position = _sequence(text, 0, "")
    if position != len(text):
        raise TemplateError(text, position, f"unexpected {text[position]!r}")
    return nodes


def _sequence(text: str, position: int, closing: str) -> tuple[tuple[Node, ...], int]:
    nodes: list[Node] = []
    literal: list[str] = []

    def flush() -> None:
        if literal:
            nodes.append(Literal("".join(literal)))
            literal.clear()

    while position < len(text):
        char = text[position]
        if text.startswith(("{{", "[[", "}}", "]]"), position):
            literal.append(char)
            position += 2
            continue
        if char in closing and closing:
            break
        if char == "{":
            flush()
            hole, position = _hole(text, position)
            nodes.append(hole)
        elif char == "[":
            flush()
            body, end = _sequence(text, position + 1, "]")
            if end >= len(text):
                raise TemplateError(text, position, "this [ is not closed; write [[ for a literal one")
            nodes.append(Optional_(body))
            position = end + 1
        elif char == "(" and _is_choice(text, position):
            flush()
            branches: list[tuple[Node, ...]] = []
            start = position
            position += 1
            while True:
                body, position = _sequence(text, position, "|)")
                branches.append(body)
                if position >= len(text):
                    raise TemplateError(text, start, "this ( is not closed")
                position += 1
                if text[position - 1] == ")":
                    break
            nodes.append(Choice(tuple(branches)))
        else:
            literal.append(char)
            position += 1
    flush()
    return tuple(nodes), position


def _hole(text: str, position: int) -> tuple[Hole, int]:
    end = text.find("}", position)
    if end < 0:
        raise TemplateError(text, position, "this { is not closed; write {{ for a literal one")
    name, colon, kind = text[position + 1 : end].partition(":")
    if not colon or not name.isidentifier():
        raise TemplateError(text, position, "a hole is written {name:type}")
    if kind not in _HOLES:
        raise TemplateError(text, position, f"unknown hole type {kind!r}; the types are {', '.join(_HOLES)}")
    return Hole(name, kind), end + 1


def _is_choice(text: str, position: int) -> bool:
    """Tell whether the parenthesis at ``position`` holds a bar at its own level."""
    depth = 0
    for index in range(position, len(text)):
        char = text[index]
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return False
        elif char == "|" and depth == 1:
            return True
    return False


_BLANKS = searched(r"\s+")


def _collapse(text: str) -> str:
    return _BLANKS.sub(" ", text).lower()


@lru_cache(maxsize=_KEPT)
def compile_template(text: str, blanks: bool = True) -> Template:
    """Compile a template, with blanks or for text without any."""
    nodes = parse_template(text)
    first, last = nodes[0], nodes[-1]
    left = right = ""
    if blanks:
        if isinstance(first, Literal) and first.text.lstrip("`")[:1].isalnum():
            left = r"(?<!\w)"
        elif isinstance(first, Hole):
            left = _BOUNDARIES.get(first.type, "")
        if isinstance(last, Literal) and last.text.rstrip("`")[-1:].isalnum():
            right = r"(?!\w)"
    writer = _Writer(blanks)
    body = writer.pattern(nodes)
    # A lazy hole at the very end would catch nothing.
    if isinstance(last, Hole) and last.type == "text":
        body = body.removesuffix("?)") + ")"
    return Template(text, nodes, tuple(writer.holes), left + body + right, *_probe_of(nodes, blanks))


#: What a template begins with is caught whole: a search would else begin at each of its characters.
_BOUNDARIES = {"name": r"(?<![\w.:<>-])", "path": r"(?<!\S)"}
#: Where probes are close together, a stretch ends after so many characters; the next one overlaps it.
_LONGEST_STRETCH = 20_000
#: No hole catches more characters than this.
_LONGEST_HOLE = 250


def _probe_of(nodes: tuple[Node, ...], blanks: bool) -> tuple[str, int, int]:
    """Return the longest literal of a template, and how many characters a match may have before it and from its beginning on."""
    probe, reach, before = "", 0, 0
    for node in nodes:
        if isinstance(node, Literal):
            for text in _literal(node, blanks).split("`"):
                if len(text) > len(probe):
                    probe, reach = text, before
                before += len(text) + 1
        else:
            before += _longest(node)
    # One more, so that what must not follow the last word is seen.
    return probe, reach, before - reach + 1


def _longest(node: Node) -> int:
    if isinstance(node, Literal):
        return len(node.text)
    if isinstance(node, Hole):
        return _LONGEST_HOLE
    bodies = node.branches if isinstance(node, Choice) else (node.body,)
    return max(sum(_longest(part) for part in body) for body in bodies)


def _literal(node: Literal, blanks: bool) -> str:
    text = _collapse(node.text)
    return text if blanks else text.replace(" ", "")


class _Writer:
    """The pattern of a template while it is written, from left to right."""

    def __init__(self, blanks: bool) -> None:
        self.blanks = blanks
        self.holes: list[Hole] = []
        #: The patterns of what stands in front of the template and of the part since the last gap: a gap ends where they come again, since
        #: the template then begins, or goes on, there. Without that, each beginning would search the gaps of all others.
        self.head = ""
        self.since = ""

    def pattern(self, nodes: tuple[Node, ...], required: bool = True) -> str:
        parts: list[str] = []
        for node in nodes:
            if isinstance(node, Literal):
                # What is pasted from a rendered page has lost its backticks.
                part = re.escape(_literal(node, self.blanks)).replace("`", "`?")
                if required and len(node.text.strip()) >= _TELLING_LITERAL and len(part) > len(self.since):
                    self.since = part
            elif isinstance(node, Hole):
                part = self._hole(node)
            elif isinstance(node, Choice):
                since = self.since
                part = "(?:" + "|".join(self.pattern(branch, False) for branch in node.branches) + ")"
                self.since = since
                if required and not since and all(_begins_telling(branch) for branch in node.branches):
                    self.since = "|".join(re.escape(_literal(branch[0], self.blanks)) for branch in node.branches)  # type: ignore[arg-type]
            else:
                part = "(?:" + self.pattern(node.body, False) + ")?"
            parts.append(part)
        return "".join(parts)

    def _hole(self, node: Hole) -> str:
        self.holes.append(node)
        pattern = _HOLES[node.type][0 if self.blanks else 1]
        if node.type == "text":
            self.head = self.head or self.since
            stops = "|".join(dict.fromkeys(one for one in (self.head, self.since) if one))
            self.since = ""
            pattern = f"(?:(?!{stops}).){{0,200}}?" if stops else pattern
        return f"(?P<h{len(self.holes) - 1}>{pattern})"


#: A literal of fewer letters may stand in a gap by chance.
_TELLING_LITERAL = 3


def _begins_telling(branch: tuple[Node, ...]) -> bool:
    return bool(branch) and isinstance(branch[0], Literal) and len(branch[0].text.strip()) >= _TELLING_LITERAL


#: What a hole of this type catches is as telling as so many literal characters: no other word is caught.
_TELLING = {"dtype_name": 6}


def literal_length(nodes: tuple[Node, ...]) -> int:
    """Return how many characters of literal text every match holds."""
    total = 0
    for node in nodes:
        if isinstance(node, Literal):
            total += len(node.text.replace(" ", ""))
        elif isinstance(node, Hole):
            total += _TELLING.get(node.type, 0)
        elif isinstance(node, Choice):
            total += min(literal_length(branch) for branch in node.branches)
    return total


#: In how many ways a gap of a type may end, by its length, where what follows does not tell.
_ENDS = {
    "text": 200, "path": 200, "name": 100, "dtype": 60, "tensor_type": 60, "float": 60, "version": 40, "int": 20, "device": 18,
    "dtype_name": 8,
}  # fmt: skip


def most_ways(nodes: tuple[Node, ...]) -> int:
    """Return in how many ways the gaps and choices of a template may share one text out among them, where they stand side by side.

    All of them are tried where the template does not match. Literal text that tells ends that, and a blank, which most gaps do not take.
    """
    worst = 1

    def walk(part: tuple[Node, ...], across: int, within: int) -> tuple[int, int]:
        """Return the ways of the gaps that may hold blanks, and of the others."""
        nonlocal worst
        for node in part:
            if isinstance(node, Literal):
                telling = sum(map(str.isalnum, node.text)) >= _TELLING_LITERAL
                across = 1 if telling else across
                within = 1 if telling or " " in node.text else within
            elif isinstance(node, Hole):
                if node.type == "text":
                    across *= _ENDS["text"]
                else:
                    within *= _ENDS[node.type]
            elif isinstance(node, Optional_):
                more, fewer = walk(node.body, across, within)
                across, within = max(across, more), 2 * max(within, fewer)
            else:
                ends = [walk(branch, across, within) for branch in node.branches]
                first = [branch[0].text if branch and isinstance(branch[0], Literal) else "" for branch in node.branches]
                unclear = any(one is not other and other.startswith(one) for one in first for other in first)
                across, within = max(end[0] for end in ends), max(end[1] for end in ends) * (2 if unclear else 1)
            worst = max(worst, across * within)
        return across, within

    walk(nodes, 1, 1)
    return worst


@lru_cache(maxsize=_KEPT)
def literal_text(text: str) -> str:
    """Return a template's text in small letters with its holes left out: what a message is compared with."""
    return " ".join(_literals(parse_template(text)).split())


def _literals(nodes: tuple[Node, ...]) -> str:
    parts: list[str] = []
    for node in nodes:
        if isinstance(node, Literal):
            parts.append(_collapse(node.text))
        elif isinstance(node, Choice):
            parts.append(_literals(node.branches[0]))
        else:
            # Holes and optional tails: a message may have anything there.
            parts.append(" ")
    return "".join(parts)


@lru_cache(maxsize=_KEPT)
def template_length(text: str) -> int:
    """Return :func:`literal_length` of a template's text."""
    return literal_length(parse_template(text))


def key_words(nodes: tuple[Node, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the index keys a template offers: groups of words; a match holds at least one word of *every* group.

    A literal word is a group of its own; a choice whose branches all hold a word gives one group.
    """
    groups: list[tuple[str, ...]] = []
    for index, node in enumerate(nodes):
        if isinstance(node, Literal):
            groups.extend((word,) for word in _whole_words(node.text, index > 0, index < len(nodes) - 1))
        elif isinstance(node, Choice):
            branch_words = [_branch_words(branch) for branch in node.branches]
            if all(branch_words) and _separated(nodes, index):
                groups.append(tuple(dict.fromkeys(max(words, key=len) for words in branch_words)))
    return tuple(groups)


def _branch_words(branch: tuple[Node, ...]) -> list[str]:
    return [
        word
        for index, node in enumerate(branch)
        if isinstance(node, Literal)
        for word in _whole_words(node.text, index > 0, index < len(branch) - 1)
    ]


def _separated(nodes: tuple[Node, ...], index: int) -> bool:
    before = nodes[index - 1] if index else None
    after = nodes[index + 1] if index + 1 < len(nodes) else None
    ok_before = before is None or (isinstance(before, Literal) and not _wordy(before.text[-1]))
    ok_after = after is None or (isinstance(after, Literal) and not _wordy(after.text[0]))
    return ok_before and ok_after


def _wordy(char: str) -> bool:
    return char.isalnum() or char == "_"


def _whole_words(text: str, cut_left: bool, cut_right: bool) -> list[str]:
    """Return the words of a literal that are whole in every match: not those that touch a hole or a choice."""
    lowered = _collapse(text)
    return [
        part
        for match in _WORD.finditer(lowered)
        if not (cut_left and match.start() == 0) and not (cut_right and match.end() == len(lowered))
        for part in _PART.findall(match[0])
    ]


def joined_probes(text: str) -> tuple[str, ...]:
    """Return pieces without blanks of which every match over text without blanks holds one: the longest literal, or one of each branch.

    Empty for a template without a literal long enough to be told by.
    """
    nodes = parse_template(text)
    longest = _longest_literal(nodes)
    if len(longest) >= _PROBE:
        return (longest,)
    for node in nodes:
        if isinstance(node, Choice):
            pieces = [_longest_literal(branch) for branch in node.branches]
            if all(len(piece) >= _PROBE for piece in pieces):
                return tuple(pieces)
    return ()


#: The shortest literal, without blanks, that is told by its pieces.
_PROBE = 8


def _longest_literal(nodes: tuple[Node, ...]) -> str:
    return max((_literal(node, False) for node in nodes if isinstance(node, Literal)), key=len, default="")
