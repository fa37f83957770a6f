"""Audit of a checkpoint on disk: dtypes, NaN, inf, and values that float16 does not hold, in safetensors files.

No model is loaded, and torch is not needed. The format (https://github.com/huggingface/safetensors#format): eight bytes with the length
of the header, the header as JSON (name -> dtype, shape, data_offsets), then the data, little endian. Values are looked at by the byte
that holds their exponent, chunk by chunk, over a mapped file.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.lab.auditing.findings import Audit, Finding, ordered

#: safetensors' names of the dtypes.
_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32", "U16": "uint16",
    "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
_SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1}

#: What is read at once.
_CHUNK = 1 << 24

#: The specification's limit of the header.
_HEADER = 100_000_000

#: Values that a tensor may have: what 64 bits count.
_MOST_VALUES = 1 << 63

#: What rounds to infinity in float16.
_TOO_LARGE = 65520.0


@dataclass(frozen=True)
class Stored:
    """One tensor of a file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True)
class Values:
    """What was found in a tensor: how many NaN and inf, and its largest finite value where that exceeds float16, else None."""

    nans: int
    infinities: int
    large: float | None


def audit_checkpoint(folder: str | os.PathLike[str]) -> Audit:
    """Audit the safetensors shards of a folder, or one file.

    Raises:
        InputError: there are none, or one of them cannot be read.
    """
    place = Path(folder)
    # What is no regular file (a pipe) has no end that could be waited for.
    files = [place] if place.is_file() else sorted(one for one in place.glob("*.safetensors") if one.is_file())
    if not files:
        raise InputError(f"{place}: no safetensors files there; give a folder of shards, or one file")
    counts: dict[str, list[int]] = {}
    findings: list[Finding] = []
    for file in files:
        for stored, values in read_shard(file):
            total = counts.setdefault(_DTYPES.get(stored.dtype, stored.dtype), [0, 0])
            total[0] += 1
            total[1] += _count(stored)
            findings += _value_findings(file.name, stored, values)
    floats = {dtype: one for dtype, one in counts.items() if dtype.startswith(("float", "bfloat"))}
    main = max(floats, key=lambda dtype: floats[dtype][1]) if floats else None
    findings += _missing_shards(place, {one.name for one in files})
    if len(floats) > 1:
        shares = ", ".join(f"{dtype} {one[0]} tensors" for dtype, one in sorted(floats.items(), key=lambda item: -item[1][1]))
        text = f"dtypes are mixed: {shares}; what is loaded depends on torch_dtype"
        findings.append(Finding("mixed", "note", place.name, text, "checkpoint/loaded-as-float32", "name torch_dtype when you load it"))
    findings += _config(place, main)
    totals = tuple(sorted(((dtype, "file", one[0], one[1]) for dtype, one in counts.items()), key=lambda one: -one[3]))
    return Audit(str(place), main, None, totals, ordered(findings))


def _value_findings(file: str, stored: Stored, values: Values | None) -> Iterator[Finding]:
    if values is None:
        return
    if values.nans or values.infinities:
        parts = [f"{count} {word}" for count, word in ((values.nans, "NaN"), (values.infinities, "inf")) if count]
        text = f"holds {' and '.join(parts)} of {_count(stored)} values ({file})"
        fix = "download the file again, or take the checkpoint before"
        yield Finding("values", "error", stored.name, text, "checkpoint/nan-weights", fix)
    elif values.large is not None:
        text = f"holds {values.large:.6g}, which is infinite in float16"
        fix = "load it in bfloat16 or float32"
        yield Finding("values", "warning", stored.name, text, "numerics/fp16-overflow", fix)


