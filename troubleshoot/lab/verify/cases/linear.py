"""Linear layers that meet two dtypes, by each of the causes."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_ISSUE = ("torch/linear-dtype",)


@case(issues=_ISSUE, cause="dtype-mismatch/input-vs-weight")
def linear_input_dtype(setting: Setting) -> Program:
    """A float32 batch reaches half-precision linear layers."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 16)).to(setting.device, setting.dtype)
    batch = torch.randn(8, 64).to(setting.device)
    return Program(model, {"input": batch if setting.faulty else batch.to(setting.dtype)})


@case(issues=_ISSUE, cause="dtype-mismatch/cast-in-forward", plays=("cast-activations",))
def linear_after_float32_step(setting: Setting) -> Program:
    """A normalisation written out in float32 hands float32 to a half-precision projection."""
    import torch

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(32, 32)
            self.proj = torch.nn.Linear(32, 16)

        def forward(self, hidden_states: torch.Tensor) -> Any:
            hidden_states = self.inner(hidden_states).float()
            hidden_states = hidden_states * torch.rsqrt(hidden_states.pow(2).mean(-1, keepdim=True) + 1e-6)
            if not setting.shows("cast-activations"):
                hidden_states = hidden_states.to(self.proj.weight.dtype)
            return self.proj(hidden_states)

    model = Block().to(setting.device, setting.dtype)
    return Program(model, {"hidden_states": torch.randn(4, 32).to(setting.device, setting.dtype)})


@case(issues=_ISSUE, cause="dtype-mismatch/adapter-vs-base")
def linear_lora_by_hand(setting: Setting) -> Program:
    """A float32 LoRA adapter sits on a half-precision layer; its B is drawn from a normal distribution, as after training."""
    import torch

    class LoraLinear(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = torch.nn.Linear(64, 64)
            self.lora_A = torch.nn.Linear(64, 8, bias=False)
            self.lora_B = torch.nn.Linear(8, 64, bias=False)
            torch.nn.init.normal_(self.lora_B.weight, std=0.05)

        def forward(self, x: torch.Tensor) -> Any:
            return self.base(x) + 2.0 * self.lora_B(self.lora_A(x))

    model = LoraLinear().to(setting.device)
    model.base.to(setting.dtype)
    if not setting.faulty:
        model.to(setting.dtype)
    return Program(model, {"x": torch.randn(4, 64).to(setting.device, setting.dtype)})


@case(issues=_ISSUE, cause="dtype-mismatch/fp32-island")
def linear_fp32_island(setting: Setting) -> Program:
    """One head stayed in float32 when the model was cast."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).to(setting.device, setting.dtype)
    if setting.faulty:
        model[2].float()
    return Program(model, {"input": torch.randn(4, 64).to(setting.device, setting.dtype)})


@case(issues=_ISSUE, cause="dtype-mismatch/autocast-boundary", plays=("enable-autocast",), dtypes=("bfloat16",))
def linear_behind_autocast(setting: Setting) -> Program:
    """Features computed under autocast reach a float32 head outside of it."""
    import torch

    backbone = torch.nn.Linear(32, 32).to(setting.device)
    model = torch.nn.Linear(32, 8).to(setting.device)
    model.add_module("backbone", backbone)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        mixed = setting.name != "float32"
        with torch.autocast(setting.device.type, dtype=torch.bfloat16, enabled=mixed):
            features = model.backbone(inputs["x"])
        inside = mixed and not setting.shows("enable-autocast")
        with torch.autocast(setting.device.type, dtype=torch.bfloat16, enabled=inside):
            return torch.nn.functional.linear(features, model.weight, model.bias)

    return Program(model, {"x": torch.randn(4, 32).to(setting.device)}, call)


@case(issues=_ISSUE, cause="dtype-mismatch/double", dtypes=("float32",), plays=("cast-float32",), present={"numpy": ""})
def linear_double_from_numpy(setting: Setting) -> Program:
    """A NumPy array brings float64 into a float32 layer."""
    import numpy
    import torch

    array = numpy.random.default_rng(0).normal(size=(4, 16))
    x = torch.from_numpy(array)
    if not setting.shows("cast-float32"):
        x = x.to(setting.dtype)
    return Program(torch.nn.Linear(16, 4).to(setting.device, setting.dtype), {"input": x.to(setting.device)})


@case(issues=_ISSUE, cause="dtype-mismatch/integer-expected", dtypes=("float32",), plays=("cast-float",))
def linear_integer_input(setting: Setting) -> Program:
    """Integer features reach a linear layer."""
    import torch

    x = torch.randint(0, 10, (4, 16))
    if not setting.shows("cast-float"):
        x = x.to(setting.dtype)
    return Program(torch.nn.Linear(16, 4).to(setting.device, setting.dtype), {"input": x.to(setting.device)})
