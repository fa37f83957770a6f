"""What a text says beside its tracebacks: versions, GPUs, models, dtypes, options, in prose of any language, in code and in dumps.

The text is split into words once; each group of patterns runs only where one of its words occurs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from troubleshoot.dtypes import parse_device, parse_dtype
from troubleshoot.report.mention_tables import FAMILIES, GPU_WORDS, IMPORTS, PACKAGES
from troubleshoot.report.model import Mention

#: More mentions than this tell nothing more: a log that prints its configuration at each step.
LIMIT = 400
_TEXT_LIMIT = 400_000

_WORD = re.compile(r"[a-z]+[0-9]*")
_VERSION = re.compile(r"\d\.\d")

_DTYPE_WORDS = frozenset(
    "fp16 float16 half bfloat16 bf16 bfp16 fp32 float32 fp64 float64 double fp8 float8 dtype precision float int8 int64 autocast amp float torch_dtype mixed no".split()
)
_QUANT_WORDS = frozenset("bit bnb gptq awq gguf ggml nf4 qlora fp8 hqq torchao quanto quantization quantize quantized bitsandbytes exl2 int4 int8 nunchaku".split())
_ATTENTION_WORDS = frozenset("attn sdpa xformers flash eager attention flashattention".split())
_LAUNCH_WORDS = frozenset("torchrun accelerate deepspeed mpirun mpiexec srun sbatch ray slurm launch launcher elastic lightning".split())
_PHASE_WORDS = frozenset(
    "train training trainer finetune finetuning tuning fine inference generate generation predict loading load pretrained save saving checkpoint export onnx compile dynamo "
    "inductor sampling evaluate deepspeed backward".split()
)
_OS_WORDS = frozenset("windows linux ubuntu debian centos macos darwin wsl wsl2 osx win10 win11 win32 colab kaggle".split())
_DEVICE_WORDS = frozenset("cuda cpu mps xpu npu device gpu hpu xla tpu dml directml".split())


class _Found:
    def __init__(self, text: str, starts: list[int], numbers: list[int]) -> None:
        self.text = text
        self.starts = starts
        self.numbers = numbers
        self.seen: dict[tuple[str, str, str], Mention] = {}

    def add(self, kind: str, name: str, value: str, at: int) -> None:
        key = (kind, name, value)
        if key in self.seen or len(self.seen) >= LIMIT:
            return
        row = bisect_right(self.starts, at) - 1
        begin = self.starts[row]
        finish = self.text.find("\n", begin)
        line = self.text[begin : finish if finish >= 0 else None].strip()
        self.seen[key] = Mention(kind, name, value, self.numbers[row], line[:200])


def find_mentions(lines: list[str], numbers: list[int], quoted: set[int]) -> tuple[Mention, ...]:
    """Return what the lines say outside the quoted source of other people's packages, in the order of the report."""
    kept: list[str] = []
    starts: list[int] = []
    rows: list[int] = []
    size = 0
    for line, number in zip(lines, numbers, strict=True):
        if number in quoted or not line or line.startswith("frame #"):
            continue
        if len(line) > 2000:
            line = line[:2000]
        kept.append(line)
        starts.append(size)
        rows.append(number)
        size += len(line) + 1
        if size > _TEXT_LIMIT:
            break
    if not kept:
        return ()
    text = "\n".join(kept)
    low = text.lower()
    found = _Found(text, starts, rows)
    words = set(_WORD.findall(low))
    if _VERSION.search(text):
        _versions(found)
    if not words.isdisjoint(_DTYPE_WORDS):
        _dtypes(found)
    if not words.isdisjoint(GPU_WORDS):
        _gpus(found)
    if not words.isdisjoint(_QUANT_WORDS):
        _quantization(found)
    if not words.isdisjoint(_ATTENTION_WORDS):
        _attention(found)
    if not words.isdisjoint(_LAUNCH_WORDS):
        _launchers(found)
    if not words.isdisjoint(_DEVICE_WORDS):
        _devices(found)
    if not words.isdisjoint(_PHASE_WORDS):
        _phases(found)
    if not words.isdisjoint(_OS_WORDS):
        _systems(found)
    if "--" in text:
        _flags(found)
    _models(found, words)
    _presence(found, words, low)
    return tuple(sorted(found.seen.values(), key=lambda one: one.line))


