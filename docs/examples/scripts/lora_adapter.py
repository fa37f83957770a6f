"""A LoRA adapter that was created in float32 on a base model in bfloat16."""

import torch
from torch import nn


class LoraLinear(nn.Module):
    def __init__(self, base: nn.Linear, rank: int = 4) -> None:
        super().__init__()
        self.base_layer = base.requires_grad_(False)
        self.lora_A = nn.Linear(base.in_features, rank, bias=False)
        self.lora_B = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base_layer(x) + self.lora_B(self.lora_A(x))


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.q_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.q_proj(x) @ x.transpose(-1, -2)
        return scores.softmax(-1) @ self.v_proj(x)


def add_lora(model: nn.Module) -> nn.Module:
    for module in list(model.modules()):
        if isinstance(module, Attention):
            module.q_proj = LoraLinear(module.q_proj)
            module.v_proj = LoraLinear(module.v_proj)
    return model


def main() -> None:
    torch.manual_seed(0)
    base = nn.Sequential(nn.Embedding(50, 32), Attention(32), Attention(32), nn.Linear(32, 50))
    base = base.to(torch.bfloat16)
    model = add_lora(base)

    model.eval()
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    with torch.no_grad():
        logits = model(ids)
    print("next token:", logits[0, -1].argmax().item())


if __name__ == "__main__":
    main()
