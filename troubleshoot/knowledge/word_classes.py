"""Word classes: ``<bf16>`` in a phrase stands for every word that people have for it, as a hole of a template does for a type.

A class holds English and Chinese words, so that one phrase is understood in both languages, in any mixture.
"""

from __future__ import annotations

from troubleshoot.basics.patterns import searched

_FP16 = "fp16|float16|f16|half_precision|half-precision|half_float|half_model|halftensor|半精度|fp_16|float_16"
_BF16 = "bf16|bfloat16|xla_use_bf16|bfloat|brain_float|brain_floating|bfloat_16"
_NOT = (
    "not|cannot|can't|cant|doesn't|doesnt|don't|dont|didn't|isn't|isnt|aren't|wasn't|weren't|won't|wont|wouldn't|couldn't|never|unable|"
    "impossible|unsupported|unavailable|lack|lacks|lacking|incompatible|"
    "不支持|不能|无法|不可|不行|不会|不了|不兼容"
)
_FAILS = (
    "fail|fails|failed|failing|failure|error|errors|crash|crashes|crashed|crashing|break|breaks|broke|broken|throws|threw|thrown|throwing|"
    "raises|raised|complains|complained|complaining|refuses|refused|rejects|rejected|exception|dies|died|aborts|quits|stops|invalid|mismatch|"
    "mismatched|segfault|segfaults|segmentation_fault|core_dumped|unhappy|chokes|trouble|"
    "refuse|raise|throw|aborted|blows_up|blow_up|blew_up|typeerror|valueerror|runtimeerror|attributeerror|"
    "报错|失败|错误|出错|异常|崩溃|崩了|挂了"
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

# graphics cards
_PASCAL = (
    "p40|p100|p4|p6|p600|p1000|p2000|p2200|p4000|p5000|p6000|m40|m60|k80|k40|k20|1050|1050ti|1060|1070|1070ti|1080|1080ti|gtx1050|gtx1060|gtx1070|gtx1080|gtx1080ti|"
    "970|980|980ti|titan_x|titan_xp|pascal|maxwell|kepler|gp100|gp102|帕斯卡|10系|"
    "gtx780|gtx_780|780ti|gtx750|gtx_750|750ti|gtx960|gtx_960|gtx970|gtx980"
)
_TURING = (
    "t4|v100|v100s|2060|2060s|2070|2070s|2080|2080s|2080ti|rtx2060|rtx2070|rtx2080|rtx2080ti|rtx_8000|rtx_6000|rtx_5000|rtx8000|rtx6000|quadro_rtx|titan_rtx|"
    "titan_v|turing|volta|sm_70|sm_75|sm70|sm75|t1000|t2000|图灵|20系"
)
_GTX16 = "1630|1650|1660|1650ti|1660ti|1650s|1660s|gtx1650|gtx1660|gtx1660ti|gtx16|gtx_16|16xx|16_series|mx450|mx550|t600|t500|t1200|16系"

# numbers that go wrong
_NAN = "nan|nans|isnan|inf|infs|infinity|infinite|infinities|not_a_number|non-finite|nonfinite|not_finite|非数|无穷"
_AMP = (
    "amp|autocast|autocasting|mixed_precision|mixed-precision|mixed_fp16|gradscaler|grad_scaler|apex|16-mixed|bf16-mixed|to_fp16|mixed_float16|mixed_bfloat16|automatic_mixed_precision|"
    "opt_level|混合精度"
)
_WORKS = (
    "works|worked|working|work_fine|fine|ok|okay|normal|normally|correct|correctly|good|well|right|perfect|perfectly|sane|sensible|proper|properly|"
    "flawless|flawlessly|no_trouble|no_problem|no_problems|without_problems|without_trouble|coherent|as_it_should|as_expected|impeccable|spotless|"
    "reasonable|disappears|disappeared|gone|vanishes|vanished|solves|solved|fixes|fixed|resolved|resolves|succeeds|successfully|healthy|"
    "正常|没问题|没有问题|没有这个问题|就好了|是对的|没毛病|没事"
)
_BAD = (
    "wrong|wrongly|incorrect|incorrectly|bad|badly|poor|poorly|weird|weirdly|strange|odd|garbage|junk|nonsense|nonsensical|gibberish|rubbish|"
    "meaningless|garbled|broken|corrupt|corrupted|useless|unusable|terrible|terribly|awful|horrible|random|distorted|messed|mess|"
    "unreadable|senseless|scrambled|mangled|absurd|word_salad|trash|crap|faulty|mushy|smeared|ruined|dreadful|lousy|"
    "degenerate|abnormal|not_correct|not_right|错误|不对|乱码|混乱|无意义|不正常|异常|很差|胡言乱语|乱七八糟|不知所云|"
    "gobbledygook|unintelligible|胡话"
)
_EMPTY = (
    "empty|blank|nothing|zeros|all_zero|all_zeros|exclamation_marks|exclamation_mark|exclamation_points|question_marks|⁇|unk|pad_tokens|"
    "repeats|repeating|repeated|repetition|repetitive|same_word|same_token|over_and_over|endless|胡言乱语|感叹号|为空|空的|全0|全零|重复"
)
_DIFFERS = (
    "different|differently|differ|differs|differed|differing|vary|varies|difference|differences|discrepancy|discrepancies|mismatch|mismatches|mismatched|"
    "inconsistent|inconsistency|inconsistencies|disagree|disagrees|deviate|deviates|deviation|deviations|diverge|diverges|not_same|not_the_same|"
    "not_identical|not_equal|not_close|not_allclose|not_match|doesn't_match|don't_match|not_agree|don't_agree|doesn't_agree|something_else|misaligned|misalignment|misalignments|misalign|part_ways|"
    "far_apart|wide_apart|not_coincide|don't_coincide|doesn't_coincide|diverging|deviating|differing|disagreement|disagreements|disagreeing|not_consistent|"
    "unequal|allclose|不同|不一致|不一样|不相同|差异|偏差|对不上|对不齐|有差别|有出入|不等|偏离|相差|差得远|差很远"
)
_INACCURATE = (
    "inaccurate|inaccuracy|imprecise|inexact|rounded|rounding|rounds|numerical|imprecision|less_accurate|less_precise|low_precision|lower_precision|"
    "precision_loss|loss_of_precision|loses_precision|lose_precision|error|errors|precision|precise|noisy|jitter|jittery|shaky|drift|drifts|"
    "coarse|crude|lossy|truncated_digits|less_exact|rough|"
    "digits|decimals|误差|不准|精度|不精确"
)
_AMPERE = (
    "a100|a100s|a800|a40|a10|a10g|a30|a6000|a5000|a4500|a4000|a2000|3090|3090s|3090ti|3080|3080ti|3070|3070ti|3060|3060ti|3050|30xx|30_series|rtx30|rtx3090|"
    "rtx3080|rtx3070|rtx3060|4090|4090s|4090d|4080|4070|4070ti|4060|4060ti|40xx|40_series|rtx4090|rtx4080|rtx40|l4|l20|l40|l40s|h100|h100s|h800|h200|h20|"
    "gh200|b200|gb200|b300|gb300|5090|5080|5070|5060|rtx5090|50xx|50_series|ampere|hopper|ada|blackwell|安培|30系|40系"
)
_OLDER_GPU = f"{_PASCAL}|{_TURING}|{_GTX16}|titan|quadro|20_series|20xx|10_series|10xx|older|old_gpu|old_card"
_RESULT = (
    "result|results|output|outputs|value|values|computation|computations|calculation|calculations|inference|prediction|predictions|psnr|ssim|accuracy|"
    "map|iou|miou|auc|f1|rmse|fid|wer|ate|metric|metrics|score|scores|loss|numbers|features|detections|keypoints|energy|energies|force|forces|"
    "curve|curves|renders|rendering|renderings|reconstruction|reconstructions|logprob|logprobs|success_rate|error_rate|r2|answers|readings|"
    "embedding|embeddings|logits|probabilities|reward|rewards|perplexity|ppl|bleu|dice|recall|结果|输出|指标|精度|准确率"
)
_MATRIX = (
    "matmul|matmuls|matvec|matrix-vector|mm|bmm|einsum|matrix|matrices|multiplication|multiplications|multiply|multiplied|dot|dot_product|inner_product|rotation|rotations|"
    "rotate|rotated|rotating|inverse|inverted|inversion|pinv|transform|transforms|transformed|transformation|transformations|pose|poses|projection|"
    "projections|reprojection|projected|gemm|cdist|distance|distances|covariance|mesh|meshes|vertices|vertex|point_cloud|pointcloud|points|"
    "coordinates|homography|extrinsics|quaternion|quaternions|euler|svd|eigenvalues|eigenvectors|cholesky|smpl|registration|kinematics|rays|"
    "matrix_multiplication|矩阵|矩阵乘法|旋转|坐标|位姿|求逆|点云"
)

#: The words of each class, as the alternatives of a term.
WORD_CLASSES: dict[str, str] = {
    "fp16": _FP16,
    "bf16": _BF16,
    "fp32": "fp32|float32|f32|full_precision|single_precision|32-bit|32bit|全精度|单精度|float_32|fp_32|32_bit",
    "fp64": "fp64|float64|f64|double|doubles|double_precision|64-bit|64bit|双精度",
    "fp8": "fp8|float8|float8_e4m3fn|float8_e5m2|e4m3|e4m3fn|e5m2",
    "16bit": f"{_FP16}|{_BF16}|16bit|16-bit|16_bit|low_precision|reduced_precision|低精度",
    "cpu": "cpu|cpus|cpu-only|host_memory|system_ram|main_memory|处理器",
    "gpu": "gpu|gpus|cuda|graphics_card|graphic_card|video_card|accelerator|显卡",
    "mac": "mac|macos|macbook|mps|metal|apple|m1|m2|m3_max|m3_pro|m3_ultra|m4|苹果",
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
    "amp": _AMP,
    "lowp": f"{_FP16}|half|{_AMP}|16bit|16-bit|16_bit|low_precision|reduced_precision|低精度",
    "works": _WORKS,
    "bad": _BAD,
    "garbage": f"{_BAD}|{_EMPTY}",
    "differs": _DIFFERS,
    "inaccurate": _INACCURATE,
    "ampere": _AMPERE,
    "oldgpu": _OLDER_GPU,
    "result": _RESULT,
    "matrix": _MATRIX,
    # graphics cards: before Volta, those without bfloat16, those whose float16 gives NaN, those with TF32
    "pascal": _PASCAL,
    "turing": _TURING,
    "gtx16": _GTX16,
}

_NAME = searched(r"<([a-z0-9]+)>")


def expand(phrase: str) -> str:
    """Put the words of the classes into a lowered phrase; an unknown class stays as it is, and no text holds it."""
    return _NAME.sub(lambda match: WORD_CLASSES.get(match[1], match[0]), phrase) if "<" in phrase else phrase
