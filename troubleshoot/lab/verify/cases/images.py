"""Diffusion models in miniature: activations beyond 65504 on the way to a picture."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


def _decoder(factor: float) -> Any:
    """A decoder whose middle layer is ``factor`` times as loud as its end, as that of the VAE of SDXL 1.0 is."""
    import torch

    model: Any = torch.nn.Sequential(
        torch.nn.Conv2d(4, 8, 3, padding=1), torch.nn.SiLU(), torch.nn.Conv2d(8, 8, 3, padding=1), torch.nn.GroupNorm(2, 8),
        torch.nn.Conv2d(8, 3, 3, padding=1),
    )  # fmt: skip
    with torch.no_grad():
        model[0].weight.mul_(factor)
        model[2].weight.mul_(factor)
    return model


def _decode(setting: Setting, *, precise: tuple[str, ...]) -> Program:
    """Decode latents in the dtype asked for, or in float32 where the fix keeps the decoder there."""
    import torch

    model = _decoder(600.0)
    dtype = torch.float32 if setting.variant in precise else setting.dtype
    model.to(setting.device, dtype)
    latents = torch.randn(1, 4, 8, 8).to(setting.device, setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        with torch.no_grad():
            return model(inputs["latents"].to(dtype))

    return Program(model, {"latents": latents}, call)


@case(
    issues=("numerics/nan-image",),
    cause="numerics/fp16-overflow",
    plays=("vae-fp32", "no-check"),
    unplayable={"upcast-attention": "there is no attention here"},
    symptom="In fp16 every generated image is completely black.",
)
def black_image_of_a_decoder(setting: Setting) -> Program:
    """A decoder overflows float16 and the picture is NaN."""
    return _decode(setting, precise=("vae-fp32",))


class NansException(Exception):  # noqa: N818 - as the web UI names it
    """Raised by the web UI where a tensor holds NaN only; there it lies in modules/devices.py."""

    __module__ = "modules.devices"


@case(
    issues=("webui/nans-vae",),
    plays=("no-half-vae", "auto-upcast", "no-check"),
    unplayable={"fixed-vae": "needs other weights"},
    stand_in="a small decoder, and the check and the words of stable-diffusion-webui behind it",
)
def webui_check_behind_the_vae(setting: Setting) -> Program:
    """The web UI finds NaN only behind its VAE."""
    program = _decode(setting, precise=("no-half-vae", "auto-upcast"))

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        import torch

        picture: torch.Tensor = program.call(model, inputs)  # type: ignore[misc]
        if setting.variant != "no-check" and bool(torch.isnan(picture).all()):
            raise NansException(
                "A tensor with all NaNs was produced in VAE. This could be because there's not enough precision to represent the picture. "
                "Try adding --no-half-vae commandline argument to fix this. Use --disable-nan-check commandline argument to disable this "
                "check."
            )
        return picture

    return Program(program.model, program.inputs, call)


@case(
    issues=("numerics/sd2-attention-overflow",),
    facts={"model": "stabilityai/stable-diffusion-2-1"},
    plays=("fused", "upcast"),
    unplayable={"no-autocast": "no autocast is on here"},
    symptom="stabilityai/stable-diffusion-2-1 in float16 gives black images: all nan behind the attention of the U-Net.",
    stand_in="attention as the U-Net of Stable Diffusion 2.x computes it without a fused kernel, with products beyond 65504",
)
def unfused_attention_overflow(setting: Setting) -> Program:
    """Plain attention computes q.k in float16 before it scales, and the scores overflow."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        query, key, value = (inputs[name] for name in ("query", "key", "value"))
        if setting.variant == "fused":
            return torch.nn.functional.scaled_dot_product_attention(query, key, value)
        if setting.variant == "upcast":
            query, key = query.float(), key.float()
        scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
        return scores.softmax(-1).to(value.dtype) @ value

    inputs = {"query": torch.randn(1, 2, 6, 64) * 180, "key": torch.randn(1, 2, 6, 64) * 180, "value": torch.randn(1, 2, 6, 64)}
    return Program(None, {name: one.to(setting.device, setting.dtype) for name, one in inputs.items()}, call)


@case(
    issues=("numerics/bf16-trained-diffusion",),
    facts={"model": "black-forest-labs/FLUX.1-dev"},
    plays=("vae-fp32",),
    unplayable={"compute-dtype": "is about quantized weights"},
    symptom="FLUX.1-dev with torch_dtype=torch.float16 gives black images: the transformer's latents are nan.",
    stand_in="a residual stream beyond 65504, as in the transformer blocks of models that were trained in bfloat16",
)
def residual_stream_of_a_transformer(setting: Setting) -> Program:
    """The residual stream of a diffusion transformer passes 65504."""
    import torch

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(32)
            self.proj = torch.nn.Linear(32, 32, bias=False)

        def forward(self, x: torch.Tensor) -> Any:
            return x + self.proj(self.norm(x))

    model: Any = torch.nn.Sequential(Block(), Block(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4))
    with torch.no_grad():
        for one in (model[0], model[1]):
            one.proj.weight.mul_(1e5)
    # Only the VAE, which follows, goes to float32: the latents are NaN by then.
    return Program(model.to(setting.device, setting.dtype), {"input": torch.randn(2, 8, 32).to(setting.device, setting.dtype)})
