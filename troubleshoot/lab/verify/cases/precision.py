"""What low precision does to comparisons, conversions, loss scales and indices."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


@case(issues=("numerics/low-precision-differences",), cause="numerics/bf16-rounding", dtypes=("bfloat16",), plays=("accept",))
def float32_tolerance_for_bfloat16(setting: Setting) -> Program:
    """A test compares a bfloat16 result with float32 at float32's tolerance."""
    import torch

    model: Any = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 8))
    expected = model(torch.linspace(-1, 1, 128).reshape(4, 32)).detach()
    model.to(setting.device, setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        actual = model(inputs["input"]).detach()
        rtol, atol = (1.6e-2, 1e-2) if setting.variant == "accept" else (1e-4, 1e-5)
        if setting.faulty:
            torch.testing.assert_close(actual.float().cpu(), expected, rtol=rtol, atol=atol)
        return actual

    return Program(model, {"input": torch.linspace(-1, 1, 128).reshape(4, 32).to(setting.device, setting.dtype)}, call)


@case(
    issues=("checkpoint/float16-cast-overflow",),
    devices=("cpu",),
    present={"numpy": ""},
    installs={"numpy": ""},
    unplayable={"find-tensor": "finds the tensor, and changes nothing"},
    symptom="convert to fp16: RuntimeWarning: overflow encountered in cast",
)
def weights_beyond_float16(setting: Setting) -> Program:
    """A converter writes weights above 65504 as float16."""
    import torch

    model = torch.nn.Linear(8, 4)
    with torch.no_grad():
        model.weight[0, 0] = 1e5

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        stored = model.weight.detach()
        if setting.name == "bfloat16":
            stored = stored.to(torch.bfloat16)
        elif setting.name == "float16":
            import numpy

            stored = torch.from_numpy(stored.numpy().astype(numpy.float16))
        return torch.nn.functional.linear(inputs["x"].float(), stored.float(), model.bias.float())

    return Program(model, {"x": torch.randn(2, 8)}, call)


def _exploding(setting: Setting, dtype: Any) -> Any:
    """Layers whose output passes 65504, so that no loss scale helps."""
    import torch

    model: Any = torch.nn.Sequential(torch.nn.Linear(8, 8, bias=False), torch.nn.Linear(8, 4, bias=False))
    with torch.no_grad():
        model[1].weight.mul_(3e4)
    return model.to(setting.device, dtype)


@case(
    issues=("numerics/loss-scale-exhausted",),
    plays=("bf16", "fp32", "lower-minimum"),
    unplayable={"calmer": "would need a whole training", "keep-fp32": "names modules that this program does not have"},
    stand_in="a loss scaler of a few lines that halves and gives up with the words of fairseq's",
)
def scale_halved_to_its_minimum(setting: Setting) -> Program:
    """Every step overflows in float16, whatever the loss scale is, until the scaler gives up."""
    import torch

    dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}.get(setting.variant or "", setting.dtype)
    model = _exploding(setting, dtype)
    minimum = 1e-10 if setting.variant == "lower-minimum" else 1e-4

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        scale = 128.0
        x = inputs["x"].to(dtype)
        while True:
            for parameter in model.parameters():
                parameter.grad = None
            (model(x).pow(2).sum() * scale).backward()
            gradient = model[0].weight.grad
            if torch.isfinite(gradient).all():
                return gradient.float() / scale
            scale /= 2.0
            if scale < minimum:
                raise FloatingPointError(
                    f"Minimum loss scale reached ({minimum}). Your loss is probably exploding. Try lowering the learning rate, using "
                    "gradient clipping or increasing the batch size."
                )

    return Program(model, {"x": (30 * torch.randn(4, 8)).to(setting.device)}, call)


@case(
    issues=("yolov5/target-indices-clamp",),
    dtypes=("float32",),
    plays=("integer-bounds",),
    unplayable={"older-torch": "torch 1.11 has no wheel for Python 3.11 and later"},
    facts={"model": "yolov5"},
    stand_in="the lines of YOLOv5's build_targets that clamp the grid indices",
)
def grid_indices_with_float_bounds(setting: Setting) -> Program:
    """Integer grid indices are clamped in place between 0 and a floating-point bound."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        gain, gij = inputs["gain"], inputs["gij"].clone()
        gi, gj = gij.T
        if setting.shows("integer-bounds"):
            indices = gj.clamp_(0, gain[3] - 1), gi.clamp_(0, gain[2] - 1)
        else:
            indices = gj.clamp_(0, int(gain[3]) - 1), gi.clamp_(0, int(gain[2]) - 1)
        return torch.stack(indices).float()

    inputs = {"gain": torch.tensor([1.0, 1.0, 20.0, 20.0, 20.0, 20.0]), "gij": torch.tensor([[3, 25], [19, -1]])}
    return Program(None, {name: one.to(setting.device) for name, one in inputs.items()}, call)
