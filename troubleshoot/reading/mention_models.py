"""Models and accelerators that a text names."""

from __future__ import annotations

import re

from troubleshoot.basics import word_tables
from troubleshoot.basics.dtypes import parse_device, parse_dtype
from troubleshoot.basics.patterns import composed
from troubleshoot.reading.mentions import CARD_NUMBER, Found, compiled

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
_ENDING = (
    r"(?:[ -]?v?\d{1,3}(?:\.\d{1,2})?(?:b|m)?(?![\w.]))?"
    r"(?:[ -](?:large|small|medium|base|tiny|turbo|vl|instruct|chat|next|onevision|audio|omni|coder|math|xl|xxl|v\d|image|edit|video"
    r"|\d{1,3}(?:\.\d)?[bm])(?!\w)(?:-v\d)?){0,4}"
)


#: What stands before a model that the user does not run. "Not with X" is left alone: there it may be the one that fails.
_ANOTHER = (
    r"(?:\b(?:is|am|are|was|were)(?: not|n't)(?: about| using| running)?|\bnot using|\bunlike(?: in| with| for)?|\binstead of|\brather than"
    r"|不是|而非|不同于)\s{1,3}?(?:(?:a|an|the)\s{1,3})?[`'\"(]{0,2}$|(?:不是|而非|不同于)$"
)
_BEFORE = 40


def gpus(found: Found) -> None:
    """Note the accelerators by name, and compute capabilities given as ``sm_75``."""
    words, text = found.words, found.text
    for trigger, pattern in word_tables.GPUS:
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
            if _plausible(text, match) and not _is_another(text, match.start()):
                found.add("model", "model", match[0].rstrip("."), match.start())
    if "For" in text or "Model" in text or "Pipeline" in text or "Autoencoder" in text or "WithProjection" in text:
        for match in compiled(_CLASS, 0).finditer(text):
            if match[1] not in word_tables.GENERIC:
                found.add("model", "model", match[1], match.start())
    families = families - word_tables.NEVER
    if families:
        plain = [re.escape(one) for one in sorted(families, key=len, reverse=True) if one not in word_tables.STRICT]
        parts = [rf"(?:{'|'.join(plain)}){_ENDING}"] if plain else []
        parts.extend(word_tables.STRICT[one] for one in sorted(families) if one in word_tables.STRICT)
        for match in composed(rf"(?<![\w/.-])(?:{'|'.join(parts)})(?!\w)", re.IGNORECASE).finditer(text):
            if not _is_another(text, match.start()):
                found.add("model", "model", match[0].strip(" -"), match.start())


def _is_another(text: str, start: int) -> bool:
    return compiled(_ANOTHER).search(text, max(0, start - _BEFORE), start) is not None


def _plausible(text: str, match: re.Match[str]) -> bool:
    org, name = match[1], match[2].rstrip(".")
    if org.lower() in word_tables.NOT_ORGS or org.isdigit() or name.isdigit() or name.lower().endswith(word_tables.FILE_ENDS):
        return False
    if parse_dtype(org) or parse_device(org):
        return False
    before = text[max(0, match.start() - 1) : match.start()]
    number = any(letter.isdigit() for letter in name)
    if "-" in name and (number or "-" in org):
        return True
    return before in ("'", '"', "`") and ("-" in name or "_" in name or number)
