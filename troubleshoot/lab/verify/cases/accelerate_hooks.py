"""Accelerate's own classes: models spread by hooks, mixed precision around forward, and modes that a machine does not have."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_INSTALLS = {"accelerate": "1.10.1"}
_TRAINER = {"transformers": "4.57.6", "accelerate": "1.10.1"}


@case(
    issues=("accelerate/dispatched-model-moved",),
    tier="upstream",
    devices=("cpu",),
    dtypes=("float32",),
    present={"accelerate": ""},
    installs=_INSTALLS,
    plays=("remove-move", "one-device"),
    seconds=5.0,
)
def offloaded_model_moved(setting: Setting) -> Program:
    """A model of which a layer lies on disk is moved as a whole."""
    import torch
    from accelerate import dispatch_model

    model: Any = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        if setting.faulty and setting.variant != "one-device":
            spread = {"0": "cpu", "1": "cpu", "2": "disk"}
            model = dispatch_model(model, spread, main_device="cpu", offload_dir=str(setting.folder / "offload"))
            if setting.shows("remove-move"):
                model.to("cpu")
        with torch.no_grad():
            return model(inputs["input"])

    return Program(model, {"input": torch.randn(2, 16)}, call)


@case(
    issues=("accelerate/method-outside-forward",),
    tier="upstream",
    devices=("cpu",),
    dtypes=("bfloat16",),
    present={"accelerate": ""},
    installs=_INSTALLS,
    plays=("enable-autocast", "call-forward", "cast-inputs"),
    seconds=5.0,
)
def method_beside_forward(setting: Setting) -> Program:
    """encode() of an unwrapped model is called with half-precision features, beside its prepared forward."""
    import torch
    from accelerate import Accelerator

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.proj = torch.nn.Linear(16, 8)

        def encode(self, x: torch.Tensor) -> Any:
            return self.proj(x)

        def forward(self, x: torch.Tensor) -> Any:
            return self.encode(x)

    model = Encoder()
    x = torch.randn(4, 16)
    if setting.faulty:
        x = x.to(setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        x = inputs["x"]
        if not setting.faulty:
            return model(x)
        accelerator = Accelerator(cpu=True, mixed_precision="bf16")
        model = accelerator.prepare(model)
        if setting.variant == "call-forward":
            return model(x)
        if setting.variant == "cast-inputs":
            x = x.to(next(model.parameters()).dtype)
        if setting.variant == "enable-autocast":
            with accelerator.autocast():
                return accelerator.unwrap_model(model).encode(x)
        return accelerator.unwrap_model(model).encode(x)

    return Program(model, {"x": x}, call)


def _on_cpu() -> dict[str, bool]:
    """The argument that keeps the Trainer on the CPU; it was renamed in 4.35."""
    from dataclasses import fields

    from transformers import TrainingArguments

    return {"use_cpu" if "use_cpu" in {one.name for one in fields(TrainingArguments)} else "no_cuda": True}


def _trained(setting: Setting, prepare: Any) -> Program:
    """One step of a linear model, once ``prepare`` has set the training up."""
    import torch

    model = torch.nn.Linear(8, 4)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        if setting.faulty:
            prepare()
        return model(inputs["x"])

    return Program(model, {"x": torch.randn(2, 8)}, call)


@case(
    issues=("amp/config",),
    tier="upstream",
    dtypes=("float32",),
    devices=("cpu",),
    present={"transformers": "", "accelerate": ""},
    installs=_TRAINER,
    plays=("one-mode", "off"),
    unplayable={"upgrade-unsloth": "is about unsloth, which this program does not use"},
    seconds=7.0,
)
def trainer_fp16_and_bf16(setting: Setting) -> Program:
    """The Trainer's arguments ask for fp16 and bf16 together."""

    def prepare() -> None:
        from transformers import TrainingArguments

        more: dict[str, Any] = {"off": {}, "one-mode": {"bf16": True}}.get(setting.variant or "", {"fp16": True, "bf16": True})
        TrainingArguments(output_dir=str(setting.folder / "run"), report_to=[], **_on_cpu(), **more)

    return _trained(setting, prepare)


@case(
    issues=("hardware/bf16-setup-refused",),
    tier="upstream",
    cause="hardware/invisible",
    dtypes=("float32",),
    devices=("cpu",),
    present={"transformers": "", "accelerate": ""},
    installs=_TRAINER,
    plays=("fp32-instead",),
    seconds=7.0,
)
def trainer_bf16_without_gpu(setting: Setting) -> Program:
    """The Trainer's arguments ask for bf16 where torch sees no GPU."""

    def prepare() -> None:
        from transformers import TrainingArguments

        bf16 = setting.shows("fp32-instead")
        TrainingArguments(output_dir=str(setting.folder / "run"), bf16=bf16, tf32=False, report_to=[])

    return _trained(setting, prepare)
