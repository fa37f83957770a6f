"""Comparing an output with its reference, and rounding a program's weights and inputs to a dtype. Imports torch."""

from __future__ import annotations

from typing import Any

import torch


def relative_error(output: torch.Tensor, reference: torch.Tensor) -> float | None:
    """Return the Euclidean norm of the difference relative to the reference's, in float64; None where the output is not finite.

    Raises:
        ValueError: the shapes differ.
    """
    if output.shape != reference.shape:
        raise ValueError(f"the output has the shape {tuple(output.shape)}, the reference {tuple(reference.shape)}")
    found = output.detach().to("cpu").to(torch.float64)
    wanted = reference.detach().to("cpu").to(torch.float64)
    if not bool(torch.isfinite(found).all()):
        return None
    scale = float(torch.linalg.vector_norm(wanted))
    difference = float(torch.linalg.vector_norm(found - wanted))
    return difference / scale if scale else difference


def leak(output: torch.Tensor, changed: torch.Tensor) -> float | None:
    """Return how much all positions but the last differ between two runs that differ in the last position only; positions are dimension
    1.
    """
    return relative_error(changed[:, :-1], output[:, :-1])


def round_to(value: Any, dtype: torch.dtype) -> Any:
    """Return tensors, also in dicts, lists and tuples, rounded to a dtype and held as before; integers stay as they are."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype).to(value.dtype) if value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: round_to(one, dtype) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(round_to(one, dtype) for one in value)
    return value


def round_model(model: Any, dtype: torch.dtype) -> None:
    """Round the floating-point parameters and buffers of a model in place."""
    if not isinstance(model, torch.nn.Module):
        return
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            if tensor.is_floating_point():
                tensor.copy_(tensor.to(dtype))


def bytes_per_parameter(model: Any) -> float | None:
    """Return how many bytes one parameter takes on average, or None where there is no model or none with parameters."""
    if not isinstance(model, torch.nn.Module):
        return None
    tensors = {id(one): one for one in model.parameters()}.values()
    count = sum(one.numel() for one in tensors)
    return sum(one.numel() * one.element_size() for one in tensors) / count if count else None
