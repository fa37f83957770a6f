"""peft's own classes around small models, with adapters and heads of another dtype than the base."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_INSTALLS = {"peft": "0.17.1", "transformers": "4.57.6", "accelerate": "1.10.1"}


def _base() -> Any:
    """A small model with the names of a language model's parts."""
    import torch

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(32)
            self.q_proj = torch.nn.Linear(32, 32)
            self.score = torch.nn.Linear(32, 8)

        def forward(self, x: torch.Tensor) -> Any:
            return self.score(self.q_proj(self.norm(x)))

    return Block()


def _adapted(base: Any, **more: Any) -> Any:
    """Wrap the base with LoRA, whose B is drawn from a normal distribution, as after training."""
    import torch
    from peft import LoraConfig, get_peft_model

    model: Any = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj"], lora_dropout=0.0, **more))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(5)) * 0.1)
    return model.eval()


def _x(setting: Setting) -> Any:
    import torch

    return torch.randn(4, 32, generator=torch.Generator().manual_seed(6)).to(setting.device, setting.dtype)


def _call(model: Any, inputs: dict[str, Any]) -> Any:
    import torch

    with torch.no_grad():
        return model(inputs["x"])


@case(
    issues=("peft/base-layer-dtype",),
    tier="upstream",
    cause="dtype-mismatch/fp32-island",
    dtypes=("bfloat16", "float16"),
    present={"peft": ">=0.6"},
    installs=_INSTALLS,
    plays=("cast-whole", "enable-autocast"),
    seconds=7.0,
)
def lora_base_behind_float32_norm(setting: Setting) -> Program:
    """A norm that was put into float32 for training feeds a half-precision layer under LoRA."""
    import torch

    model = _adapted(_base()).to(setting.device, setting.dtype)
    if setting.shows("cast-whole"):
        norm = model.base_model.model.norm
        norm.float()
        norm.register_forward_pre_hook(lambda module, args: (args[0].float(),))

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.autocast(setting.device.type, dtype=setting.dtype, enabled=setting.variant == "enable-autocast"):
            return _call(model, inputs)

    return Program(model, {"x": _x(setting)}, call)


@case(
    issues=("peft/modules-to-save-dtype",),
    tier="upstream",
    dtypes=("bfloat16", "float16"),
    present={"peft": ">=0.6"},
    installs=_INSTALLS,
    plays=("cast-head",),
    seconds=7.0,
)
def trained_head_in_float32(setting: Setting) -> Program:
    """A classification head listed in modules_to_save is float32 beside a half-precision base."""
    model = _adapted(_base(), modules_to_save=["score"]).to(setting.device, setting.dtype)
    if setting.shows("cast-head"):
        for name, parameter in model.named_parameters():
            if "modules_to_save" in name:
                parameter.data = parameter.data.float()
    return Program(model, {"x": _x(setting)}, _call)
