"""Models and accelerators that a text names."""

# ruff: noqa: SIM905  (lists of words read better as text)
from __future__ import annotations

import re

from troubleshoot.basics.dtypes import parse_device, parse_dtype
from troubleshoot.basics.patterns import composed
from troubleshoot.reading.mentions import CARD_NUMBER, Found, compiled

_SUFFIX = r"(?:[ -](?:SXM\d?|PCI[eE]|NVL|\d{2,3} ?GB?|HGX)){0,3}"
#: (words that must occur, pattern of the accelerator's name).
_GPUS: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset(("rtx", "gtx")),
        r"(?:nvidia[ -]{1,2})?(?:geforce[ -]{1,2})?(?:quadro[ -]{1,2})?[rg]tx[ -]?(?:pro[ -]?)?a?\d{3,4}"
        r"(?:[ -]?ti(?!\w))?(?:[ -]?super(?!\w))?(?: ada(?: generation)?| laptop gpu| max-q)?",
    ),
    (frozenset(("geforce",)), r"(?:nvidia[ -]{1,2})?geforce[ -]{1,2}(?:mx|gt)?[ -]?\d{3,4}(?:[ -]?ti)?"),
    (
        frozenset(
            "t4 p4 p40 p100 k80 k40 m40 m60 v100 v100s a2 a10 a10g a16 a30 a40 a100 a800 h20 h100 h200 h800 gh200 b100 b200 "
            "b300 gb10 gb200 gb300 l4 l20 l40 l40s".split()
        ),
        r"(?:nvidia[ -]{1,2})?(?:tesla[ -]{1,2})?(?:t4|p(?:4|40|100)|k[48]0|m[46]0|v100s?|a(?:2|10g?|16|30|40|100|800)"
        r"|[hb](?:20|100|200|300|800)"
        rf"|g[hb](?:10|200|300)|l(?:4|20|40s?)){_SUFFIX}(?![A-Za-z0-9_%])(?!\.\w)",
    ),
    (frozenset(("tesla",)), r"(?:nvidia[ -]{1,2})?tesla[ -]{1,2}[a-z]\d{1,3}\w?" + _SUFFIX),
    (frozenset(("quadro", "titan")), r"(?:nvidia[ -]{1,2})?(?:quadro[ -](?:rtx[ -])?[a-z]{0,2}\d{3,4}|titan[ -](?:xp?|v|rtx))"),
    (
        frozenset(
            (
                "radeon",
                "instinct",
                "rx",
                "mi",
                "amd",
                "mi25",
                "mi50",
                "mi60",
                "mi100",
                "mi200",
                "mi210",
                "mi250",
                "mi300",
                "mi325",
                "mi350",
                "mi355",
            )
        ),
        r"(?:amd[ -])?(?:(?:instinct[ -])?mi\d{2,3}[ax]?"
        r"|radeon[ -](?:rx[ -])?(?:pro[ -])?w?\d{3,4}(?:[ -]?xtx?|\w{1,3})?|rx[ -]?\d{4}(?:[ -]?xtx?)?)(?!\w)",
    ),
    # torch says "expected m1 and m2 to have the same dtype" of two matrices.
    (
        frozenset(("m1", "m2", "m3", "m4", "m5", "silicon")),
        r"(?:apple[ -])?m[1-5](?: (?:pro|max|ultra))?(?![\w-])(?!\.\w)(?! and m2 to | to have)|apple silicon",
    ),
    (frozenset(("jetson", "dgx")), r"jetson[ -](?:agx[ -])?(?:orin|xavier|nano|thor)(?:[ -](?:nano|nx))?|dgx spark"),
    (frozenset(("arc", "gaudi", "tpu")), r"(?:intel[ -])?arc[ -][ab]\d{3}m?|gaudi[ -]?[23]|tpu[ -]?v\d[\w-]{0,4}"),
    (frozenset(("ascend", "npu")), r"(?:ascend[ -]?)?910[bc]\d?(?!\w)|ascend[ -]?\d{3}\w{0,2}"),
)
#: Cards that people call by their number alone; the number needs a suffix, or a word for a card beside it.
_BARE = (
    r"(?<![\w.,$#:/-])(?<!tx )(?<!geforce )"
    rf"({CARD_NUMBER.pattern}"
    r"(?:[ -]?(?:ti|super)(?:[ -]super)?|(?= gpus?\b| card| laptop|显卡|卡)))(?!\w)"
)
_BARE_WORDS = frozenset(("ti", "super", "gpu", "gpus", "card", "laptop"))
#: ... or the way in which people speak of a card: "on a 3090", "8*4090", "在4090上", "显卡是3090".
_SPOKEN = (
    r"(?:(?<![a-z0-9_])(?:on|my|our) (?:an? |my |the |single |one |two |\d ?[x×*]? ?)?|(?<![\w.])\d{1,2} ?[x×*] ?|[在用是的张块卡]\s?)"
    rf"({CARD_NUMBER.pattern}(?:[ -]?ti)?)"
    r"(?=[ \t]*(?:$|\n|[,.;:!?()，。、；：（）/]|(?:and|or|with|but|it|to|for|vs|is|in|using|without)\b"
    r"|\d+ ?g|(?![步个张条次轮行篇帧例])[\u4e00-\u9fff]))"
)

