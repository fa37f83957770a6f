"""Small models with one fault each, for the tests of audit. Their source is read, so they live in a file."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn


class LayerNormFp32(nn.LayerNorm):
    """As in OpenCLIP: computes in float32, whatever comes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        dtype = x.dtype
        x = F.layer_norm(x.to(torch.float32), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.to(dtype)


class LayerNormThatCastsItself(nn.LayerNorm):
    """As in OpenCLIP's LayerNorm: the parameters' dtype does not matter."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x.float(), self.normalized_shape, self.weight.float(), self.bias.float(), self.eps).to(x.dtype)


class RMSNorm(nn.Module):
    """As in LLaMA: element by element, so half weights do no harm."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


class Casting(nn.Module):
    """A float32 layer whose parent casts at its borders, as T5's feed-forward does."""

    def __init__(self) -> None:
        super().__init__()
        self.wi, self.wo = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.wo(self.wi(x).to(self.wo.weight.dtype)).to(x.dtype)


class NotCasting(Casting):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.wo(self.wi(x))


class Masked(nn.Module):
    """Writes constants into tensors. The 1e12 in this text is no constant."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.eps = 1e-12

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = self.layer(x).masked_fill(mask, -1e9)  # 1e12
        return scores / (scores.norm() + self.eps)


class Forgetful(nn.Module):
    """Holds a tensor that is neither parameter nor buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.scale = torch.ones(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) * self.scale


class TwoModalities(nn.Module):
    """An image tower and a text embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(10, 4)
        self.vpm = nn.Sequential(nn.Conv2d(3, 4, 1), nn.LayerNorm(4))
        self.head = nn.Linear(4, 2)

    def forward(self, input_ids: torch.Tensor, pixel_values: torch.Tensor) -> torch.Tensor:
        return self.head(self.embed_tokens(input_ids) + self.vpm(pixel_values).mean())


class LoraLinear(nn.Module):
    """LoRA by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.base_layer = nn.Linear(4, 4)
        self.lora_A, self.lora_B = nn.Linear(4, 2, bias=False), nn.Linear(2, 4, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base_layer(x) + self.lora_B(self.lora_A(x))


class Linear4bit(nn.Linear):
    """Stands for bitsandbytes' layer: packed weights and a dtype to compute in."""

    def __init__(self, size: int, compute_dtype: torch.dtype) -> None:
        super().__init__(size, size)
        self.weight = nn.Parameter(torch.zeros(size * size // 2, 1, dtype=torch.uint8), requires_grad=False)
        self.compute_dtype = compute_dtype
