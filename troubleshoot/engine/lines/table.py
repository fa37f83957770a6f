"""The table of released code: at which line of which file stands which code, release by release.

One file: an index as one line of JSON, then one compressed part per source file, read when a frame of that file is looked up. A part
holds the *revisions* of a source file (releases between which none of its traced lines moved share one) as two runs of bytes: for every
traced line of every revision its distance from the one before, then a hash of its code. Traced are the lines whose code calls,
computes or raises in any revision of the file: a text is traced wherever it stands, so that a frame with a traced text rules out exactly
the revisions that do not have that text at that line.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import msgspec

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.versions import Releases

FORMAT = 1

#: Bytes of a hash. Two texts with one hash only make a range wider: with three bytes that is one in sixteen million.
WIDTH = 3

#: The farthest that one byte of distance reaches; longer ways go over fillers, whose hash no text has.
_FAR = 255
_FILLER = b"\0" * WIDTH


def code_hash(code: str) -> bytes:
    """Return the hash of a line of code; blanks do not count, since terminals and formatters move them."""
    value = zlib.crc32("".join(code.split()).encode("utf-8", "replace")) & 0xFFFFFF
    return (value or 1).to_bytes(WIDTH, "big")


class TracedFile(msgspec.Struct, frozen=True):
    """Where a file's part lies (offset and length after the index), its revisions' sizes, and which revision each release has.

    ``runs`` are (revision, number of releases), over all releases of the package in order; -1: the release lacks the file.
    """

    offset: int
    length: int
    sizes: list[int]
    runs: list[tuple[int, int]]


class TracedPackage(msgspec.Struct, frozen=True):
    """A package: its folder below site-packages, and its releases, oldest first. ``left_out`` could not be read."""

    folder: str
    releases: list[str]
    left_out: list[str] = []


class Index(msgspec.Struct, frozen=True):
    """The table's first line. ``made`` is the date of the newest release in it, so that the same releases give the same file."""

    format: int
    made: str
    packages: dict[str, TracedPackage]
    files: dict[str, TracedFile]


class LineTable:
    """The table, read in parts. Immutable once read; safe to share between threads."""

    def __init__(self, content: bytes) -> None:
        """Read the index of a table.

        Raises:
            InputError: the bytes are no table, or one of another format.
        """
        end = content.find(b"\n") + 1
        try:
            self.index = msgspec.json.decode(content[:end], type=Index)
        except msgspec.DecodeError as error:
            raise InputError(f"the table of released lines cannot be read: {error}") from None
        if self.index.format != FORMAT:
            raise InputError(f"the table of released lines has format {self.index.format}, not {FORMAT}")
        self._content = content
        self._start = end
        self._parts: dict[str, _Part] = {}
        self._known: dict[tuple[str, int, str], int | None] = {}

    @cached_property
    def package_of(self) -> dict[str, str]:
        """The distribution by its folder below site-packages."""
        return {one.folder: name for name, one in self.index.packages.items()}

    def has(self, file: str) -> bool:
        """Tell whether a file (``transformers/models/t5/modeling_t5.py``) is in the table."""
        return file in self.index.files

    def releases_with(self, file: str, line: int, code: str) -> int | None:
        """Return the releases of the file's package that have this code at this line, as bits, the first release lowest.

        None where the table cannot tell: the file, or this text, is not traced.
        """
        key = (file, line, code)
        if key in self._known:
            return self._known[key]
        found = self._look_up(file, line, code)
        if len(self._known) >= _MOST_KNOWN:
            self._known = {}
        self._known[key] = found
        return found

    def _look_up(self, file: str, line: int, code: str) -> int | None:
        traced = self.index.files.get(file)
        if traced is None:
            return None
        part = self._parts.get(file)
        if part is None:
            start = self._start + traced.offset
            part = self._parts[file] = _Part(zlib.decompress(self._content[start : start + traced.length]), traced)
        return part.releases_with(line, code_hash(code))

    def releases(self, package: str, bits: int) -> Releases | None:
        """Return the releases that bits stand for; None where they are all, which says nothing.

        Code that is the newest release's may be a later one's too, code that is the oldest's an earlier one's: such an end is open.
        """
        names = self.index.packages[package].releases
        chosen = [number for number in range(len(names)) if bits >> number & 1]
        if len(chosen) in (0, len(names)):
            return None
        spans: list[tuple[str | None, str | None]] = []
        for number in chosen:
            if number and bits >> (number - 1) & 1:
                spans[-1] = (spans[-1][0], names[number])
            else:
                spans.append((names[number], names[number]))
        if chosen[0] == 0:
            spans[0] = (None, spans[0][1])
        if chosen[-1] == len(names) - 1:
            spans[-1] = (spans[-1][0], None)
        return Releases(tuple(names[number] for number in chosen), tuple(spans))