_NOT_ORGS = frozenset(
    "site-packages dist-packages torch nn and or input output train test he src tests usr home lib docs pull issues blob tree "
    "true false client server w n his her yes no "
    "on off python models model modules data datasets content workspace mnt tmp opt var bin root kaggle app build scripts "
    "examples read http https www github raw load save "
    "linux application text image audio video multipart self conda pip cuda pytorch envs".split()
)
_FILE_ENDS = (
    ".py", ".so", ".cpp", ".h", ".json", ".txt", ".md", ".cu", ".cuh", ".yaml", ".yml", ".sh", ".ipynb", ".whl", ".log", ".dll", ".pyd",
    ".html", ".toml",
    ".pt", ".pth", ".bin", ".safetensors", ".ckpt", ".gguf", ".onnx", ".engine", ".npy", ".npz", ".csv", ".tsv", ".jsonl", ".parquet",
    ".png", ".jpg", ".jpeg", ".webp", ".gif", ".mp3", ".mp4", ".wav", ".flac", ".m4a", ".avi", ".mov", ".zip", ".gz", ".tar", ".js", ".css",
    ".cc", ".hpp", ".cmake", ".cfg", ".ini",
)  # fmt: skip
_HUB = (
    r"(?:huggingface\.co|hf\.co|modelscope\.cn/models)/(?!datasets/|spaces/|docs/|blog/|papers/|settings/|join)([\w.-]{2,96}/[\w.-]{2,96})"
)
_PAIR = r"(?<![\w./:@\\~$}-])([A-Za-z0-9][\w.-]{1,60})/([A-Za-z0-9][\w.-]{1,95})(?![\w/\\(:])"
_TASKS = (
    "ConditionalGeneration|CausalLM|SequenceClassification|Seq2SeqLM|TokenClassification|QuestionAnswering|MaskedLM|ImageClassification"
    "|SpeechSeq2Seq|CTC|ObjectDetection|SemanticSegmentation|InstanceSegmentation|UniversalSegmentation|PreTraining|Vision2Seq"
    "|ImageTextToText|TextToSpeech|DepthEstimation|ImageToVideo"
)
_CLASS = (
    r"(?<![\w.])(?!Auto(?:Model|Pipeline|Tokenizer|Processor))"
    rf"(AutoencoderKL\w{{0,20}}|[A-Z][A-Za-z0-9]{{1,40}}?(?:For(?:{_TASKS})|EncoderModel|DecoderModel|VisionModel|TextModel|LMHeadModel"
    r"|ConditionModel|Transformer[23]DModel|ControlNetModel"
    r"|[a-z0-9]Pipeline|Img2ImgPipeline|XLPipeline|WithProjection)|[A-Z][a-z]\w{1,20}[a-z0-9]Model)(?!\w)"
)
_GENERIC = frozenset(
    "DiffusionPipeline TextGenerationPipeline BaseModel PeftModel StableModel "
    "MyModel ToyModel TestModel SimpleModel TheModel YourModel".split()
)

