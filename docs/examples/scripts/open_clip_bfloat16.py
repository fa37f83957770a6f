"""Founding case 5: a bare `.bfloat16()` casts the norms that compute in float32 on purpose (open_clip issues 916 and 1021).

A stand-in that needs only torch: LayerNormFp32 is open_clip's, in a tower of two blocks.
"""

import torch
import torch.nn.functional as F
from torch import nn


class LayerNormFp32(nn.LayerNorm):
    """Computes in float32 and returns what it was given."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        orig_type = x.dtype
        x = F.layer_norm(x.to(torch.float32), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.to(orig_type)


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.ln_1 = LayerNormFp32(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.mlp(self.ln_1(x))


class VisionTransformer(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 8, stride=8, bias=False)
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.ln_post = LayerNormFp32(width)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.conv1(image).flatten(2).transpose(1, 2)
        return self.ln_post(self.blocks(x)).mean(1)


torch.manual_seed(0)
visual = VisionTransformer()
visual = visual.bfloat16()  # half the memory

image = torch.rand(2, 3, 32, 32).bfloat16()
with torch.no_grad():
    features = F.normalize(visual(image), dim=-1)
print("similarity:", round((features[0] @ features[1]).item(), 3))
