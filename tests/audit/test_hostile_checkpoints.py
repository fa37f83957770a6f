"""Checkpoints come from strangers: whatever is in them, an audit ends soon, with a clear error, and steers no terminal."""

from __future__ import annotations

import json
import os
import struct
import time
from pathlib import Path

import pytest

from troubleshoot.basics.errors import InputError
from troubleshoot.lab.auditing.checkpoint import audit_checkpoint


def write(folder: Path, header: str | dict[str, object], data: bytes = b"") -> Path:
    """Write a shard with this header."""
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    return folder


def tensor(dtype: str, shape: list[int], start: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    name = "a\x1b[31mred\u202e\nb"
    write(tmp_path, {name: tensor("F16", [1], 0, 2), "b": tensor("F8\x1b]0;x\x07", [1], 2, 4)}, b"\x00\x7c\x00\x00")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "\x1b[2J.safetensors"}}))
    shown = str(audit_checkpoint(tmp_path))
    assert "red" in shown
    assert not {"\x1b", "\u202e", "\x07"} & set(shown)
    assert all(not line.startswith("b ") for line in shown.split("\n"))


def test_tensors_that_lie_over_each_other_are_refused(tmp_path: Path) -> None:
    """Each of them would be read for itself: 330 KB took eleven seconds."""
    data = b"\x00\x7c" * 50_000
    write(tmp_path, {f"t{index}": tensor("F16", [50_000], 0, 100_000) for index in range(2_000)}, data)
    started = time.process_time()
    with pytest.raises(InputError, match="cut off or damaged"):
        audit_checkpoint(tmp_path)
    assert time.process_time() - started < 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_no_shard(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.safetensors")
    with pytest.raises(InputError, match="no safetensors files"):
        audit_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "header",
    [
        "[" * 100_000,
        '{"a": {"dtype": "F16", "shape": [1e999], "data_offsets": [0, 0]}}',
        {"a": tensor("I64", [10**4000, 10**4000], 0, 0)},
        {"a": tensor("I64", [10**18, 10**18], 0, 0)},
        {"a": tensor("F16", [-1, -1], 0, 2)},
    ],
)
def test_headers_that_no_file_has_are_clear_errors(tmp_path: Path, header: str | dict[str, object]) -> None:
    with pytest.raises(InputError):
        audit_checkpoint(write(tmp_path, header, b"\0\0"))


@pytest.mark.parametrize("index", ["[" * 100_000, '{"weight_map": 1}'])
def test_an_index_that_is_none_is_a_clear_error(tmp_path: Path, index: str) -> None:
    write(tmp_path, {"a": tensor("F16", [1], 0, 2)}, b"\0\0")
    (tmp_path / "model.safetensors.index.json").write_text(index)
    with pytest.raises(InputError, match="not an index"):
        audit_checkpoint(tmp_path)


def test_a_configuration_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"a": tensor("F16", [1], 0, 2)}, b"\0\0")
    (tmp_path / "config.json").write_text("[" * 100_000)
    (tmp_path / "model.safetensors.index.json").write_text('{"weight_map": {"a": 1, "b": "x"}}')
    (found,) = audit_checkpoint(tmp_path).findings
    assert [found.module, *found.others] == ["1", "x"]
