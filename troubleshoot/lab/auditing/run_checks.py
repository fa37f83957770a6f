"""Checks of what runs the model: the device's support of its dtype, optimizer and GradScaler."""

from __future__ import annotations

from collections.abc import Iterator

from troubleshoot.lab.auditing.context import Context
from troubleshoot.lab.auditing.findings import Finding
from troubleshoot.reading.environment.dtype_support import support

#: An Adam step moves a weight by about the learning rate; bfloat16 weights around 0.02 are 2**-13 (1.2e-4) apart; half of it is lost.
_BF16_STEP = 6e-5

#: Half of float16's smallest subnormal: what is below rounds to zero.
_ZERO = 2.0**-25


def hardware(context: Context) -> Iterator[Finding]:
    """How the device computes in the model's dtype, per kind of operation that the model has."""
    dtype, device = context.dtype, context.accelerator
    if dtype is None or dtype in ("float32", "float64") or device is None:
        return
    name = device if isinstance(device, str) else device.name
    cpu = name == "cpu"
    kinds = {"matmul": "Linear", "convolution": "Conv"}
    for operation, word in kinds.items():
        if not any(word in part.cls and part.weights for part in context.census.parts):
            continue
        answer = support(device, dtype, operation)
        if answer.state in ("emulated", "slow", "none"):
            issue = "torch/half-on-cpu" if cpu and dtype == "float16" else None
            if not cpu:
                issue = "hardware/bf16-below-ampere" if dtype == "bfloat16" else "hardware/fp16-slow"
            text = f"{dtype} {operation} is {answer.state} on {name}: {answer.note}"
            other = "float32" if cpu or dtype == "float16" else "float16 or float32"
            severity = "error" if answer.state == "none" else "note" if cpu and dtype == "bfloat16" else "warning"
            yield Finding("hardware", severity, "", text, issue, f"use {other}")  # type: ignore[arg-type]
        elif answer.caveat:
            yield Finding("hardware", "warning", "", f"{name}: {answer.caveat}", "hardware/gtx16-black-images", "use float32")


def optimizer(context: Context) -> Iterator[Finding]:
    """Epsilon, learning rate and parameters of an optimizer against the dtype of what it trains."""
    if context.optimizer is None:
        return
    known = {id(one.tensor) for part in context.census.parts for one in part.of("parameter")}
    name = type(context.optimizer).__name__
    for index, group in enumerate(context.optimizer.param_groups):
        dtypes = {str(one.dtype).removeprefix("torch.") for one in group["params"]}
        place = f"{name} group {index}" if len(context.optimizer.param_groups) > 1 else name
        epsilon, rate = group.get("eps"), group.get("lr")
        if "float16" in dtypes and isinstance(epsilon, float) and 0 < epsilon < _ZERO:
            text = f"{place}: eps={epsilon:g} is zero in float16, so a zero gradient gives 0/0"
            yield Finding("optimizer", "error", "", text, "numerics/underflow-epsilon", "float32 weights with autocast, or eps=1e-4")
        if "bfloat16" in dtypes and "Adam" in name and isinstance(rate, float) and 0 < rate < _BF16_STEP:
            text = f"{place}: steps of lr={rate:g} are rounded away in bfloat16 weights"
            fix = "keep the weights in float32 and use autocast"
            yield Finding("optimizer", "warning", "", text, "numerics/bf16-weight-updates", fix)
        if len(dtypes) > 1 and (group.get("fused") or group.get("foreach")):
            text = f"{place} holds {', '.join(sorted(dtypes))} parameters in one group"
            yield Finding("optimizer", "warning", "", text, "distributed/optimizer-mixed-dtype", "one parameter group per dtype")
        foreign = sum(id(one) not in known for one in group["params"])
        if foreign:
            text = f"{place} holds {foreign} tensors that are not the model's: made before it was converted or wrapped, they train nothing"
            yield Finding("optimizer", "warning", "", text, None, "build the optimizer after model.to(...)")


def scaler(context: Context) -> Iterator[Finding]:
    """GradScaler against the dtype of what is trained."""
    trained = {context.dtype_of(one) for part in context.census.parts for one in part.weights if one.trained}
    enabled = context.scaler is not None and bool(context.scaler.is_enabled())
    if enabled and "float16" in trained:
        text = "GradScaler with float16 parameters: unscale_ raises, it wants float32 weights"
        fix = "for one in model.parameters():\n    if one.requires_grad: one.data = one.data.float()"
        yield Finding("scaler", "error", "", text, "amp/unscale-fp16-grads", fix)
    if enabled and trained and trained <= {"bfloat16"}:
        text = "GradScaler with bfloat16 parameters: bfloat16 has float32's range and needs no loss scale"
        yield Finding("scaler", "warning", "", text, "amp/scaler-with-bf16", "GradScaler(enabled=False)")
    if context.optimizer is not None and not enabled and "float16" in trained:
        text = "float16 parameters are trained without a loss scale: small gradients vanish, updates round"
        yield Finding("scaler", "warning", "", text, "numerics/nan-loss", "float32 weights with autocast and GradScaler, or bfloat16")
