"""Reading a log file of any size in bounded memory: its beginning, its end and the surroundings of its failures."""

from __future__ import annotations

import codecs
import io
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from troubleshoot.basics.errors import InputError
from troubleshoot.reading.decode import decode, is_binary, looks_binary, wide_encoding
from troubleshoot.reading.reader import WHOLE_LIMIT, empty_report, read_lines, read_report
from troubleshoot.reading.report import Report

_CHUNK = 1 << 20
_HEAD = 64 << 10
_TAIL = 256 << 10
_BEFORE = 8 << 10
_AFTER = 32 << 10
#: Bytes kept around anchors, beside head and tail. The first failures matter most: the first in time is the cause.
_ANCHORED = 2 << 20
#: Beyond this many bytes nothing is searched; the end of the file is still read.
_SEARCHED = 4 << 30

#: A stream may never end: no more of it is read.
_MOST_STREAMED = 8 << 30
#: Characters before and behind the beginning of the last failure.
_LAST = 16 << 10

_ANCHORS = (b"Traceback (most", b"Error", b"Exception", b"frame #0", b"what():", b"Root Cause", "╭─".encode(), b"!!!", b"*** ")


@dataclass(frozen=True)
class Loaded:
    """A report that was loaded and is still to be read: a short one whole, of a long one what :func:`load_report_file` keeps.

    ``numbers`` are those of the lines of ``text`` in a text of ``total`` lines; None: 1, 2, ... ``cut``: how many bytes were loaded where
    there were more.
    """

    text: str | bytes
    numbers: list[int] | None = None
    total: int = 0
    cut: int = 0
    binary: bool = False

    def report(self) -> Report:
        """Read it."""
        if self.binary:
            return empty_report("binary")
        if self.numbers is None:
            return read_report(self.text)
        return read_lines(str(self.text), self.numbers, self.total, truncated=True)

    def around_last_failure(self) -> Loaded:
        """Return a small part: the lines around the last failure, or the last lines of a text without one."""
        text = decode(self.text) if isinstance(self.text, bytes) else self.text
        at = max(text.rfind(anchor.decode()) for anchor in _ANCHORS)
        start = max(0, (at if at >= 0 else len(text)) - _LAST)
        start = text.rfind("\n", max(0, start - _LAST), start) + 1 or start
        part = text[start : (at if at >= 0 else len(text)) + _LAST].removesuffix("\n")
        row, count = text.count("\n", 0, start), part.count("\n") + 1
        numbers = list(range(row + 1, row + 1 + count)) if self.numbers is None else self.numbers[row : row + count]
        return Loaded(part, numbers, self.total if self.numbers is not None else text.count("\n") + (text[-1:] not in ("", "\n")))


def read_report_file(path: os.PathLike[str] | BinaryIO) -> Report:
    """Read a file or a binary stream; a long one is reduced to its beginning, its end and the surroundings of its failures.

    Raises:
        InputError: the file is missing, unreadable or a directory.
    """
    return load_report_file(path).report()


def load_report_file(path: os.PathLike[str] | BinaryIO) -> Loaded:
    """Load what :func:`read_report_file` reads. A file that grows is loaded up to the size that it has now, a stream up to 8 GiB.

    Raises:
        InputError: the file is missing, unreadable or a directory.
    """
    if not isinstance(path, os.PathLike):
        return _load_stream(path, "the stream")
    name = os.fspath(path)
    try:
        with Path(name).open("rb") as file:
            return _load_stream(file, name)
    except FileNotFoundError:
        raise InputError(
            f"{name}: there is no such file. Give the path of a log, the message itself in quotes, or - to read standard input."
        ) from None
    except IsADirectoryError:
        raise InputError(f"{name} is a directory. Give the log file in it that holds the failure.") from None
    except PermissionError:
        if Path(name).is_dir():
            raise InputError(f"{name} is a directory. Give the log file in it that holds the failure.") from None
        raise InputError(f"{name} may not be read by this user. Change its permissions, or paste its text.") from None
    except ValueError as error:
        raise InputError(f"{name!r} is no usable path: {error}.") from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}. Copy it somewhere readable, or paste its text.") from None


def _load_stream(file: BinaryIO, name: str) -> Loaded:
    most = _size(file) or _MOST_STREAMED
    first = _read(file, min(WHOLE_LIMIT + 1, most), name)
    if len(first) <= WHOLE_LIMIT:
        return Loaded(first)
    if is_binary(first):
        return Loaded("", binary=True)
    encoding = wide_encoding(first)
    if encoding:
        return _reduce(_transcoded(first, file, encoding, name, most), most)
    if looks_binary(decode(first[:_HEAD])):
        return Loaded("", binary=True)
    return _reduce(_chunks(first, file, name, most), most)


def _size(file: BinaryIO) -> int:
    """Return the bytes that a regular file has from here on; 0 where that is not known."""
    with suppress(OSError, ValueError, AttributeError):
        status = os.fstat(file.fileno())
        return max(0, status.st_size - file.tell()) if stat.S_ISREG(status.st_mode) else 0
    return 0


