"""T5 of transformers with a stand-in for apex's fused norm: apex has no wheels and needs a GPU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

#: Stands for apex/normalization/fused_layer_norm.py: the same class and function names, plain torch instead of a CUDA kernel.
_NORM = """
import torch

_NAMES = {torch.float32: "Float", torch.float16: "Half", torch.bfloat16: "BFloat16"}


def fused_rms_norm_affine(input, weight, normalized_shape, eps=1e-6):
    if input.dtype != weight.dtype:
        raise RuntimeError(f"expected scalar type {_NAMES[input.dtype]} but found {_NAMES[weight.dtype]}")
    wide = input.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return (weight.float() * wide).to(input.dtype)


class FusedRMSNorm(torch.nn.Module):
    def __init__(self, normalized_shape, eps=1e-6):
        super().__init__()
        self.normalized_shape = normalized_shape
        self.weight = torch.nn.Parameter(torch.ones(normalized_shape))
        self.eps = eps

    def forward(self, input):
        return fused_rms_norm_affine(input, self.weight, self.normalized_shape, self.eps)
"""


def _stand_in(folder: Path) -> str:
    """Write a package that imports as apex does and return the folder to import it from."""
    package = folder / "stand-in" / "apex" / "normalization"
    package.mkdir(parents=True, exist_ok=True)
    (package.parent / "__init__.py").write_text("", encoding="utf-8")
    (package / "__init__.py").write_text("from .fused_layer_norm import FusedRMSNorm\n", encoding="utf-8")
    (package / "fused_layer_norm.py").write_text(_NORM.lstrip(), encoding="utf-8")
    return str(package.parent.parent)


@case(
    issues=("transformers/t5-fused-rmsnorm-wo",),
    present={"transformers": ">=4.45", "accelerate": ""},
    absent=("apex",),
    installs={"transformers": "4.57.6", "accelerate": "1.5.2"},
    plays=("bypass-apex-norm",),
    facts={"model": "T5EncoderModel", "package.apex": "present"},
    stand_in="apex's FusedRMSNorm is replaced by one in plain torch that refuses mixed dtypes as apex's kernel does; T5 is transformers'",
    seconds=6.0,
)
def t5_fused_norm(setting: Setting) -> Program:
    """T5's encoder in float16 with a norm that does not cast its input."""
    import torch

    if setting.faulty and setting.variant != "bypass-apex-norm":
        sys.path.insert(0, _stand_in(setting.folder))
    from transformers import T5Config, T5EncoderModel

    place = setting.folder / "t5"
    if not (place / "config.json").is_file():
        config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=3, num_heads=4, dropout_rate=0.0)
        T5EncoderModel(config).save_pretrained(place)
    model = T5EncoderModel.from_pretrained(place, torch_dtype=setting.dtype).eval().to(setting.device)
    tokens = torch.randint(1, 60, (2, 9), generator=torch.Generator().manual_seed(1)).to(setting.device)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad():
            return model(**inputs).last_hidden_state

    return Program(model, {"input_ids": tokens}, call)
