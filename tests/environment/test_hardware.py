"""Names of GPUs as people write them, and which dtype each has."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troubleshoot.basics.errors import InputError
from troubleshoot.reading.environment import Accelerator, accelerator_from_text, dtype_rules, dtype_support, find_gpu, hardware, support
from troubleshoot.reading.environment.hardware_page import page
from troubleshoot.reading.environment.local import local_environment
from troubleshoot.reading.environment.parse import parse_environment

SPELLINGS = [
    ("V100-16GB", "V100", (7, 0), 16),
    ("Tesla V100-SXM2-32GB", "V100", (7, 0), 32),
    ("v100", "V100", (7, 0), None),
    ("GRID V100D-16Q", "V100", (7, 0), 16),
    ("4090", "RTX 4090", (8, 9), 24),
    ("RTX4090", "RTX 4090", (8, 9), 24),
    ("NVIDIA GeForce RTX 4090", "RTX 4090", (8, 9), 24),
    ("RTX 4090 Laptop GPU", "RTX 4090", (8, 9), 16),
    ("RTX 2080 Ti", "RTX 2080 Ti", (7, 5), 11),
    ("2080ti", "RTX 2080 Ti", (7, 5), 11),
    ("1050Ti", "GTX 1050 Ti", (6, 1), 4),
    ("GeForce GTX 1080 Ti", "GTX 1080 Ti", (6, 1), 11),
    ("1080", "GTX 1080", (6, 1), 8),
    ("Tesla T4", "T4", (7, 5), 16),
    ("T4", "T4", (7, 5), 16),
    ("a T4 in Colab", "T4", (7, 5), 16),
    ("A100-SXM4-80GB", "A100", (8, 0), 80),
    ("NVIDIA A100 40GB PCIe", "A100", (8, 0), 40),
    ("8x A100 80GB", "A100", (8, 0), 80),
    ("NVIDIA A100 80GB PCIe MIG 1g.10gb", "A100", (8, 0), 80),
    ("A10G", "A10G", (8, 6), 24),
    ("A6000", "RTX A6000", (8, 6), 48),
    ("NVIDIA RTX A6000", "RTX A6000", (8, 6), 48),
    ("RTX 3060 12GB", "RTX 3060", (8, 6), 12),
    ("3090ti", "RTX 3090 Ti", (8, 6), 24),
    ("RTX 6000 Ada Generation", "RTX 6000 Ada", (8, 9), 48),
    ("Quadro RTX 6000", "Quadro RTX 6000", (7, 5), 24),
    ("RTX 4070 Ti Super", "RTX 4070 Ti SUPER", (8, 9), 16),
    ("4070 Ti", "RTX 4070 Ti", (8, 9), 12),
    ("1660 super", "GTX 1660 SUPER", (7, 5), 6),
    ("GTX 1660", "GTX 1660", (7, 5), 6),
    ("TITAN X (Pascal)", "Titan X Pascal", (6, 1), 12),
    ("GTX TITAN X", "GTX Titan X", (5, 2), 12),
    ("TITAN Xp", "Titan Xp", (6, 1), 12),
    ("P100", "P100", (6, 0), None),
    ("Tesla P100-PCIE-16GB", "P100", (6, 0), 16),
    ("K80", "K80", (3, 7), 12),
    ("Tesla M4", "M4", (5, 2), 4),
    ("L40S", "L40S", (8, 9), 48),
    ("L4", "L4", (8, 9), 24),
    ("H20", "H20", (9, 0), None),
    ("NVIDIA H100 80GB HBM3", "H100", (9, 0), 80),
    ("H100 NVL", "H100 NVL", (9, 0), 94),
    ("H200", "H200", (9, 0), 141),
    ("GH200", "GH200", (9, 0), None),
    ("GB200", "GB200", (10, 0), 186),
    ("NVIDIA B200", "B200", (10, 0), 180),
    ("5090", "RTX 5090", (12, 0), 32),
    ("RTX PRO 6000", "RTX PRO 6000", (12, 0), 96),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000", (12, 0), 96),
    ("NVIDIA GB10", "GB10", (12, 1), 128),
    ("Jetson Orin", "Jetson Orin", (8, 7), None),
    ("Orin (nvgpu)", "Jetson Orin", (8, 7), None),
    ("Xavier", "Jetson AGX Xavier", (7, 2), None),
    ("M2 Max", "M2 Max", None, None),
    ("Apple M1 Pro", "M1 Pro", None, None),
    ("M1 MacBook Pro", "M1", None, None),
    ("MacBook Pro M3 Max 36GB", "M3 Max", None, 36),
    ("MI250X", "MI250X", None, 128),
    ("AMD Instinct MI300X", "MI300X", None, 192),
    ("AMD Radeon RX 7900 XTX", "RX 7900 XTX", None, 24),
    ("7900xtx", "RX 7900 XTX", None, 24),
    ("Intel(R) Arc(TM) A770 Graphics", "Arc A770", None, None),
    ("Arc B580", "Arc B580", None, 12),
    ("910B", "Ascend 910B", None, None),
    ("Ascend910B3", "Ascend 910B3", None, 64),
    ("Gaudi2", "Gaudi 2", None, 96),
    ("TPU v3-8", "TPU v3", None, 16),
]


@pytest.mark.parametrize(("text", "name", "capability", "memory"), SPELLINGS)
def test_a_gpu_is_found_as_people_write_it(text: str, name: str, capability: tuple[int, int] | None, memory: float | None) -> None:
    """Vendor, form factor, memory and count may stand around the name."""
    found = find_gpu(text)
    assert found is not None
    assert (found.name, found.capability, found.memory) == (name, capability, memory)


@pytest.mark.parametrize(
    "text", ["", "banana", "NVIDIA GeForce", "Radeon Graphics", "GPU", "cuda:0", "80GB", "a big GPU", "x" * 500, "2.3.0", "Tesla"]
)
def test_what_names_no_gpu_finds_none(text: str) -> None:
    """A vendor's name or a size alone is none."""
    assert find_gpu(text) is None


