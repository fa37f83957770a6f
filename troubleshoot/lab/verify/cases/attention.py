"""Attention whose operands differ in dtype."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


def _qkv(setting: Setting) -> dict[str, Any]:
    import torch

    return {name: torch.randn(2, 2, 6, 8).to(setting.device, setting.dtype) for name in ("query", "key", "value")}


@case(issues=("torch/bmm-dtype",), cause="dtype-mismatch/cast-in-forward", plays=("cast-activations",))
def attention_float32_softmax(setting: Setting) -> Program:
    """A softmax in float32 is multiplied with half-precision values."""
    import torch

    def attention_probs(model: Any, inputs: dict[str, Any]) -> Any:
        query, key, value = (inputs[name].flatten(0, 1) for name in ("query", "key", "value"))
        attn_weights = torch.softmax(torch.bmm(query, key.transpose(1, 2)) * 0.35, dim=-1, dtype=torch.float32)
        if not setting.shows("cast-activations"):
            attn_weights = attn_weights.to(value.dtype)
        return torch.bmm(attn_weights, value)

    return Program(None, _qkv(setting), attention_probs)


@case(issues=("torch/sdpa-qkv-dtype",), cause="dtype-mismatch/cast-in-forward", plays=("cast-activations",))
def sdpa_float32_rotary(setting: Setting) -> Program:
    """Rotary embeddings in float32 lift query and key, the value stays in half precision."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        query, key, value = inputs["query"], inputs["key"], inputs["value"]
        angle = torch.arange(6, device=query.device, dtype=torch.float32)[:, None] * 0.1
        query, key = query * angle.cos(), key * angle.cos()
        if not setting.shows("cast-activations"):
            query, key = query.to(value.dtype), key.to(value.dtype)
        return torch.nn.functional.scaled_dot_product_attention(query, key, value)

    return Program(None, _qkv(setting), call)


@case(issues=("torch/sdpa-qkv-dtype",), cause="dtype-mismatch/adapter-vs-base", plays=("cast-adapter-output",))
def sdpa_float32_adapter(setting: Setting) -> Program:
    """An adapter in float32 delivers key and value for half-precision queries."""
    import torch

    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.to_q = torch.nn.Linear(16, 16)
            self.adapter_k = torch.nn.Linear(16, 16)
            self.adapter_v = torch.nn.Linear(16, 16)

        def forward(self, x: torch.Tensor, image: torch.Tensor) -> Any:
            query = self.to_q(x)
            image = image.to(self.adapter_k.weight.dtype)
            key, value = self.adapter_k(image), self.adapter_v(image)
            if not setting.shows("cast-adapter-output"):
                key, value = key.to(query.dtype), value.to(query.dtype)
            return torch.nn.functional.scaled_dot_product_attention(query, key, value)

    model = Attention().to(setting.device, setting.dtype)
    if setting.faulty:
        model.adapter_k.float()
        model.adapter_v.float()
    inputs = {"x": torch.randn(2, 5, 16), "image": torch.randn(2, 4, 16)}
    return Program(model, {name: one.to(setting.device, setting.dtype) for name, one in inputs.items()})


@case(issues=("torch/sdpa-mask-dtype",), plays=("cast-mask", "eager-attention"))
def sdpa_integer_mask(setting: Setting) -> Program:
    """A tokenizer's mask of zeros and ones goes into scaled_dot_product_attention as it is."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        query, key, value, attn_mask = (inputs[name] for name in ("query", "key", "value", "attn_mask"))
        if setting.variant == "eager-attention":
            scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
            return torch.softmax(scores.masked_fill(attn_mask == 0, float("-inf")), dim=-1) @ value
        if not setting.shows("cast-mask"):
            attn_mask = attn_mask.bool()
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask)

    inputs = _qkv(setting)
    inputs["attn_mask"] = torch.ones(6, 6, dtype=torch.int64).tril().to(setting.device)
    return Program(None, inputs, call)


@case(issues=("torch/expected-scalar-type",), cause="dtype-mismatch/cast-in-forward", plays=("cast-activations",))
def sparse_product_dtype(setting: Setting) -> Program:
    """A sparse float32 adjacency is multiplied with half-precision features."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        features = inputs["features"]
        # Sparse products know no float16 on the CPU: both sides go to float32 there.
        features = features if setting.shows("cast-activations") else features.float()
        return torch.sparse.mm(inputs["adjacency"].float().to_sparse(), features)

    inputs = {"adjacency": torch.eye(6).to(setting.device), "features": torch.randn(6, 4).to(setting.device, setting.dtype)}
    return Program(None, inputs, call)


@case(issues=("torch/bmm-dtype",), cause="dtype-mismatch/input-vs-weight", plays=("cast-inputs",))
def einsum_input_dtype(setting: Setting) -> Program:
    """A float32 batch meets half-precision factors in an einsum."""
    import torch

    x = torch.randn(2, 5, 8).to(setting.device)
    if not setting.shows("cast-inputs"):
        x = x.to(setting.dtype)
    inputs = {"x": x, "factor": torch.randn(2, 8, 4).to(setting.device, setting.dtype)}
    return Program(None, inputs, lambda model, inputs: torch.einsum("bij,bjk->bik", inputs["x"], inputs["factor"]))