_ENDING = (
    r"(?:[ -]?v?\d{1,3}(?:\.\d{1,2})?(?:b|m)?(?![\w.]))?"
    r"(?:[ -](?:large|small|medium|base|tiny|turbo|vl|instruct|chat|next|onevision|audio|omni|coder|math|xl|xxl|v\d|image|edit|video"
    r"|\d{1,3}(?:\.\d)?[bm])(?!\w)(?:-v\d)?){0,4}"
)
#: Families whose name is an ordinary word or abbreviation: how they must go on.
_STRICT: dict[str, str] = {
    "flux": r"flux(?:[.-]?[12])?(?:[ .-](?:dev|schnell|kontext|fill|pro)){0,2}(?=[\s,.;:)'\"\]]|$)",
    "sd": r"sd[ -]?(?:xl|1\.[45]|2\.[01]|3(?:\.5)?)(?:[ -](?:large|medium|turbo))?",
    "stable": r"stable[ -]diffusion(?:[ -]?(?:xl|v?[123](?:\.\d)?))?(?:[ -](?:large|medium|turbo))?",
    "wan": r"wan[ -]?2\.\d",
    "blip": r"blip-?2|blip",
    "glm": r"glm-?4[\w.]{0,4}",
    "gpt": r"gpt-?(?:2|j|neox?)(?:-\d{1,2}b)?",
    "t": r"t5(?:-(?:small|base|large|xl|xxl|v1_1|\d{1,2}b)){0,3}",
    "mt": r"mt5(?:-(?:small|base|large|xl|xxl))?",
    "umt": r"umt5(?:-\w{1,6})?",
    "byt": r"byt5(?:-\w{1,6})?",
    "flan": r"flan-t5(?:-(?:small|base|large|xl|xxl))?",
    "phi": r"phi-?\d(?:\.\d)?(?:-\w{1,10}){0,2}",
    "opt": r"opt-\d[\w.]{1,5}",
    "yi": r"yi-\d{1,2}b",
    "bert": r"bert(?:-(?:base|large)[\w-]{0,20})?",
    "vit": r"vit-[\w-]{1,20}",
    "ltx": r"ltx[ -]?video",
    "resnet": r"resnet-?\d{2,3}",
    "yolo": r"yolo(?:v?\d{1,2}\w?)?",
    "yolov": r"yolov\d{1,2}\w?",
    "wav": r"wav2vec2?(?:-\w{1,10}){0,2}",
    "bark": r"bark(?=[ -](?:model|tts|small|large))",
    "sam": r"sam[ -]?2(?:\.1)?",
    "clip": r"clip(?:-vit[\w-]{0,20})?",
    "sana": r"sana(?=[ -_]\d|[ -]sprint)",
    "led": r"led-base-16384|led-large-16384",
    "aya": r"aya-\w{1,12}",
    "command": r"command-?r(?:-?plus|\+)?",
}
_NEVER = frozenset(
    (
        "granite",
        "canary",
        "jamba",
        "clap",
        "lumina",
        "chameleon",
        "allegro",
        "mochi",
        "seamless",
        "alpaca",
        "albert",
        "mpt",
        "unet",
        "fuyu",
        "dolly",
    )
)


def gpus(found: Found) -> None:
    """Note the accelerators by name, and compute capabilities given as ``sm_75``."""
    words, text = found.words, found.text
    for trigger, pattern in _GPUS:
        if words.isdisjoint(trigger):
            continue
        for match in compiled(rf"(?:(?<![A-Za-z0-9_./-])|(?<=\d[x×*]))(?:{pattern})").finditer(text):
            found.add("gpu", "gpu", match[0].strip(" -"), match.start())
    if not words.isdisjoint(_BARE_WORDS) or "卡" in text:
        for match in compiled(_BARE).finditer(text):
            found.add("gpu", "gpu", match[1].strip(), match.start())
    if CARD_NUMBER.search(text):
        for match in compiled(_SPOKEN).finditer(text):
            found.add("gpu", "gpu", match[1].strip(), match.start(1))
    if "major=" in text:
        for match in compiled(r"major=(\d{1,2}),\s?minor=(\d)").finditer(text):
            found.add("capability", "capability", f"{match[1]}.{match[2]}", match.start())
    if "sm_" in text or "compute_" in text:
        for match in compiled(r"\b(?:sm|compute)_(\d{1,2})(\d)a?\b").finditer(text):
            found.add("capability", "capability", f"{match[1]}.{match[2]}", match.start())


def models(found: Found, families: set[str]) -> None:
    """Note hub ids, model classes, and the names of well-known families."""
    text = found.text
    if "/" in text:
        if "hf.co" in found.low or "huggingface.co" in found.low or "modelscope.cn" in found.low:
            for match in compiled(_HUB).finditer(text):
                found.add("model", "model", match[1].rstrip("."), match.start())
        for match in compiled(_PAIR).finditer(text):
            if _plausible(text, match):
                found.add("model", "model", match[0].rstrip("."), match.start())
    if "For" in text or "Model" in text or "Pipeline" in text or "Autoencoder" in text or "WithProjection" in text:
        for match in compiled(_CLASS, 0).finditer(text):
            if match[1] not in _GENERIC:
                found.add("model", "model", match[1], match.start())
    families = families - _NEVER
    if families:
        plain = [re.escape(one) for one in sorted(families, key=len, reverse=True) if one not in _STRICT]
        parts = [rf"(?:{'|'.join(plain)}){_ENDING}"] if plain else []
        parts.extend(_STRICT[one] for one in sorted(families) if one in _STRICT)
        for match in composed(rf"(?<![\w/.-])(?:{'|'.join(parts)})(?!\w)", re.IGNORECASE).finditer(text):
            found.add("model", "model", match[0].strip(" -"), match.start())


def _plausible(text: str, match: re.Match[str]) -> bool:
    org, name = match[1], match[2].rstrip(".")
    if org.lower() in _NOT_ORGS or org.isdigit() or name.isdigit() or name.lower().endswith(_FILE_ENDS):
        return False
    if parse_dtype(org) or parse_device(org):
        return False
    before = text[max(0, match.start() - 1) : match.start()]
    number = any(letter.isdigit() for letter in name)
    if "-" in name and (number or "-" in org):
        return True
    return before in ("'", '"', "`") and ("-" in name or "_" in name or number)
