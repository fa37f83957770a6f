"""The inputs cut into blocks, and what becomes of a block: one Parquet file that bears its key.

A block always holds the same reports and its file always bears the same name. That makes doing one twice harmless: whatever died or was
repeated, nothing is lost and nothing counts twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from troubleshoot.basics.errors import InputError
from troubleshoot.batch import diagnose_table
from troubleshoot.knowledge import KnowledgeBase, load_kb

if TYPE_CHECKING:
    import pyarrow as pa

#: A block holds this many reports at most, and files of this many bytes together.
ROWS = 2_000
BYTES = 32 << 20
#: Of a longer file the beginning and the end are read; ``troubleshoot scan`` without --engine reads all of it.
_WHOLE = 2 << 20
_HEAD = 64 << 10
PART = "part-"


@dataclass(frozen=True)
class Block:
    """Reports that are diagnosed together: whole files, or rows of one row group of a Parquet file."""

    base: str
    paths: tuple[str, ...]
    sizes: tuple[int, ...]
    group: int | None = None
    first: int = 0
    count: int = 0

    def key(self, version: str) -> str:
        """Return 20 hexadecimal digits that stand for the block and for what diagnoses it."""
        return hashlib.sha256(json.dumps([version, asdict(self)]).encode()).hexdigest()[:20]


def need_arrow() -> Any:
    """Return pyarrow. Raises InputError where it is missing."""
    try:
        import pyarrow
    except ImportError:
        raise InputError("this needs pyarrow. Run: pip install 'troubleshoot[arrow]' (or 'troubleshoot[ray]' for --engine ray)") from None
    return pyarrow


def filesystem_of(path: str) -> tuple[Any, str]:
    """Return (pyarrow file system, path in it) of a local path or a URI such as ``s3://bucket/folder``."""
    need_arrow()
    from pyarrow import fs

    if "://" not in path:
        return fs.LocalFileSystem(), str(Path(path).resolve())
    try:
        found: tuple[Any, str] = fs.FileSystem.from_uri(path)
        return found
    except (ValueError, OSError) as error:
        raise InputError(f"{path}: {error}") from None


def find_blocks(paths: Iterable[str]) -> Iterator[Block]:
    """Yield the blocks of files, folders and URIs, always in the same order.

    Raises:
        InputError: there is nothing at a path.
    """
    from pyarrow import fs

    for path in paths:
        files, place = filesystem_of(path)
        info = files.get_file_info(place)
        if info.type == fs.FileType.NotFound:
            raise InputError(f"{path}: there is nothing there. Give files, folders, Parquet files, or URIs such as s3://bucket/folder.")
        if info.type == fs.FileType.Directory:
            infos = [one for one in files.get_file_info(fs.FileSelector(place, recursive=True)) if one.type == fs.FileType.File]
        else:
            infos = [info]
        found = sorted((one.path, one.size) for one in infos if not os.path.basename(one.path).startswith((".", "_")))  # noqa: PTH119
        yield from _of_parquet(files, path, [one for one in found if one[0].endswith(".parquet")])
        yield from _of_files(path, [one for one in found if not one[0].endswith(".parquet")])


def _of_parquet(files: Any, base: str, found: list[tuple[str, int]]) -> Iterator[Block]:
    import pyarrow.parquet as pq

    for path, size in found:
        try:
            with files.open_input_file(path) as file:
                metadata = pq.ParquetFile(file).metadata
        except Exception as error:
            raise InputError(f"{path} cannot be read as Parquet: {error}") from None
        for group in range(metadata.num_row_groups):
            rows = metadata.row_group(group).num_rows
            for first in range(0, rows, ROWS):
                yield Block(base, (path,), (size,), group, first, min(ROWS, rows - first))


def _of_files(base: str, found: list[tuple[str, int]]) -> Iterator[Block]:
    paths: list[str] = []
    sizes: list[int] = []
    for path, size in found:
        if paths and (len(paths) >= ROWS or sum(sizes) + min(size, _WHOLE) > BYTES):
            yield Block(base, tuple(paths), tuple(sizes))
            paths, sizes = [], []
        paths.append(path)
        sizes.append(size)
    if paths:
        yield Block(base, tuple(paths), tuple(sizes))


def read_block(block: Block, column: str) -> pa.Table:
    """Return the reports of a block: the columns of its Parquet file, or ``source`` and ``text`` of its files."""
    pa = need_arrow()
    files, _ = filesystem_of(block.base)
    if block.group is not None:
        import pyarrow.parquet as pq

        with files.open_input_file(block.paths[0]) as file:
            table = pq.ParquetFile(file).read_row_group(block.group).slice(block.first, block.count)
        if "source" not in table.column_names:
            numbers = [f"{block.paths[0]}#{block.group}.{block.first + row}" for row in range(table.num_rows)]
            table = table.append_column("source", pa.array(numbers, pa.string()))
        return table
    texts = [_text(files, path) for path in block.paths]
    return pa.table({"source": pa.array(block.paths, pa.string()), column: pa.array(texts, pa.binary())})


def _text(files: Any, path: str) -> bytes:
    # By its name pyarrow knows what a file is compressed with.
    with files.open_input_stream(path, compression="detect") as file:
        data: bytes = file.read(_WHOLE + 1)
        if len(data) <= _WHOLE:
            return data
        tail = b""
        while chunk := file.read(_WHOLE):
            tail = (tail + chunk)[-_WHOLE:]
    return data[:_HEAD] + b"\n" + (data + tail)[_HEAD - _WHOLE :]


def do_block(block: Block, out: str, column: str, overlays: tuple[str, ...]) -> int:
    """Diagnose a block and write its file; return how many reports it has."""
    base = _base(overlays)
    table = diagnose_table(read_block(block, column), column=column, kb=base)
    files, folder = filesystem_of(out)
    _write(files, folder, f"{PART}{block.key(version_of(base, column))}.parquet", table)
    return int(table.num_rows)


def version_of(base: KnowledgeBase, column: str) -> str:
    """Return what a block's key depends on beside its reports."""
    from troubleshoot.version import __version__

    return f"{__version__}-{base.version}-{column}"


@lru_cache(maxsize=1)
def _base(overlays: tuple[str, ...]) -> KnowledgeBase:
    return load_kb(overlays)


def _write(files: Any, folder: str, name: str, table: pa.Table) -> None:
    """Write a file so that nobody sees half of it: renamed into place, or, in an object store, put in one piece."""
    import pyarrow.parquet as pq
    from pyarrow import fs

    if not isinstance(files, fs.LocalFileSystem):
        with files.open_output_stream(f"{folder}/{name}") as stream:
            pq.write_table(table, stream, write_page_checksum=True)
        return
    temporary = f"{folder}/_{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    try:
        with files.open_output_stream(temporary) as stream:
            pq.write_table(table, stream, write_page_checksum=True)
        files.move(temporary, f"{folder}/{name}")
    except OSError as error:
        with suppress(OSError):
            files.delete_file(temporary)
        raise InputError(f"{folder}/{name} cannot be written: {error}") from None


def read_part(files: Any, path: str, columns: list[str] | None = None) -> pa.Table:
    """Return the results of a block, or some of their columns; checksums tell whether they are as they were written.

    Raises:
        InputError: the file is damaged.
    """
    pa = need_arrow()
    import pyarrow.parquet as pq

    try:
        with files.open_input_file(path) as file:
            return pq.ParquetFile(file, page_checksum_verification=True).read(columns=columns)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise InputError(f"{path} is damaged ({error}). The same troubleshoot batch makes it anew.") from None
