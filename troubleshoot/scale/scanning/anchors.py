"""Anchors: the strings by which a scan finds the few places of a log that are worth reading.

They come from what the reader of reports looks for (``report/grammar.py``) and from the templates and phrases of the knowledge base, so
that a new entry is found without a change here.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.index import SCOPE_OWNER
from troubleshoot.knowledge.phrases import ANYWHERE, terms_of
from troubleshoot.knowledge.templates import Choice, Node, parse_template
from troubleshoot.knowledge.templates import Literal as LiteralText
from troubleshoot.reading import grammar

Kind = Literal["failure", "message", "symptom"]

#: What begins a failure apart from a traceback and a named exception: see the branches of ``report/scan.py``.
_NATIVE = ("terminate called", "uncaught exception", "Watchdog caught", "Fatal Python error")
_GENERIC = (
    "ERROR:",
    "Fatal:",
    "错误",
    "报错",
    "Exception during processing",
    "Error occurred when executing",
    "Exception Message",
    "Error!!!",
    "= FAILURES =",
)
#: Exception classes as a log prints them outside a traceback: their name's end and a colon. Warnings are no failures.
_CLASS_ENDS = (
    "Error",
    "Exception",
    "Interrupt",
    "Exit",
    "Timeout",
    "Failure",
    "ExceptionGroup",
    "Unsupported",
    "NotFound",
    "Abort",
    "Fault",
)

#: A template whose longest literal is shorter than this says too little on its own: it is found with its exception only.
SHORTEST = 10

#: What a log says when numbers go wrong. A phrase with a term that consists of such words describes a symptom that a program prints; the
#: other phrases are how people describe what they see, and no log line says it.
_NUMERIC = ("overflow", "underflow", "loss_scale", "loss-scale", "lossscale", "gradient_overflow")
_NUMBERS = ("nan", "nans", "inf", "infs", "infinite", "infinity")
_SHORT = ("nan", "inf")
#: What stands before one; an m ends a colour code.
_LEFT = (" ", "=", ":", "(", "[", "'", '"', "\t", "/", "m")


@dataclass(frozen=True)
class Anchor:
    """A string to look for. ``whole``: the character after it must not go on the word."""

    text: bytes
    kind: Kind
    whole: bool = False


def anchors_of(base: KnowledgeBase) -> tuple[Anchor, ...]:
    """Return the anchors for a knowledge base, none of them containing another of its kind, in a stable order."""
    found: dict[bytes, Anchor] = {}
    for text in failure_texts():
        found.setdefault(text.encode(), Anchor(text.encode(), "failure"))
    for text in message_texts(base):
        found.setdefault(text.encode(), Anchor(text.encode(), "message"))
    for text, whole in symptom_texts(base):
        found.setdefault(text.encode(), Anchor(text.encode(), "symptom", whole))
    return tuple(_shortest(found.values()))


def digest(anchors: Iterable[Anchor]) -> str:
    """Return 8 hexadecimal digits that change with the anchors."""
    return f"{zlib.crc32(b'|'.join(one.text for one in anchors)):08x}"


def failure_texts() -> tuple[str, ...]:
    """Return what the reader takes for the beginning of a failure."""
    # Rich colours the words of the header one by one: its last four stay together.
    return (grammar.HEADER.partition(" ")[2], *(f"{end}:" for end in _CLASS_ENDS), *_GENERIC, *_NATIVE, *grammar.LAUNCHER_LINES)


def message_texts(base: KnowledgeBase) -> list[str]:
    """Return the longest literal of every template of an entry: messages are also logged without their exception."""
    texts: list[str] = []
    for kind, pattern, owners in base.index.patterns:
        if kind != "t" or all(owner.startswith(SCOPE_OWNER) for owner in owners):
            continue
        texts += _told_by(parse_template(pattern))
    return texts


def _told_by(nodes: tuple[Node, ...]) -> list[str]:
    """Return strings of which every match holds one; none where all literals are short."""
    longest = max((one.text.strip() for one in nodes if isinstance(one, LiteralText)), key=len, default="")
    if len(longest) >= SHORTEST:
        return [longest]
    for node in nodes:
        if isinstance(node, Choice):
            pieces = [_told_by(branch) for branch in node.branches]
            if all(pieces):
                return [text for piece in pieces for text in piece]
    return []


def symptom_texts(base: KnowledgeBase) -> list[tuple[str, bool]]:
    """Return the words of symptoms that a log prints, each with whether the word must end there."""
    words: set[str] = set()
    for kind, pattern, _ in base.index.patterns:
        if kind == "p":
            for term in _numeric_terms(pattern):
                words.update(term)
    texts: list[tuple[str, bool]] = []
    for word in sorted(words):
        stem = word.rstrip("*")
        spellings = dict.fromkeys(text for joined in _joined(stem) for text in _cases(joined))
        if stem in _SHORT:
            texts += [(left + text, True) for left in _LEFT for text in spellings]
        else:
            texts += [(text, False) for text in spellings]
    return texts


def is_log_symptom(phrase: str) -> bool:
    """Tell whether a phrase describes something that programs print."""
    return bool(_numeric_terms(phrase))


def _numeric_terms(phrase: str) -> list[tuple[str, ...]]:
    terms = [tuple(part for part in term.split("|") if part) for term in terms_of(phrase) if not term.startswith(ANYWHERE)]
    return [term for term in terms if term and all(word in _NUMBERS or word.startswith(_NUMERIC) for word in term)]


def _joined(stem: str) -> tuple[str, ...]:
    return tuple(stem.replace("_", blank) for blank in " _-") if "_" in stem else (stem,)


def _cases(text: str) -> tuple[str, ...]:
    # No INF: nothing prints it, and every line with INFO would have to be looked at.
    return {"nan": ("nan", "NaN", "NAN", "Nan"), "inf": ("inf", "Inf")}.get(text, (text, text.upper(), text.capitalize()))


def _shortest(anchors: Iterable[Anchor]) -> list[Anchor]:
    """Drop anchors that hold another one of their kind: wherever they occur, that one does."""
    kept: list[Anchor] = []
    for one in sorted(anchors, key=lambda anchor: len(anchor.text)):
        if not any(other.kind == one.kind and not other.whole and other.text in one.text for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda anchor: (anchor.kind, anchor.text))
