"""Operations without a kernel for the dtype, and libraries that do not know it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


def _operation(setting: Setting, fixes: tuple[str, ...], operation: Callable[[Any], Any], x: Any) -> Program:
    """An operation on one tensor, in its dtype or (with a fix) in float32."""

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        x = inputs["x"]
        return operation(x) if setting.shows(*fixes) else operation(x.float()).to(x.dtype)

    return Program(None, {"x": x.to(setting.device, setting.dtype)}, call)


@case(issues=("torch/half-on-cpu",), cause="unsupported/half-on-cpu", devices=("cpu",), plays=("float32",))
def half_cdist_on_cpu(setting: Setting) -> Program:
    """Pairwise distances in float16 on the CPU."""
    import torch

    return _operation(setting, ("float32",), lambda x: torch.cdist(x, x.flip(0)), torch.randn(5, 3))


_HALF_ON_CPU = {"issues": ("torch/half-on-cpu",), "cause": "unsupported/half-on-cpu", "devices": ("cpu",), "plays": ("float32",)}


def _layer(setting: Setting, model: Any, x: Any) -> Program:
    """A layer in float16, or (with the fix) in float32."""
    import torch

    dtype = torch.float32 if setting.variant == "float32" else setting.dtype
    return Program(model.to(dtype), {"input": x.to(dtype)})


@case(**_HALF_ON_CPU, shows={"torch": "<2.2"}, installs={"torch": "2.0.1"})
def half_linear_on_cpu(setting: Setting) -> Program:
    """A linear layer in float16 on the CPU."""
    import torch

    return _layer(setting, torch.nn.Linear(8, 4), torch.randn(3, 8))


@case(**_HALF_ON_CPU, shows={"torch": "<2.2"}, installs={"torch": "2.0.1"})
def half_conv_on_cpu(setting: Setting) -> Program:
    """A convolution in float16 on the CPU."""
    import torch

    return _layer(setting, torch.nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8))


@case(**_HALF_ON_CPU, shows={"torch": "<2.2"}, installs={"torch": "2.0.1"})
def half_layer_norm_on_cpu(setting: Setting) -> Program:
    """A LayerNorm in float16 on the CPU."""
    import torch

    return _layer(setting, torch.nn.LayerNorm(8), torch.randn(3, 8))


@case(**_HALF_ON_CPU, shows={"torch": "<2.2"}, installs={"torch": "2.0.1"})
def half_softmax_on_cpu(setting: Setting) -> Program:
    """A softmax in float16 on the CPU."""
    import torch

    return _layer(setting, torch.nn.Softmax(-1), torch.randn(3, 8))


@case(**_HALF_ON_CPU, shows={"torch": "<2.2"}, installs={"torch": "2.0.1"})
def half_attention_on_cpu(setting: Setting) -> Program:
    """Multi-head attention in float16 on the CPU."""
    import torch

    model = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval()
    program = _layer(setting, model, torch.randn(2, 5, 16))
    x = program.inputs["input"]
    return Program(model, {"x": x}, lambda model, inputs: model(inputs["x"], inputs["x"], inputs["x"], need_weights=False)[0])


@case(**_HALF_ON_CPU, shows={"torch": "<2.2"}, installs={"torch": "2.0.1"})
def half_upsample_on_cpu(setting: Setting) -> Program:
    """Upsampling by nearest neighbours in float16 on the CPU, as in the decoder of a VAE."""
    import torch

    return _layer(setting, torch.nn.Upsample(scale_factor=2, mode="nearest"), torch.randn(1, 2, 4, 4))


@case(
    issues=("torch/op-lacks-dtype",), cause="unsupported/op-lacks-dtype", dtypes=("bfloat16",), devices=("cpu",), plays=("op-in-float32",)
)
def bfloat16_cdist(setting: Setting) -> Program:
    """Pairwise distances in bfloat16."""
    import torch

    return _operation(setting, ("op-in-float32",), lambda x: torch.cdist(x, x.flip(0)), torch.randn(5, 3))


@case(issues=("torch/op-lacks-linalg",), plays=("float32-call",))
def half_inverse(setting: Setting) -> Program:
    """A matrix inverse in float16."""
    import torch

    return _operation(setting, ("float32-call",), torch.linalg.inv, torch.eye(4) * 2 + 0.1 * torch.randn(4, 4))


@case(issues=("torch/op-lacks-fft",), plays=("float32-fft",), devices=("cpu",))
def half_fft_on_cpu(setting: Setting) -> Program:
    """A Fourier transform of a float16 signal on the CPU."""
    import torch

    class Spectrum(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.fft.rfft(x).abs() if setting.shows("float32-fft") else torch.fft.rfft(x.float()).abs().to(x.dtype)

    class Frontend(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stft = Spectrum()
            self.proj = torch.nn.Linear(9, 4)

        def forward(self, x: torch.Tensor) -> Any:
            return self.proj(self.stft(x))

    return Program(Frontend().to(setting.dtype), {"x": torch.randn(2, 16).to(setting.device, setting.dtype)})


@case(issues=("torch/op-lacks-complex",), dtypes=("bfloat16",), plays=("float32-rope",))
def bfloat16_complex_rotary(setting: Setting) -> Program:
    """Rotary embeddings by complex numbers on bfloat16 queries."""
    import torch

    angles = torch.polar(torch.ones(4), torch.arange(4) * 0.3)

    def rotate(x: Any) -> Any:
        turned = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * angles.to(x.device)
        return torch.view_as_real(turned).flatten(-2)

    return _operation(setting, ("float32-rope",), rotate, torch.randn(2, 3, 8))


@case(issues=("torch/no-promotion",), cause="dtype-mismatch/cast-in-forward", plays=("cast-activations",))
def grid_sample_float32_grid(setting: Setting) -> Program:
    """A sampling grid in float32 meets half-precision features."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        image, grid = inputs["image"], inputs["grid"]
        if not setting.shows("cast-activations"):
            return torch.nn.functional.grid_sample(image.float(), grid.float(), align_corners=False).to(image.dtype)
        return torch.nn.functional.grid_sample(image, grid, align_corners=False)

    inputs = {"image": torch.randn(1, 2, 6, 6).to(setting.device, setting.dtype), "grid": torch.rand(1, 4, 4, 2).to(setting.device) - 0.5}
    return Program(None, inputs, call)


