"""Models of transformers in which half precision meets float32: under autocast, and in ESM's rotary embedding."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_INSTALLS = {"transformers": "4.46.3", "accelerate": "1.5.2"}
_SMALL = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip


def _loaded(setting: Setting, name: str, model_class: Any, config: Any, **more: Any) -> Any:
    """Save the random model once, and load it in float32; where the fix ``load-half`` is played, in the dtype itself."""
    import torch

    place = setting.folder / name
    if not (place / "config.json").is_file():
        torch.manual_seed(4)
        model_class(config).save_pretrained(place)
    dtype = setting.dtype if setting.variant == "load-half" else torch.float32
    return model_class.from_pretrained(place, torch_dtype=dtype, **more).eval().to(setting.device)


def _tokens(setting: Setting) -> dict[str, Any]:
    import torch

    tokens = torch.randint(3, 60, (2, 8), generator=torch.Generator().manual_seed(3)).to(setting.device)
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}


def _autocast(setting: Setting) -> Any:
    """Return autocast to the case's dtype; off in the reference, in float32, and where the model itself is in half precision."""
    import torch

    on = setting.shows("load-half") and setting.name != "float32"
    return torch.autocast(setting.device.type, dtype=setting.dtype if on else torch.bfloat16, enabled=on)


@case(
    issues=("transformers/switch-transformers-autocast",),
    tier="upstream",
    dtypes=("bfloat16", "float16"),
    present={"transformers": ">=4.26"},
    installs=_INSTALLS,
    plays=("load-half",),
    facts={"model": "SwitchTransformersForConditionalGeneration", "autocast": "on"},
    seconds=8.0,
)
def switch_transformers_under_autocast(setting: Setting) -> Program:
    """Switch Transformers under autocast: the experts return half precision, and their place is a float32 tensor."""
    import torch
    from transformers import SwitchTransformersConfig, SwitchTransformersForConditionalGeneration

    config = SwitchTransformersConfig(
        vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, num_experts=4, expert_capacity=64, dropout_rate=0.0,
        num_sparse_encoder_layers=1, num_sparse_decoder_layers=1, router_jitter_noise=0.0, decoder_start_token_id=0, pad_token_id=0,
    )  # fmt: skip
    model = _loaded(setting, "switch", SwitchTransformersForConditionalGeneration, config)
    inputs = {**_tokens(setting), "decoder_input_ids": torch.tensor([[5, 6, 7], [7, 8, 9]]).to(setting.device)}

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad(), _autocast(setting):
            return model.get_encoder()(inputs["input_ids"], attention_mask=inputs["attention_mask"]).last_hidden_state

    return Program(model, inputs, call)


@case(
    issues=("transformers/gemma2-hybrid-cache-autocast",),
    tier="upstream",
    dtypes=("bfloat16", "float16"),
    present={"transformers": ">=4.42"},
    installs=_INSTALLS,
    plays=("load-half", "no-cache"),
    facts={"model": "Gemma2ForCausalLM", "autocast": "on"},
    seconds=8.0,
)
def gemma2_cache_under_autocast(setting: Setting) -> Program:
    """Gemma 2 under autocast: its cache is made in the model's float32 and filled with half precision."""
    import torch
    from transformers import Gemma2Config, Gemma2ForCausalLM

    model = _loaded(setting, "gemma2", Gemma2ForCausalLM, Gemma2Config(**_SMALL, head_dim=8, query_pre_attn_scalar=8))

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad(), _autocast(setting):
            cached = setting.shows("no-cache")
            model.generate(**inputs, do_sample=False, max_new_tokens=2, use_cache=cached)
            return model(**inputs, use_cache=cached).logits

    return Program(model, _tokens(setting), call)


@case(
    issues=("transformers/esm-rotary-half",),
    tier="upstream",
    dtypes=("float16", "bfloat16"),
    present={"transformers": ">=4.26"},
    installs={**_INSTALLS, "transformers": "4.36.2"},
    facts={"model": "EsmForMaskedLM"},
    seconds=7.0,
)
def esm_rotary_in_half(setting: Setting) -> Program:
    """ESM-2 in half precision: its rotary embedding turns queries and keys into float32, the values stay."""
    import torch
    from transformers import EsmConfig, EsmForMaskedLM

    place = setting.folder / "esm"
    if not (place / "config.json").is_file():
        torch.manual_seed(4)
        config = EsmConfig(
            vocab_size=33, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64,
            position_embedding_type="rotary", pad_token_id=1, mask_token_id=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        EsmForMaskedLM(config).save_pretrained(place)
    model = EsmForMaskedLM.from_pretrained(place, torch_dtype=setting.dtype).eval().to(setting.device)
    tokens = torch.randint(4, 24, (2, 8), generator=torch.Generator().manual_seed(3)).to(setting.device)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad():
            return model(**inputs).logits

    return Program(model, {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}, call)


@case(
    issues=("transformers/static-cache-autocast",),
    tier="upstream",
    dtypes=("bfloat16", "float16"),
    present={"transformers": ">=4.48"},
    installs={"transformers": "4.57.6", "accelerate": "1.5.2"},
    plays=("load-half", "dynamic-cache"),
    facts={"model": "LlamaForCausalLM", "autocast": "on"},
    seconds=9.0,
)
def static_cache_under_autocast(setting: Setting) -> Program:
    """Llama generates with a static cache under autocast: the keys are float32 after the rotation, the values in half precision."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    model = _loaded(setting, "llama", LlamaForCausalLM, LlamaConfig(**_SMALL))
    more = {"cache_implementation": "static"} if setting.shows("dynamic-cache") else {}

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad(), _autocast(setting):
            model.generate(**inputs, do_sample=False, max_new_tokens=3, **more)
            return model(**inputs, use_cache=False).logits

    return Program(model, _tokens(setting), call)
