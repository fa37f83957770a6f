"""Every spelling of a dtype and of a device, brought to one name.

PyTorch prints the same dtype as ``Half``, ``c10::Half``, ``struct c10::Half`` (MSVC builds),
``torch.float16``, ``CUDAHalfType`` (1.4 and older), or as part of a tensor type such as
``torch.cuda.HalfTensor``, which names a device as well. People write ``fp16``, ``half`` or ``FP16``.
The canonical names are those of ``torch``: ``float16``, ``bfloat16``, ``float8_e4m3fn``, ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from troubleshoot.basics.patterns import anchored, searched

#: canonical dtype -> spellings, compared without case after :func:`_bare` removed namespaces.
_SPELLINGS: dict[str, tuple[str, ...]] = {
    "float64": ("double", "fp64", "f64", "float64"),
    "float32": ("float", "fp32", "f32", "float32", "single"),
    "float16": ("half", "fp16", "f16", "float16"),
    "bfloat16": ("bfloat16", "bf16", "bfp16", "bfloat"),
    "float8_e4m3fn": ("float8_e4m3fn", "fp8_e4m3fn", "fp8_e4m3", "f8e4m3", "fp8e4nv", "e4m3", "fp8_e4nv"),
    "float8_e5m2": ("float8_e5m2", "fp8_e5m2", "f8e5m2", "fp8e5", "e5m2"),
    "float8_e4m3fnuz": ("float8_e4m3fnuz",),
    "float8_e5m2fnuz": ("float8_e5m2fnuz",),
    "float8_e8m0fnu": ("float8_e8m0fnu",),
    "float8": ("float8", "fp8"),
    "float4_e2m1fn_x2": ("float4_e2m1fn_x2", "fp4", "nvfp4", "mxfp4"),
    "int64": ("long", "int64", "i64"),
    "int32": ("int", "int32", "i32"),
    "int16": ("short", "int16", "i16"),
    "int8": ("char", "int8", "i8", "signed char"),
    "uint8": ("byte", "uint8", "u8", "unsigned char"),
    "uint16": ("uint16", "unsigned short"),
    "uint32": ("uint32", "unsigned int"),
    "uint64": ("uint64", "unsigned long"),
    "bool": ("bool", "boolean"),
    "complex32": ("complexhalf", "complex32", "chalf"),
    "complex64": ("complexfloat", "complex64", "cfloat"),
    "complex128": ("complexdouble", "complex128", "cdouble"),
    "quint8": ("quint8",),
    "qint8": ("qint8",),
    "qint32": ("qint32",),
}

#: Every spelling without a namespace, lowered.
SPELLINGS: frozenset[str] = frozenset(spelling for all_ in _SPELLINGS.values() for spelling in all_)

_CANONICAL: dict[str, str] = {spelling: name for name, all_ in _SPELLINGS.items() for spelling in all_}

#: ``c10::complex<float>`` as printed by C++.
_COMPLEX = {"c10::complex<half>": "complex32", "c10::complex<float>": "complex64", "c10::complex<double>": "complex128"}

#: Devices as torch names them, and as people and backends write them.
_DEVICES: dict[str, str] = {
    "cuda": "cuda",
    "gpu": "cuda",
    "cpu": "cpu",
    "mps": "mps",
    "xpu": "xpu",
    "npu": "npu",
    "privateuseone": "npu",
    "privateuse1": "npu",
    "hip": "cuda",
    "meta": "meta",
    "hpu": "hpu",
    "xla": "xla",
    "tpu": "xla",
    "dml": "dml",
    "mlu": "mlu",
    "musa": "musa",
}

_TENSOR_TYPE = anchored(
    r"^(?:torch\.)?(?:(?P<device>cuda|xpu|npu|mps|hip|sparse|cuda\.sparse|mlu|hpu|privateuseone)\.)?(?P<dtype>[A-Za-z0-9]+)Tensor$"
)
_LEGACY_TYPE = anchored(r"^(?:Variable\[)?(?P<device>CPU|CUDA|XPU|HIP|MPS|HPU|PrivateUse1)?(?P<dtype>[A-Za-z0-9]+?)(?:Type|Tensor)\]?$")

#: The significant width of each dtype in bits, used to say which of two is the wider one.
BITS: dict[str, int] = {
    "float64": 64, "float32": 32, "float16": 16, "bfloat16": 16,
    "float8_e4m3fn": 8, "float8_e5m2": 8, "float8_e4m3fnuz": 8, "float8_e5m2fnuz": 8, "float8": 8, "float8_e8m0fnu": 8,
    "float4_e2m1fn_x2": 4,
    "int64": 64, "int32": 32, "int16": 16, "int8": 8, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64, "bool": 8,
    "complex32": 32, "complex64": 64, "complex128": 128,
}  # fmt: skip

HALF = frozenset({"float16", "bfloat16"})
FLOATING = frozenset({"float64", "float32", "float16", "bfloat16"})
FLOAT8 = frozenset(name for name in _SPELLINGS if name.startswith("float8"))
INTEGER = frozenset({"int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool"})


#: What may stand before a spelling, lowered; "at::" also before "scalartype::".
_NAMESPACES = ("c10::", "at::", "torch.", "scalartype::", "np.", "numpy.", "jnp.", "tl.")


def _bare(text: str) -> str:
    # "structc10::Half" comes from text whose blanks were removed.
    text = text.strip().strip("'\"`").removeprefix("struct").strip()
    lowered = text.lower()
    if lowered in _COMPLEX:
        return lowered
    for prefix in _NAMESPACES:
        lowered = lowered.removeprefix(prefix)
    return lowered


@lru_cache(maxsize=1024)
def parse_dtype(text: str) -> str | None:
    """Return torch's name of the dtype that ``text`` spells, or None where it spells none.

    >>> parse_dtype("struct c10::Half"), parse_dtype("torch.cuda.HalfTensor"), parse_dtype("CUDABFloat16Type")
    ('float16', 'float16', 'bfloat16')
    """
    bare = _bare(text)
    found = _COMPLEX.get(bare) or _CANONICAL.get(bare)
    if found:
        return found
    pair = parse_tensor_type(text)
    return pair[1] if pair else None


#: Spellings that are words of the language, or types of Python, as well.
AMBIGUOUS = frozenset({
    "double", "float", "single", "half", "long", "int", "short", "char", "signed char", "byte", "unsigned char", "bool", "boolean",
})  # fmt: skip


def _any_of(spellings: Iterable[str]) -> str:
    return "|".join(sorted(spellings, key=lambda text: (-len(text), text)))


#: A dtype in lowered text without blanks, where nothing marks its end: the spellings are listed, the longest first.
JOINED_DTYPE = (
    r"(?:struct)?(?:c10::|at::|torch\.)?(?:cuda\.|xpu\.|npu\.)?(?:cuda|cpu)?(?:"
    + _any_of(spelling.replace(" ", "") for spelling in SPELLINGS)
    + r")(?:tensor|type)?"
)

#: What parse_dtype_name accepts and little else, in lowered text: a search that begins anywhere goes on until it comes to a dtype.
NAMED_DTYPE = (
    r"(?<!\w)[`'\"(\[{<]{0,2}(?:"
    r"(?:at::)?(?:" + _any_of(map(re.escape, _NAMESPACES)) + r")(?:" + _any_of(SPELLINGS) + r")|"
    r"(?:" + _any_of(SPELLINGS - AMBIGUOUS) + r")|"
    r"(?:torch\.)?(?:[a-z]{2,6}\.){0,2}(?:cpu|cuda|xpu|hip|mps)?(?:" + _any_of(SPELLINGS) + r")(?:tensor|type)"
    r")(?!\w)"
)


@lru_cache(maxsize=1024)
def parse_dtype_name(text: str) -> str | None:
    """Return torch's name of the dtype that ``text`` names beyond doubt, or None: quotes and brackets around it do not matter.

    >>> parse_dtype_name("`torch.float`"), parse_dtype_name("[bf16"), parse_dtype_name("float"), parse_dtype_name("half")
    ('float32', 'bfloat16', None, None)
    """
    bare = text.strip("'\"`()[]{}<>")
    return None if _bare(bare) in AMBIGUOUS and not bare.lower().startswith(_NAMESPACES) else parse_dtype(bare)


@lru_cache(maxsize=1024)
def parse_tensor_type(text: str) -> tuple[str, str] | None:
    """Return (device, dtype) of a legacy tensor type, or None.

    ``torch.HalfTensor`` lives on the CPU: that is what makes these messages device errors as often
    as dtype errors.

    >>> parse_tensor_type("torch.cuda.HalfTensor"), parse_tensor_type("torch.HalfTensor")
    (('cuda', 'float16'), ('cpu', 'float16'))
    >>> parse_tensor_type("CUDAHalfType")
    ('cuda', 'float16')
    """
    text = text.strip().strip("'\"`")
    # torch 0.4 prints "CUDAHalfTensor": the device is told first, or the dtype would be taken for "CUDAHalf".
    match = next((one for one in (_LEGACY_TYPE.match(text), _TENSOR_TYPE.match(text)) if one and one["dtype"].lower() in _CANONICAL), None)
    if match is None:
        return None
    # MPS spells its own types "MPSFloatType"; torch.FloatTensor without a device is the CPU's.
    dtype = _CANONICAL[match["dtype"].lower()]
    device = (match["device"] or "cpu").lower().replace("sparse", "").strip(".") or "cpu"
    return _DEVICES.get(device, device), dtype


_BEHIND_NAME = searched(r"[\s:]")
_INDEX = searched(r":\s*+(\d{1,9})\s*$")


def parse_device(text: str) -> str | None:
    """Return the device type (``cuda``, ``cpu``, ``mps``, ``xpu``, ``npu``, ...) that ``text`` names, or None.

    The index is dropped: :func:`device_index` returns it. ROCm builds call their devices ``cuda`` too.

    >>> parse_device("cuda:1"), parse_device("CPU"), parse_device("mps:0"), parse_device("gpu 0")
    ('cuda', 'cpu', 'mps', 'cuda')
    """
    head = _BEHIND_NAME.split(text.strip().strip("'\"`").lower(), maxsplit=1)[0]
    return _DEVICES.get(head)


def device_index(text: str) -> int | None:
    """Return the index in ``cuda:1``, or None where the text has none."""
    match = _INDEX.search(text.strip().strip("'\"`"))
    return int(match[1]) if match else None


def bytes_per_parameter(dtype: str) -> float:
    """Return how many bytes one value of ``dtype`` takes (0.5 for the packed 4-bit type)."""
    return BITS[dtype] / 8