@lru_cache(maxsize=64)
def _re(pattern: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(pattern, flags)


# -- versions ----------------------------------------------------------------------------------------------------------------------

_NUMBER = r"v?(?P<version>\d{1,4}(?:\.\d{1,5}){1,4}(?:\.?(?:a|b|rc|dev|post)\d+)*(?:\+[\w.]+)?)"
_BETWEEN = r"[`\"'*\]]*\s{0,40}(?:\([^()\n]{0,40}\)|\[[^\]\n]{0,20}\])?[`\"'*]*\s{0,40}(?:version|versions|ver\.?|release|版本号?|バージョン|версия)?[`\"'*]*\s{0,40}(?:==|=|:|：|@|is|为|是|-)?\s{0,40}[`\"'*]*"


@lru_cache(maxsize=1)
def _package_pattern() -> re.Pattern[str]:
    names = sorted(PACKAGES, key=len, reverse=True)
    spelled = "|".join(re.escape(name).replace(r"\-", "[-_]").replace(r"\ ", "[ -]?") for name in names)
    return re.compile(rf"(?<![\w/.\\-])(?P<name>{spelled})(?![\w]){_BETWEEN}{_NUMBER}(?![\w%])", re.IGNORECASE)


def _versions(found: _Found) -> None:
    pattern = _package_pattern()
    for start, line in _lines_with(found, _VERSION):
        for match in pattern.finditer(line):
            if line[match.end("name") : match.start("version")].strip()[:2] in (">=", "<=", "~=", "!="):
                continue
            name = PACKAGES.get(match["name"].lower().replace("_", "-")) or PACKAGES.get(match["name"].lower(), "")
            if name:
                found.add("package", name, match["version"].rstrip("."), start + match.start())
        for match in _re(r"(?<![\w.-])([A-Za-z][\w.-]{1,60}?)(?:\[[\w,-]*\])?==(\d[\w.+!-]{0,40})").finditer(line):
            found.add("package", _normal(match[1]), match[2].rstrip("."), start + match.start())
        for match in _re(r"(?<![\w-])python(?:\s{1,10}version)?\s{0,10}(?:==|=|:|：|版本)?\s{0,10}v?(\d\.\d{1,2}(?:\.\d{1,2})?)(?![\d.]*[/\\]site|\d)").finditer(line):
            found.add("python", "python", match[1], start + match.start())
        for match in _re(r"python(3\.\d{1,2})/(?:site|dist)-packages").finditer(line):
            found.add("python", "python", match[1], start + match.start())
        for match in _re(
            r"(?<![\w])(cuda|rocm|hip|driver)(?:[\s-]{0,3}(?:toolkit|runtime|used to build pytorch|version|ver|版本))*\s{0,10}(?:==|=|:|：|is|-|为|是)?\s{0,20}v?(\d{1,3}\.\d{1,3}(?:\.\d{1,5})*)"
        ).finditer(line):
            what = match[1].lower()
            found.add("cuda", "rocm" if what == "hip" else what, match[2], start + match.start())
        for match in _re(r"(?:compute[ _]capability|capability)\s{0,10}(?:is|=|:|of)?\s{0,10}\(?(\d{1,2})(?:\.|,\s?)(\d)\)?").finditer(line):
            found.add("capability", "capability", f"{match[1]}.{match[2]}", start + match.start())


def _normal(name: str) -> str:
    normal = re.sub(r"[-_.]+", "-", name.lower())
    return "torch" if normal == "pytorch" else normal


def _lines_with(found: _Found, pattern: re.Pattern[str]) -> list[tuple[int, str]]:
    text = found.text
    out: list[tuple[int, str]] = []
    at = 0
    while True:
        match = pattern.search(text, at)
        if not match or len(out) > 2000:
            return out
        start = text.rfind("\n", 0, match.start()) + 1
        finish = text.find("\n", match.end())
        if finish < 0:
            finish = len(text)
        out.append((start, text[start:finish]))
        at = finish


# -- dtypes ------------------------------------------------------------------------------------------------------------------------

_DTYPE = r"(?:torch\.)?(?P<dtype>float16|fp16|half|bfloat16|bf16|bfp16|float32|fp32|float64|fp64|double|float8_e4m3fn|float8_e5m2|fp8_e4m3fn|fp8_e5m2|fp8_e4m3|fp8|float)"


def _dtypes(found: _Found) -> None:
    text = found.text
    for match in _re(rf"(?:\b|_)(?:torch_)?(?:compute_|model_|weight_|weights_)?d?type['\"]?\s{{0,4}}(?:=|:|\s)\s{{0,4}}['\"]?{_DTYPE}\b").finditer(text):
        _dtype(found, "requested", match["dtype"], match.start())
    for match in _re(rf"(?:mixed[_ -]?precision|--?[\w-]*precision|\bprecision|--[\w-]*dtype)['\"]?\s{{0,4}}(?:=|:|\s)?\s{{0,4}}['\"]?(?:(?:torch\.)?(?P<word>full|autocast|16-mixed|bf16-mixed|16-true|bf16-true|32-true|16|32|64)\b|{_DTYPE}\b)").finditer(text):
        word = (match["word"] or match["dtype"]).lower()
        value = {"full": "float32", "16-mixed": "float16", "bf16-mixed": "bfloat16", "16-true": "float16", "bf16-true": "bfloat16", "32-true": "float32",
                 "16": "float16", "32": "float32", "64": "float64", "autocast": "float16"}.get(word, word)  # fmt: skip
        _dtype(found, "requested", value, match.start())
    for match in _re(r"(?:(?<=[^\w.])|^)(?P<dashes>--)?(?P<name>fp16|bf16|fp8|half|full[_-]fp16|tf32|use[_-]?fp16|no[_-]half(?:[_-]vae)?|force[_-]fp(?:16|32)|bf16[_-](?:unet|vae)|fp(?:16|32)[_-](?:unet|vae|text[_-]enc))['\"]?(?P<value>\s{0,3}[=:]\s{0,3}\{?\s{0,20}(?:['\"]?enabled['\"]?\s?:\s?)?['\"]?(?:true|false|1|0|yes|no|auto)\b)?", re.IGNORECASE | re.MULTILINE).finditer(text):
        value = (match["value"] or "").lower()
        if not match["dashes"] and not value:
            continue
        if value.endswith(("false", "0", "no")):
            continue
        name = match["name"].lower().replace("_", "-")
        dtype = "float32" if name.startswith("no-half") or "32" in name and "tf32" not in name else "bfloat16" if "bf16" in name else "float16" if ("16" in name or name == "half") else "float8" if name == "fp8" else None
        if dtype:
            found.add("dtype", "requested", dtype, match.start())
    for match in _re(r"\.(half|bfloat16|float|double)\(\)").finditer(text):
        _dtype(found, "requested", match[1], match.start())
    for match in _re(rf"\.to\([^()\n]{{0,60}}?(?=torch\.){_DTYPE}\b").finditer(text):
        _dtype(found, "requested", match["dtype"], match.start())
    for match in _re(rf"(?:\bload(?:ed|ing)?|\brun(?:ning)?|\btrain(?:ed|ing)?|\bus(?:e|ed|ing)|\bcast(?:ed|ing)?|\bconvert(?:ed|ing)?|\bcomput(?:e|ing)|用|使用|采用|以)[^\n.;:]{{0,40}}?(?:\b|(?<=[^\x00-\x7f])){_DTYPE}(?![\w])").finditer(text):
        if match["dtype"].lower() not in ("float", "double", "half") or "half precision" in text[match.start("dtype") : match.start("dtype") + 14].lower():
            _dtype(found, "requested", match["dtype"], match.start())
    for match in _re(r"(?<![\w.])(?:torch\.)?(float16|fp16|half[ -]precision|bfloat16|bf16|float32|fp32|float64|fp64|fp8|float8_e4m3fn|float8_e5m2)(?!\w)").finditer(text):
        _dtype(found, "mentioned", match[1].split()[0].split("-")[0], match.start())
    if "autocast" in text or "GradScaler" in text:
        for match in _re(r"autocast\s{0,3}\(([^()\n]{0,200})").finditer(text):
            off = _re(r"enabled\s?=\s?False").search(match[1])
            found.add("autocast", "autocast", "off" if off else "on", match.start())


def _dtype(found: _Found, name: str, spelled: str, at: int) -> None:
    value = parse_dtype(spelled)
    if value:
        found.add("dtype", name, value, at)


# -- hardware ----------------------------------------------------------------------------------------------------------------------

_GPU = (
    r"(?<![\w./-])(?:"
    r"(?:nvidia[ -]{1,2})?(?:geforce[ -]{1,2})?(?:[rg]tx)[ -]?(?:pro[ -]?)?a?\d{3,4}(?:[ -]?ti)?(?:[ -]?super)?(?:[ -]?(?:xt|ada|d)\b)?(?: ada generation| laptop gpu| max-q)?"
    r"|(?:nvidia[ -]{1,2})?(?:geforce[ -]{1,2})(?:mx|gt)?[ -]?\d{3,4}(?:[ -]?ti)?"
    r"|(?:nvidia[ -]{1,2})?(?:tesla[ -]{1,2})?(?:[TPKMV]\d{1,3}|V100S?|A(?:2|10|10G|16|30|40|100|800)|[HB](?:20|100|200|300|800)|G[HB](?:10|200|300)|L(?:4|20|40|40S))(?:[ -](?:SXM\d?|PCI[eE]|NVL|\d{2,3} ?GB?|HGX)){0,3}(?![\w.%])"
    r"|(?:nvidia[ -]{1,2})?quadro[ -](?:rtx[ -])?[a-z]{0,2}\d{3,4}|(?:nvidia[ -]{1,2})?titan[ -](?:xp?|v|rtx)"
    r"|(?:amd[ -])?(?:instinct[ -])?MI(?:\d{2,3})[AX]?(?!\w)|(?:amd[ -])?radeon[ -](?:rx[ -])?(?:pro[ -])?(?:w)?\d{3,4}\w{0,3}|rx[ -]?\d{4}(?:[ -]?xtx?)?"
    r"|(?:apple[ -])?M[1-5](?: (?:pro|max|ultra))?(?= |$|[,.;)])|apple silicon|jetson[ -](?:agx[ -])?(?:orin|xavier|nano|thor)(?:[ -](?:nano|nx))?|dgx spark"
    r"|(?:intel[ -])?arc[ -][ab]\d{3}m?|(?:ascend[ -]?)?910[BC]?\d?(?=\b)(?<=[BC\d])|gaudi[ -]?[23]|tpu[ -]?v\d[\w-]{0,4}"
    r"|(?:1050|1060|1070|1080|1650|1660|2060|2070|2080|3050|3060|3070|3080|3090|4060|4070|4080|4090|5060|5070|5080|5090)(?:[ -]?(?:ti|super|d))?(?!\w|[.:%/])"
    r")"
)


def _gpus(found: _Found) -> None:
    for match in _re(_GPU).finditer(found.text):
        value = match[0].strip(" -")
        bare = value.lower()
        # "910", "M1" or a naked number needs its letters or its suffix to be a GPU.
        if bare.isdigit() or bare in ("m40", "k40") and value.islower():
            continue
        found.add("gpu", "gpu", value, match.start())
    for match in _re(r"\b(?:sm|compute)_(\d{1,2})(\d)a?\b").finditer(found.text):
        found.add("capability", "capability", f"{match[1]}.{match[2]}", match.start())


def _devices(found: _Found) -> None:
    text = found.text
    names = r"(cuda|cpu|mps|xpu|npu|hpu|xla|dml|gpu)"
    for match in _re(rf"(?:\bdevice['\"]?\s{{0,3}}(?:=|:|\s)\s{{0,3}}(?:torch\.device\()?['\"]?|\.to\(\s?['\"]|torch\.device\(\s?['\"]){names}\b(?!_)").finditer(text):
        _device(found, "requested", match[1], match.start())
    for match in _re(r"\.(cuda|cpu)\(\)").finditer(text):
        _device(found, "requested", match[1], match.start())
    for match in _re(r"device_map['\"]?\s{0,3}(?:=|:)\s{0,3}(?:['\"]([\w:-]{1,30})['\"]|(\{))").finditer(text):
        found.add("device_map", "device_map", match[1] or "dict", match.start())
    for match in _re(r"(?<![\w/.-])(cuda|cpu|mps|xpu|npu|hpu|xla)(?::\d+)?(?![\w/.-])").finditer(text):
        _device(found, "mentioned", match[1], match.start())


def _device(found: _Found, name: str, spelled: str, at: int) -> None:
    value = parse_device(spelled)
    if value:
        found.add("device", name, value, at)


# -- options -----------------------------------------------------------------------------------------------------------------------

_QUANTIZATIONS = (
    (r"load_in_4bit['\"]?\s{0,3}[=:]\s{0,3}true|--load[_-]in[_-]4bit(?!\s{1,3}false)|\bbnb_4bit_|\bnf4\b|\bqlora\b|bnb-4bit", "bitsandbytes-4bit"),
    (r"load_in_8bit['\"]?\s{0,3}[=:]\s{0,3}true|--load[_-]in[_-]8bit(?!\s{1,3}false)|\bllm\.int8|bnb-8bit", "bitsandbytes-8bit"),
    (r"\bgptq", "gptq"),
    (r"\bawq\b", "awq"),
    (r"\b(?:fp8|float8)(?:_|\b)", "fp8"),
    (r"\bgg(?:uf|ml)\b", "gguf"),
    (r"\bhqq\b", "hqq"),
    (r"\btorchao\b", "torchao"),
    (r"\bquanto\b", "quanto"),
    (r"\bexl2\b", "exl2"),
    (r"\bnunchaku\b", "nunchaku"),
)
_ATTENTIONS = (
    (r"flash[_-]?attention[_-]?2|flash[_-]?attn[_-]?2|use_flash_attention_2", "flash_attention_2"),
    (r"flash[_-]?attention[_-]?3", "flash_attention_3"),
    (r"attn_implementation['\"]?\s{0,3}[=:]\s{0,3}['\"]?eager|attention[_-]implementation\s{0,3}[=:]\s{0,3}['\"]?eager", "eager"),
    (r"\bsdpa\b|scaled_dot_product_attention", "sdpa"),
    (r"\bflex_attention\b", "flex_attention"),
    (r"enable_xformers|--xformers|memory[_-]efficient[_-]attention", "xformers"),
    (r"\bsage[_-]?attention\b|--use-sage-attention", "sage_attention"),
)
_LAUNCHERS = (
    (r"\btorchrun\b|torch\.distributed\.(?:run|launch)|torch/distributed/(?:run|launch)\.py|\btorchelastic", "torchrun"),
    (r"\baccelerate\s{1,3}launch\b|accelerate/commands/launch\.py", "accelerate"),
    (r"(?:^|[\s$])deepspeed\s{1,3}(?:--\S|[\w./-]{1,80}\.py)|deepspeed/launcher|\[launch\.py:\d+", "deepspeed"),
    (r"\bmpi(?:run|exec)\b", "mpirun"),
    (r"\bray::|\bray\.(?:train|init|remote)|\(RayTrainWorker|\bray job submit", "ray"),
    (r"\bsrun\b|\bsbatch\b|\bslurm", "slurm"),
    (r"\blightning\.pytorch|pytorch_lightning|\blightning\b", "lightning"),
)
_PHASES = (
    (r"\b(?:fine[- ]?tun\w{0,4}|train(?:ing|er)?(?:\.py)?|sft|backward|trainer\.train|optimizer\.step|训练|微调)(?!\w)", "training"),
    (r"\b(?:inference|generat(?:e|ing|ion)|predict(?:ion|ing)?|sampling|推理|生成)(?!\w)", "inference"),
    (r"\b(?:from_pretrained|loading|load(?:ed|s)? (?:the |a |this )?(?:model|checkpoint|weights)|load_state_dict|加载)", "loading"),
    (r"\b(?:save_pretrained|sav(?:e|ing) (?:the |a )?(?:model|checkpoint|weights)|torch\.save)\b", "saving"),
    (r"\b(?:onnx\.export|export(?:ing)? (?:to|the)|torch\.export|optimum-cli export)\b", "export"),
    (r"\btorch\.compile\b|\btorch\._dynamo|\btorchinductor|\btorch\._inductor|torch/_dynamo", "compile"),
)
_SYSTEMS = (
    (r"\bwsl ?2?\b", "wsl"),
    (r"\bwindows(?:[ -]?(?:\d+|server|nt))?\b|\bwin(?:10|11|32)\b", "windows"),
    (r"\b(?:linux|ubuntu|debian|centos|rhel|fedora|colab|kaggle)\b", "linux"),
    (r"\b(?:macos|darwin|os ?x)\b", "macos"),
)


def _first(found: _Found, kind: str, table: tuple[tuple[str, str], ...]) -> None:
    for pattern, value in table:
        match = _re(pattern, re.IGNORECASE | re.MULTILINE).search(found.text)
        if match:
            found.add(kind, kind, value, match.start())


def _quantization(found: _Found) -> None:
    _first(found, "quantization", _QUANTIZATIONS)


def _attention(found: _Found) -> None:
    _first(found, "attention", _ATTENTIONS)


def _launchers(found: _Found) -> None:
    _first(found, "launcher", _LAUNCHERS)


def _phases(found: _Found) -> None:
    _first(found, "phase", _PHASES)


def _systems(found: _Found) -> None:
    _first(found, "os", _SYSTEMS)


def _flags(found: _Found) -> None:
    for match in _re(r"(?<![\w-])--([A-Za-z][\w.-]{0,60})(?:=|[ \t]+(?![-\\|&;<>]))?((?<==)\"[^\"\n]{0,200}\"|(?<==)[^\s\"]{0,200}|(?<=[ \t])[^\s\"'`]{1,200})?", 0).finditer(found.text):
        found.add("flag", match[1], (match[2] or "").strip("\"'"), match.start())


# -- models and packages -----------------------------------------------------------------------------------------------------------

_NOT_ORGS = frozenset(
    "site-packages dist-packages torch nn and or input output train test cpu gpu fp16 bf16 fp32 he src tests usr home lib docs pull issues blob tree true false client server "
    "w n his her yes no on off client python models model modules data datasets content workspace mnt tmp opt var bin root kaggle app build scripts examples "
    "cuda read http https www github raw import load save cuda11 linux application text image audio video multipart self".split()
)
_CLASSES = r"(?<![\w.])(?!Auto)([A-Z][A-Za-z0-9]{1,40}(?:For(?:ConditionalGeneration|CausalLM|SequenceClassification|Seq2SeqLM|TokenClassification|QuestionAnswering|MaskedLM|ImageClassification|SpeechSeq2Seq|CTC|TextToWaveform|ObjectDetection|SemanticSegmentation|InstanceSegmentation|PreTraining|Vision2Seq|ImageTextToText)|EncoderModel|VisionModel|TextModel|LMHeadModel|DoubleHeadsModel|2DConditionModel|Transformer[23]?D?Model|ControlNetModel|[a-z0-9]Pipeline|WithProjection|AutoencoderKL)|AutoencoderKL\w{0,20}|UNet2DConditionModel)(?!\w)"
_GENERIC = frozenset("DiffusionPipeline PreTrainedModel TextGenerationPipeline BaseModel".split())
_FAMILY = (
    r"(?<![\w/.-])((?:qwen|codellama|llama|vicuna|mistral|mixtral|gemma|paligemma|falcon|bloomz?|chatglm|deepseek|baichuan|starcoder|cogvlm|cogvideox|internvl|internlm|instructblip|"
    r"llava|hunyuan(?:video)?|kandinsky|pixart|florence|idefics|smolvlm|smollm|molmo|pixtral|minicpm|olmo|stablelm|whisper|musicgen|sdxl|animatediff|mllama|siglip|deberta|roberta|"
    r"distilbert|flan-t5|wav2vec2?|hubert|nllb|segformer|layoutlm|speecht5|controlnet|seamlessm4t|nemotron|zephyr|rwkv|dinov?2|pegasus|mbart)(?:[ -]?v?\d+(?:\.\d+)?(?:b|m)?(?![\w.]))?(?:[ -](?:large|small|medium|base|tiny|turbo|vl|instruct|chat|next|onevision|audio|omni|coder|math|xl|xxl|v\d|\d+(?:\.\d+)?[bm])(?!\w)(?:-v\d)?)*"
    r"|flux(?:[.-]?1|[.-]?2)?(?:[ .-](?:dev|schnell|kontext|fill|pro))?(?=[\s,.;:)'\"]|$)|(?:sd|stable diffusion)[ -]?(?:xl|[123](?:\.\d)?(?:[ -](?:large|medium|turbo))?)|wan[ -]?2\.\d|blip-?2|glm-?4[\w.]{0,4}|gpt-?(?:2|j|neox?)|(?:mt5|umt5|byt5|t5)(?:-(?:small|base|large|xl|xxl|v1_1|\d+b)){0,3}"
    r"|phi-?\d(?:\.\d)?|opt-\d[\w.]{1,5}|yi-\d+b|bert-(?:base|large)[\w-]{0,20}|vit-[\w-]{1,20}|ltx[ -]?video|resnet-?\d{2,3}|yolov?\d{1,2}\w?)(?!\w)"
)


def _models(found: _Found, words: set[str]) -> None:
    text = found.text
    if "/" in text:
        for match in _re(r"huggingface\.co/(?!datasets/|spaces/|docs/|blog/|papers/)([\w.-]{2,96}/[\w.-]{2,96})").finditer(text):
            found.add("model", "model", match[1].rstrip("."), match.start())
        for match in _re(r"(?<![\w./:@\\~$}-])([A-Za-z0-9][\w.-]{1,60})/([A-Za-z0-9][\w.-]{1,95})(?![\w/\\(:])").finditer(text):
            if _plausible(text, match):
                found.add("model", "model", match[0].rstrip("."), match.start())
    if "For" in text or "Model" in text or "Pipeline" in text or "Autoencoder" in text:
        for match in _re(_CLASSES, 0).finditer(text):
            if match[1] not in _GENERIC:
                found.add("model", "model", match[1], match.start())
    if not FAMILIES.isdisjoint({word.rstrip("0123456789") for word in words}):
        for match in _re(_FAMILY).finditer(text):
            found.add("model", "model", match[1].strip(" -"), match.start())


def _plausible(text: str, match: re.Match[str]) -> bool:
    org, name = match[1], match[2].rstrip(".")
    low = name.lower()
    if org.lower() in _NOT_ORGS or org.isdigit() or name.isdigit() or low.endswith((".py", ".so", ".cpp", ".h", ".json", ".txt", ".md", ".cu", ".cuh", ".yaml", ".yml", ".sh", ".ipynb", ".whl", ".log", ".dll", ".pyd")):
        return False
    if parse_dtype(org) or parse_device(org):
        return False
    before = text[max(0, match.start() - 1) : match.start()]
    quoted = before in ("'", '"', "`")
    has_number = any(letter.isdigit() for letter in name)
    return ("-" in name and has_number) or (quoted and ("-" in name or has_number or "_" in name)) or ("-" in name and "-" in org)


def _presence(found: _Found, words: set[str], low: str) -> None:
    text = found.text
    if "import" in words:
        for match in _re(r"^[>\s.]{0,12}(?:from|import)\s{1,4}([a-z_]\w{1,40})", re.MULTILINE).finditer(text):
            name = IMPORTS.get(match[1]) or PACKAGES.get(match[1].replace("_", "-"))
            if name:
                found.add("package", name, "", match.start())
    if "not" in words or "no" in words or "without" in words:
        for match in _re(r"no module named ['\"]?([a-z_]\w{1,40})").finditer(text):
            name = IMPORTS.get(match[1].lower()) or PACKAGES.get(match[1].lower().replace("_", "-"))
            if name:
                found.add("package", name, "absent", match.start())
        for match in _re(r"(?<![\w/.-])([a-z][\w-]{1,30})[`'\"*]{0,3}(?:\s{0,3}\([^()\n]{0,20}\))?(?:\s{1,3}version)?[`'\"*]{0,3}\s{0,3}(?::|=|：|is|are)?\s{0,20}(?:not (?:yet )?(?:installed|found|available)|n/a\b)").finditer(text):
            _absent(found, match)
        for match in _re(r"\b(?:without|no)\s{1,3}([a-z][\w-]{1,30})(?:\s{1,3}installed)?\b").finditer(text):
            if match[1].lower() in ("xformers", "apex", "flash-attn", "flash_attn", "bitsandbytes", "deepspeed", "triton", "accelerate", "peft"):
                _absent(found, match)


def _absent(found: _Found, match: re.Match[str]) -> None:
    spelled = match[1].lower()
    name = IMPORTS.get(spelled) or PACKAGES.get(spelled.replace("_", "-"))
    if name:
        found.add("package", name, "absent", match.start())
