"""Tensors on two devices: an accelerator is needed, and nothing of it can be seen without one."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_ALONE = "two devices must meet, so an accelerator is needed"


@case(
    issues=("torch/device-all-tensors-same-device",),
    cause="device-mismatch/inputs-left-behind",
    devices=("cuda",),
    dtypes=("float32",),
    why_not_cpu=_ALONE,
)
def inputs_left_on_cpu(setting: Setting) -> Program:
    """The model is on the GPU, its input on the CPU."""
    import torch

    x = torch.randn(4, 8).to(setting.dtype)
    return Program(torch.nn.Linear(8, 4).to(setting.device, setting.dtype), {"input": x if setting.faulty else x.to(setting.device)})


@case(
    issues=("torch/device-all-tensors-same-device",),
    cause="device-mismatch/constant-left-behind",
    devices=("cuda",),
    dtypes=("float32",),
    why_not_cpu=_ALONE,
)
def constant_left_on_cpu(setting: Setting) -> Program:
    """A tensor that is a plain attribute stays on the CPU when its module moves."""
    import torch

    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.proj = torch.nn.Linear(8, 8)
            self.mean = torch.linspace(0, 1, 8)

        def forward(self, x: torch.Tensor) -> Any:
            return self.proj(x - self.mean)

    model = Scaled().to(setting.device, setting.dtype)
    if not setting.faulty:
        model.mean = model.mean.to(setting.device)
    return Program(model, {"x": torch.randn(4, 8).to(setting.device, setting.dtype)})


@case(issues=("torch/device-index-tensor",), devices=("cuda",), dtypes=("float32",), why_not_cpu=_ALONE)
def index_on_gpu(setting: Setting) -> Program:
    """A table on the CPU is indexed with a tensor on the GPU."""
    import torch

    index = torch.tensor([0, 2])
    inputs = {"table": torch.randn(4, 3), "index": index.to(setting.device) if setting.faulty else index}
    return Program(None, inputs, lambda model, inputs: inputs["table"][inputs["index"]])


@case(issues=("torch/device-generator",), devices=("cuda",), dtypes=("float32",), why_not_cpu=_ALONE)
def generator_on_cpu(setting: Setting) -> Program:
    """A CPU generator is to fill a GPU tensor."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        drawn = torch.randn(4, generator=torch.Generator().manual_seed(0), device=setting.device if setting.faulty else "cpu")
        return drawn.to(setting.device)

    return Program(None, {}, call)


@case(issues=("torch/device-numpy-cuda",), devices=("cuda",), dtypes=("float32",), present={"numpy": ""}, why_not_cpu=_ALONE)
def gpu_tensor_to_numpy(setting: Setting) -> Program:
    """A GPU tensor is handed to NumPy."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        x = inputs["x"] if setting.faulty else inputs["x"].cpu()
        return torch.from_numpy(x.numpy())

    return Program(None, {"x": torch.randn(4).to(setting.device)}, call)


@case(issues=("torch/device-rnn-hidden",), devices=("cuda",), dtypes=("float32",), why_not_cpu=_ALONE)
def hidden_state_on_cpu(setting: Setting) -> Program:
    """The hidden state of an LSTM is created on the CPU."""
    import torch

    model = torch.nn.LSTM(8, 4).to(setting.device, setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        place = "cpu" if setting.faulty else setting.device
        hidden = (torch.zeros(1, 2, 4, device=place), torch.zeros(1, 2, 4, device=place))
        return model(inputs["x"], hidden)[0]

    return Program(model, {"x": torch.randn(3, 2, 8).to(setting.device, setting.dtype)}, call)
