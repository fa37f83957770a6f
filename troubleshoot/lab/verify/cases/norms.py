"""Normalisation layers whose input and parameters differ in dtype."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_NORM = ("torch/layer-norm-mixed-dtype",)


@case(issues=_NORM, cause="dtype-mismatch/input-vs-weight")
def layer_norm_input_dtype(setting: Setting) -> Program:
    """A float32 batch reaches a half-precision LayerNorm."""
    import torch

    model = torch.nn.Sequential(torch.nn.LayerNorm(32), torch.nn.Linear(32, 8)).to(setting.device, setting.dtype)
    x = torch.randn(4, 32).to(setting.device)
    return Program(model, {"input": x if setting.faulty else x.to(setting.dtype)})


@case(issues=_NORM, cause="dtype-mismatch/cast-in-forward", plays=("cast-activations",), dtypes=("bfloat16",))
def group_norm_after_float32_step(setting: Setting) -> Program:
    """A sum in float32 hands float32 to a half-precision GroupNorm."""
    import torch

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.GroupNorm(2, 8)
            self.register_buffer("scale", torch.ones(1))

        def forward(self, x: torch.Tensor) -> Any:
            hidden = x.float() * 2.0
            if not setting.shows("cast-activations"):
                hidden = hidden.to(self.norm.weight.dtype)
            return self.norm(hidden)

    return Program(Block().to(setting.device, setting.dtype), {"x": torch.randn(2, 8, 5).to(setting.device, setting.dtype)})


@case(issues=_NORM, cause="dtype-mismatch/fp32-island")
def layer_norm_fp32_embeddings(setting: Setting) -> Program:
    """Position embeddings that stayed in float32 lift the sum before a half-precision LayerNorm."""
    import torch

    class Embeddings(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = torch.nn.Embedding(32, 16)
            self.positions = torch.nn.Parameter(torch.randn(6, 16))
            self.norm = torch.nn.LayerNorm(16)

        def forward(self, ids: torch.Tensor) -> Any:
            return self.norm(self.tokens(ids) + self.positions)

    model = Embeddings().to(setting.device, setting.dtype)
    if setting.faulty:
        model.positions.data = model.positions.data.float()
    return Program(model, {"ids": torch.randint(0, 32, (2, 6)).to(setting.device)})


@case(issues=("torch/fp32-norm-guard",), plays=("keep-module-fp32", "enable-autocast"))
def fp32_norm_guard(setting: Setting) -> Program:
    """A LayerNorm that computes in float32 lost its float32 parameters to half()."""
    import torch

    class LayerNorm(torch.nn.LayerNorm):
        def forward(self, x: torch.Tensor) -> Any:
            return super().forward(x.float()).type(x.dtype)

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln = LayerNorm(32)
            self.fc = torch.nn.Linear(32, 32)

        def forward(self, x: torch.Tensor) -> Any:
            return x + self.fc(self.ln(x))

    # Under autocast the weights stay in float32; wrapping the cast model in it repairs nothing on the CPU.
    mixed = setting.variant == "enable-autocast"
    model = Block().to(setting.device, torch.float32 if mixed else setting.dtype)
    if not setting.shows("keep-module-fp32"):
        for module in model.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.float()

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.autocast(setting.device.type, dtype=setting.dtype, enabled=mixed):
            return model(inputs["x"])

    return Program(model, {"x": torch.randn(4, 32).to(setting.device, torch.float32 if mixed else setting.dtype)}, call)
