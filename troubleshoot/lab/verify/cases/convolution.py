"""Convolutions and recurrent layers whose input and weights differ in dtype."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_CONV = ("torch/conv-input-weight-dtype",)


@case(issues=_CONV, cause="dtype-mismatch/input-vs-weight")
def conv_input_dtype(setting: Setting) -> Program:
    """A float32 image reaches a half-precision convolution."""
    import torch

    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.SiLU(), torch.nn.Conv2d(8, 4, 3)).to(setting.device, setting.dtype)
    image = torch.randn(2, 3, 12, 12).to(setting.device)
    return Program(model, {"input": image if setting.faulty else image.to(setting.dtype)})


@case(issues=_CONV, cause="dtype-mismatch/fp32-island")
def conv_fp32_island(setting: Setting) -> Program:
    """One convolution stayed in float32 when the model was cast."""
    import torch

    model = torch.nn.Sequential(torch.nn.Conv1d(3, 8, 3), torch.nn.Conv1d(8, 4, 3)).to(setting.device, setting.dtype)
    if setting.faulty:
        model[1].float()
    return Program(model, {"input": torch.randn(2, 3, 16).to(setting.device, setting.dtype)})


@case(issues=_CONV, cause="dtype-mismatch/cast-in-forward", plays=("cast-activations",))
def conv_after_float32_step(setting: Setting) -> Program:
    """An upsampling step in float32 hands float32 to a half-precision convolution."""
    import torch

    class Up(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.proj = torch.nn.Conv2d(4, 4, 3, padding=1)

        def forward(self, x: torch.Tensor) -> Any:
            x = torch.nn.functional.interpolate(x.float(), scale_factor=2, mode="nearest")
            if not setting.shows("cast-activations"):
                x = x.to(self.proj.weight.dtype)
            return self.proj(x)

    return Program(Up().to(setting.device, setting.dtype), {"x": torch.randn(1, 4, 6, 6).to(setting.device, setting.dtype)})


@case(issues=_CONV, cause="dtype-mismatch/double", dtypes=("float32",), plays=("cast-float32",), present={"numpy": ""})
def conv_double_from_numpy(setting: Setting) -> Program:
    """A NumPy image brings float64 into a float32 convolution."""
    import numpy
    import torch

    image = torch.from_numpy(numpy.random.default_rng(0).normal(size=(1, 3, 8, 8)))
    if not setting.shows("cast-float32"):
        image = image.to(setting.dtype)
    return Program(torch.nn.Conv2d(3, 4, 3).to(setting.device, setting.dtype), {"input": image.to(setting.device)})


@case(issues=_CONV, cause="dtype-mismatch/integer-expected", dtypes=("float32",), plays=("cast-float",))
def conv_uint8_image(setting: Setting) -> Program:
    """A uint8 image reaches a convolution."""
    import torch

    image = torch.randint(0, 256, (1, 3, 8, 8), dtype=torch.uint8)
    if not setting.shows("cast-float"):
        image = image.to(setting.dtype)
    return Program(torch.nn.Conv2d(3, 4, 3).to(setting.device, setting.dtype), {"input": image.to(setting.device)})


@case(issues=("torch/rnn-dtype",), cause="dtype-mismatch/input-vs-weight", dtypes=("bfloat16",), plays=("cast-inputs",))
def lstm_input_dtype(setting: Setting) -> Program:
    """A float32 sequence reaches a half-precision LSTM."""
    import torch

    model: Any = torch.nn.LSTM(16, 8, batch_first=True).to(setting.device, setting.dtype)
    x = torch.randn(2, 5, 16).to(setting.device)
    if not setting.shows("cast-inputs"):
        x = x.to(model.weight_ih_l0.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        return model(inputs["x"])[0]

    return Program(model, {"x": x}, call)


@case(issues=("torch/rnn-dtype",), cause="dtype-mismatch/double", dtypes=("float32",), plays=("cast-float32",), present={"numpy": ""})
def gru_double_from_numpy(setting: Setting) -> Program:
    """A NumPy series brings float64 into a GRU."""
    import numpy
    import torch

    x = torch.from_numpy(numpy.random.default_rng(0).normal(size=(2, 5, 16)))
    if not setting.shows("cast-float32"):
        x = x.to(setting.dtype)
    model = torch.nn.GRU(16, 8, batch_first=True).to(setting.device, setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        return model(inputs["x"])[0]

    return Program(model, {"x": x.to(setting.device)}, call)