@given(st.sampled_from([gpu for gpu in hardware.table().values() if gpu.kind == "cuda"]), st.data())
def test_the_way_of_writing_does_not_matter(gpu: hardware.Gpu, data: st.DataObject) -> None:
    """Case, spaces, vendor and form factor change nothing."""
    text = data.draw(
        st.sampled_from(
            [
                gpu.name,
                gpu.name.lower(),
                gpu.name.upper(),
                gpu.name.replace(" ", "-"),
                gpu.name.replace(" ", "_"),
                gpu.name.replace(" ", ""),
            ]
        )
    )
    vendor = data.draw(st.sampled_from(["", "NVIDIA ", "nvidia "]))
    if vendor == "" and gpu.name.startswith(("M4", "M6")):
        vendor = "NVIDIA "
    found = find_gpu(vendor + text)
    assert found is not None
    assert (found.name, found.capability) == (gpu.name, gpu.capability)


@pytest.mark.parametrize("gpu", hardware.table().values(), ids=lambda gpu: gpu.name)
def test_every_name_in_the_table_is_found(gpu: hardware.Gpu) -> None:
    """No entry is shadowed by another; a Tesla M4 is told from an Apple M4 by its vendor."""
    found = find_gpu({"cuda": "Tesla ", "mps": "Apple "}.get(gpu.kind, "") + gpu.name)
    assert found is not None
    assert (found.name, found.kind, found.architecture) == (gpu.name, gpu.kind, gpu.architecture)


def test_the_table_is_large_enough() -> None:
    """Names that people own."""
    assert len(hardware.table()) >= 120


@given(st.text(max_size=60))
def test_no_text_makes_the_search_fail(text: str) -> None:
    """Anything may be asked."""
    found = find_gpu(text)
    assert found is None or found.name


@pytest.mark.parametrize(
    ("text", "name", "capability", "count"),
    [
        ("V100-16GB", "V100", (7, 0), 1),
        ("sm_86", "sm_86", (8, 6), 1),
        ("SM75", "sm_75", (7, 5), 1),
        ("8.9", "sm_89", (8, 9), 1),
        ("compute capability 7.0", "sm_70", (7, 0), 1),
        ("sm_120", "sm_120", (12, 0), 1),
        ("(8, 0)", "sm_80", (8, 0), 1),
        ("8x A100", "A100", (8, 0), 8),
        ("4090 x2", "RTX 4090", (8, 9), 2),
        ("gfx90a", "gfx90a", None, 1),
        ("mps", "Apple silicon", None, 1),
    ],
)
def test_an_answer_names_an_accelerator(text: str, name: str, capability: tuple[int, int] | None, count: int) -> None:
    """Names, compute capabilities and AMD targets."""
    found = accelerator_from_text(text)
    assert found is not None
    assert (found.name, found.capability, found.count, found.source) == (name, capability, count, "answer")


