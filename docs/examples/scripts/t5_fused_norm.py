"""Founding case 3: T5 in float16 with apex's fused norm, as in CogVideo (CogVideo issue 170, transformers issue 34264).

Needs transformers and accelerate. The encoder is transformers' own, tiny and random. apex has no wheels, so that a norm in plain torch
stands in for its kernel: it refuses mixed dtypes with the same words.
"""

import tempfile

import torch
from transformers import T5Config, T5EncoderModel
from transformers.models.t5 import modeling_t5

NAMES = {torch.float32: "Float", torch.float16: "Half", torch.bfloat16: "BFloat16"}


class FusedRMSNorm(torch.nn.Module):
    def __init__(self, hidden_size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        if hidden_states.dtype != self.weight.dtype:
            raise RuntimeError(f"expected scalar type {NAMES[hidden_states.dtype]} but found {NAMES[self.weight.dtype]}")
        wide = hidden_states.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return (self.weight.float() * wide).to(hidden_states.dtype)


def checkpoint(folder: str) -> str:
    """Save a tiny random encoder, in place of a download."""
    config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=3, num_heads=4, dropout_rate=0.0)
    T5EncoderModel(config).save_pretrained(folder)
    return folder


def main() -> None:
    torch.manual_seed(0)
    modeling_t5.T5LayerNorm = FusedRMSNorm  # what transformers does itself where apex is installed

    with tempfile.TemporaryDirectory() as folder:
        text_encoder = T5EncoderModel.from_pretrained(
            checkpoint(folder),
            torch_dtype=torch.float16,  # CogVideoX-2b is distributed in float16
        )
    prompt = torch.randint(1, 60, (1, 9))
    with torch.no_grad():
        prompt_embeds = text_encoder(input_ids=prompt).last_hidden_state
    print("prompt embeddings:", tuple(prompt_embeds.shape), "finite:", prompt_embeds.isfinite().all().item())


if __name__ == "__main__":
    main()
