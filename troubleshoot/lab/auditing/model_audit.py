"""``audit()``: the census, then every check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.lab.auditing import device_checks, dtype_checks, input_checks, run_checks
from troubleshoot.lab.auditing.audit_text import tree_of
from troubleshoot.lab.auditing.census import Census, take
from troubleshoot.lab.auditing.context import Context
from troubleshoot.lab.auditing.findings import Audit, Finding, ordered
from troubleshoot.reading.environment.machine import Accelerator

Check = Callable[[Context], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    dtype_checks.islands,
    dtype_checks.guards,
    dtype_checks.adapters,
    dtype_checks.quantized,
    dtype_checks.constants,
    device_checks.left_behind,
    device_checks.forgotten_constants,
    input_checks.inputs,
    run_checks.hardware,
    run_checks.optimizer,
    run_checks.scaler,
)


def audit(
    model: Any,
    inputs: Any = None,
    *,
    optimizer: Any = None,
    scaler: Any = None,
    dtype: Any = None,
    gpu: str | None = None,
) -> Audit:
    """Check a ``torch.nn.Module`` for what will go wrong with dtypes and devices, before the first step. Nothing is run or changed.

    ``inputs``: what the model will be called with, a mapping of names to tensors, a tensor, or a list of them. ``optimizer``,
    ``scaler``: those of the training. ``dtype`` ("float16", ``torch.bfloat16``): the dtype that the model is about to be cast to.
    ``gpu``: where it will run ("T4", "cpu"); by default where it is. A model on the meta device of any size will do.

    Raises:
        InputError: ``model`` is no module, or ``dtype`` or ``gpu`` is unknown.
    """
    import torch

    if not isinstance(model, torch.nn.Module):
        raise InputError(f"audit() takes a torch.nn.Module, not {type(model).__name__}")
    census = take(model)
    context = Context(census, inputs, optimizer, scaler, _dtype(dtype), _accelerator(gpu, census))
    findings: list[Finding] = []
    errors: list[str] = []
    for check in CHECKS:
        try:
            findings += check(context)
        except Exception as error:
            # Modules may be anything; what one check stumbles over must not hide what the others find.
            errors.append(f"the check {check.__name__} failed: {type(error).__name__}: {error}")
    return Audit(
        title=type(model).__name__,
        dtype=context.dtype,
        device=census.device,
        totals=census.totals,
        findings=ordered(findings),
        tree=tree_of(census),
        errors=tuple(errors),
    )


def _dtype(dtype: Any) -> str | None:
    if dtype is None:
        return None
    from troubleshoot.basics.dtypes import parse_dtype

    name = parse_dtype(str(dtype))
    if name not in ("float16", "bfloat16", "float32", "float64"):
        raise InputError(f"dtype {dtype!r}: choose float16, bfloat16, float32 or float64")
    return name


def _accelerator(gpu: str | None, census: Census) -> Accelerator | str | None:
    if gpu is not None:
        if gpu.strip().lower() in ("cpu", "none"):
            return "cpu"
        from troubleshoot.reading.environment.hardware import accelerator_from_text

        return accelerator_from_text(gpu)
    device = census.device or "meta"
    if device == "cpu":
        return "cpu"
    if device.startswith("cuda"):
        import torch

        if torch.version.cuda and torch.cuda.is_available():
            properties = torch.cuda.get_device_properties(device)
            return Accelerator(properties.name, "cuda", "local", (properties.major, properties.minor))
    return None
