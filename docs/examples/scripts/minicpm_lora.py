"""Founding case 2: the vision tower stayed on the CPU (MiniCPM-V issues 318 and 667).

A stand-in that needs only torch: MiniCPM-V is remote code of several gigabytes. Without a CUDA device the program is a dry run on the
meta device, which computes shapes only, and which refuses tensors of the CPU as CUDA does.
"""

import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "meta"


class OmniLMM(nn.Module):
    def __init__(self, width: int = 32, words: int = 500) -> None:
        super().__init__()
        self.vpm = nn.Sequential(nn.Linear(3 * 8 * 8, width), nn.GELU())
        self.resampler = nn.Linear(width, width)
        self.llm = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, words))

    def forward(self, pixel_values: torch.Tensor) -> torch.Tensor:
        return self.llm(self.resampler(self.vpm(pixel_values)))


def build() -> OmniLMM:
    model = OmniLMM().half()
    # The trainer moves what it trains. The vision tower is frozen, and nobody moves it.
    model.llm.to(device)
    model.resampler.to(device)
    model.vpm.requires_grad_(False)
    return model


model = build()
images = torch.randn(2, 16, 3 * 8 * 8, dtype=torch.float16, device=device)  # 16 patches each

logits = model(images)
print("logits:", tuple(logits.shape), "on", logits.device)
