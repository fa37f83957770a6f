"""A part of a model that was never loaded and stayed on the meta device: two devices meet without an accelerator."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_CONSTANT = "device-mismatch/constant-left-behind"


@case(
    issues=("torch/device-meta-tensor",),
    devices=("cpu",),
    dtypes=("float32",),
    plays=("load-whole",),
)
def table_left_on_meta(setting: Setting) -> Program:
    """A table that is a plain attribute was made on the meta device and is not loaded with the weights."""
    import torch

    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.proj = torch.nn.Linear(8, 8)
            table = torch.linspace(0.5, 1.5, 8)
            self.table = table.to("meta") if setting.shows("load-whole") else table

        def forward(self, x: torch.Tensor) -> Any:
            return self.proj(x) * self.table

    return Program(Scaled(), {"x": torch.randn(4, 8)})


@case(issues=("torch/device-library-check",), cause=_CONSTANT, devices=("cpu",), dtypes=("float32",), plays=("window-device",))
def stft_window_left_on_meta(setting: Setting) -> Program:
    """The window of a spectrogram was made on another device than the audio."""
    import torch

    class Spectrogram(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            window = torch.hann_window(16)
            self.window = window.to("meta") if setting.shows("window-device") else window

        def forward(self, x: torch.Tensor) -> Any:
            return torch.stft(x, 16, window=self.window, return_complex=True).abs()

    return Program(Spectrogram(), {"x": torch.randn(2, 64)})
