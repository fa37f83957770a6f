"""The same operation again in a wider dtype, and how far the result is from it."""

from __future__ import annotations

from typing import Any

import torch

HALF = (torch.float16, torch.bfloat16)
#: Values of a tensor that are compared; more are not needed to see a defect.
_MOST = 1 << 20


def widened(value: Any) -> Any:
    """Return arguments with half-precision tensors and dtypes in float32, those of float32 in float64."""
    if isinstance(value, torch.Tensor):
        if value.dtype in HALF:
            return value.to(torch.float32)
        return value.to(torch.float64) if value.dtype == torch.float32 else value
    if isinstance(value, torch.dtype):
        return torch.float32 if value in HALF else torch.float64 if value == torch.float32 else value
    if isinstance(value, (list, tuple)):
        return type(value)(widened(one) for one in value)
    if isinstance(value, dict):
        return {key: widened(one) for key, one in value.items()}
    return value


def widened_halves(value: Any) -> Any:
    """The same, where half precision meets float32: all in float32."""
    if isinstance(value, torch.Tensor):
        return value.to(torch.float32) if value.dtype in HALF else value
    if isinstance(value, torch.dtype):
        return torch.float32 if value in HALF else value
    if isinstance(value, (list, tuple)):
        return type(value)(widened_halves(one) for one in value)
    if isinstance(value, dict):
        return {key: widened_halves(one) for key, one in value.items()}
    return value


def again(func: Any, args: Any, kwargs: Any, saved: Any, *, half: bool) -> list[Any] | None:
    """Return the results of an operation done again in a wider dtype; None where that cannot be done.

    ``saved`` stands in for a first argument that the operation has overwritten.
    """
    widen = widened_halves if half else widened
    if saved is not None:
        args = (saved, *args[1:])
    try:
        with torch.no_grad():
            new = widen(tuple(args))
            if saved is not None and new[0] is saved:
                new = (saved.clone(), *new[1:])
            result = func(*new, **widen(dict(kwargs)))
            if result is None and saved is not None:
                result = new[0]
    except Exception:
        return None
    return tensors(result)


def tensors(value: Any) -> list[Any]:
    """Return the tensors of a result."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in tensors(part)]
    return []


def finite(tensor: Any) -> bool:
    """Tell whether all values are finite. One reduction in the usual case."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if tensor.element_size() < 2:
        tensor = tensor.to(torch.float32)
    wide = torch.float64 if tensor.dtype == torch.float64 else torch.float32
    total = tensor.sum(dtype=wide).item()
    if total - total == 0.0:
        return True
    return bool(torch.isfinite(tensor).all())


def bad_of(tensor: Any) -> str:
    """Return "nan", "inf" or ""."""
    if finite(tensor):
        return ""
    plain = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return "nan" if bool(torch.isnan(plain.to(torch.float32) if plain.element_size() < 2 else plain).any()) else "inf"


def flat(tensor: Any, most: int = _MOST) -> Any:
    """Return values in one dimension, of very many evenly spread ones."""
    one = tensor.reshape(-1)
    step = one.shape[0] // most
    return one[:: step + 1] if step else one


def zeroed(out: Any, exact: Any) -> tuple[float, float, float] | None:
    """Return the share, the part of the norm, and the largest of the values that are zero and should not be; None for none."""
    found, wanted = flat(out).to(torch.float64), flat(exact).to(torch.float64)
    if found.shape != wanted.shape:
        return None
    gone = (found == 0) & (wanted != 0) & torch.isfinite(wanted)
    if not bool(gone.any()):
        return None
    alive = wanted[wanted != 0]
    lost = wanted[gone]
    norm = float(torch.linalg.vector_norm(alive))
    return float(lost.numel() / alive.numel()), float(torch.linalg.vector_norm(lost)) / norm if norm else 1.0, float(lost.abs().max())


def ulp(value: float, dtype: str) -> float:
    """Return the distance between neighbours of a dtype at a value."""
    import math

    if not value or not math.isfinite(value):
        return 0.0
    bits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}.get(dtype, 24)
    return float(2.0 ** (math.frexp(abs(value))[1] - bits))
