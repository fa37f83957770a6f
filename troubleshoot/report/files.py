"""Reading a log file of any size in bounded memory: its beginning, its end and the surroundings of its failures."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from troubleshoot.errors import InputError
from troubleshoot.report.decode import decode, is_binary, looks_binary, wide_encoding
from troubleshoot.report.model import Report
from troubleshoot.report.reader import WHOLE_LIMIT, empty_report, read_lines, read_report

_CHUNK = 1 << 20
_HEAD = 64 << 10
_TAIL = 256 << 10
_BEFORE = 8 << 10
_AFTER = 32 << 10
#: Bytes kept around anchors, beside head and tail. The first failures matter most: the first in time is the cause.
_ANCHORED = 2 << 20
#: Beyond this many bytes nothing is searched; the end of the file is still read.
_SEARCHED = 4 << 30

_ANCHORS = (b"Traceback (most", b"Error", b"Exception", b"frame #0", b"what():", b"Root Cause", "╭─".encode(), b"!!!", b"*** ")


def read_report_file(path: os.PathLike[str] | BinaryIO) -> Report:
    """Read a file or a binary stream; a long one is reduced to its beginning, its end and the surroundings of its failures.

    Raises InputError where the file is missing, unreadable or a directory.
    """
    if not isinstance(path, os.PathLike):
        return _read_stream(path, "the stream")
    name = os.fspath(path)
    try:
        with Path(name).open("rb") as file:
            return _read_stream(file, name)
    except FileNotFoundError:
        raise InputError(f"{name}: there is no such file. Give the path of a log, or - to read standard input.") from None
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


def _read_stream(file: BinaryIO, name: str) -> Report:
    first = _read(file, WHOLE_LIMIT + 1, name)
    if len(first) <= WHOLE_LIMIT:
        return read_report(first)
    if is_binary(first):
        return empty_report("binary")
    encoding = wide_encoding(first)
    if encoding:
        return _reduce(_transcoded(first, file, encoding, name))
    if looks_binary(decode(first[:_HEAD])):
        return empty_report("binary")
    return _reduce(_chunks(first, file, name))


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


def _chunks(first: bytes, file: BinaryIO, name: str) -> Iterator[bytes]:
    for at in range(0, len(first), _CHUNK):
        yield first[at : at + _CHUNK]
    while True:
        chunk = _read(file, _CHUNK, name)
        if not chunk:
            return
        yield chunk


def _transcoded(first: bytes, file: BinaryIO, encoding: str, name: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in _chunks(first, file, name):
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


def _reduce(chunks: Iterator[bytes]) -> Report:
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
    return read_lines("\n".join(lines), numbers, total, truncated=True)


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
    return _reduce(_chunks(text[:0].encode(), io.BytesIO(text.encode("utf-8", "replace")), "the text"))
