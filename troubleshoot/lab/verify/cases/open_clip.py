"""OpenCLIP's own classes with a tiny random configuration."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_CONFIG = {
    "embed_dim": 32,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 64, "head_width": 16, "patch_size": 8},
    "text_cfg": {"context_length": 16, "vocab_size": 128, "width": 32, "heads": 2, "layers": 2},
}


@cache
def _import() -> Any:
    """Import open_clip, which needs torchvision, whose wheels on the index are compiled for CUDA.

    Beside a CPU build of torch their operators do not load; declaring those that torchvision registers itself for lets the rest of it be
    imported,
    and open_clip uses only its image transforms.
    """
    import torch

    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        # Kept: with the object, the declarations would go.
        library: Any = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        torch._troubleshoot_torchvision = library  # type: ignore[attr-defined]
    import open_clip

    return open_clip


@case(
    issues=("open_clip/layernorm-fp32-cast",),
    tier="upstream",
    dtypes=("bfloat16", "float16"),
    present={"open_clip_torch": ""},
    installs={"open_clip_torch": "3.3.0"},
    plays=("own-precision-bf16", "own-precision-fp16", "layernorm-fp32", "enable-autocast", "pure-precision"),
    seconds=7.0,
)
def open_clip_layernorm(setting: Setting) -> Program:
    """OpenCLIP built for half precision and cast once more by hand."""
    import torch

    open_clip = _import()
    place = setting.folder / "tiny-clip.json"
    place.write_text(json.dumps(_CONFIG), encoding="utf-8")
    open_clip.add_model_config(place)
    variant = setting.variant
    precision = {"bfloat16": "bf16", "float16": "fp16"}.get(setting.name, "fp32")
    dtype = setting.dtype
    if variant == "own-precision-fp16":
        precision, dtype = "fp16", torch.float16
    elif variant == "enable-autocast":
        precision = "fp32"
    elif variant == "pure-precision":
        precision = f"pure_{precision}"
    weights = setting.folder / "tiny-clip.pt"
    model = open_clip.create_model("tiny-clip", precision="fp32") if not weights.is_file() else None
    if model is not None:
        torch.save(model.state_dict(), weights)
    model = open_clip.create_model("tiny-clip", precision=precision, device=setting.device)
    model.load_state_dict(torch.load(weights, weights_only=True))
    model.eval()
    # The fault: a cast of every parameter, the guarded norms included.
    if setting.faulty and precision != "fp32" and variant in (None, "layernorm-fp32"):
        model.to(setting.dtype)
    if variant == "layernorm-fp32":
        for module in model.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.float()
    generator = torch.Generator().manual_seed(1)
    image = torch.randn(2, 3, 32, 32, generator=generator).to(setting.device, torch.float32 if precision == "fp32" else dtype)
    text = torch.randint(1, 120, (2, 16), generator=generator).to(setting.device)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad(), torch.autocast(setting.device.type, dtype=setting.dtype, enabled=variant == "enable-autocast"):
            return torch.cat([model.encode_image(inputs["image"]).float(), model.encode_text(inputs["text"]).float()])

    return Program(model, {"image": image, "text": text}, call)
