"""What a text says beside its tracebacks: versions, GPUs, models, dtypes, options, in prose of any language, in code and in dumps.

The text is split into words once; each group of patterns is compiled and runs only where one of its words occurs.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from troubleshoot.basics import word_tables
from troubleshoot.basics.patterns import searched
from troubleshoot.basics.redact import redacted_start
from troubleshoot.reading.places import without_folders
from troubleshoot.reading.report import Mention

#: More mentions than this tell nothing more: a log that prints its configuration at each step.
LIMIT = 400
_TEXT_LIMIT = 200_000
_LINE_LIMIT = 2000

_WORD = searched(r"[a-z]+[0-9]*")
_VERSION = searched(r"\d\.\d")
#: What people call a card by.
CARD_NUMBER = searched(r"(?:10[5-8]|16[56]|20[678]|30[5-9]|40[6-9]|50[6-9])0")


class Found:
    """The text that is searched, and the mentions found in it so far."""

    def __init__(self, written: str, starts: list[int], numbers: list[int], told: set[int]) -> None:
        self.written = written
        #: ... with the reporter's folders blanked: he asks for nothing by their names
        self.text = text = without_folders(written)
        self.low = low = text.lower()
        self.words = set(_WORD.findall(low))
        # "rtx2080" and "qwen2" count as their names too.
        self.words.update([word.rstrip("0123456789") for word in self.words])
        # ... and "8xA100" as the card's.
        self.words.update([word[1:] for word in self.words if word[0] == "x"])
        self._starts = starts
        self._numbers = numbers
        self._told = told
        self.seen: dict[tuple[str, str, str], Mention] = {}

    def add(self, kind: str, name: str, value: str, at: int) -> None:
        """Note a mention at an offset of the text; the first one of its kind, name and value is kept."""
        key = (kind, name, value)
        if key in self.seen or len(self.seen) >= LIMIT:
            return
        row = bisect_right(self._starts, at) - 1
        number = self._numbers[row]
        # An error message names devices by itself: nobody mentions them by pasting it.
        if name == "mentioned" and number in self._told:
            return
        begin = self._starts[row]
        finish = self.written.find("\n", begin)
        line = self.written[begin : finish if finish >= 0 else None].strip()
        self.seen[key] = Mention(kind, name, value, number, line if len(line) <= 200 else redacted_start(line, 200))

    def is_told(self, at: int) -> bool:
        """Tell whether an offset is in an error message."""
        return bool(self._told) and self._numbers[bisect_right(self._starts, at) - 1] in self._told

    def lines_with(self, pattern: re.Pattern[str], most: int = 2000) -> list[tuple[int, str]]:
        """Return (offset, line) of the lines in which a pattern occurs."""
        out: list[tuple[int, str]] = []
        at = 0
        while len(out) < most:
            match = pattern.search(self.text, at)
            if not match:
                break
            start = self.text.rfind("\n", 0, match.start()) + 1
            finish = self.text.find("\n", match.end())
            if finish < 0:
                finish = len(self.text)
            out.append((start, self.text[start:finish]))
            at = finish
        return out


def find_mentions(lines: list[str], numbers: list[int], quoted: set[int], told: set[int] | None = None) -> tuple[Mention, ...]:
    """Return what the lines say, in the order of the report.

    ``quoted`` are the numbers of lines that quote source of other people's packages, ``told`` those of error messages.
    """
    kept: list[str] = []
    starts: list[int] = []
    rows: list[int] = []
    size = 0
    for line, number in zip(lines, numbers, strict=True):
        if number in quoted or not line or line.startswith("frame #"):
            continue
        if len(line) > _LINE_LIMIT:
            line = line[:_LINE_LIMIT]
        kept.append(line)
        starts.append(size)
        rows.append(number)
        size += len(line) + 1
        if size > _TEXT_LIMIT:
            break
    if not kept:
        return ()
    found = Found("\n".join(kept), starts, rows, told or set())
    _run(found)
    return tuple(sorted(found.seen.values(), key=lambda one: one.line))


def compiled(pattern: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Return a pattern that is looked for anywhere, without case: most reports need few of them."""
    return searched(pattern, flags)


def _run(found: Found) -> None:
    from troubleshoot.reading import mention_options as options

    words = found.words
    triggers = word_tables.TRIGGERS
    if _VERSION.search(found.text):
        from troubleshoot.reading.mention_versions import versions

        versions(found)
    if "import" in words or "no" in words or "not" in words or "without" in words or "安装" in found.text:
        from troubleshoot.reading.mention_versions import presence

        presence(found)
    if not words.isdisjoint(triggers["dtype"]):
        options.dtypes(found)
    if not words.isdisjoint(triggers["gpu"]) or CARD_NUMBER.search(found.text):
        from troubleshoot.reading.mention_models import gpus

        gpus(found)
    if not words.isdisjoint(triggers["device"]):
        options.devices(found)
    if "autocast" in words or "gradscaler" in words:
        options.autocast(found)
    for kind in word_tables.OPTIONS:
        if not words.isdisjoint(triggers[kind]) or (kind == "phase" and not found.text.isascii()):
            options.from_table(found, kind)
    if "--" in found.text:
        options.flags(found)
    families = words & word_tables.FAMILIES
    if families or "/" in found.text or "For" in found.text or "Model" in found.text or "Pipeline" in found.text or "Autoenc" in found.text:
        from troubleshoot.reading.mention_models import models

        models(found, families)
