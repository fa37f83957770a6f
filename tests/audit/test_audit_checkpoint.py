"""Checkpoints are audited from their files, without torch or safetensors."""

from __future__ import annotations

import json
import math
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troubleshoot.basics.errors import InputError
from troubleshoot.lab.auditing.checkpoint import audit_checkpoint
from troubleshoot.lab.auditing.findings import Audit

_FORMATS = {"F64": "<d", "F32": "<f", "F16": "<e"}


def encode(dtype: str, values: list[float]) -> bytes:
    """Encode numbers as a safetensors dtype; bfloat16 is the upper half of float32."""
    if dtype == "BF16":
        return b"".join(struct.pack("<f", one)[2:] for one in values)
    return b"".join(struct.pack(_FORMATS[dtype], one) for one in values)


def write(file: Path, tensors: dict[str, tuple[str, list[float]]]) -> Path:
    """Write a safetensors file by its specification."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, (dtype, values) in tensors.items():
        raw = encode(dtype, values)
        header[name] = {"dtype": dtype, "shape": [len(values)], "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return file


def texts(result: Audit) -> list[tuple[str, str, str]]:
    return [(one.severity, one.module, one.text) for one in result.findings]


@pytest.mark.parametrize("dtype", ["F64", "F32", "F16", "BF16"])
def test_nan_and_inf_are_counted_in_every_dtype(tmp_path: Path, dtype: str) -> None:
    """Each broken tensor is named with what it holds; healthy ones, negative and subnormal values are not."""
    write(
        tmp_path / "model.safetensors",
        {
            "good": (dtype, [0.0, -0.0, 1.5, -3.0, 6e-8, 30000.0, -40000.0]),
            "bad": (dtype, [1.0, float("nan"), float("inf"), -float("inf"), float("nan"), 2.0]),
        },
    )
    result = audit_checkpoint(tmp_path)
    assert texts(result) == [("error", "bad", "holds 2 NaN and 2 inf of 6 values (model.safetensors)")]
    assert result.findings[0].issue == "checkpoint/nan-weights"


def test_values_that_float16_cannot_hold_are_a_warning(tmp_path: Path) -> None:
    """70000 in bfloat16 is infinite in float16; 65504 is not."""
    write(tmp_path / "model.safetensors", {"fits": ("F32", [65504.0, -65504.0]), "large": ("BF16", [1.0, -70144.0])})
    result = audit_checkpoint(tmp_path)
    warnings = [one for one in result.findings if one.check == "values"]
    assert [(one.severity, one.module) for one in warnings] == [("warning", "large")]
    assert "70144" in warnings[0].text


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["F64", "F32", "F16", "BF16"]),
    st.lists(st.floats(width=16) | st.sampled_from([1e5, 65504.0, 65520.0, 1e30, math.inf, math.nan]), min_size=1, max_size=40),
)
def test_what_is_found_is_what_is_stored(tmp_path_factory: pytest.TempPathFactory, dtype: str, values: list[float]) -> None:
    """Counts of NaN and inf, and the largest value, agree with the values read one by one."""
    if dtype == "F16":
        values = [one if not math.isfinite(one) or abs(one) < 65520 else 1.0 for one in values]
    file = write(tmp_path_factory.mktemp("shard") / "one.safetensors", {"t": (dtype, values)})
    nans, infinities = sum(map(math.isnan, values)), sum(map(math.isinf, values))
    found = [one.text for one in audit_checkpoint(file).findings if one.check == "values"]
    if nans or infinities:
        assert (f"{nans} NaN" in found[0]) == bool(nans)
        assert (f"{infinities} inf" in found[0]) == bool(infinities)
    else:
        stored = [
            struct.unpack("<f", struct.pack("<f", one)[:0] + b"\0\0" + encode("BF16", [one]))[0] if dtype == "BF16" else one
            for one in values
        ]
        assert bool(found) == any(abs(one) >= 65520 for one in stored)


def test_mixed_dtypes_and_config_are_told(tmp_path: Path) -> None:
    """The counts per dtype, and what config.json says against them."""
    write(tmp_path / "model-00001-of-00002.safetensors", {"a": ("BF16", [1.0] * 8), "b": ("F32", [1.0])})
    write(tmp_path / "model-00002-of-00002.safetensors", {"c": ("BF16", [1.0])})
    (tmp_path / "config.json").write_text('{"torch_dtype": "float32"}', encoding="utf-8")
    result = audit_checkpoint(tmp_path)
    assert result.dtype == "bfloat16"
    assert result.totals == (("bfloat16", "file", 2, 9), ("float32", "file", 1, 1))
    assert [one.severity for one in result.findings] == ["note", "note"]
    assert "bfloat16 2 tensors, float32 1 tensors" in result.findings[0].text
    assert result.findings[1].text == "config.json says float32, most weights are bfloat16"


def test_a_shard_that_the_index_names_and_is_missing_is_an_error(tmp_path: Path) -> None:
    """A model that is loaded without it has random or meta weights."""
    write(tmp_path / "model-00001-of-00002.safetensors", {"a": ("F16", [1.0])})
    weight_map = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")
    assert texts(audit_checkpoint(tmp_path))[0][:2] == ("error", "model-00002-of-00002.safetensors")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"1234",
        struct.pack("<Q", 10**12) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 4) + b"nope",
        b"version https://git-lfs",
    ],
)
def test_what_is_no_safetensors_file_is_refused_with_its_name(tmp_path: Path, content: bytes) -> None:
    """Empty, cut and foreign files (a Git LFS pointer) end in one clear error."""
    file = tmp_path / "model.safetensors"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"model\.safetensors"):
        audit_checkpoint(file)


@settings(max_examples=40, deadline=None)
@given(st.integers(min_value=0, max_value=200))
def test_a_file_cut_anywhere_is_refused(tmp_path_factory: pytest.TempPathFactory, length: int) -> None:
    """A download that broke off is never called healthy."""
    file = write(tmp_path_factory.mktemp("cut") / "model.safetensors", {"t": ("F32", [1.0] * 40)})
    whole = file.read_bytes()
    file.write_bytes(whole[: min(length, len(whole) - 1)])
    with pytest.raises(InputError):
        audit_checkpoint(file)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    """The error says what was looked for."""
    with pytest.raises(InputError, match="safetensors"):
        audit_checkpoint(tmp_path)


def test_a_file_with_no_tensors_has_no_findings(tmp_path: Path) -> None:
    """An empty shard is valid."""
    write(tmp_path / "model.safetensors", {})
    assert audit_checkpoint(tmp_path).findings == ()


def test_torch_is_not_imported_for_it(tmp_path: Path) -> None:
    """The audit of a checkpoint works where there is no torch."""
    import subprocess

    write(tmp_path / "model.safetensors", {"t": ("F16", [1.0, float("nan")])})
    code = (
        "import sys; sys.modules['torch'] = None; from troubleshoot.lab.auditing.checkpoint import audit_checkpoint; "
        f"print(audit_checkpoint({str(tmp_path)!r}).worst)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "error"
