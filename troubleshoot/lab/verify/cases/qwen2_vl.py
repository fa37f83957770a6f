"""Qwen2-VL of transformers with a tiny random configuration whose projections are enlarged until float16 overflows, as in the real
weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_FACTS = {"model": "Qwen2VLForConditionalGeneration"}


def _config() -> Any:
    from transformers import Qwen2VLConfig

    return Qwen2VLConfig(
        vocab_size=128,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]},
        vision_config={"depth": 1, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "patch_size": 14},
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        image_token_id=120,
        video_token_id=121,
        vision_start_token_id=122,
        vision_end_token_id=123,
    )


def _saved(folder: Path, part: str) -> Path:
    """Save the random model once, in float32, with the attention's or the MLP's weights enlarged."""
    import torch
    from transformers import Qwen2VLForConditionalGeneration

    place = folder / f"qwen2-vl-{part}"
    if (place / "config.json").is_file():
        return place
    # With this seed no two scores lie within bfloat16's rounding of each other: attention is nearly one-hot here, and a tie would be a
    # coin toss.
    torch.manual_seed(4)
    model = Qwen2VLForConditionalGeneration(_config())
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "visual" in name:
                continue
            if part == "attention" and name.endswith(("q_proj.weight", "k_proj.weight")):
                # Entries of q and k are about 0.02 * 8 * factor: q.k over 16 dimensions is then beyond 65504, each of them far below.
                weight.mul_(1500.0)
            if part == "mlp" and name.endswith(("gate_proj.weight", "up_proj.weight")):
                weight.mul_(3000.0)
            if part == "mlp" and name.endswith("down_proj.weight"):
                # The products pass 65504, what the MLP returns does not.
                weight.mul_(0.01)
    model.save_pretrained(place)
    return place


def _program(setting: Setting, part: str, *, sample: bool) -> Program:
    import torch
    from transformers import Qwen2VLForConditionalGeneration

    attention = "eager" if part == "attention" else "sdpa"
    place = _saved(setting.folder, part)
    model = Qwen2VLForConditionalGeneration.from_pretrained(place, torch_dtype=setting.dtype, attn_implementation=attention).eval()
    model = model.to(setting.device)
    tokens = torch.randint(3, 110, (2, 12), generator=torch.Generator().manual_seed(3)).to(setting.device)
    changed = tokens.clone()
    changed[:, -1] = (changed[:, -1] + 1 - 3) % 100 + 3

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad():
            if sample:
                torch.manual_seed(0)
                model.generate(**inputs, do_sample=True, max_new_tokens=2, use_cache=False)
            return model(**inputs, use_cache=False).logits

    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    return Program(model, inputs, call, last_changed={**inputs, "input_ids": changed})


@case(
    issues=("transformers/qwen2-vl-eager-fp16-nan",),
    tier="upstream",
    present={"transformers": ">=4.45"},
    installs={"transformers": "4.57.6"},
    facts={**_FACTS, "attention": "eager"},
    causal=True,
    seconds=8.0,
)
def qwen2_vl_eager_nan(setting: Setting) -> Program:
    """Qwen2-VL samples in float16 with eager attention, on a release that lets NaN through."""
    return _program(setting, "attention", sample=True)


@case(
    issues=("transformers/qwen2-vl-eager-fp16-wrong",),
    tier="upstream",
    present={"transformers": ">=4.45"},
    installs={"transformers": "4.50.2"},
    facts={**_FACTS, "attention": "eager"},
    causal=True,
    seconds=8.0,
    symptom='Qwen2-VL with torch_dtype=torch.float16 and attn_implementation="eager": the answers of Qwen2-VL are fluent and wrong.',
)
def qwen2_vl_eager_wrong(setting: Setting) -> Program:
    """Qwen2-VL in float16 with eager attention, on a release that replaces infinite scores by 0."""
    return _program(setting, "attention", sample=False)


@case(
    issues=("transformers/qwen2-vl-mlp-overflow-fp16",),
    tier="upstream",
    present={"transformers": ">=4.45"},
    installs={"transformers": "4.57.6"},
    facts={**_FACTS, "attention": "sdpa"},
    causal=True,
    seconds=8.0,
)
def qwen2_vl_mlp_overflow(setting: Setting) -> Program:
    """Qwen2-VL samples in float16 with SDPA, and its MLPs overflow."""
    return _program(setting, "mlp", sample=True)
