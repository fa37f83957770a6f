"""What bitsandbytes refuses and warns of; its CPU library checks the dtypes as the CUDA one does."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_BNB: dict[str, Any] = {
    "tier": "upstream", "present": {"bitsandbytes": ">=0.46"}, "installs": {"bitsandbytes": "0.48.2", "numpy": "2.3.4"}, "seconds": 6.0,
}  # fmt: skip


@case(issues=("quantized/bnb-blockwise-dtype",), plays=("cast-first", "half-weights"), **{**_BNB, "dtypes": ("bfloat16",)})
def blockwise_of_float8(setting: Setting) -> Program:
    """Weights that are stored in float8 are to be quantized to 4 bit."""
    import torch

    # Values that float8 and the 4-bit format hold exactly, so that only the refusal can differ.
    weight = torch.tensor([1.0, 0.0, -1.0, 1.0] * 32).reshape(2, 64)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        from bitsandbytes.functional import dequantize_4bit, quantize_4bit

        stored = inputs["weight"].to(torch.float8_e4m3fn) if setting.faulty else inputs["weight"]
        if setting.variant in ("cast-first", "half-weights"):
            stored = stored.to(torch.bfloat16 if setting.variant == "cast-first" else torch.float16)
        packed, state = quantize_4bit(stored, quant_type="nf4")
        return dequantize_4bit(packed, state).float() @ inputs["x"].float()

    inputs = {"weight": weight.to(setting.device), "x": torch.randn(64, 3).to(setting.device)}
    return Program(None, inputs, call)


@case(
    issues=("bitsandbytes/compute-dtype-float32",),
    devices=("cuda",),
    why_not_cpu="the 4-bit layer of bitsandbytes 0.48.2 crashes on the CPU beside torch 2.13.0",
    plays=("set-compute-dtype", "ignore"),
    symptom="UserWarning: Input type into Linear4bit is torch.float16, but bnb_4bit_compute_dtype=torch.float32 (default). This will lead "
    "to slow inference or training speed.",
    **_BNB,
)
def compute_dtype_not_given(setting: Setting) -> Program:
    """A 4-bit layer without a compute dtype gets half-precision input."""
    import warnings

    import torch

    said: list[str] = []

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        import bitsandbytes

        compute = torch.float32 if setting.shows("set-compute-dtype") else setting.dtype
        layer = bitsandbytes.nn.Linear4bit(64, 32, bias=False, compute_dtype=compute, quant_type="nf4")
        layer.weight = bitsandbytes.nn.Params4bit(inputs["weight"].clone(), requires_grad=False, quant_type="nf4")
        layer = layer.to(setting.device)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = layer(inputs["x"]).float()
        said.extend(str(one.message) for one in caught if "bnb_4bit_compute_dtype" in str(one.message))
        return result

    def check(_model: Any, _output: Any) -> str | None:
        return said[0] if said and setting.variant != "ignore" else None

    weight = torch.tensor([1.0, 0.0, -1.0, 1.0] * 512).reshape(32, 64)
    x = torch.randn(3, 64).to(setting.device, setting.dtype)
    return Program(None, {"weight": weight, "x": x}, call, check)
