"""A vision tower that stayed on the CPU, as in fine-tuning MiniCPM-V."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


@case(
    issues=("minicpm/vpm-left-on-cpu",),
    devices=("cuda",),
    plays=("move-vpm", "move-all", "bfloat16", "cast-dtype"),
    facts={"model": "MiniCPMV"},
    stand_in="a tower with a patch embedding, a resampler and a language model of the names and in the order of MiniCPM-V's remote code",
    why_not_cpu="two devices must meet, so an accelerator is needed; on the CPU alone there is nothing that could be left behind",
)
def minicpm_vision_tower(setting: Setting) -> Program:
    """The images are on the GPU, the vision tower is on the CPU."""
    import torch

    class MiniCPMV(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.vpm = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 4, 4), torch.nn.Flatten(2))
            self.resampler = torch.nn.Linear(64, 32)
            self.llm = torch.nn.Linear(32, 64)

        def get_vision_embedding(self, pixel_values: torch.Tensor) -> Any:
            dtype = next(self.vpm.parameters()).dtype
            return self.vpm(pixel_values.type(dtype))

        def forward(self, pixel_values: torch.Tensor) -> Any:
            return self.llm(self.resampler(self.get_vision_embedding(pixel_values)))

    model = MiniCPMV().to(setting.dtype)
    if not setting.faulty or setting.variant == "move-all":
        model.to(setting.device)
    else:
        model.llm.to(setting.device)
        model.resampler.to(setting.device)
    if setting.variant == "move-vpm":
        first = next(model.llm.parameters())
        model.vpm.to(device=first.device, dtype=first.dtype)
        model.resampler.to(device=first.device, dtype=first.dtype)
    images = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1)).to(setting.device, setting.dtype)
    if setting.variant == "cast-dtype":
        images = images.type(next(model.vpm.parameters()).dtype)
    return Program(model, {"pixel_values": images})
