"""Language models whose activations pass 65504: tiny random configurations with enlarged weights, as the real ones have them."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_INSTALLS = {"transformers": "4.57.6", "accelerate": "1.5.2"}
_SMALL = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip


def _sampled(model: Any, inputs: dict[str, Any]) -> Any:
    """Draw a token, as generation does, and return the logits."""
    import torch

    with torch.no_grad():
        logits = model(**inputs, use_cache=False).logits
        torch.manual_seed(0)
        model.generate(**inputs, do_sample=True, max_new_tokens=2, use_cache=False)
        return logits


def _tokens(setting: Setting) -> dict[str, Any]:
    import torch

    tokens = torch.randint(3, 60, (2, 8), generator=torch.Generator().manual_seed(3)).to(setting.device)
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}


@case(
    issues=("transformers/numerics-qwen2-eager-fp16",),
    tier="upstream",
    present={"transformers": ">=4.37"},
    installs=_INSTALLS,
    plays=("greedy",),
    facts={"model": "Qwen2ForCausalLM", "attention": "eager"},
    seconds=7.0,
)
def qwen2_key_bias(setting: Setting) -> Program:
    """Qwen2 samples in float16 with eager attention; its keys have a large bias."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    place = setting.folder / "qwen2"
    if not (place / "config.json").is_file():
        torch.manual_seed(4)
        model = Qwen2ForCausalLM(Qwen2Config(**_SMALL))
        with torch.no_grad():
            for layer in model.model.layers:
                layer.self_attn.k_proj.bias.normal_(std=400.0)
                layer.self_attn.q_proj.bias.normal_(std=400.0)
        model.save_pretrained(place)
    model = Qwen2ForCausalLM.from_pretrained(place, torch_dtype=setting.dtype, attn_implementation="eager").eval().to(setting.device)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        if setting.variant == "greedy":
            with torch.no_grad():
                model.generate(**inputs, do_sample=False, max_new_tokens=2, use_cache=False)
                return model(**inputs, use_cache=False).logits
        return _sampled(model, inputs)

    return Program(model, _tokens(setting), call)


@case(
    issues=("transformers/numerics-gemma-fp16",),
    tier="upstream",
    present={"transformers": ">=4.42"},
    installs=_INSTALLS,
    unplayable={"compute-fp32": "needs bitsandbytes and a GPU"},
    facts={"model": "Gemma2ForCausalLM"},
    seconds=7.0,
)
def gemma2_residual_stream(setting: Setting) -> Program:
    """Gemma 2 samples in float16; its norm weights lift the residual stream beyond 65504."""
    import torch
    from transformers import Gemma2Config, Gemma2ForCausalLM

    place = setting.folder / "gemma2"
    if not (place / "config.json").is_file():
        torch.manual_seed(4)
        model = Gemma2ForCausalLM(Gemma2Config(**_SMALL, head_dim=8, query_pre_attn_scalar=8))
        with torch.no_grad():
            for layer in model.model.layers:
                layer.post_feedforward_layernorm.weight.fill_(60000.0)
        model.save_pretrained(place)
    model = Gemma2ForCausalLM.from_pretrained(place, torch_dtype=setting.dtype, attn_implementation="sdpa").eval().to(setting.device)
    return Program(model, _tokens(setting), _sampled)


@case(
    issues=("transformers/numerics-t5-fp16",),
    tier="upstream",
    present={"transformers": ">=4.26"},
    installs=_INSTALLS,
    plays=("wo-fp32",),
    unplayable={"lr": "is about training"},
    facts={"model": "T5EncoderModel"},
    seconds=7.0,
    symptom="t5-large with model.half(): in fp16 the output of the encoder is garbage.",
)
def t5_gated_overflow(setting: Setting) -> Program:
    """A gated T5 encoder was cast with half(), and the output of its wo overflows."""
    import torch
    from transformers import T5Config, T5EncoderModel

    place = setting.folder / "t5"
    if not (place / "config.json").is_file():
        config = T5Config(
            vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0, feed_forward_proj="gated-gelu"
        )
        torch.manual_seed(4)
        model = T5EncoderModel(config)
        with torch.no_grad():
            for block in model.encoder.block:
                block.layer[1].DenseReluDense.wi_0.weight.mul_(40.0)
                block.layer[1].DenseReluDense.wi_1.weight.mul_(40.0)
                block.layer[1].DenseReluDense.wo.weight.mul_(200.0)
        model.save_pretrained(place)
    if setting.variant == "wo-fp32":
        model = T5EncoderModel.from_pretrained(place, torch_dtype=setting.dtype)
    else:
        model = T5EncoderModel.from_pretrained(place).to(setting.dtype)
    tokens = torch.randint(1, 60, (2, 9), generator=torch.Generator().manual_seed(1)).to(setting.device)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad():
            return model(**inputs).last_hidden_state

    return Program(model.eval().to(setting.device), {"input_ids": tokens}, call)