@case(
    issues=("numpy/bf16-scalartype",), dtypes=("bfloat16",), plays=("float-before-numpy", "view-bits"), present={"numpy": ""},
    installs={"numpy": ""},
)  # fmt: skip
def bfloat16_to_numpy(setting: Setting) -> Program:
    """A bfloat16 result is handed to NumPy."""
    import torch

    model = torch.nn.Linear(8, 4).to(setting.device, setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        out = model(inputs["x"]).detach().cpu()
        if setting.variant == "view-bits":
            return torch.from_numpy(out.view(torch.uint16).numpy()).view(setting.dtype)
        return torch.from_numpy((out if setting.shows("float-before-numpy") else out.float()).numpy())

    return Program(model, {"x": torch.randn(2, 8).to(setting.device, setting.dtype)}, call)


@case(issues=("numpy/half-array-rejected",), plays=("float32-output",), present={"numpy": ""}, installs={"numpy": ""})
def half_array_in_linalg(setting: Setting) -> Program:
    """A float16 array goes into NumPy's linear algebra."""
    import numpy
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        x = inputs["x"].cpu()
        return torch.from_numpy(numpy.linalg.inv((x if setting.shows("float32-output") else x.float()).numpy()))

    return Program(None, {"x": (torch.eye(4) * 2 + 0.1 * torch.randn(4, 4)).to(setting.device, setting.dtype)}, call)


@case(
    issues=("quantized/float8-promotion",),
    cause="quantized/packed-weight",
    dtypes=("bfloat16",),
    torch=">=2.1",
    plays=("cast-up", "load-16-bit"),
)
def float8_in_arithmetic(setting: Setting) -> Program:
    """A weight stored in float8 is added to a bfloat16 tensor."""
    import torch

    # Values that float8 holds exactly, so that only the sum can be off.
    weight = torch.tensor([1.0, 0.5, -2.0, 0.25]).to(setting.device)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        stored = inputs["weight"].to(torch.float8_e4m3fn)
        return inputs["x"] + (stored if setting.shows("cast-up", "load-16-bit") else stored.to(inputs["x"].dtype))

    return Program(None, {"x": torch.randn(3, 4).to(setting.device, setting.dtype), "weight": weight}, call)


@case(
    issues=("torch/device-meta-tensor",),
    cause="device-mismatch/module-left-behind",
    dtypes=("float32",),
    plays=("load-whole",),
    unplayable={"newer-stack": "is about a loader, of which this case has none"},
)
def module_on_meta(setting: Setting) -> Program:
    """A model that was built on the meta device is moved before it has weights."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        return model.to(setting.device)(inputs["x"])

    torch.manual_seed(0)
    model = torch.nn.Linear(8, 4).to(setting.dtype)
    if setting.shows("load-whole"):
        model = model.to("meta")
    return Program(model, {"x": torch.randn(2, 8).to(setting.device, setting.dtype)}, call)
