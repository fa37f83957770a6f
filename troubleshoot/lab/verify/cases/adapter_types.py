"""The dtype that peft gives to the weights of an adapter, and what its kinds of adapters do with a half-precision base."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_PEFT: dict[str, Any] = {"tier": "upstream", "devices": ("cpu",), "present": {"peft": ""}, "seconds": 8.0}


def _installs(version: str) -> dict[str, str]:
    return {"peft": version, "transformers": "4.57.6", "accelerate": "1.10.1", "numpy": ""}


def _base(setting: Setting) -> Any:
    import torch

    model = torch.nn.Sequential()
    model.add_module("proj", torch.nn.Linear(32, 32))
    model.add_module("score", torch.nn.Linear(32, 8))
    return model.to(setting.device, setting.dtype)


def _drawn(model: Any, *marks: str) -> Any:
    """Draw the adapter's weights from a normal distribution, as after training; at zero nothing would depend on them."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if any(mark in name for mark in marks):
                parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(5)) * 0.1)
    return model


def _input(setting: Setting) -> dict[str, Any]:
    import torch

    return {"input": torch.randn(4, 32, generator=torch.Generator().manual_seed(6)).to(setting.device, setting.dtype)}


def _quiet(model: Any, inputs: dict[str, Any]) -> Any:
    import torch

    with torch.no_grad():
        return model(inputs["input"])


@case(
    issues=("peft/lora-inherits-float16",), plays=("adapter-float32", "use-bf16"), torch=">=2.3",
    # The base grows, autocast stays: as exact as float16, which a run in float32 is not held against.
    unplayable={"base-float32": "the program computes in float16 all the same, under autocast"},
    shows={"peft": ">=0.7,<0.12"}, installs=_installs("0.11.1"), **_PEFT,
)  # fmt: skip
def lora_scaled_in_float16(setting: Setting) -> Program:
    """LoRA on a float16 base is trained with a loss scaler."""
    import torch
    from peft import LoraConfig, get_peft_model

    model: Any = get_peft_model(_base(setting), LoraConfig(r=4, lora_alpha=8, target_modules=["proj"], lora_dropout=0.0))
    _drawn(model, "lora_")
    if setting.variant == "use-bf16":
        model.to(torch.bfloat16)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        if setting.variant == "adapter-float32":
            for parameter in model.parameters():
                if parameter.requires_grad:
                    parameter.data = parameter.data.float()
        wanted = [one for one in model.parameters() if one.requires_grad]
        scaled = setting.faulty and setting.variant != "use-bf16"
        scaler = torch.amp.GradScaler("cpu", init_scale=64.0, enabled=scaled)
        optimizer = torch.optim.SGD(wanted, lr=0.01)
        half = torch.bfloat16 if setting.variant == "use-bf16" else torch.float16
        with torch.autocast("cpu", dtype=half, enabled=setting.faulty):
            output = model(inputs["input"])
        scaler.scale(output.float().pow(2).mean()).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(wanted, 1.0)
        scaler.step(optimizer)
        return output.float().detach()

    inputs = _input(setting)
    if setting.variant == "use-bf16":
        inputs = {name: one.bfloat16() for name, one in inputs.items()}
    return Program(model, inputs, call)


@case(
    issues=("peft/dora-merge-dtype",), plays=("merge-in-float32", "same-dtype"), shows={"peft": ">=0.12,<0.16"},
    installs=_installs("0.14.0"), **{**_PEFT, "dtypes": ("bfloat16", "float16")},
)  # fmt: skip
def dora_merged_into_half(setting: Setting) -> Program:
    """A DoRA adapter in float32 is merged into a half-precision base."""
    import torch
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(r=4, lora_alpha=8, target_modules=["proj"], lora_dropout=0.0, use_dora=True)
    dora: Any = _drawn(get_peft_model(_base(setting), config), "lora_A", "lora_B").eval()

    def call(dora: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad():
            if setting.shows("merge-in-float32", "same-dtype"):
                return dora.merge_and_unload()(inputs["input"])
            if setting.variant == "merge-in-float32":
                return dora.float().merge_and_unload().to(setting.dtype)(inputs["input"])
            if setting.variant == "same-dtype":
                return dora.to(setting.dtype).merge_and_unload()(inputs["input"])
            return dora(inputs["input"])

    return Program(dora, _input(setting), call)


@case(
    issues=("peft/lycoris-adapter-dtype",), plays=("same-dtype", "keep-dtype", "enable-autocast"), shows={"peft": ">=0.12,<0.16"},
    installs=_installs("0.14.0"), **{**_PEFT, "dtypes": ("bfloat16", "float16")},
)  # fmt: skip
def lokr_on_half_base(setting: Setting) -> Program:
    """A LoKr adapter, which peft created in float32, works on a half-precision base."""
    import torch
    from peft import LoKrConfig, get_peft_model

    more = {"autocast_adapter_dtype": False} if setting.variant == "keep-dtype" else {}
    model: Any = get_peft_model(_base(setting), LoKrConfig(r=4, alpha=8, target_modules=["proj"]), **more)
    _drawn(model, "lokr_").eval()

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        if setting.variant == "same-dtype":
            model.to(setting.dtype)
        with torch.autocast(setting.device.type, dtype=setting.dtype, enabled=setting.variant == "enable-autocast"):
            return _quiet(model, inputs)

    return Program(model, _input(setting), call)


@case(
    issues=("peft/lora-inherits-float8",), plays=("cast-adapter",), shows={"peft": ">=0.7,<0.19"},
    installs=_installs("0.18.1"), **{**_PEFT, "dtypes": ("bfloat16",)},
)  # fmt: skip
def lora_on_float8_storage(setting: Setting) -> Program:
    """LoRA is added to a layer whose weights are stored in float8 and cast up for each call."""
    import torch
    from peft import LoraConfig, get_peft_model

    class Stored(torch.nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.linear(input, self.weight.to(input.dtype), self.bias)

    base: Any = torch.nn.Sequential()
    base.add_module("proj", Stored(32, 32))
    with torch.no_grad():
        # Values that float8 holds exactly.
        base.proj.weight.copy_(torch.randint(-4, 5, (32, 32), generator=torch.Generator().manual_seed(3)) / 8)
    base.to(setting.dtype)
    if setting.faulty:
        base.proj.weight = torch.nn.Parameter(base.proj.weight.to(torch.float8_e4m3fn), requires_grad=False)
    model: Any = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=["proj"], lora_dropout=0.0)).eval()

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                if setting.variant == "cast-adapter" or not setting.faulty:
                    parameter.data = parameter.data.to(setting.dtype)
                drawn = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(5)) * 0.1
                parameter.data = drawn.to(parameter.dtype)
        return _quiet(model, inputs)

    return Program(model, _input(setting), call)
