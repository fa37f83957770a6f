"""The five reports that the project started from, in the forms in which they reach it: our own words, frames as releases print them."""

from __future__ import annotations

from dataclasses import dataclass

SITE = "/usr/lib/python3.11/site-packages"
CALL = f"""\
  File "{SITE}/torch/nn/modules/module.py", line 1751, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
  File "{SITE}/torch/nn/modules/module.py", line 1762, in _call_impl
    return forward_call(*args, **kwargs)
"""


@dataclass(frozen=True)
class Founding:
    """One founding case: its entry, how people describe it, its frames and the wordings of its message."""

    issue: str
    prose: dict[str, str]
    versions: str
    frames: str
    messages: dict[str, str]
    exception: str = "RuntimeError"

    def report(self, *, language: str = "en", device: str = "cuda", whole: bool = True, versions: bool = True, gpu: str = "") -> str:
        """Return the report: whole, or cut to the part that still names the model."""
        frames = f"Traceback (most recent call last):\n{self.frames}" if whole else ""
        told = "\n".join(part for part in (self.prose[language], self.versions if versions else "", gpu) if part)
        return f"{told}\n\n{frames}{self.exception}: {self.messages[device]}\n"


BLIP2 = Founding(
    issue="transformers/blip2-query-tokens-fp32",
    prose={
        "en": "Captioning with Salesforce/blip2-opt-2.7b, loaded with torch_dtype=torch.float16. It worked last month.",
        "zh": "用 Salesforce/blip2-opt-2.7b 做图像描述，torch_dtype=torch.float16 加载，上个月还能跑，现在报错。",
    },
    versions="transformers==4.50.2\naccelerate==1.5.2\ntorch==2.6.0",
    frames=f"""\
  File "caption.py", line 14, in <module>
    out = model.generate(**inputs)
  File "{SITE}/torch/utils/_contextlib.py", line 116, in decorate_context
    return func(*args, **kwargs)
  File "{SITE}/transformers/models/blip_2/modeling_blip_2.py", line 2316, in generate
    query_outputs = self.qformer(
{CALL}  File "{SITE}/transformers/models/blip_2/modeling_blip_2.py", line 1372, in forward
    embedding_output = self.layernorm(query_embeds)
{CALL}  File "{SITE}/torch/nn/modules/normalization.py", line 217, in forward
    return F.layer_norm(
  File "{SITE}/torch/nn/functional.py", line 2900, in layer_norm
    return torch.layer_norm(
""",
    messages={
        "cuda": "expected scalar type Float but found Half",
        "cpu": "mixed dtype (CPU): expect parameter to have scalar type of Float",
    },
)

MINICPM = Founding(
    issue="minicpm/vpm-left-on-cpu",
    prose={
        "en": "LoRA fine-tuning of openbmb/MiniCPM-V-2 on my own images stops at the first step.",
        "zh": "用自己的图片对 openbmb/MiniCPM-V-2 做 LoRA 微调，第一步就报错。",
    },
    versions="transformers==4.40.2\npeft==0.10.0\ntorch==2.1.2",
    frames=f"""\
  File "finetune.py", line 312, in <module>
    train()
  File "{SITE}/transformers/trainer.py", line 1859, in train
    return inner_training_loop(
  File "/root/.cache/huggingface/modules/transformers_modules/MiniCPM-V-2/modeling_minicpmv.py", line 118, in get_vision_embedding
    vision_embedding = self.vpm.forward_features(pixel_value.unsqueeze(0).type(dtype))
  File "{SITE}/timm/models/vision_transformer.py", line 703, in forward_features
    x = self.patch_embed(x)
{CALL}  File "{SITE}/torch/nn/modules/conv.py", line 456, in _conv_forward
    return F.conv2d(input, weight, bias, self.stride,
""",
    messages={"cuda": "Input type (torch.cuda.HalfTensor) and weight type (torch.HalfTensor) should be the same"},
)

