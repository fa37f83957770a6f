"""Code and commands in lines of a width, so that they still run when they are copied."""

from __future__ import annotations

import re

_OPEN, _CLOSE = "([{", ")]}"
#: Columns by which what a line continues with is set in.
_INDENT = 4
#: What begins a part of an expression: a line is best broken before it.
_BEGINS = re.compile(r" (?:for|if|else|and|or) ")
_COMMENT = re.compile(r"\s{2,}#\s.*$")


def folded(text: str, language: str, width: int) -> list[str]:
    """Return the lines of code or of a command; none where one of them cannot be made to fit.

    A comment goes first. Python, JSON and YAML may go on in the next line within brackets, a shell after a backslash.
    """
    out: list[str] = []
    for line in text.rstrip("\n").split("\n"):
        rest, depth = line.rstrip(), 0
        if len(rest) > width:
            rest = _COMMENT.sub("", rest)
        indent = len(rest) - len(rest.lstrip()) + _INDENT
        while len(rest) > width:
            at, depth = _break(rest, depth, width, shell=language == "sh")
            if at <= indent:
                return []
            out.append(rest[:at].rstrip() + (" \\" if language == "sh" else ""))
            rest = " " * indent + rest[at:].lstrip()
        out.append(rest)
    return out


def _break(line: str, depth: int, width: int, *, shell: bool) -> tuple[int, int]:
    """Return where a line may be broken, 0 for nowhere, and how many brackets are open there; ``depth`` are open before it.

    That is at a blank in brackets (in a shell: in no quotes): before a part of an expression if there is one, in as few brackets as can be.
    """
    quote = ""
    places: list[tuple[bool, int, int]] = []
    for at, char in enumerate(line[: width + (not shell)]):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif char == " " and line[:at].strip() and (depth > 0 or shell):
            places.append((_BEGINS.match(line, at) is not None or shell, -depth, at))
    _, less, at = max(places, default=(False, 0, 0))
    return at, -less
