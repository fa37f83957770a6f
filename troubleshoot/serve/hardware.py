"""Which device has which dtype, as data."""

from __future__ import annotations

from typing import Any

from troubleshoot.reading.environment import gpus
from troubleshoot.reading.environment.dtype_support import support
from troubleshoot.reading.environment.hardware import accelerator_from_text
from troubleshoot.reading.environment.machine import Accelerator

_DTYPES = ("float16", "bfloat16", "float8_e4m3fn", "float4_e2m1fn_x2", "tf32", "int8", "float64")
_OPERATIONS = ("matmul", "convolution")


def device_table() -> list[dict[str, Any]]:
    """Return one object per generation of accelerators, and one for the CPU."""
    found = []
    for kind, capability, architecture, names in gpus.GENERATIONS:
        device = Accelerator(architecture, kind, "file", capability, architecture)
        found.append({**_described(device), "names": [name for name, _ in names]})
    return [
        *found,
        {
            "name": "cpu",
            "kind": "cpu",
            "capability": None,
            "architecture": None,
            "memory_gib": None,
            "support": _support("cpu"),
            "names": ["cpu"],
        },
    ]


def support_of(name: str) -> dict[str, Any]:
    """Return what one device supports: a GPU by name, a compute capability, or ``cpu``.

    Raises:
        InputError: no device is known by this name.
    """
    device = accelerator_from_text(name)
    if device is None:
        return {"name": "cpu", "kind": "cpu", "capability": None, "architecture": None, "memory_gib": None, "support": _support("cpu")}
    return _described(device)


def _described(device: Accelerator) -> dict[str, Any]:
    return {
        "name": device.name,
        "kind": device.kind,
        "capability": ".".join(map(str, device.capability)) if device.capability else None,
        "architecture": device.architecture,
        "memory_gib": device.memory,
        "support": _support(device),
    }


def _support(device: Accelerator | str) -> dict[str, dict[str, Any]]:
    return {
        dtype: {operation: _answer(device, dtype, operation) for operation in _OPERATIONS}
        for dtype in _DTYPES
    }  # fmt: skip


def _answer(device: Accelerator | str, dtype: str, operation: str) -> dict[str, Any]:
    answer = support(device, dtype, operation)
    return {"state": answer.state, "note": answer.note, "caveat": answer.caveat, "source": answer.source}
