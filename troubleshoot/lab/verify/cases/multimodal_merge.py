"""Image and audio features that are written into the text embeddings by an index or a mask, which converts nothing: under autocast the
embeddings are float32, and what a linear layer made of the features is not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
_VISION = {**_SMALL, "image_size": 32, "patch_size": 8}
_LLAMA: dict[str, Any] = {
    **_SMALL, "model_type": "llama", "num_key_value_heads": 2, "vocab_size": 64, "max_position_embeddings": 64, "pad_token_id": 1,
    "bos_token_id": 2, "eos_token_id": 3,
}  # fmt: skip
#: The number of the image token.
_IMAGE = 60
_PLAYS = ("cast-features", "half-weights", "no-autocast")


def _saved(folder: Path, name: str, model: Callable[[], Any]) -> Path:
    """Save the random model once, in float32, for all runs."""
    import torch

    place = folder / name
    if not (place / "config.json").is_file():
        torch.manual_seed(1)
        model().save_pretrained(place)
    return place


def _program(setting: Setting, model_class: Any, place: Path, inputs: dict[str, Any], projection: str) -> Program:
    """Run the float32 model under autocast; without the fault it runs plainly, in the dtype that the fix loads it in.

    ``projection`` is the end of the name of the module that returns the features.
    """
    import torch

    amp = setting.shows("half-weights", "no-autocast")
    dtype = torch.float32 if amp or setting.variant == "no-autocast" else setting.dtype
    model = model_class.from_pretrained(place, torch_dtype=dtype).eval().to(setting.device)
    if setting.variant == "cast-features":
        wanted = model.get_input_embeddings().weight.dtype

        def cast(_module: Any, _inputs: Any, output: Any) -> Any:
            return output.to(wanted) if isinstance(output, torch.Tensor) else (output[0].to(wanted), *output[1:])

        next(part for name, part in model.named_modules() if name.endswith(projection)).register_forward_hook(cast)
    given = {name: one.to(setting.device, dtype if one.is_floating_point() else one.dtype) for name, one in inputs.items()}

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad(), torch.autocast(setting.device.type, dtype=setting.dtype, enabled=amp):
            return model(**inputs).logits

    return Program(model, given, call)


def _words(images: int) -> dict[str, Any]:
    """Return two prompts that begin with so many image tokens."""
    import torch

    generator = torch.Generator().manual_seed(3)
    tokens = torch.cat([torch.full((2, images), _IMAGE), torch.randint(5, 55, (2, 6), generator=generator)], dim=1)
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}


def _pixels(*more: int) -> Any:
    import torch

    return torch.randn(2, *more, 3, 32, 32, generator=torch.Generator().manual_seed(2))


@case(
    issues=("transformers/kosmos2-autocast-merge",), tier="upstream", dtypes=("bfloat16",), present={"transformers": ">=4.35"},
    installs={"transformers": "4.57.6", "accelerate": "1.5.2"}, plays=_PLAYS, facts={"model": "Kosmos2ForConditionalGeneration"},
    seconds=8.0,
)  # fmt: skip
def kosmos2_autocast(setting: Setting) -> Program:
    """Kosmos-2 in float32 under autocast."""
    import torch
    from transformers import Kosmos2Config, Kosmos2ForConditionalGeneration

    def model() -> Any:
        text = {
            "vocab_size": 64, "max_position_embeddings": 64, "embed_dim": 32, "layers": 2, "ffn_dim": 64, "attention_heads": 4,
            "dropout": 0.0, "attention_dropout": 0.0, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2,
        }  # fmt: skip
        return Kosmos2ForConditionalGeneration(Kosmos2Config(text_config=text, vision_config=dict(_VISION), latent_query_num=4))

    words = _words(4)
    place = torch.zeros_like(words["input_ids"])
    place[:, :4] = 1
    inputs = {**words, "pixel_values": _pixels(), "image_embeds_position_mask": place}
    return _program(setting, Kosmos2ForConditionalGeneration, _saved(setting.folder, "kosmos2", model), inputs, "image_to_text_projection")


@case(
    issues=("transformers/smolvlm-feature-dtype",), tier="upstream", dtypes=("bfloat16",), present={"transformers": ">=4.50"},
    installs={"transformers": "4.57.6", "accelerate": "1.5.2"}, plays=_PLAYS, facts={"model": "SmolVLMForConditionalGeneration"},
    seconds=8.0,
)  # fmt: skip
def smolvlm_autocast(setting: Setting) -> Program:
    """SmolVLM in float32 under autocast."""
    import torch
    from transformers import SmolVLMConfig, SmolVLMForConditionalGeneration

    def model() -> Any:
        return SmolVLMForConditionalGeneration(
            SmolVLMConfig(image_token_id=_IMAGE, vision_config=dict(_VISION), scale_factor=2, text_config=dict(_LLAMA), pad_token_id=1)
        )

    mask = torch.zeros(2, 1, 32, 32, dtype=torch.long)
    # Three of four patches a side: their places are no borders of the position table, where 4.55 to 4.57 are one off in float32.
    mask[..., :24, :24] = 1
    inputs = {**_words(4), "pixel_values": _pixels(1), "pixel_attention_mask": mask}
    return _program(setting, SmolVLMForConditionalGeneration, _saved(setting.folder, "smolvlm", model), inputs, "connector")


@case(
    issues=("transformers/voxtral-autocast-scatter",), tier="upstream", dtypes=("bfloat16",), present={"transformers": ">=4.54"},
    installs={"transformers": "4.57.6", "accelerate": "1.5.2"}, plays=_PLAYS, facts={"model": "VoxtralForConditionalGeneration"},
    seconds=8.0,
)  # fmt: skip
def voxtral_autocast(setting: Setting) -> Program:
    """Voxtral in float32 under autocast: its audio is scattered by a mask."""
    import torch
    from transformers import VoxtralConfig, VoxtralForConditionalGeneration

    def model() -> Any:
        audio = {
            "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 128, "num_mel_bins": 8,
            "max_source_positions": 16, "vocab_size": 64,
        }  # fmt: skip
        return VoxtralForConditionalGeneration(VoxtralConfig(audio_config=audio, text_config=dict(_LLAMA), audio_token_id=_IMAGE))

    # Four frames of the encoder make one token.
    features = torch.randn(2, 8, 32, generator=torch.Generator().manual_seed(2))
    inputs = {**_words(4), "input_features": features}
    return _program(setting, VoxtralForConditionalGeneration, _saved(setting.folder, "voxtral", model), inputs, "multi_modal_projector")