@pytest.mark.parametrize("text", ["cpu", "none", "no", "no GPU", "CPU only", "None"])
def test_an_answer_may_say_that_there_is_none(text: str) -> None:
    """None is the answer, not an error."""
    assert accelerator_from_text(text) is None


def test_an_unknown_name_is_an_error_with_suggestions() -> None:
    """The closest spellings are offered."""
    with pytest.raises(InputError, match=r"RTX 4090.*sm_86"):
        accelerator_from_text("RTX 4099")


STATES = [
    ("T4", "float16", "matmul", "native"),
    ("T4", "bfloat16", "matmul", "emulated"),
    ("T4", "bfloat16", "convolution", "none"),
    ("V100", "bfloat16", "elementwise", "emulated"),
    ("V100", "tf32", "matmul", "none"),
    ("1080 Ti", "float16", "matmul", "slow"),
    ("P100", "float16", "matmul", "native"),
    ("K80", "float16", "matmul", "emulated"),
    ("A100", "bfloat16", "convolution", "native"),
    ("A100", "float8_e4m3fn", "matmul", "none"),
    ("A100", "float64", "matmul", "native"),
    ("3090", "float8_e4m3fn", "matmul", "none"),
    ("3090", "float64", "matmul", "slow"),
    ("4090", "float8_e4m3fn", "matmul", "native"),
    ("4090", "float8_e4m3fn", "elementwise", "none"),
    ("4090", "float4", "matmul", "none"),
    ("H100", "float8_e5m2", "matmul", "native"),
    ("H100", "float8_e4m3fnuz", "matmul", "none"),
    ("B200", "float4", "matmul", "native"),
    ("5090", "float4_e2m1fn_x2", "matmul", "native"),
    ("MI300X", "float8_e4m3fnuz", "matmul", "native"),
    ("MI300X", "float8_e4m3fn", "matmul", "none"),
    ("MI355X", "float8_e4m3fn", "matmul", "native"),
    ("MI250X", "bfloat16", "matmul", "native"),
    ("RX 6800 XT", "bfloat16", "matmul", "emulated"),
    ("M1", "bfloat16", "matmul", "emulated"),
    ("M3", "bfloat16", "matmul", "native"),
    ("M2 Max", "float64", "matmul", "none"),
    ("mps", "bfloat16", "matmul", "unknown"),
    ("A770", "float64", "matmul", "none"),
    ("B580", "float64", "matmul", "native"),
    ("910A", "bfloat16", "matmul", "none"),
    ("910B", "bfloat16", "matmul", "native"),
    ("sm_75", "bfloat16", "matmul", "emulated"),
    ("ampere", "bfloat16", "matmul", "native"),
    ("pascal", "float16", "matmul", "unknown"),
    ("turing", "float8_e4m3fn", "matmul", "none"),
]


@pytest.mark.parametrize(("gpu", "dtype", "operation", "state"), STATES)
def test_what_a_device_computes_in(gpu: str, dtype: str, operation: str, state: str) -> None:
    """By name, by capability and by architecture; where an architecture's members differ the answer is unknown."""
    accelerator = accelerator_from_text(gpu)
    assert accelerator is not None
    answer = support(accelerator, dtype, operation)
    assert answer.state == state
    assert answer.usable is (None if state == "unknown" else state != "none")


def test_float16_convolutions_on_a_gtx_16_have_a_known_defect() -> None:
    """They return NaN; other Turing cards do not."""
    gtx, t4 = accelerator_from_text("GTX 1660"), accelerator_from_text("T4")
    assert gtx is not None
    assert t4 is not None
    assert "NaN" in (support(gtx, "float16", "convolution").caveat or "")
    assert support(gtx, "float16", "matmul").caveat is None
    assert support(t4, "float16", "convolution").caveat is None


def test_the_cpu_is_known_too() -> None:
    """Half precision works there, slowly."""
    assert support("cpu", "float16").state == "emulated"
    assert support("cpu", "float32").state == "native"


