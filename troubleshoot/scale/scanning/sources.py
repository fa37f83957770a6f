"""Opening what is scanned: plain and compressed files, UTF-16, directories, standard input; blocks that end with a line."""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from troubleshoot.basics.errors import InputError
from troubleshoot.reading.decode import decode, is_binary, looks_binary, wide_encoding

BLOCK = 1 << 20
_SAMPLE = 64 << 10

_GZIP, _XZ, _BZIP2, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd"
_COMPRESSED = (_GZIP, _XZ, _BZIP2, _ZSTD)


def find_files(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the files of some paths, those of folders sorted, without hidden ones; and why others were skipped.

    Raises:
        InputError: a path does not exist.
    """
    files: list[str] = []
    skipped: list[str] = []
    for path in paths:
        if path == "-":
            files.append(path)
        elif Path(path).is_dir():
            files += _files_below(path, skipped)
        elif not Path(path).exists():
            raise InputError(f"{path}: there is no such file or folder. Give logs, folders of logs, or - for standard input.")
        else:
            files.append(path)
    return list(dict.fromkeys(files)), skipped


def _files_below(folder: str, skipped: list[str]) -> list[str]:
    found: list[str] = []
    for root, folders, names in os.walk(folder, onerror=lambda error: skipped.append(f"{error.filename}: {error.strerror}")):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(root, name)  # noqa: PTH118  (a Path per file would cost more than opening it)
            if not name.startswith("."):
                # What is no regular file (a socket, a pipe) would hang.
                try:
                    regular = stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
                except OSError as error:
                    skipped.append(f"{path}: {error.strerror}")
                    continue
                if regular:
                    found.append(path)
    return found


def is_plain(path: str) -> bool:
    """Tell whether a file can be read from any offset: a regular one, neither compressed nor in UTF-16."""
    if path == "-" or not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        head = file.read(_SAMPLE)
    return not head.startswith(_COMPRESSED) and wide_encoding(head) is None


def open_log(path: str) -> BinaryIO:
    """Open a log for reading as UTF-8 or whatever one-byte encoding it has; compressed ones are decompressed as they are read.

    Raises:
        InputError: it cannot be read, is binary, or its compression needs a package that is missing.
    """
    try:
        raw: BinaryIO = sys.stdin.buffer if path == "-" else cast("BinaryIO", Path(path).open("rb"))  # noqa: SIM115
        return opened(raw, "standard input" if path == "-" else path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def opened(raw: BinaryIO, name: str) -> BinaryIO:
    """Return a stream that yields the text's bytes, whatever ``raw`` is packed in. Raises InputError as :func:`open_log`."""
    file: Any = raw if hasattr(raw, "peek") else io.BufferedReader(cast("Any", raw))
    head = file.peek(8)[:8]
    if head.startswith(_GZIP):
        import gzip

        file = gzip.GzipFile(fileobj=file)
    elif head.startswith(_XZ):
        import lzma

        file = lzma.open(file)  # noqa: SIM115
    elif head.startswith(_BZIP2):
        import bz2

        file = bz2.open(file)  # noqa: SIM115
    elif head.startswith(_ZSTD):
        file = _zstd(file, name)
    if head.startswith(_COMPRESSED):
        file = io.BufferedReader(cast("Any", _Unpacked(file)), BLOCK)
    sample = file.peek(_SAMPLE)[:_SAMPLE]
    encoding = wide_encoding(sample)
    if encoding:
        return cast("BinaryIO", io.BufferedReader(cast("Any", _Transcoded(file, encoding)), BLOCK))
    if is_binary(sample) or looks_binary(decode(sample)):
        raise InputError(f"{name} is binary, not a log")
    return cast("BinaryIO", file)


def _zstd(file: Any, name: str) -> Any:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise InputError(f"{name} is compressed with zstd, which needs: pip install 'troubleshoot[scan]'") from None
    return zstd.ZstdFile(file)


class _Unpacked(io.RawIOBase):
    """A decompressed file whose end may be missing, because it is still being written or was cut: what could be read counts."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._file.read1(len(buffer))
        except OSError as error:
            # A broken stream has no number, a broken disk has one.
            if error.errno is not None:
                raise
            return 0
        except Exception as error:
            if isinstance(error, MemoryError):
                raise
            return 0
        buffer[: len(data)] = data
        return len(data)


class _Transcoded(io.RawIOBase):
    """UTF-16 or UTF-32 read as UTF-8."""

    def __init__(self, file: Any, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            data = self._file.read(BLOCK)
            self._left = self._decoder.decode(data, not data).encode("utf-8", "replace")
            if not data:
                break
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


def blocks(file: BinaryIO, limit: int | None = None, size: int = BLOCK, last: bool = True) -> Iterator[tuple[bytearray, int]]:
    """Yield (buffer, end) with ``buffer[:end]`` ending with a line; the buffer is used again.

    ``limit``: read no more bytes than this. ``last``: what ends there is the log, so that its last line gets its end. A line longer than
    the buffer is handed out in parts.
    """
    buffer = bytearray(size + 1)
    carry = 0
    left = limit
    while True:
        with memoryview(buffer) as view:
            room = size - carry if left is None else min(size - carry, left)
            count = (cast("Any", file).readinto(view[carry : carry + room]) or 0) if room else 0
        if left is not None:
            left -= count
        if not count:
            if carry:
                if last:
                    buffer[carry : carry + 1] = b"\n"
                    carry += 1
                yield buffer, carry
            return
        filled = carry + count
        cut = buffer.rfind(b"\n", carry, filled) + 1
        if not cut:
            if filled < size:
                carry = filled
                continue
            cut = buffer.rfind(b"\r", 0, filled) + 1 or filled
        yield buffer, cut
        carry = filled - cut
        buffer[:carry] = buffer[cut:filled]