def _missing_shards(place: Path, have: set[str]) -> Iterator[Finding]:
    index = place / "model.safetensors.index.json"
    if not index.is_file():
        return
    try:
        wanted = set(map(str, json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise InputError(f"{index}: not an index of shards ({error})") from error
    for name in sorted(wanted - have):
        yield Finding("shards", "error", name, "the index names this file, and it is not there", None, "download it")


def _config(place: Path, main: str | None) -> Iterator[Finding]:
    """Compare the dtype that config.json names with what is stored."""
    file = place / "config.json"
    if not file.is_file() or main is None:
        return
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return
    named = data.get("dtype") or data.get("torch_dtype") if isinstance(data, dict) else None
    if isinstance(named, str) and named != main and named in _DTYPES.values() and "quantization_config" not in data:
        text = f"config.json says {named}, most weights are {main}"
        yield Finding("mixed", "note", "config.json", text, "checkpoint/loaded-as-float32", "name torch_dtype when you load it")


def read_shard(file: Path) -> Iterator[tuple[Stored, Values | None]]:
    """Yield every tensor of a safetensors file with what its values are (None where they are integers or not known).

    Raises:
        InputError: the file is no safetensors file, or is cut off.
    """
    try:
        with file.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            tensors, start = _header(file, stream, size)
            if not tensors:
                return
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
                for one in tensors:
                    yield one, _values(data, start, one) if one.dtype in _SIZES else None
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error


def _header(file: Path, stream: Any, size: int) -> tuple[list[Stored], int]:
    if size < 8:
        raise InputError(f"{file}: no safetensors file, it has {size} bytes")
    length = struct.unpack("<Q", stream.read(8))[0]
    if length > min(_HEADER, size - 8):
        raise InputError(f"{file}: no safetensors file, or cut off: its header would be {length} bytes")
    try:
        entries = json.loads(stream.read(length).decode("utf-8"))
        tensors = [
            Stored(
                name, str(one["dtype"]), tuple(int(axis) for axis in one["shape"]), int(one["data_offsets"][0]), int(one["data_offsets"][1])
            )
            for name, one in entries.items()
            if name != "__metadata__"
        ]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise InputError(f"{file}: its header cannot be read ({type(error).__name__}: {error})") from error
    start = 8 + length
    end = 0
    for one in sorted(tensors, key=lambda one: (one.start, one.end)):
        # The format packs them without gaps or overlaps; tensors over the same bytes would each be read anew.
        wrong = one.dtype in _SIZES and one.end - one.start != _count(one) * _SIZES[one.dtype]
        if not end <= one.start <= one.end <= size - start or wrong or not all(0 <= axis < _MOST_VALUES for axis in one.shape):
            raise InputError(
                f"{file}: the data of {one.name} lie at {one.start} to {one.end} of {size - start} bytes: the file is cut off or damaged"
            )
        if _count(one) >= _MOST_VALUES:
            raise InputError(f"{file}: the shape of {one.name} has more values than any file: the file is damaged")
        end = one.end
    return tensors, start


def _count(stored: Stored) -> int:
    """Return the number of values, at most _MOST_VALUES."""
    if 0 in stored.shape:
        return 0
    count = 1
    for axis in stored.shape:
        count *= axis
        if count >= _MOST_VALUES:
            return _MOST_VALUES
    return count


def _others(kept: range | set[int]) -> bytes:
    """The bytes to delete so that only ``kept`` remain, with the sign bit either way."""
    both = {value for one in kept for value in (one, one | 0x80)}
    return bytes(value for value in range(256) if value not in both)


#: dtype -> what is deleted from the bytes that hold sign and exponent, so that what remains is suspicious: not finite, or 32768 and more.
_SUSPICIOUS = {
    "F16": _others(range(0x7C, 0x80)),
    "BF16": _others(range(0x47, 0x80)),
    "F32": _others(range(0x47, 0x80)),
    "F64": _others(range(0x40, 0x80)),
    "F8_E4M3": _others({0x7F}),
    "F8_E5M2": _others(range(0x7C, 0x80)),
}


def _values(data: mmap.mmap, start: int, stored: Stored) -> Values:
    """Look at the top byte of every value; unpack only chunks that hold a suspicious one."""
    width = _SIZES[stored.dtype]
    nans = infinities = 0
    large = 0.0
    for at in range(start + stored.start, start + stored.end, _CHUNK):
        chunk = data[at : min(at + _CHUNK, start + stored.end)]
        tops = chunk[width - 1 :: width]
        if not tops.translate(None, _SUSPICIOUS[stored.dtype]):
            continue
        for value in _unpacked(chunk, tops, stored.dtype, width):
            if value != value:
                nans += 1
            elif value in (float("inf"), float("-inf")):
                infinities += 1
            else:
                large = max(large, abs(value))
    return Values(nans, infinities, large if large >= _TOO_LARGE else None)


def _unpacked(chunk: bytes, tops: bytes, dtype: str, width: int) -> Iterator[float]:
    """Yield the suspicious values of a chunk."""
    import re

    kept = bytes(sorted(set(range(256)) - set(_SUSPICIOUS[dtype])))
    for match in re.finditer(b"[" + re.escape(kept) + b"]", tops):
        index = match.start() * width
        raw = chunk[index : index + width]
        if dtype == "F64":
            yield struct.unpack("<d", raw)[0]
        elif dtype == "F32":
            yield struct.unpack("<f", raw)[0]
        elif dtype == "BF16":
            yield struct.unpack("<f", b"\0\0" + raw)[0]
        elif dtype == "F16":
            yield struct.unpack("<e", raw)[0]
        elif dtype == "F8_E5M2":
            yield struct.unpack("<e", b"\0" + raw)[0]
        else:
            yield float("nan")
