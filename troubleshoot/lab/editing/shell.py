"""The words of a shell script's commands, and where they stand: quotes, comments and here-documents are not commands.

This is the token recognition of the POSIX shell (2.3 of its standard) with what bash adds: arrays, ``<(...)``, ``<<<``, ``$'...'``. Nothing
is expanded or run. shlex knows neither here-documents nor where a word stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from troubleshoot.lab.editing.lines import line_number
from troubleshoot.lab.editing.plans import RefusedError

#: Substitutions inside each other; real scripts have two or three.
_MOST_LEVELS = 50
_BLANK = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_PLAIN = re.compile(r"[^\s'\"\\$`;|&()<>]+")
_ASSIGNMENT = re.compile(r"\w+(?:\[[^\]]*\])?\+?=")
_HERE = re.compile(r"<<(-?)(?!<)(?:[ \t]|\\\r?\n)*((?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s'\"\\;|&()<>])+)")
_REDIRECTION = re.compile(r"&?>>?[|&]?|<<<|<&|<>|<")
#: After them a command begins.
RESERVED = frozenset(("if", "then", "elif", "else", "while", "until", "for", "do", "!", "time", "{"))
_SIMPLE = re.compile(r"(?P<flag>-[\w-]+=)?(?:'(?P<single>[^']*)'|\"(?P<double>[^\"$`\\]*)\")")


@dataclass(frozen=True)
class Word:
    """A word of a command. ``value`` is what the command gets, None where the shell computes that."""

    start: int
    end: int
    text: str

    @property
    def value(self) -> str | None:
        """What the command gets: quotes around the whole word, or behind its ``=``, are no part of it."""
        found = _SIMPLE.fullmatch(self.text)
        if found is not None:
            return (found["flag"] or "") + (found["single"] or found["double"] or "")
        return self.text if _PLAIN.fullmatch(self.text) else None


class Command(list[Word]):
    """The words of a command, or of an array: then ``array`` is its name."""

    def __init__(self, array: str = "") -> None:
        super().__init__()
        self.array = array


def commands(text: str) -> list[Command]:
    """Return the words of every command of a script, in substitutions too; those of an array are a command as well.

    Raises:
        RefusedError: a quote or a bracket is not closed.
    """
    found: list[Command] = []
    _Reader(text, found).read(0, "", 0)
    return [one for one in found if one]


class _Reader:
    """Goes through a script once, from left to right."""

    def __init__(self, text: str, found: list[Command]) -> None:
        self._text = text
        self._found = found
        #: Here-documents whose text begins on the next line: the delimiter, and whether tabs before it count.
        self._waiting: list[tuple[str, bool]] = []

    def read(self, at: int, until: str, level: int, array: str = "") -> int:
        """Read commands (the words of an array, where that has a name) up to a closing bracket or the end; return the place behind it."""
        text = self._text
        opened = at
        if level > _MOST_LEVELS:
            raise self._refused(at, f"its substitutions are more than {_MOST_LEVELS} levels deep")
        words = self._new(array)
        target = False
        while at < len(text):
            blank = _BLANK.match(text, at)
            if blank is not None:
                at = blank.end()
                continue
            one = text[at]
            here = _HERE.match(text, at)
            to = _REDIRECTION.match(text, at)
            if one == "#":
                at = text.find("\n", at)
                at = len(text) if at < 0 else at
            elif one == until:
                return at + 1
            elif one == "\n":
                # An array goes on in the next line.
                at, words = self._documents(at + 1), words if array else self._new()
            elif here is not None:
                self._waiting.append((re.sub(r"\\(.)|['\"]", r"\1", here[2]), here[1] == "-"))
                at = here.end()
            elif text.startswith("((", at) and all(word.text in RESERVED for word in words):
                at = self._arithmetic(at, 2)
            elif to is not None and not text.startswith(("<(", ">("), at):
                at, target = to.end(), True
            elif one in ";|&()":
                # A bracket here opens or closes a subshell, a pattern of case, or a function: a new command in any case.
                at, words = at + 1, self._new()
                if one == "(":
                    at, words = self.read(at, ")", level + 1), self._new()
            else:
                end = self._word(at, level)
                # Digits before a redirection name a stream.
                if not target and not (text[at:end].isdigit() and text[end : end + 1] in ("<", ">")):
                    words.append(Word(at, end, text[at:end]))
                at, target = end, False
        if until:
            raise self._refused(opened, f"a bracket is never closed by {until}")
        return at

    def _new(self, array: str = "") -> Command:
        self._found.append(Command(array))
        return self._found[-1]

    def _refused(self, at: int, why: str) -> RefusedError:
        return RefusedError(f"line {line_number(self._text, at)} of the script cannot be read: {why}")

    def _documents(self, at: int) -> int:
        """Skip the here-documents that begin at a line."""
        for delimiter, indented in self._waiting:
            while at < len(self._text):
                end = self._text.find("\n", at)
                end = len(self._text) if end < 0 else end
                line = self._text[at:end].rstrip("\r")
                at = end + 1
                if (line.lstrip("\t") if indented else line) == delimiter:
                    break
        self._waiting = []
        return min(at, len(self._text))

    def _word(self, at: int, level: int) -> int:
        """Return where the word that begins here ends."""
        text, start = self._text, at
        while at < len(text):
            plain = _PLAIN.match(text, at)
            one = text[at]
            if plain is not None:
                at = plain.end()
            elif one in "\"'":
                at = self._double(at + 1, level) if one == '"' else self._single(at + 1)
            elif one == "\\":
                if re.match(r"\\\r?\n", text[at : at + 3]):
                    break
                at += 2
            elif one in "$`":
                at = self._expansion(at, level)
            elif text.startswith(("<(", ">("), at):
                at = self.read(at + 2, ")", level + 1)
            elif one == "(" and at > start and _ASSIGNMENT.fullmatch(text, start, at):
                return self.read(at + 1, ")", level + 1, re.split(r"[\[+=]", text[start:at])[0])
            elif one == "(" and at > start and text[at - 1] in "?*+@!":
                at = self._arithmetic(at, 1)
            else:
                break
        return min(at, len(text))

    def _single(self, at: int) -> int:
        end = self._text.find("'", at)
        if end < 0:
            raise self._refused(at, "a quote is not closed")
        return end + 1

    def _double(self, at: int, level: int) -> int:
        start = at
        while at < len(self._text):
            one = self._text[at]
            if one == '"':
                return at + 1
            at = at + 2 if one == "\\" else self._expansion(at, level, quoted=True) if one in "$`" else at + 1
        raise self._refused(start, "a quote is not closed")

    def _expansion(self, at: int, level: int, *, quoted: bool = False) -> int:
        """Return the place behind what begins with a dollar or a backquote. Commands in ``$(...)`` are read, those in backquotes not.

        In double quotes (``quoted``) a single one is a letter.
        """
        text = self._text
        if text[at] == "`":
            end = re.compile(r"(?:\\.|[^`\\])*`", re.DOTALL).match(text, at + 1)
            if end is None:
                raise self._refused(at, "a backquote is not closed")
            return end.end()
        if text.startswith("$((", at):
            return self._arithmetic(at + 1, 2)
        if text.startswith("$(", at):
            return self.read(at + 2, ")", level + 1)
        if text.startswith("$'", at) and not quoted:
            end = re.compile(r"(?:\\.|[^'\\])*'", re.DOTALL).match(text, at + 2)
            if end is None:
                raise self._refused(at, "a quote is not closed")
            return end.end()
        if text.startswith("${", at):
            return self._braces(at + 2, level, quoted)
        return at + 1

    def _braces(self, at: int, level: int, quoted: bool) -> int:
        start = at
        if level > _MOST_LEVELS:
            raise self._refused(at, f"its substitutions are more than {_MOST_LEVELS} levels deep")
        while at < len(self._text):
            one = self._text[at]
            if one == "}":
                return at + 1
            if one == '"':
                at = self._double(at + 1, level + 1)
            elif one == "'":
                # In "${x:-don't}" it is a quote for bash and a letter for sh: it is one if it is closed before the brace is.
                end, brace = self._text.find("'", at + 1), self._text.find("}", at + 1)
                at = at + 1 if quoted and not 0 <= end < brace else self._single(at + 1)
            else:
                at = at + 2 if one == "\\" else self._expansion(at, level + 1, quoted=quoted) if one in "$`" else at + 1
        raise self._refused(start, "a brace is not closed")

    def _arithmetic(self, at: int, width: int) -> int:
        """Return the place behind brackets in which nothing is a command."""
        open_, start = 0, at
        while at < len(self._text):
            open_ += {"(": 1, ")": -1}.get(self._text[at], 0)
            at += 1
            if open_ == 0:
                return at
        raise self._refused(start, f"a bracket is never closed by {')' * width}")
