"""The numbers and the dtypes that a statement names, with their places: what the readers of magnitudes and of requirements share."""

from __future__ import annotations

import math
import re

import msgspec

from troubleshoot.basics.dtypes import parse_dtype
from troubleshoot.basics.patterns import anchored, searched


class Number(msgspec.Struct, frozen=True):
    """A number as written: its value, half a unit of its last digit (0.0 where it is exact as written), its place, its unit, its digits."""

    value: float
    blur: float
    start: int
    end: int
    unit: str = ""
    digits: int = 0


class Named(msgspec.Struct, frozen=True):
    """A dtype that is named, with its place."""

    dtype: str
    start: int
    end: int


#: 2^24, 2**-24, 1024**3; 33,333,333; 1.5e-5, 65504., 0.1. The unit stands right behind it or after a blank.
_NUMBER = searched(
    r"(?<![A-Za-z0-9_.])(?:(?P<base>\d{1,5})(?:\^|\*\*)[({]?(?P<power>[-+\u2212]?\d{1,4})[)}]?|"
    r"(?P<plain>(?:(?<![0-9)\]])(?<![0-9)\]] )[-\u2212])?+(?:\d{1,3}(?:,\d{3}){1,6}(?!\d)|"
    r"\d{1,40}+)?(?:\.\d{0,40})?+(?<=[0-9.])(?<![^0-9]\.)"
    r"(?:e[-+]?\d{1,4})?))"
    r"(?:\s?(?P<unit>gib|gb|mib|mb|kib|kb|bytes|ulps?|ms|%|b|m|g|k|billion|million)(?![a-z0-9]))?(?![0-9]|[A-Za-z_](?<![xX]))",
    re.IGNORECASE,
)
#: Clock times, dates, releases, addresses: their digits are no quantities.
_NO_QUANTITY = searched(
    r"\d{1,4}[-/:]\d{1,2}[-/:]\d{1,4}(?:[.,]\d{1,9})?|(?<![\w.])v?\d{1,4}\.\d{1,4}\.\d{1,6}(?:[.+]\w{1,12})?|0x[0-9a-f]{1,32}+|#\d{1,9}|"
    r"(?:cuda|python|torch|driver|toolkit|cann)[ :=]{1,3}v?\d{1,3}\.\d{1,3}(?:[.]\d{1,3})?",
    re.IGNORECASE,
)


def blanked(text: str) -> str:
    """Return the text with clock times, dates, releases and addresses taken out, every place kept."""
    return _NO_QUANTITY.sub(lambda match: " " * len(match[0]), text)


def numbers_in(text: str) -> list[Number]:
    """Return the numbers of a text in their order."""
    found = []
    for match in _NUMBER.finditer(blanked(text)):
        if match["base"]:
            value = _power(match)
            found.append(Number(value, 0.0, match.start(), match.end("power"), (match["unit"] or "").lower(), 9))
            continue
        written = match["plain"].replace(",", "").replace("\u2212", "-").lower()
        mantissa, _, exponent = written.partition("e")
        whole, _, decimals = mantissa.partition(".")
        if not (whole.strip("-") or decimals):
            continue
        scale = 10.0 ** max(-400, min(300, int(exponent or 0) - len(decimals)))
        # torch prints four decimals and NumPy eight digits; what is shorter was typed, or is all there is.
        blur = 0.5 * scale if len(decimals) >= (3 if exponent else 4) else 0.0
        found.append(
            Number(
                float(written), blur, match.start(), match.end("plain"), (match["unit"] or "").lower(), len((whole + decimals).strip("-0"))
            )
        )
    return [one for one in found if math.isfinite(one.value)]


def _power(match: re.Match[str]) -> float:
    try:
        return float(match["base"]) ** int(match["power"].replace("\u2212", "-"))
    except OverflowError:
        return math.inf


#: Words for dtypes in prose, and parts of identifiers (``test_sum_cuda_bfloat16``). "half" alone is a word of the language.
_DTYPE = searched(
    r"(?<![a-z0-9])(?P<name>b?float16|bf16|bfp16|fp16|f16|fp32|f32|float32|tf32|fp64|f64|float64|"
    r"(?:float8_|fp8_|fp8 |fp8|f8)?(?:e4m3(?:fnuz|fn)?|e5m2(?:fnuz)?)|fp8e4nv|fp8e4b15|fp8e5|float8|fp8|u?int(?:8|16|32|64)|"
    r"complex(?:32|64|128)|hfloat|(?:half|single|full|double)[ -]precision|half(?= ?(?:tensors?|float|checkpoint|model|"
    r"weights|mode|dtype|numbers|values|\(|下|类型))|(?<=\bas )half\b|"
    r"(?:(?<=\bin )|(?<=\bto ))half\b(?! (?:of|the|an?|my|its|as)\b)|(?<=[_.])half(?![a-z])|\bk(?:b?float16|half|float|"
    r"double|long|int)\b)(?![a-z0-9])|"
    r"(?P<zh>半精度|单精度|全精度|双精度)"
)
_PRECISION = {"half": "float16", "single": "float32", "full": "float32", "double": "float64", "hfloat": "float16", "khalf": "float16",
              "半精度": "float16", "单精度": "float32", "全精度": "float32", "双精度": "float64", "tf32": "tf32"}  # fmt: skip


def dtypes_in(low: str) -> list[Named]:
    """Return the float and integer dtypes that a lowered text names beyond doubt, in their order."""
    found = []
    for match in _DTYPE.finditer(low):
        dtype = _dtype(match[0])
        if dtype is not None:
            found.append(Named(dtype, match.start(), match.end()))
    return found


def _dtype(word: str) -> str | None:
    known = _PRECISION.get(word) or _PRECISION.get(word.split("-", 1)[0].split(" ", 1)[0])
    if known is not None:
        return known
    if word == "fp8e4b15":
        return word
    for end in ("e4m3fnuz", "e5m2fnuz"):
        if word.endswith(end):
            return f"float8_{end}"
    for end in ("e4m3fn", "e4m3", "fp8e4nv"):
        if word.endswith(end):
            return "float8_e4m3fn"
    if word.endswith(("e5m2", "fp8e5")):
        return "float8_e5m2"
    return parse_dtype(word.removeprefix("k")) if word.startswith("k") else parse_dtype(word)


_SENTENCE_END = searched(r"(?<=[.!?;])\s{1,8}(?=[A-Z\"'`(\[*])|(?<=[。；！？])")


def sentences(line: str) -> list[str]:
    """Return the sentences of a line; a line without an end of one is itself one."""
    return [part for part in _SENTENCE_END.split(line) if part] if len(line) > 40 else [line]


_LABEL = anchored(r"[\s>E|#*\-]*+(?P<label>[A-Za-z_][\w .|-]{0,30}?)\s{0,4}[:=]\s*+(?P<value>.*)$", re.DOTALL)


def labelled(line: str) -> tuple[str, str] | None:
    """Return (label, value) of ``x: array(...)``, ``ref = tensor(...)`` or ``before: 3``, or None."""
    match = _LABEL.match(line)
    return (match["label"].strip().lower(), match["value"]) if match else None