def test_an_unknown_operation_is_an_error() -> None:
    """A typing error must not look like an unknown device."""
    with pytest.raises(ValueError, match="matmul"):
        support("cpu", "float16", "gemm")


@pytest.mark.parametrize("dtype", dtype_rules.DTYPES)
@pytest.mark.parametrize("operation", dtype_rules.OPERATIONS)
def test_every_nvidia_gpu_has_an_answer(dtype: str, operation: str) -> None:
    """From 3.5 to 12.1 nothing is left open, and a newer GPU never loses a 16-bit or 32-bit dtype."""
    capabilities = sorted({gpu.capability for gpu in hardware.table().values() if gpu.capability})
    order = ["none", "emulated", "slow", "native"]
    states = [support(Accelerator("", "cuda", "report", one), dtype, operation).state for one in capabilities]
    assert "unknown" not in states
    if dtype in ("float32", "bfloat16", "tf32"):
        ranks = [order.index(state) for state in states]
        assert ranks == sorted(ranks)


def test_every_statement_has_a_source_and_a_known_state() -> None:
    """A rule without a source is an opinion."""
    for *_, dtypes, operations, state, _, source in (*dtype_rules.NVIDIA, *dtype_rules.OTHERS):
        assert set(dtypes) <= set(dtype_rules.DTYPES)
        assert set(operations) <= set(dtype_rules.OPERATIONS)
        assert state in ("native", "emulated", "slow", "none", "unknown")
        assert urlsplit(source).scheme == "https"


def test_the_page_in_the_documentation_is_fresh() -> None:
    """Regenerate it with: python -m troubleshoot.reading.environment.hardware_page > docs/hardware.md."""
    root = Path(str(importlib.resources.files("troubleshoot"))).parent
    assert (root / "docs" / "hardware.md").read_text(encoding="utf-8") == page()


def test_sources_that_were_not_read_are_marked_on_the_page() -> None:
    """The page says which of its sources nobody could open, and every such source is still one of the table."""
    used = {source for *_, source in (*dtype_rules.NVIDIA, *dtype_rules.OTHERS, *dtype_rules.CAVEATS)}
    assert set(dtype_rules.UNREAD) <= used
    rows = [line for line in page().splitlines() if line.startswith("|") and "[source](" in line]
    for source, how in dtype_rules.UNREAD.items():
        marked = [line for line in rows if f"[source]({source})" in line]
        assert marked
        assert all(line.endswith("(in part) |" if how.startswith("opened in part") else "(not opened) |") for line in marked)


def test_a_card_is_placed_by_its_chip_not_by_its_number() -> None:
    """RTX 2050 is an Ampere laptop chip, Iris Xe no Meteor Lake."""
    laptop, shared = accelerator_from_text("RTX 2050"), accelerator_from_text("Iris Xe")
    assert laptop is not None
    assert shared is not None
    assert (laptop.capability, support(laptop, "bfloat16").state) == ((8, 6), "native")
    assert support(shared, "float64").state == "unknown"


@pytest.mark.parametrize(
    ("flags", "state"),
    [("fpu avx512f avx512_bf16 avx512_vnni", "native"), ("fpu avx2 amx_bf16 amx_tile", "native"), ("fpu avx2 fma", "emulated")],
)
def test_a_cpu_with_bfloat16_instructions_computes_in_it(flags: str, state: str) -> None:
    """As collect_env prints its flags, and as the kernel tells them of this machine."""
    text = f"PyTorch version: 2.6.0+cpu\nIs debug build: False\nPython version: 3.11\nCPU:\nFlags:    {flags}\n"
    environment = parse_environment(text.splitlines())
    assert dtype_support.support(dtype_support.cpu_of(environment), "bfloat16").state == state
    assert dtype_support.support(dtype_support.cpu_of(environment), "float32").state == "native"


def test_the_flags_of_this_cpu_are_read() -> None:
    """Where the kernel tells them."""
    told = Path("/proc/cpuinfo")
    if not told.exists():
        pytest.skip("needs /proc/cpuinfo")
    has = any(f" {flag}" in told.read_text() for flag in ("avx512_bf16", "amx_bf16"))
    assert (local_environment().details.get("cpu.dtypes") == "bf16") is has