_MOST_KNOWN = 20_000


class _Part:
    """The revisions of one file."""

    def __init__(self, content: bytes, traced: TracedFile) -> None:
        lines = sum(traced.sizes)
        self._distances = content[:lines]
        self._hashes = content[lines:]
        #: where each revision begins, counted in traced lines
        self._starts = [0, *accumulate(traced.sizes)]
        self._bits = [0] * len(traced.sizes)
        number = 0
        for revision, count in traced.runs:
            if revision >= 0:
                self._bits[revision] |= ((1 << count) - 1) << number
            number += count

    def releases_with(self, line: int, wanted: bytes) -> int | None:
        """Return the releases that have a text at a line as bits, None where the text is not traced."""
        found: int | None = None
        hashes, starts = self._hashes, self._starts
        at = hashes.find(wanted)
        revision, counted, reached = -1, 0, 0
        while at >= 0:
            if at % WIDTH:
                at = hashes.find(wanted, at + 1)
                continue
            found = found or 0
            place = at // WIDTH
            if revision < 0 or place >= starts[revision + 1]:
                revision = bisect_right(starts, place) - 1
                counted, reached = starts[revision], 0
            reached += sum(self._distances[counted : place + 1])
            counted = place + 1
            if reached == line:
                found |= self._bits[revision]
            # The text may stand elsewhere in this revision, but only before the line is reached.
            at = hashes.find(wanted, at + WIDTH if reached < line else starts[revision + 1] * WIDTH)
        return found


def encode_table(packages: dict[str, TracedPackage], files: dict[str, Sequence[Sequence[tuple[int, bytes]] | None]], made: str) -> bytes:
    """Return a table. ``files`` gives for each file and each release of its package the traced lines as (number, hash), or None."""
    parts: list[bytes] = []
    index: dict[str, TracedFile] = {}
    offset = 0
    for name in sorted(files):
        part, sizes, runs = _encode_file(files[name])
        index[name] = TracedFile(offset, len(part), sizes, runs)
        parts.append(part)
        offset += len(part)
    head = msgspec.json.encode(Index(FORMAT, made, packages, index))
    return head + b"\n" + b"".join(parts)


def _encode_file(by_release: Sequence[Sequence[tuple[int, bytes]] | None]) -> tuple[bytes, list[int], list[tuple[int, int]]]:
    known: dict[tuple[bytes, bytes], int] = {}
    runs: list[tuple[int, int]] = []
    for lines in by_release:
        revision = -1 if lines is None else known.setdefault(_encode_lines(lines), len(known))
        if runs and runs[-1][0] == revision:
            runs[-1] = (revision, runs[-1][1] + 1)
        else:
            runs.append((revision, 1))
    content = b"".join(distances for distances, _ in known) + b"".join(hashes for _, hashes in known)
    return zlib.compress(content, 9), [len(distances) for distances, _ in known], runs


def _encode_lines(lines: Sequence[tuple[int, bytes]]) -> tuple[bytes, bytes]:
    distances = bytearray()
    hashes: list[bytes] = []
    before = 0
    for number, one in lines:
        way = number - before
        while way > _FAR:
            distances.append(_FAR)
            hashes.append(_FILLER)
            way -= _FAR
        distances.append(way)
        hashes.append(one)
        before = number
    return bytes(distances), b"".join(hashes)


def read_table(path: Path) -> LineTable | None:
    """Return the table in a file; None where there is none, or none that can be read: it only adds to what a report says."""
    try:
        return LineTable(path.read_bytes())
    except (OSError, InputError):
        return None
