"""Optimizers whose parameters, gradients and states do not match, and training that leaves the range of its dtype."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


@case(
    issues=("distributed/fused-adam-scalar-type",),
    devices=("cpu",),
    dtypes=("bfloat16",),
    torch=">=2.4",
    plays=("optimizer-last", "no-fused"),
)
def fused_adam_after_cast(setting: Setting) -> Program:
    """The model is cast after fused AdamW has made its states in float32."""
    import torch

    def step(model: Any, optimizer: Any, x: Any) -> None:
        optimizer.zero_grad()
        model(x.to(model.weight.dtype)).float().pow(2).mean().backward()
        optimizer.step()

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        model.weight.data = inputs["weight"].clone()
        if setting.variant == "optimizer-last":
            model.to(setting.dtype)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=setting.variant != "no-fused", foreach=False)
        step(model, optimizer, inputs["x"])
        if setting.shows("optimizer-last"):
            model.to(setting.dtype)
        step(model, optimizer, inputs["x"])
        return model.weight.detach().clone()

    inputs = {"weight": torch.randn(4, 8), "x": torch.randn(4, 8)}
    return Program(torch.nn.Linear(8, 4, bias=False), inputs, call)


@case(
    issues=("distributed/optimizer-mixed-dtype",),
    cause="distributed/mixed-flatten",
    devices=("cpu",),
    plays=("fp32-parameters",),
    unplayable={"optimizer-last": "the gradient is set by hand here", "no-fused": "the gradient is refused before the optimizer sees it"},
)
def gradient_of_another_dtype(setting: Setting) -> Program:
    """A float32 gradient, summed up by hand, is given to a half-precision parameter."""
    import torch

    dtype = torch.float32 if setting.variant == "fp32-parameters" else setting.dtype
    model = torch.nn.Linear(8, 4, bias=False).to(dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        summed = inputs["gradient"]
        model.weight.grad = summed
        optimizer.step()
        return model.weight.detach().clone()

    return Program(model, {"gradient": torch.randn(4, 8)}, call)


def _deep(setting: Setting, dtype: Any) -> Any:
    """A head whose products pass 65504 in a forward pass, as those of models trained in bfloat16 do."""
    import torch

    model: Any = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.SiLU(), torch.nn.Linear(32, 4))
    with torch.no_grad():
        model[0].weight.mul_(3000.0)
        model[2].weight.mul_(600.0)
    return model.to(setting.device, dtype)


@case(
    issues=("numerics/nan-loss",),
    cause="numerics/fp16-overflow",
    plays=("bf16", "fp32", "fp32-part"),
)
def loss_of_overflowing_logits(setting: Setting) -> Program:
    """The logits overflow in float16 and the loss is NaN: the training loop stops."""
    import torch

    labels = torch.tensor([0, 1, 2, 3])
    dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}.get(setting.variant or "", setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        logits = model(inputs["x"].to(dtype)) * 0.001
        if setting.variant == "fp32-part":
            logits = torch.nn.functional.linear(model[:2](inputs["x"].to(dtype)).float(), model[2].weight.float(), model[2].bias.float())
            logits = logits * 0.001
        loss = torch.nn.functional.cross_entropy(logits.float(), inputs["labels"])
        if not torch.isfinite(loss):
            raise FloatingPointError(f"Loss is {loss.item()}, stopping training")
        return logits

    inputs = {"x": torch.randn(4, 16).to(setting.device), "labels": labels.to(setting.device)}
    return Program(_deep(setting, dtype), inputs, call)


@case(
    issues=("numerics/benign-overflow-skip",),
    cause="numerics/benign-overflow-skip",
    dtypes=("float32",),
    torch=">=2.3",
    devices=("cpu",),
    plays=("step-only-then", "ignore", "bf16", "lower-initial-scale"),
    symptom="UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should "
    "call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`. GradScaler skipped the first step.",
)
def scheduler_after_skipped_step(setting: Setting) -> Program:
    """GradScaler skips the first step because its scale is too high, and the scheduler complains."""
    import warnings

    import torch

    model = torch.nn.Linear(8, 4)
    seen: list[str] = []

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        scale = 2.0**10 if setting.variant == "lower-initial-scale" else 2.0**30
        scaler = torch.amp.GradScaler("cpu", init_scale=scale, enabled=setting.faulty and setting.variant != "bf16")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0, total_iters=1)
        x = inputs["x"]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            done = 0
            while done < 2:
                optimizer.zero_grad()
                # Backward passes through float16, whose largest number is 65504.
                half = model(x).half() if setting.faulty and setting.variant != "bf16" else model(x)
                scaler.scale(half.float().pow(2).mean()).backward()
                before = scaler.get_scale()
                scaler.step(optimizer)
                scaler.update()
                stepped = scaler.get_scale() >= before
                if stepped or setting.variant != "step-only-then":
                    scheduler.step()
                done += stepped
        seen.extend(str(one.message) for one in caught if "before `optimizer.step()`" in str(one.message))
        return model.weight.detach().clone()

    def check(_model: Any, _output: Any) -> str | None:
        return seen[0].splitlines()[0] if seen and setting.variant != "ignore" else None

    return Program(model, {"x": torch.randn(4, 8)}, call, check)


@case(
    issues=("amp/fp16-needs-gpu",),
    cause="amp/config",
    devices=("cpu",),
    dtypes=("float32",),
    torch=">=2.3",
    plays=("off", "bf16-cpu"),
    symptom="UserWarning: torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
)
def grad_scaler_without_cuda(setting: Setting) -> Program:
    """A training script for fp16 makes a GradScaler for CUDA where there is none."""
    import warnings

    import torch

    said: list[str] = []

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scaler = torch.amp.GradScaler("cuda", enabled=setting.shows("off", "bf16-cpu"))
        said.extend(str(one.message) for one in caught if "CUDA is not available" in str(one.message))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=setting.variant == "bf16-cpu"):
            loss = model(inputs["x"]).float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        return model.weight.detach().clone()

    def check(_model: Any, _output: Any) -> str | None:
        return said[0] if said else None

    return Program(torch.nn.Linear(8, 4), {"x": torch.randn(4, 8)}, call, check)
