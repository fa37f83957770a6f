"""BLIP-2 of transformers with a tiny random configuration; the query tokens are drawn from a normal distribution, since at their zero
initialisation nothing depends on them and the comparison would be meaningless.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


def _config() -> Any:
    from transformers import Blip2Config, Blip2QFormerConfig, Blip2VisionConfig, OPTConfig

    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    vision = Blip2VisionConfig(**small, intermediate_size=64, image_size=32, patch_size=8)
    qformer = Blip2QFormerConfig(**small, intermediate_size=64, vocab_size=64, encoder_hidden_size=32, cross_attention_frequency=1)
    text = OPTConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64, max_position_embeddings=64,
        word_embed_proj_dim=32,
        dropout=0.0, attention_dropout=0.0, bos_token_id=2, eos_token_id=2, pad_token_id=1,
    )  # fmt: skip
    config = Blip2Config.from_vision_qformer_text_configs(vision, qformer, text, num_query_tokens=4)
    config.image_token_index = 63
    return config


def _saved(folder: Path) -> Path:
    """Save the random model once, in float32, for all runs."""
    import torch
    from transformers import Blip2ForConditionalGeneration

    place = folder / "blip2"
    if not (place / "config.json").is_file():
        model = Blip2ForConditionalGeneration(_config())
        with torch.no_grad():
            model.query_tokens.normal_(generator=torch.Generator().manual_seed(1))
        model.save_pretrained(place)
    return place


def _program(setting: Setting) -> Program:
    import torch
    from transformers import Blip2ForConditionalGeneration

    place = _saved(setting.folder)
    model = Blip2ForConditionalGeneration.from_pretrained(place, torch_dtype=setting.dtype).eval().to(setting.device)
    if setting.variant == "cast-query-tokens":
        # Not to(model.dtype): that is the dtype of the first parameter, which is the query tokens themselves.
        model.query_tokens.data = model.query_tokens.data.to(model.qformer.dtype)
    generator = torch.Generator().manual_seed(2)
    tokens = torch.cat([torch.full((2, 4), 63), torch.randint(3, 60, (2, 6), generator=generator)], dim=1)
    inputs = {
        "pixel_values": torch.randn(2, 3, 32, 32, generator=generator).to(setting.device, setting.dtype),
        "input_ids": tokens.to(setting.device),
        "attention_mask": torch.ones_like(tokens).to(setting.device),
    }

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad():
            return model(**inputs).logits

    return Program(model, inputs, call)


_INSTALLS = {"transformers": "4.50.2", "accelerate": "1.5.2"}
_FACTS = {"model": "Blip2ForConditionalGeneration"}


@case(
    issues=("transformers/blip2-query-tokens-fp32",), tier="upstream", dtypes=("float16", "bfloat16"),
    present={"transformers": ">=4.49", "accelerate": ""},
    installs=_INSTALLS, plays=("cast-query-tokens",), facts=_FACTS, seconds=7.0,
)  # fmt: skip
def blip2_query_tokens(setting: Setting) -> Program:
    """BLIP-2 loaded in half precision by from_pretrained, with accelerate."""
    return _program(setting)


@case(
    issues=("transformers/requested-dtype-ignored-without-accelerate",), tier="upstream", dtypes=("float16", "bfloat16"),
    present={"transformers": ">=4.49"}, absent=("accelerate",), installs={"transformers": "4.50.2"}, facts=_FACTS, seconds=7.0,
    symptom="Blip2ForConditionalGeneration.from_pretrained(..., torch_dtype=torch.float16): torch_dtype is ignored, BLIP-2 stays float32.",
)  # fmt: skip
def blip2_silent_float32(setting: Setting) -> Program:
    """BLIP-2 loaded in half precision without accelerate: the weights are float32."""
    program = _program(setting)

    def check(model: Any, _output: Any) -> str | None:
        held = sorted({str(one.dtype).removeprefix("torch.") for one in model.parameters()})
        # Some releases keep the query tokens or the Q-Former in float32 on purpose.
        return f"{setting.name} was requested and every weight is float32" if held == ["float32"] and setting.name != "float32" else None

    # As the image processor makes it; without a dtype of its own the model takes what fits its weights.
    program.inputs["pixel_values"] = program.inputs["pixel_values"].to(next(program.model.parameters()).dtype)
    return Program(program.model, program.inputs, program.call, check)
