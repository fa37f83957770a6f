"""GradScaler used wrongly. It exists for the CPU since torch 2.3, so that its checks can be seen there too."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


def _step(setting: Setting, model: Any, inputs: dict[str, Any], *, twice: bool = False, clip: bool = False, empty: bool = False) -> Any:
    """One step of scaled training; returns the weights."""
    import torch

    scaler = torch.amp.GradScaler(setting.device.type, init_scale=1024.0)
    wanted = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.SGD(wanted, lr=0.01)
    x = inputs["x"].to(wanted[0].dtype)
    loss = scaler.scale(model(x).float().pow(2).mean())
    if not empty:
        loss.backward()
    if clip or twice:
        scaler.unscale_(optimizer)
    if twice:
        scaler.unscale_(optimizer)
    if clip:
        torch.nn.utils.clip_grad_norm_(wanted, 10.0)
    if not (empty and not setting.faulty):
        scaler.step(optimizer)
        scaler.update()
    return model.weight.detach().clone()


def _model(setting: Setting, dtype: Any = None) -> Any:
    import torch

    return torch.nn.Linear(8, 4).to(setting.device, dtype or torch.float32)


@case(issues=("amp/unscale-fp16-grads",), torch=">=2.3", plays=("trainable-fp32", "load-fp32"))
def unscale_float16_gradients(setting: Setting) -> Program:
    """GradScaler is given float16 parameters."""
    import torch

    dtype = setting.dtype if setting.shows("trainable-fp32", "load-fp32") else torch.float32
    model = _model(setting, dtype)
    return Program(model, {"x": torch.randn(4, 8).to(setting.device)}, lambda model, inputs: _step(setting, model, inputs, clip=True))


@case(issues=("amp/scaler-order",), torch=">=2.3", dtypes=("float32",), plays=("once", "framework-clips"))
def unscale_twice(setting: Setting) -> Program:
    """Gradients are unscaled twice before the step, by the framework and by hand."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        return _step(setting, model, inputs, twice=setting.shows("once", "framework-clips"), clip=not setting.faulty)

    return Program(_model(setting), {"x": torch.randn(4, 8).to(setting.device)}, call)


@case(issues=("amp/no-inf-checks",), torch=">=2.3", dtypes=("float32",), plays=("skip-empty", "make-trainable"))
def step_without_gradients(setting: Setting) -> Program:
    """scaler.step meets an optimizer none of whose parameters has a gradient."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        return _step(setting, model, inputs, empty=setting.shows("skip-empty", "make-trainable"))

    return Program(_model(setting), {"x": torch.randn(4, 8).to(setting.device)}, call)
