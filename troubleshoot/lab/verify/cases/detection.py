"""Detectors and vision backbones of transformers with tiny random configurations: positions, grids and masks that are made in float32
inside forward, whatever the weights are.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_HALF = ("float16", "bfloat16")
#: A fix that changes how the program loads and calls the model, so the case plays it.
_PLAYS = ("autocast",)


def _saved(folder: Path, name: str, model: Callable[[], Any]) -> Path:
    """Save the random model once, in float32, for all runs."""
    import torch

    place = folder / name
    if not (place / "config.json").is_file():
        torch.manual_seed(1)
        made = model()
        with torch.no_grad():
            for weight in made.parameters():
                # Box and offset heads begin at zero, where nothing depends on what came before.
                if weight.numel() and weight.is_floating_point() and not weight.any():
                    weight.normal_(0.0, 0.1)
        made.save_pretrained(place)
    return place


def _program(setting: Setting, model_class: Any, place: Path, inputs: dict[str, Any], output: str) -> Program:
    """Load the model in the dtype, or in float32 under autocast where that fix is played; images have the dtype of the weights."""
    import torch

    amp = setting.variant == "autocast"
    dtype = torch.float32 if amp else setting.dtype
    model = model_class.from_pretrained(place, torch_dtype=dtype).eval().to(setting.device)
    given = {name: one.to(setting.device, dtype if one.is_floating_point() else one.dtype) for name, one in inputs.items()}

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad(), torch.autocast(setting.device.type, dtype=setting.dtype, enabled=amp):
            return getattr(model(**inputs), output)

    return Program(model, given, call)


def _images(size: int = 64) -> dict[str, Any]:
    """Return two images, the first of which is padded below."""
    import torch

    mask = torch.ones(2, size, size, dtype=torch.long)
    mask[0, size * 3 // 4 :] = 0
    return {"pixel_values": torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(2)), "pixel_mask": mask}


def _backbone(*stages: str) -> Any:
    from transformers import ResNetConfig

    return ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], layer_type="basic", out_features=list(stages))


#: What the detectors have in common.
_SMALL: dict[str, Any] = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 8, "decoder_attention_heads": 8,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "num_queries": 5, "dropout": 0.0,
}  # fmt: skip
_RESNET: dict[str, Any] = {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None}


@case(
    issues=("transformers/grounding-dino-half",), tier="upstream", dtypes=_HALF, present={"transformers": ">=4.40"},
    installs={"transformers": "4.57.6", "accelerate": "1.5.2"}, plays=_PLAYS, facts={"model": "GroundingDinoForObjectDetection"},
    seconds=8.0,
)  # fmt: skip
def grounding_dino_half(setting: Setting) -> Program:
    """Grounding DINO in half precision, with images in the dtype of its weights."""
    import torch
    from transformers import GroundingDinoConfig, GroundingDinoForObjectDetection, SwinConfig

    def model() -> Any:
        swin = SwinConfig(
            image_size=64, patch_size=4, embed_dim=16, depths=[1, 1, 1], num_heads=[2, 2, 4], window_size=4,
            out_features=["stage2", "stage3"],
        )  # fmt: skip
        text = {
            "model_type": "bert", "vocab_size": 120, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4,
            "intermediate_size": 64, "max_position_embeddings": 32,
        }  # fmt: skip
        config = GroundingDinoConfig(
            backbone_config=swin, text_config=text, num_feature_levels=3, max_text_len=16, disable_custom_kernels=True,
            fusion_droppath=0.0, **_SMALL,
        )  # fmt: skip
        return GroundingDinoForObjectDetection(config)

    tokens = torch.randint(5, 60, (2, 8), generator=torch.Generator().manual_seed(3))
    # The first and last of a sentence: a token sees its own sentence only.
    tokens[:, 0], tokens[:, -1] = 101, 102
    words = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "token_type_ids": torch.zeros_like(tokens)}
    place = _saved(setting.folder, "grounding-dino", model)
    # Before the boxes are chosen by their scores: a score that rounds the other way would swap two rows.
    return _program(setting, GroundingDinoForObjectDetection, place, {**_images(), **words}, "encoder_last_hidden_state_vision")


@case(
    issues=("transformers/conditional-detr-half",), tier="upstream", dtypes=_HALF, present={"transformers": ">=4.30"},
    installs={"transformers": "4.55.4", "accelerate": "1.5.2"}, plays=_PLAYS, facts={"model": "ConditionalDetrForObjectDetection"},
    seconds=8.0,
)  # fmt: skip
def conditional_detr_half(setting: Setting) -> Program:
    """Conditional DETR in half precision, with images in the dtype of its weights."""
    from transformers import ConditionalDetrConfig, ConditionalDetrForObjectDetection

    def model() -> Any:
        return ConditionalDetrForObjectDetection(ConditionalDetrConfig(backbone_config=_backbone("stage4"), **_RESNET, **_SMALL))

    return _program(
        setting, ConditionalDetrForObjectDetection, _saved(setting.folder, "conditional-detr", model), _images(), "last_hidden_state"
    )


@case(
    issues=("transformers/swinv2-half",), tier="upstream", dtypes=_HALF, present={"transformers": ">=4.26"},
    installs={"transformers": "4.41.2", "accelerate": "0.30.1"}, plays=(*_PLAYS, "cast-after"), facts={"model": "Swinv2Model"},
    seconds=6.0,
)  # fmt: skip
def swinv2_half(setting: Setting) -> Program:
    """Swin Transformer V2 loaded in half precision by from_pretrained."""
    import torch
    from transformers import Swinv2Config, Swinv2Model

    def model() -> Any:
        return Swinv2Model(Swinv2Config(image_size=32, patch_size=4, embed_dim=16, depths=[1, 2], num_heads=[2, 4], window_size=4))

    images = {"pixel_values": torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(2))}
    program = _program(setting, Swinv2Model, _saved(setting.folder, "swinv2", model), images, "last_hidden_state")
    if setting.variant == "cast-after":
        program.model.to(setting.dtype)
    return program
