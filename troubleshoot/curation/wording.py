"""From one printed message to what an entry needs: a template with holes, and a name for the entry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from troubleshoot.basics.dtypes import parse_dtype, parse_tensor_type
from troubleshoot.knowledge.templates import TemplateError, compile_template, literal_length
from troubleshoot.reading.places import locate
from troubleshoot.reading.report import Failure

#: Messages are cut here for a template: what makes them known stands at their beginning.
_LONGEST = 300
#: With fewer literal characters than lint asks for, the message stays as it is.
_LEAST_LITERAL = 12
_ORDER = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")

_TOKEN = re.compile(
    r"(?P<tensor>torch\.(?:\w+\.)?\w+Tensor\b|\b(?:CUDA|CPU)\w+Type\b)"
    r"|(?P<device>\b(?:cuda|xpu|npu|mps|hip|hpu|xla|cpu):\d+\b)"
    r"|(?P<dtype>(?:struct )?\b(?:c10::|at::|torch\.)?[A-Za-z]\w*\b)"
    r"|(?P<path>0x[0-9a-fA-F]+|(?:[A-Za-z]:\\|/|~/)[^\s,;'\"]+)"
    r"|(?P<float>(?<![\w.])[-+]?\d+\.\d+(?:e[-+]?\d+)?(?![\w.]*\d))"
    r"|(?P<int>(?<![\w.])\d+(?![\w.]*\w))"
)
#: Words of prose that are dtypes as well: taken for one only where they are written as torch writes it.
_PROSE = frozenset(("half", "float", "double", "long", "short", "int", "byte", "char", "bool", "complex", "single", "brain"))
_DEVICES = frozenset(("cpu", "cuda", "mps", "xpu", "npu"))
_DULL = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "could", "do", "does", "error", "for", "from", "has", "have", "in",
     "is", "it", "of", "on", "or", "should", "that", "the", "this", "to", "was", "when", "with", "you", "your", "runtimeerror")
)  # fmt: skip


def template_of(message: str) -> str:
    """Return a template that fits the message: dtypes, devices, numbers and paths become typed holes, the rest is literal.

    A message of which too little literal text would be left stays literal as a whole.
    """
    text = " ".join(message.split())[:_LONGEST]
    for candidate in (_with_holes(text), escaped(text), _without_bars(text)):
        if _fits(candidate, text):
            return candidate
    return _without_bars(text)


def escaped(text: str) -> str:
    """Return a text as a template in which everything is literal."""
    for character in "{}[]":
        text = text.replace(character, character * 2)
    return text


def _with_holes(text: str) -> str:
    parts: list[str] = []
    counts: dict[str, int] = {}
    at = 0
    for start, end, kind in _tokens(text):
        parts.append(escaped(text[at:start]))
        number = counts.get(kind, 0)
        counts[kind] = number + 1
        name = f"{_ORDER[number] if number < len(_ORDER) else f'n{number}'}"
        prefix = {"dtype": "", "tensor_type": "", "device": "device_", "int": "number_", "float": "value_", "path": "path_"}[kind]
        parts.append(f"{{{prefix}{name}:{kind}}}")
        at = end
    parts.append(escaped(text[at:]))
    return "".join(parts)


def _tokens(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _TOKEN.finditer(text):
        kind, word = match.lastgroup or "", match[0]
        if kind == "tensor":
            if parse_tensor_type(word) is not None:
                yield match.start(), match.end(), "tensor_type"
        elif kind == "dtype":
            plain = word.rpartition(" ")[2]
            if plain in _DEVICES:
                yield match.start(), match.end(), "device"
            elif parse_dtype(word) is not None and plain not in _PROSE:
                yield match.start(), match.end(), "dtype"
        elif kind:
            yield match.start(), match.end(), kind


def _without_bars(text: str) -> str:
    """Return the text with every word that holds a bar as a hole: between parentheses it would mean alternatives."""
    numbers = count(1)
    return re.sub(r"\S*\|\S*", lambda _: f"{{part_{next(numbers)}:path}}", escaped(text))


def _fits(template: str, text: str) -> bool:
    try:
        compiled = compile_template(template)
    except TemplateError:
        return False
    lowered = text.lower()
    if literal_length(compiled.nodes) < _LEAST_LITERAL or len(lowered) != len(text):
        return False
    return compiled.search(lowered, text) is not None


def slug_of(message: str) -> str:
    """Return a name for an entry made of the message's telling words."""
    template = re.sub(r"\{[^{}]*\}", " ", template_of(message)).lower()
    words = [word for word in re.findall(r"[a-z][a-z0-9]+", template) if word not in _DULL]
    return "-".join(list(dict.fromkeys(words))[:4])[:48].strip("-") or "unnamed"


def package_of(failure: Failure | None) -> str:
    """Return the folder that an entry for a failure belongs to: the deepest library above torch, else torch."""
    for frame in reversed(failure.frames if failure else ()):
        owner, _ = locate(frame.path)
        if owner not in ("user", "python", "functorch") and re.fullmatch(r"[a-z0-9_][a-z0-9_.-]*", owner.lower()):
            if owner == "torch":
                continue
            return owner.lower()
    return "torch"
