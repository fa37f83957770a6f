"""Small models for the tests of watch: a T5-like encoder whose ``wo`` overflows float16, and others."""

from __future__ import annotations

import torch
from torch import nn


class Norm(nn.Module):
    """T5's norm: the variance in float32, the result in the dtype of the weight."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        variance = x.float().pow(2).mean(-1, keepdim=True)
        return self.weight * (x.float() * torch.rsqrt(variance + 1e-6)).to(self.weight.dtype)


class FeedForward(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.layer_norm = Norm(size)
        self.wi = nn.Linear(size, 2 * size, bias=False)
        self.wo = nn.Linear(2 * size, size, bias=False)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = torch.relu(self.wi(self.layer_norm(x)))
        return x + self.dropout(self.wo(inner))


class Attention(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.layer_norm = Norm(size)
        self.q, self.k, self.v, self.o = (nn.Linear(size, size, bias=False) for _ in range(4))
        self.softmax = nn.Softmax(-1)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        inner = self.layer_norm(x)
        scores = self.q(inner) @ self.k(inner).transpose(-1, -2)
        scores = scores.masked_fill(mask, float("-inf"))
        return x + self.o(self.softmax(scores) @ self.v(inner))


class Block(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.attention = Attention(size)
        self.feed_forward = FeedForward(size)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.feed_forward(self.attention(x, mask))


class TinyT5(nn.Module):
    """An encoder with a causal -inf mask. ``overflowing`` are the blocks whose ``wo`` exceeds 65504."""

    def __init__(self, blocks: int = 3, size: int = 16, overflowing: tuple[int, ...] = (1,)) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.shared = nn.Embedding(32, size)
        self.block = nn.ModuleList(Block(size) for _ in range(blocks))
        self.final_layer_norm = Norm(size)
        self.head = nn.Linear(size, 4)
        for index in overflowing:
            ff = self.block[index].feed_forward
            ff.wi.weight.data.mul_(100)
            ff.wo.weight.data.mul_(3000)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.shared(ids)
        length = ids.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool, device=ids.device).triu(1)
        for block in self.block:
            x = block(x, mask)
        return self.head(self.final_layer_norm(x))


def ids() -> torch.Tensor:
    return torch.arange(20).reshape(2, 10)