def _read(file: BinaryIO, size: int, name: str) -> bytes:
    """Read ``size`` bytes, fewer only at the end: pipes hand out what they have."""
    parts: list[bytes] = []
    left = size
    while left > 0:
        part = cast("bytes | str | None", file.read(left))
        if not part:
            break
        if isinstance(part, str):
            raise InputError(f"{name} is open as text. Open it in binary mode, or pass its text to read_report.")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _chunks(first: bytes, file: BinaryIO, name: str, most: int) -> Iterator[bytes]:
    for at in range(0, len(first), _CHUNK):
        yield first[at : at + _CHUNK]
    left = most - len(first)
    while left > 0:
        chunk = _read(file, min(_CHUNK, left), name)
        if not chunk:
            return
        left -= len(chunk)
        yield chunk


def _transcoded(first: bytes, file: BinaryIO, encoding: str, name: str, most: int) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in _chunks(first, file, name, most):
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", True).encode("utf-8", "replace")


class _Kept:
    """The parts of the file that are kept, each with the number of its first line."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, bytes]] = []
        self.size = 0

    def add(self, line: int, data: bytes) -> None:
        self.parts.append((line, data))
        self.size += len(data)


def _reduce(chunks: Iterator[bytes], most: int) -> Loaded:
    kept = _Kept()
    carry = b""
    carry_line = 1
    position = 0
    open_until = _HEAD
    recent: list[tuple[int, bytes]] = []
    recent_size = 0
    # Chunks are looked at in blocks that end with a line; a window that is open at the end of one goes on in the next.
    for chunk in chunks:
        block = carry + chunk
        cut = block.rfind(b"\n") + 1
        if cut == 0 and len(block) < 4 * _CHUNK:
            carry = block
            continue
        cut = cut or len(block)
        carry = block[cut:]
        block = block[:cut]
        if kept.size < _ANCHORED and position < _SEARCHED:
            open_until = _keep_windows(block, carry_line, position, open_until, kept)
        recent.append((carry_line, block))
        recent_size += len(block)
        while recent_size - len(recent[0][1]) > _TAIL:
            recent_size -= len(recent.pop(0)[1])
        carry_line += block.count(b"\n")
        position += len(block)
    total = carry_line + (1 if carry else 0) - (0 if carry else 1)
    if carry:
        recent.append((carry_line, carry))
    _keep_tail(recent, kept)
    lines: list[str] = []
    numbers: list[int] = []
    for line, data in kept.parts:
        texts = decode(data).replace("\r\n", "\n").split("\n")
        if texts and not texts[-1]:
            texts.pop()
        lines.extend(texts)
        numbers.extend(range(line, line + len(texts)))
    cut = most if most == _MOST_STREAMED and position + len(carry) >= most else 0
    return Loaded("\n".join(lines), numbers, total, cut)


def _keep_windows(block: bytes, first_line: int, position: int, open_until: int, kept: _Kept) -> int:
    """Keep the windows around the anchors in one block; return up to which position of the file the last one reaches."""
    windows: list[tuple[int, int]] = []
    if open_until > position:
        windows.append((0, min(len(block), open_until - position)))
    at = windows[0][1] if windows else 0
    nexts = [block.find(anchor, at) for anchor in _ANCHORS]
    while True:
        hits = [hit for hit in nexts if hit >= 0]
        if not hits:
            break
        hit = min(hits)
        start = max(at, hit - _BEFORE)
        stop = hit + _AFTER
        if windows and start <= windows[-1][1]:
            windows[-1] = (windows[-1][0], stop)
        else:
            windows.append((start, stop))
        at = stop
        if at >= len(block):
            break
        nexts = [hit if hit < 0 or hit >= at else block.find(anchor, at) for anchor, hit in zip(_ANCHORS, nexts, strict=True)]
    line, counted = first_line, 0
    for start, stop in windows:
        start = block.rfind(b"\n", 0, start) + 1 if start else 0
        start = max(start, counted)
        stop = min(stop, len(block))
        stop = (block.find(b"\n", stop - 1) + 1 or len(block)) if stop > start else start
        if stop <= start:
            continue
        line += block.count(b"\n", counted, start)
        kept.add(line, block[start:stop])
        line += block.count(b"\n", start, stop)
        counted = stop
        if kept.size >= _ANCHORED:
            break
    return position + windows[-1][1] if windows else position


def _keep_tail(recent: list[tuple[int, bytes]], kept: _Kept) -> None:
    """Keep the end of the file, without the lines that a window kept already."""
    if not recent:
        return
    data = b"".join(part for _, part in recent)
    line = recent[0][0]
    start = max(0, len(data) - _TAIL)
    if start:
        start = data.find(b"\n", start) + 1 or start
        line += data.count(b"\n", 0, start)
        data = data[start:]
    done = 0
    if kept.parts:
        last_line, last = kept.parts[-1]
        done = last_line + last.count(b"\n")
    if line < done:
        rows = data.split(b"\n")
        data = b"\n".join(rows[done - line :])
        line = done
    if data:
        kept.add(line, data)


def read_long_text(text: str) -> Report:
    """Read a text that is too long to be kept whole, reduced as a file is."""
    return _reduce(_chunks(b"", io.BytesIO(text.encode("utf-8", "replace")), "the text", _MOST_STREAMED), 0).report()
