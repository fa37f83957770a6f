"""VITS of transformers (MMS text to speech) with a tiny random configuration."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


@case(
    issues=("transformers/vits-half",), tier="upstream", dtypes=("float16", "bfloat16"), present={"transformers": ">=4.33"},
    installs={"transformers": "4.48.3", "accelerate": "1.3.0"}, plays=("autocast",), facts={"model": "VitsModel"}, seconds=7.0,
)  # fmt: skip
def vits_half(setting: Setting) -> Program:
    """VITS in half precision."""
    import torch
    from transformers import VitsConfig, VitsModel

    place = setting.folder / "vits"
    if not (place / "config.json").is_file():
        torch.manual_seed(1)
        config = VitsConfig(
            vocab_size=38, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, ffn_dim=32, flow_size=16, spectrogram_bins=9,
            prior_encoder_num_flows=1, prior_encoder_num_wavenet_layers=1, posterior_encoder_num_wavenet_layers=1,
            upsample_initial_channel=16, upsample_rates=[4, 4], upsample_kernel_sizes=[8, 8], depth_separable_num_layers=1,
            duration_predictor_num_flows=1, duration_predictor_filter_channels=16, wavenet_dilation_rate=1, noise_scale=0.0,
            noise_scale_duration=0.0,
        )  # fmt: skip
        VitsModel(config).save_pretrained(place)
    amp = setting.variant == "autocast"
    model = VitsModel.from_pretrained(place, torch_dtype=torch.float32 if amp else setting.dtype).eval().to(setting.device)
    tokens = torch.randint(1, 37, (2, 8), generator=torch.Generator().manual_seed(3)).to(setting.device)
    mask = torch.ones_like(tokens)
    mask[0, -2:] = 0

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad(), torch.autocast(setting.device.type, dtype=setting.dtype, enabled=amp):
            return model(**inputs).waveform

    return Program(model, {"input_ids": tokens, "attention_mask": mask}, call)
