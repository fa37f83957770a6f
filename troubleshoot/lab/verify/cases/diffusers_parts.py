"""Parts of diffusers pipelines with tiny random configurations."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_INSTALLS = {"diffusers": "0.35.2", "transformers": "4.57.6", "accelerate": "1.10.1"}
_COMMON: dict[str, Any] = {"tier": "upstream", "present": {"diffusers": ""}, "installs": _INSTALLS, "seconds": 8.0}


def _vae(setting: Setting) -> Any:
    from diffusers import AutoencoderKL

    place = setting.folder / "vae"
    if not (place / "config.json").is_file():
        model = AutoencoderKL(
            block_out_channels=(8, 8), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
            latent_channels=4, norm_num_groups=4, sample_size=16,
        )  # fmt: skip
        model.save_pretrained(place)
    return place


def _load(kind: Any, place: Any, dtype: Any, device: Any) -> Any:
    return kind.from_pretrained(place, torch_dtype=dtype).eval().to(device)


@case(issues=("diffusers/pipeline-vae-dtype",), plays=("cast-latents", "same-dtype"), **_COMMON)
def vae_in_float32(setting: Setting) -> Program:
    """Half-precision latents reach a VAE that was loaded in float32."""
    import torch
    from diffusers import AutoencoderKL

    wide = torch.float32 if setting.shows("same-dtype") else setting.dtype
    model = _load(AutoencoderKL, _vae(setting), wide, setting.device)
    latents = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(2)).to(setting.device, setting.dtype)

    def call(vae: Any, inputs: dict[str, Any]) -> Any:
        latents = inputs["latents"].to(vae.dtype) if not setting.shows("cast-latents") else inputs["latents"]
        with torch.no_grad():
            return vae.decode(latents / 0.18215).sample

    return Program(model, {"latents": latents}, call)


@case(
    issues=("diffusers/vae-fp16-overflow",),
    plays=("vae-fp32", "bf16-vae", "tiling"),
    unplayable={"fixed-vae": "needs weights from the Hub"},
    symptom="SDXL in float16: the VAE decodes finite latents to nan, and the image is black.",
    facts={"model": "stabilityai/stable-diffusion-xl-base-1.0"},
    **_COMMON,
)
def vae_decodes_to_nan(setting: Setting) -> Program:
    """The decoder of a VAE with loud inner layers overflows float16."""
    import torch
    from diffusers import AutoencoderKL

    dtype = {"vae-fp32": torch.float32, "bf16-vae": torch.bfloat16}.get(setting.variant or "", setting.dtype)
    model = _load(AutoencoderKL, _vae(setting), torch.float32, setting.device)
    with torch.no_grad():
        # conv2 of a residual block is what adds to the stream that no norm holds down.
        for name, parameter in model.decoder.named_parameters():
            if name.endswith("conv2.weight"):
                parameter.mul_(1e5)
    model.to(dtype)
    if setting.variant == "tiling":
        model.enable_tiling()
    latents = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(2)).to(setting.device, setting.dtype)

    def call(vae: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad():
            return vae.decode(inputs["latents"].to(dtype) / 0.18215).sample

    return Program(model, {"latents": latents}, call)


_UNET: dict[str, Any] = {
    "block_out_channels": (8, 16), "layers_per_block": 1, "in_channels": 4, "norm_num_groups": 4,
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"), "cross_attention_dim": 16, "attention_head_dim": 2,
}  # fmt: skip


def _unet(setting: Setting) -> Any:
    from diffusers import UNet2DConditionModel

    place = setting.folder / "unet"
    if not (place / "config.json").is_file():
        up = ("CrossAttnUpBlock2D", "UpBlock2D")
        UNet2DConditionModel(**_UNET, sample_size=8, out_channels=4, up_block_types=up).save_pretrained(place)
    return place


def _conditions(setting: Setting) -> dict[str, Any]:
    import torch

    generator = torch.Generator().manual_seed(2)
    return {
        "latents": torch.randn(1, 4, 8, 8, generator=generator).to(setting.device),
        "prompt_embeds": torch.randn(1, 5, 16, generator=generator).to(setting.device),
    }


@case(
    issues=("diffusers/pipeline-denoiser-dtype",),
    cause="dtype-mismatch/input-vs-weight",
    plays=("cast-inputs", "enable-autocast"),
    **{**_COMMON, "dtypes": ("bfloat16", "float16")},
)
def unet_float32_latents(setting: Setting) -> Program:
    """Latents and embeddings in float32 reach a half-precision U-Net."""
    import torch
    from diffusers import UNet2DConditionModel

    unet = _load(UNet2DConditionModel, _unet(setting), setting.dtype, setting.device)

    def call(unet: Any, inputs: dict[str, Any]) -> Any:
        inputs = {name: one if setting.shows("cast-inputs") else one.to(unet.dtype) for name, one in inputs.items()}
        mixed = setting.variant == "enable-autocast"
        with torch.no_grad(), torch.autocast(setting.device.type, dtype=setting.dtype, enabled=mixed):
            return unet(inputs["latents"], 10, encoder_hidden_states=inputs["prompt_embeds"]).sample

    return Program(unet, _conditions(setting), call)


@case(
    issues=("diffusers/controlnet-dtype",),
    plays=("same-dtype", "cast-inputs", "enable-autocast"),
    **{**_COMMON, "dtypes": ("bfloat16", "float16")},
)
def controlnet_in_float32(setting: Setting) -> Program:
    """A ControlNet loaded without a dtype gets the half-precision latents of its pipeline."""
    import torch
    from diffusers import ControlNetModel

    place = setting.folder / "controlnet"
    if not (place / "config.json").is_file():
        model = ControlNetModel(**_UNET, conditioning_embedding_out_channels=(4, 8))
        with torch.no_grad():
            # Zero convolutions: at zero nothing would depend on the rest.
            for parameter in model.controlnet_mid_block.parameters():
                parameter.normal_(generator=torch.Generator().manual_seed(3))
        model.save_pretrained(place)
    wide = torch.float32 if setting.shows("same-dtype", "enable-autocast") else setting.dtype
    controlnet = _load(ControlNetModel, place, wide, setting.device)
    inputs = _conditions(setting)
    inputs["image"] = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(4)).to(setting.device)
    inputs = {name: one.to(setting.dtype) for name, one in inputs.items()}

    def call(controlnet: Any, inputs: dict[str, Any]) -> Any:
        inputs = {name: one if setting.shows("cast-inputs") else one.to(controlnet.dtype) for name, one in inputs.items()}
        mixed = setting.variant == "enable-autocast"
        with torch.no_grad(), torch.autocast(setting.device.type, dtype=setting.dtype, enabled=mixed):
            out = controlnet(inputs["latents"], 10, encoder_hidden_states=inputs["prompt_embeds"], controlnet_cond=inputs["image"])
        return out.mid_block_res_sample

    return Program(controlnet, inputs, call)


@case(
    issues=("diffusers/pipeline-float16-on-cpu",),
    cause="unsupported/half-on-cpu",
    devices=("cpu",),
    plays=("use-fp32", "choose-by-device", "ignore"),
    symptom="Pipelines loaded with `dtype=torch.float16` cannot run with `cpu` device. It is not recommended to move them to `cpu` as "
    "running them will fail.",
    **_COMMON,
)
def float16_pipeline_on_cpu(setting: Setting) -> Program:
    """A float16 pipeline is moved to the CPU, and diffusers warns."""
    import io
    import logging
    from contextlib import redirect_stderr

    import torch
    from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel

    dtype = torch.float32 if setting.variant in ("use-fp32", "choose-by-device") else setting.dtype
    torch.manual_seed(1)
    unet = UNet2DModel(
        sample_size=8, in_channels=3, out_channels=3, block_out_channels=(8, 8), layers_per_block=1, norm_num_groups=4,
        down_block_types=("DownBlock2D",) * 2, up_block_types=("UpBlock2D",) * 2,
    )  # fmt: skip
    said = io.StringIO()

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        handler = logging.StreamHandler(said)
        logging.getLogger("diffusers").addHandler(handler)
        pipe = DDPMPipeline(unet=model, scheduler=DDPMScheduler(num_train_timesteps=10)).to(dtype)
        with redirect_stderr(said):
            pipe = pipe.to("cpu")
        with torch.no_grad():
            return pipe.unet(inputs["x"].to(dtype), 3).sample

    def check(_model: Any, _output: Any) -> str | None:
        warned = "cannot run with `cpu` device" in said.getvalue()
        return said.getvalue().strip().splitlines()[-1][:200] if warned and setting.variant != "ignore" else None

    return Program(unet.eval(), {"x": torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(2))}, call, check)
