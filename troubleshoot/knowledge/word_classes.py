"""Word classes: ``<bf16>`` in a phrase stands for every word that people have for it, as a hole of a template does for a type.

A class holds English and Chinese words, so that one phrase is understood in both languages, in any mixture.
"""

from __future__ import annotations

import re

_FP16 = "float_16|fp16|float16|f16|half_precision|half-precision|half_float|half_model|halftensor|半精度"
_BF16 = "bf16|bfloat16|brain_float|brain_floating"
_NOT = (
    "not|cannot|can't|cant|doesn't|doesnt|don't|dont|didn't|isn't|isnt|aren't|wasn't|weren't|won't|wont|wouldn't|couldn't|never|unable|"
    "impossible|unsupported|unavailable|lack|lacks|lacking|incompatible|"
    "不支持|不能|无法|不可|不行|不会|不了|不兼容"
)
_FAILS = (
    "fail|fails|failed|failing|failure|error|errors|crash|crashes|crashed|crashing|break|breaks|broke|broken|throws|threw|thrown|throwing|"
    "raises|raised|complains|complained|complaining|refuses|refused|rejects|rejected|exception|dies|died|aborts|quits|stops|invalid|mismatch|"
    "mismatched|segfault|segfaults|segmentation_fault|core_dumped|unhappy|chokes|trouble|"
    "blows_up|blow_up|blew_up|typeerror|valueerror|runtimeerror|attributeerror|"
    "报错|失败|错误|出错|异常|崩溃"
)
_CONSTANT = (
    "constant|constants|buffer|buffers|mask|masks|position_ids|position_id|pos_embed|positional|sinusoidal|pos_encoding|timestep|timesteps|"
    "sigmas|alphas_cumprod|betas|anchor|anchors|grid|grids|prior|priors|lookup_table|window|filter|filters|hidden_state|hidden_states|"
    "hidden|state|states|h0|c0|cache|caches|kv_cache|class_weight|class_weights|pos_weight|attribute|attributes|inv_freq|rotary|freqs|filterbank|filter_bank|mel_basis|codebook|bias_table|exp_avg|"
    "freqs_cis|arange|zeros|ones|eye|linspace|noise|queue|prototypes|mean_and_std|掩码|位置编码|缓存|常量|隐藏状态|隐状态"
)
_MODULE = (
    "layer|layers|module|modules|submodule|submodules|sub-module|sub-modules|nn.module|head|heads|encoder|encoders|decoder|text_encoder|vae|"
    "tower|projector|adapter|adapters|lora|loras|controlnet|backbone|discriminator|critic|classifier|parameter|parameters|params|weight|"
    "weights|block|blocks|lm_head|embed_tokens|safety_checker|模块|子模块|权重|参数"
)
_INPUT = (
    "input|inputs|input_ids|batch|batches|data|sample|samples|image|images|label|labels|target|targets|token|tokens|tokenized|tokenizer|"
    "prompt|pixel_values|feature|features|indices|example|examples|ground_truth|输入|数据|标签|样本|图片|图像"
)

_STAYS = (
    "stay|stays|stayed|staying|remain|remains|remained|remaining|still|left|lives|living|resides|sits|sitting|"
    "还在|仍在|留在|停留在|仍然在|默认在"
)
_MADE = (
    "create|creates|created|allocates|allocated|initialises|initialised|initializes|initialized|constructed|defined|made|stored|kept|"
    "创建|新建|定义"
)

#: The words of each class, as the alternatives of a term.
WORD_CLASSES: dict[str, str] = {
    "fp16": _FP16,
    "bf16": _BF16,
    "fp32": "fp32|float32|float_32|f32|full_precision|single_precision|32-bit|32bit|全精度|单精度",
    "fp64": "fp64|float64|f64|double|doubles|double_precision|64-bit|64bit|双精度",
    "fp8": "fp8|float8|float8_e4m3fn|float8_e5m2|e4m3|e4m3fn|e5m2",
    "16bit": f"{_FP16}|{_BF16}|16bit|16-bit|16_bit|low_precision|reduced_precision|低精度",
    "cpu": "cpu|cpus|cpu-only|处理器",
    "gpu": "gpu|gpus|cuda|graphics_card|graphic_card|video_card|accelerator|显卡",
    "mac": "mac|macos|macbook|mps|metal|apple|m1|m2|m3|m4|苹果",
    "constant": _CONSTANT,
    "module": _MODULE,
    "input": _INPUT,
    "tensor": f"tensor|tensors|variable|variables|张量|变量|{_CONSTANT}|{_MODULE}|{_INPUT}",
    "stays": _STAYS,
    "made": _MADE,
    "moved": "move|moves|moved|moving|follow|follows|transfer|transferred|sent|send|pushed|copied|搬|移|放",
    "not": _NOT,
    "fails": _FAILS,
    "wrong": f"{_NOT}|{_FAILS}",
}

_NAME = re.compile(r"<([a-z0-9]+)>")


def expand(phrase: str) -> str:
    """Put the words of the classes into a lowered phrase; an unknown class stays as it is, and no text holds it."""
    return _NAME.sub(lambda match: WORD_CLASSES.get(match[1], match[0]), phrase) if "<" in phrase else phrase
