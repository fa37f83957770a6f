"""OpenAI's Whisper with a tiny random configuration: its LayerNorm computes in float32 and needs float32 parameters."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


@case(
    issues=("whisper/layer-norm-half",),
    tier="upstream",
    present={"openai-whisper": ""},
    installs={"openai-whisper": "20250625"},
    plays=("layer-norms-float32", "no-half"),
    facts={"model": "whisper"},
    seconds=6.0,
)
def whisper_cast_as_a_whole(setting: Setting) -> Program:
    """A Whisper model is cast with half(), its norms included."""
    import torch
    from whisper.model import ModelDimensions, Whisper

    dims = ModelDimensions(
        n_mels=8, n_audio_ctx=10, n_audio_state=16, n_audio_head=2, n_audio_layer=1, n_vocab=32, n_text_ctx=8, n_text_state=16,
        n_text_head=2, n_text_layer=1,
    )  # fmt: skip
    model = Whisper(dims)
    with torch.no_grad():
        model.decoder.positional_embedding.normal_(generator=torch.Generator().manual_seed(3))
    model.eval().to(setting.device)
    if setting.shows("no-half"):
        model.to(setting.dtype)
    if setting.variant == "layer-norms-float32":
        for module in model.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.float()
    mel = torch.randn(1, 8, 20, generator=torch.Generator().manual_seed(2)).to(setting.device, setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad():
            return model.encoder(inputs["mel"])

    return Program(model, {"mel": mel}, call)
