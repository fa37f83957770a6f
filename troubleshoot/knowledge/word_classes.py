"""Word classes: ``<bf16>`` in a phrase stands for every word that people have for it, as a hole of a template does for a type.

A class holds English and Chinese words, so that one phrase is understood in both languages, in any mixture.
"""

from __future__ import annotations

import re

_FP16 = "fp16|float16|f16|half_precision|half-precision|half_float|half_model|halftensor|半精度"
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
_NAN = (
    "nan|nans|isnan|not_a_number|inf|infs|infinity|infinite|infinities|nonfinite|non-finite|not_finite|非数|无穷"
)
_DIFFERS = (
    "different|differently|differ|differs|differed|difference|differences|mismatch|mismatches|deviate|deviates|deviation|deviations|discrepancy|discrepancies|"
    "diverge|diverges|inconsistent|inconsistency|disagree|disagrees|not_identical|not_equal|not_the_same|vary|varies|"
    "不同|不一致|不一样|差异|偏差|对不上|误差|有出入"
)
_GOOD = (
    "correct|correctly|right|fine|normal|normally|perfect|perfectly|works|worked|work|ok|okay|good|well|smooth|sensible|accurate|as_expected|"
    "正常|正确|没问题|没有问题|可以"
)
_BAD = (
    "garbage|gibberish|nonsense|nonsensical|meaningless|garbled|junk|rubbish|random|wrong|incorrect|broken|empty|blank|zeros|all_zero|"
    "over_and_over|same_word|same_token|repeats|repeating|repeated|endless|repetitive|black|noise|noisy|distorted|crackling|silent|useless|"
    "乱码|胡言乱语|重复|感叹号|全黑|噪点|空的|错误的"
)
_PASCAL = (
    "p40|p100|p4|p6|p2000|p5000|p6000|m40|m60|k80|k40|k20|1050|1050ti|1060|1070|1070ti|1080|1080ti|gtx1050|gtx1060|gtx1070|gtx1080|gtx1080ti|"
    "970|980|980ti|titan_x|titan_xp|pascal|maxwell|kepler|gp100|gp102|帕斯卡|10系"
)
_TURING = (
    "t4|v100|v100s|2060|2070|2080|2080ti|rtx2060|rtx2070|rtx2080|rtx2080ti|rtx_8000|rtx_6000|rtx_5000|rtx8000|rtx6000|quadro_rtx|titan_rtx|"
    "titan_v|turing|volta|sm_70|sm_75|sm70|sm75|t1000|t2000|图灵|20系"
)
_GTX16 = "1630|1650|1660|1650ti|1660ti|1650s|1660s|gtx1650|gtx1660|gtx1660ti|gtx16|gtx_16|16xx|16_series|mx450|mx550|t600|t500|t1200|16系"
_AMPERE = (
    "a100|a100s|a800|a40|a10|a10g|a30|a6000|a5000|a4000|a2000|3090|3090s|3090ti|3080|3080ti|3070|3070ti|3060|3060ti|3050|rtx3090|rtx3080|rtx3070|rtx3060|30xx|"
    "30_series|4090|4090s|4080|4070|4060|rtx4090|rtx4080|40xx|40_series|l4|l20|l40|l40s|h100|h100s|h800|h200|h20|5090|5080|5070|50_series|ampere|hopper|30系|40系"
)

#: The words of each class, as the alternatives of a term.
WORD_CLASSES: dict[str, str] = {
    "fp16": _FP16,
    "bf16": _BF16,
    "fp32": "fp32|float32|f32|full_precision|single_precision|32-bit|32bit|全精度|单精度",
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
    "nan": _NAN,
    "differs": _DIFFERS,
    "good": _GOOD,
    "bad": f"{_BAD}|{_NAN}",
    # graphics cards: before Volta, those without bfloat16, those whose float16 gives NaN, those with TF32
    "pascal": _PASCAL,
    "turing": _TURING,
    "gtx16": _GTX16,
    "ampere": _AMPERE,
}

_NAME = re.compile(r"<([a-z0-9]+)>")


def expand(phrase: str) -> str:
    """Put the words of the classes into a lowered phrase; an unknown class stays as it is, and no text holds it."""
    return _NAME.sub(lambda match: WORD_CLASSES.get(match[1], match[0]), phrase) if "<" in phrase else phrase
