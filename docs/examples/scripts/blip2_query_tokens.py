"""Founding case 1: query tokens stay in float32 while the module that consumes them is cast (transformers issue 37103).

A stand-in that needs only torch: transformers 4.50.0 to 4.50.2, which keep BLIP-2's query tokens in float32 when they load it in
float16, have no place in an ordinary environment. The layers, the list of what is kept and the failing line are those of its Q-Former.
"""

import torch
from torch import nn


class QFormer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layernorm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)

    def forward(self, query_embeds: torch.Tensor, image_embeds: torch.Tensor) -> torch.Tensor:
        hidden = self.layernorm(query_embeds)
        return hidden + self.attention(hidden, image_embeds, image_embeds)[0]


class Blip2(nn.Module):
    _keep_in_fp32_modules = ("query_tokens",)

    def __init__(self, width: int = 32, words: int = 100) -> None:
        super().__init__()
        self.query_tokens = nn.Parameter(torch.randn(1, 4, width))
        self.vision_model = nn.Conv2d(3, width, 8, stride=8)
        self.qformer = QFormer(width)
        self.language_projection = nn.Linear(width, words)

    @classmethod
    def from_pretrained(cls, torch_dtype: torch.dtype) -> "Blip2":
        model = cls().to(torch_dtype)
        for name in cls._keep_in_fp32_modules:
            getattr(model, name).data = getattr(model, name).data.float()
        return model

    def forward(self, pixel_values: torch.Tensor) -> torch.Tensor:
        image_embeds = self.vision_model(pixel_values).flatten(2).transpose(1, 2)
        queries = self.query_tokens.expand(image_embeds.shape[0], -1, -1)
        return self.language_projection(self.qformer(queries, image_embeds))


def main() -> None:
    torch.manual_seed(0)
    model = Blip2.from_pretrained(torch_dtype=torch.float16)  # 2 bytes per parameter
    model.eval()

    pixel_values = torch.randn(2, 3, 32, 32, dtype=torch.float16)
    with torch.no_grad():
        logits = model(pixel_values)
    print("caption tokens:", logits.argmax(-1).tolist())


if __name__ == "__main__":
    main()
