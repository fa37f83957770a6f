"""Sampling from a small language model in float16: an activation passes 65504, and no distribution is left to draw from."""

import torch
from torch import nn


class TinyLM(nn.Module):
    def __init__(self, words: int = 50, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        x = x + self.down(self.up(x) ** 2)
        return self.head(self.norm(x))


def sample(model: nn.Module, ids: torch.Tensor, steps: int) -> torch.Tensor:
    for _ in range(steps):
        logits = model(ids)[:, -1]
        probs = torch.softmax(logits / 0.8, dim=-1)
        ids = torch.cat([ids, torch.multinomial(probs, num_samples=1)], dim=-1)
    return ids


torch.manual_seed(0)
model = TinyLM()
with torch.no_grad():
    model.up.weight.mul_(500)  # as large as trained feed-forward layers become
model = model.to(torch.float16).eval()

with torch.no_grad():
    print("sampled:", sample(model, torch.tensor([[1, 2, 3]]), steps=4).tolist())
