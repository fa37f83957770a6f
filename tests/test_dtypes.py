"""Every spelling of a dtype and of a device has one name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troubleshoot.basics import dtypes
from troubleshoot.basics.dtypes import BITS, bytes_per_parameter, device_index, parse_device, parse_dtype, parse_tensor_type


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Half", "float16"),
        ("c10::Half", "float16"),
        ("struct c10::Half", "float16"),
        ("at::ScalarType::Half", "float16"),
        ("torch.float16", "float16"),
        ("fp16", "float16"),
        ("'Half'", "float16"),
        ("`torch.half`", "float16"),
        ("BFloat16", "bfloat16"),
        ("c10::BFloat16", "bfloat16"),
        ("bf16", "bfloat16"),
        ("float", "float32"),
        ("Float", "float32"),
        ("FP32", "float32"),
        ("double", "float64"),
        ("Long", "int64"),
        ("Char", "int8"),
        ("Byte", "uint8"),
        ("Bool", "bool"),
        ("signed char", "int8"),
        ("unsigned char", "uint8"),
        ("Float8_e4m3fn", "float8_e4m3fn"),
        ("c10::Float8_e5m2", "float8_e5m2"),
        ("c10::complex<float>", "complex64"),
        ("ComplexFloat", "complex64"),
        ("struct c10::complex<double>", "complex128"),
        ("torch.cuda.HalfTensor", "float16"),
        ("torch.FloatTensor", "float32"),
        ("CUDAHalfType", "float16"),
        ("CUDABFloat16Type", "bfloat16"),
        ("MPSFloatType", "float32"),
        ("PrivateUse1FloatType", "float32"),
        ("Variable[CPUFloatType]", "float32"),
        ("np.float32", "float32"),
        ("jnp.bfloat16", "bfloat16"),
        ("tl.float16", "float16"),
    ],
)
def test_a_dtype_is_known_by_every_spelling(text: str, name: str) -> None:
    """C++, Python, legacy tensor types, and how people write."""
    assert parse_dtype(text) == name


@pytest.mark.parametrize("text", ["", "Tensor", "tensor", "HalfLife", "halfway", "cuda", "Linear", "floating", "16", "torch."])
def test_what_is_no_dtype_has_no_name(text: str) -> None:
    """Words that begin alike are none."""
    assert parse_dtype(text) is None


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("torch.cuda.HalfTensor", ("cuda", "float16")),
        ("torch.HalfTensor", ("cpu", "float16")),
        ("torch.FloatTensor", ("cpu", "float32")),
        ("torch.cuda.BFloat16Tensor", ("cuda", "bfloat16")),
        ("torch.xpu.FloatTensor", ("xpu", "float32")),
        ("torch.npu.HalfTensor", ("npu", "float16")),
        ("torch.sparse.FloatTensor", ("cpu", "float32")),
        ("torch.cuda.sparse.FloatTensor", ("cuda", "float32")),
        ("CUDAHalfType", ("cuda", "float16")),
        ("CPUFloatType", ("cpu", "float32")),
        ("HIPHalfType", ("cuda", "float16")),
        ("MPSFloatType", ("mps", "float32")),
        ("PrivateUse1FloatType", ("npu", "float32")),
        ("torch.privateuseone.FloatTensor", ("npu", "float32")),
        ("Tensor", None),
        ("torch.Tensor", None),
        ("torch.float16", None),
    ],
)
def test_a_tensor_type_names_a_device_too(text: str, pair: tuple[str, str] | None) -> None:
    """Without one it lives on the CPU."""
    assert parse_tensor_type(text) == pair


@pytest.mark.parametrize(
    ("text", "device", "index"),
    [
        ("cuda:1", "cuda", 1),
        ("cuda", "cuda", None),
        ("CPU", "cpu", None),
        ("mps:0", "mps", 0),
        ("gpu 0", "cuda", None),
        ("'cuda:7'", "cuda", 7),
        ("xpu:2", "xpu", 2),
        ("meta", "meta", None),
        ("privateuseone:0", "npu", 0),
        ("disk", None, None),
        ("", None, None),
    ],
)
def test_a_device_has_a_type_and_perhaps_an_index(text: str, device: str | None, index: int | None) -> None:
    """The type is torch's, the index is asked for separately."""
    assert (parse_device(text), device_index(text)) == (device, index)


@given(st.text(max_size=40))
def test_no_text_makes_them_fail(text: str) -> None:
    """Whatever a message holds."""
    assert parse_dtype(text) is None or isinstance(parse_dtype(text), str)
    assert parse_tensor_type(text) is None or len(parse_tensor_type(text) or ()) == 2
    assert parse_device(text) is None or isinstance(parse_device(text), str)
    device_index(text)


@given(st.sampled_from(sorted(dtypes._SPELLINGS)), st.sampled_from(["", "torch.", "c10::", "struct c10::"]), st.booleans())
def test_the_name_of_a_dtype_is_its_own_spelling(name: str, prefix: str, upper: bool) -> None:
    """With any namespace, in any case."""
    assert parse_dtype(prefix + (name.upper() if upper else name)) == name


@pytest.mark.torch
def test_every_dtype_of_torch_is_known_by_its_printed_name() -> None:
    """And has the width that torch gives it."""
    torch = pytest.importorskip("torch")
    for value in vars(torch).values():
        if not isinstance(value, torch.dtype) or str(value).startswith(("torch.bits", "torch.quint", "torch.int", "torch.uint")):
            continue
        name = parse_dtype(str(value))
        assert name == str(value).removeprefix("torch."), value
        if name in BITS and name != "float4_e2m1fn_x2":
            assert BITS[name] == value.itemsize * 8


@pytest.mark.torch
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "int64", "int32", "int16", "int8", "uint8", "bool"])
def test_the_legacy_type_that_torch_prints_is_read(name: str) -> None:
    """tensor.type() gives the old spelling."""
    torch = pytest.importorskip("torch")
    assert parse_tensor_type(torch.zeros(1, dtype=getattr(torch, name)).type()) == ("cpu", name)


def test_half_a_byte_counts_as_half() -> None:
    """The packed 4-bit type."""
    assert (bytes_per_parameter("float16"), bytes_per_parameter("float4_e2m1fn_x2")) == (2.0, 0.5)