T5_APEX = Founding(
    issue="transformers/t5-fused-rmsnorm-wo",
    prose={
        "en": "CogVideoX inference in FP16 dies in the T5 text encoder. NVIDIA apex is installed.",
        "zh": "CogVideoX 用 FP16 推理时在 T5 文本编码器处报错，环境里装了 apex。",
    },
    versions="transformers==4.49.0\ntorch==2.4.0\napex==0.1",
    frames=f"""\
  File "sample_video.py", line 77, in <module>
    embeddings = encoder(tokens)
{CALL}  File "{SITE}/transformers/models/t5/modeling_t5.py", line 1975, in forward
    encoder_outputs = self.encoder(
{CALL}  File "{SITE}/transformers/models/t5/modeling_t5.py", line 1110, in forward
    layer_outputs = layer_module(
{CALL}  File "{SITE}/transformers/models/t5/modeling_t5.py", line 593, in forward
    normed_hidden_states = self.layer_norm(hidden_states)
{CALL}  File "{SITE}/apex/normalization/fused_layer_norm.py", line 386, in forward
    return fused_rms_norm_affine(
  File "{SITE}/apex/normalization/fused_layer_norm.py", line 189, in fused_rms_norm_affine
    return FusedRMSNormAffineFunction.apply(*args)
""",
    messages={"cuda": "expected scalar type Float but found Half"},
)

QWEN2_VL = Founding(
    issue="transformers/qwen2-vl-eager-fp16-nan",
    prose={
        "en": 'Qwen/Qwen2-VL-7B-Instruct with torch_dtype=torch.float16 and attn_implementation="eager", generate with sampling fails.',
        "zh": 'Qwen/Qwen2-VL-7B-Instruct，torch_dtype=torch.float16，attn_implementation="eager"，采样生成时报错。',
    },
    versions="transformers==4.57.6\ntorch==2.6.0",
    frames=f"""\
  File "chat.py", line 31, in <module>
    generated = model.generate(**inputs, max_new_tokens=128)
  File "{SITE}/torch/utils/_contextlib.py", line 116, in decorate_context
    return func(*args, **kwargs)
  File "{SITE}/transformers/generation/utils.py", line 2566, in generate
    result = decoding_method(
  File "{SITE}/transformers/generation/utils.py", line 2831, in _sample
    next_tokens = torch.multinomial(probs, num_samples=1).squeeze(1)
""",
    messages={
        "cpu": "probability tensor contains either `inf`, `nan` or element < 0",
        "cuda": "CUDA error: device-side assert triggered\n"
        "/pytorch/aten/src/ATen/native/cuda/TensorCompare.cu:112: _assert_async_cuda_kernel: block: [0,0,0], thread: [0,0,0] "
        "Assertion `probability tensor contains either `inf`, `nan` or element < 0` failed.",
    },
)

OPEN_CLIP = Founding(
    issue="open_clip/layernorm-fp32-cast",
    prose={
        "en": "open_clip ViT-H-14: after model.bfloat16() encode_image raises an error.",
        "zh": "open_clip 的 ViT-H-14，调用 model.bfloat16() 之后 encode_image 报错。",
    },
    versions="open_clip_torch==2.29.0\ntorch==2.5.1",
    frames=f"""\
  File "embed.py", line 9, in <module>
    features = model.encode_image(images)
  File "{SITE}/open_clip/model.py", line 281, in encode_image
    features = self.visual(image)
{CALL}  File "{SITE}/open_clip/transformer.py", line 614, in forward
    x = self.ln_pre(x)
{CALL}  File "{SITE}/open_clip/transformer.py", line 24, in forward
    x = F.layer_norm(x.to(torch.float32), self.normalized_shape, self.weight, self.bias, self.eps)
  File "{SITE}/torch/nn/functional.py", line 2900, in layer_norm
    return torch.layer_norm(
""",
    messages={
        "cuda": "expected scalar type Float but found BFloat16",
        "cpu": "mixed dtype (CPU): expect parameter to have scalar type of Float",
    },
)

ALL = (BLIP2, MINICPM, T5_APEX, QWEN2_VL, OPEN_CLIP)
