"""Tensors in nested arguments, and the two small measurements of one: its extremes and a sample of it.

Nothing here waits for a device: results stay where the tensor is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Values of a tensor that are looked at for underflow.
SAMPLE = 1024

#: Tensors of one call that are looked at: caches of a decoder may hold hundreds.
_MOST = 16
_DEPTH = 4


def tensors_in(value: Any, most: int = _MOST) -> list[Any]:
    """Return the floating-point tensors in nested lists, tuples, dicts and model outputs; at most ``most``, four levels deep."""
    import torch

    found: list[Any] = []
    _collect(value, 0, most, found, torch.Tensor, torch.nn.Parameter)
    return found


def _collect(value: Any, depth: int, most: int, found: list[Any], tensor: Any, parameter: Any) -> None:
    # Called for every argument of every module: exact types first, isinstance (slow for tensors) last.
    kind = type(value)
    if kind is tensor:
        if value.is_floating_point():
            found.append(value)
    elif value is None or kind is bool or kind is int or kind is parameter or depth >= _DEPTH:
        return
    elif kind is tuple or kind is list:
        for one in value:
            if len(found) >= most:
                return
            _collect(one, depth + 1, most, found, tensor, parameter)
    elif isinstance(value, Mapping):
        for one in value.values():
            if len(found) >= most:
                return
            _collect(one, depth + 1, most, found, tensor, parameter)
    elif isinstance(value, list | tuple):
        _collect(tuple(value), depth, most, found, tensor, parameter)
    elif isinstance(value, tensor) and value.is_floating_point() and not isinstance(value, parameter):
        found.append(value)


def measurable(tensor: Any) -> Any:
    """Return the plain tensor to measure, or None: a DTensor's local part; nothing for fake, meta, sparse, 8-bit and empty ones."""
    import torch

    local = getattr(tensor, "_local_tensor", None) if type(tensor).__name__ == "DTensor" else tensor
    if type(local) is not torch.Tensor:
        return None
    if local.device.type == "meta" or local.layout != torch.strided or not local.numel() or local.element_size() < 2:
        return None
    return local.detach()


def version_of(tensor: Any) -> int:
    """Return how often the tensor was changed in place; inference tensors do not count."""
    return 0 if tensor.is_inference() else int(tensor._version)


def sample_of(tensor: Any) -> Any:
    """Return up to ``SAMPLE`` values, evenly spread, as a tensor of its own. Their number is a power of four, so that samples stack."""
    if not tensor.is_contiguous():
        # Another order of the dimensions is as good; a tensor with gaps is sampled from the middle of its first dimension.
        order = sorted(range(tensor.dim()), key=lambda axis: -tensor.stride(axis))
        tensor = tensor.permute(order)
        while not tensor.is_contiguous() and tensor.dim() > 1 and tensor.numel() > 4 * SAMPLE:
            tensor = tensor.select(0, tensor.shape[0] // 2)
    flat = tensor.reshape(-1)
    size = SAMPLE
    while size > flat.shape[0]:
        size //= 4
    return flat[:: flat.shape[0] // size][:size].clone()
