"""What was asked for: dtypes, devices, quantization, attention, launchers, command-line flags."""

from __future__ import annotations

import re

from troubleshoot.basics import word_tables
from troubleshoot.basics.dtypes import parse_device, parse_dtype
from troubleshoot.basics.patterns import searched
from troubleshoot.reading.mentions import Found, compiled

_DTYPE = (
    r"(?:torch\.)?(?P<dtype>float16|fp16|half|bfloat16|bf16|bfp16|float32|fp32|float64|fp64|double"
    r"|float8_e4m3fn|float8_e5m2|fp8_e4m3fn|fp8_e5m2|fp8_e4m3|fp8|float)"
)
#: "expected scalar type Float" in prose quotes torch; it asks for nothing.
_KEYWORD = rf"(?<!scalar )(?:\b|_)(?:\w{{1,20}}_)?d?type['\"]?\s{{0,4}}[=:\s]\s{{0,4}}['\"]?{_DTYPE}(?!\w)"
_PRECISION = (
    r"precision['\"]?\s{0,4}[=:]?\s{0,4}['\"]?"
    rf"(?:(?:torch\.)?(?P<word>full|autocast|16-mixed|bf16-mixed|16-true|bf16-true|32-true|16|32|64)(?!\w)|{_DTYPE}(?!\w))"
)
_PRECISIONS = {
    "full": "float32", "16-mixed": "float16", "bf16-mixed": "bfloat16", "16-true": "float16", "bf16-true": "bfloat16", "32-true": "float32",
    "16": "float16", "32": "float32", "64": "float64", "autocast": "float16",
}  # fmt: skip
_SWITCH = (
    r"(?<![\w.-])(?P<dashes>--)?(?P<name>fp16|bf16|fp8|half|full[_-]fp16|use[_-]?fp16|no[_-]half(?:[_-]vae)?|force[_-]fp(?:16|32)"
    r"|(?:bf16|fp16|fp32)[_-](?:unet|vae|text[_-]enc))(?!_accum)['\"]?"
    r"(?P<value>\s{0,3}[=:]\s{0,3}(?:\{\s{0,20}['\"]?enabled['\"]?\s?:\s?)?['\"]?(?:true|false|1|0|yes|no|auto)\b)?"
)
_CAST = rf"\.to\([^()\n]{{0,60}}?(?=torch\.){_DTYPE}(?!\w)"
_PROSE = (
    r"(?:\bload(?:ed|ing)?|\brun(?:ning)?|\btrain(?:ed|ing)?|\bus(?:e|ed|ing)|\bcast(?:ed|ing)?|\bconvert(?:ed|ing)?|\binference|用|使用|采用|以)"
    rf"[^\n.;:]{{0,40}}?(?=[tfhbd])(?<![A-Za-z0-9_.]){_DTYPE}(?![A-Za-z0-9_])"
)
_MENTIONED = (
    r"(?<![A-Za-z0-9_.])(?:torch\.)?"
    r"(float16|fp16|half[ -]precision|bfloat16|bf16|float32|fp32|float64|fp64|fp8|float8_e4m3fn|float8_e5m2)(?![A-Za-z0-9_])"
)
_DEVICE = r"(cuda|cpu|mps|xpu|npu|hpu|xla|dml|gpu)"
_DEVICE_ASKED = (
    rf"(?:\bdevice['\"]?\s{{0,3}}[=:\s]\s{{0,3}}(?:torch\.device\()?['\"]?|\.to\(\s?['\"]|torch\.device\(\s?['\"]){_DEVICE}(?![\w-])"
)
#: Characters of a line, before a remark and after it, that may say that it works there.
_NEAR = 300
#: "running on CPU", "I have no GPU", 没有显卡: nobody asks for a device by its name there.
_ON_CPU = (
    r"\b(?:run(?:s|ning)?|train(?:ed|ing)?|inference|inferenc\w+|generat\w+|load(?:ed|ing)?|us(?:e|ed|ing)|execut\w+|test(?:ed|ing)?)"
    r"(?:\s{1,3}(?:it|this|the|my|a|model|script|code|only|everything|inference|purely|just)){0,3}\s{1,3}(?:on|with|in)\s{1,3}(?:(?:my|the|a|an|intel|amd)\s{1,3}){0,2}cpu\b"
    r"|\bcpu[- ]only\b|\bonly (?:have |has |got )?(?:a |the |my )?cpu\b"
    r"|\b(?:have|has|got|with|there is|there's)\s{1,3}no\s{1,3}(?:\w{1,12}\s{1,3})?(?:gpu|graphics card|cuda)\b"
    r"|\b(?:don't|doesn't|do not|does not)\s{1,3}have\s{1,3}an?\s{1,3}(?:\w{1,12}\s{1,3})?(?:gpu|graphics card)\b"
    r"|\bwithout\s{1,3}(?:an?\s{1,3}|any\s{1,3})?(?:\w{1,12}\s{1,3})?(?:gpu|graphics card)\b"
    r"|没有(?:独立|英伟达|nvidia)?\s?(?:显卡|gpu)|无(?:独立)?(?:显卡|gpu)|(?:用|在|只有|只能用|纯)\s?cpu\s?(?:上|来|进行)?(?:跑|运行|推理|训练|加载|微调)"
)
_DEVICE_MAP = r"device_map['\"]?\s{0,3}[=:]\s{0,3}(?:['\"]([\w:-]{1,30})['\"]|(\{)|(auto|balanced\w{0,12}|sequential|cpu|cuda(?::\d)?)\b)"
_FLAG = (
    r"(?<![\w-])--([A-Za-z][\w.-]{0,60})"
    r"(?:=(\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s\"'`]{0,200})"
    r"|[ \t]{1,8}(?![-\\|&;<>])(\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s\"'`]{1,200}))?"
)

#: What stands before an option or a verb that was left out: "without --fp16", "I don't use fp16", "不加 --fp16".
#: Who cannot or could not run in float16 asked for it.
_LEFT_OUT = (
    r"(?:\b(?:without|w/o|(?<!\bcan )(?<!\bcould )(?<!\bwill )(?<!\bwould )not|never|omit\w*|remov\w*|dropp?\w*|instead of|rather than)"
    r"|(?<!\bca)(?<!\bcould)(?<!\bwo)(?<!\bwould)n't|不(?:加|带|开|用|使用)?|没有?|去掉|删掉)\s{0,3}"
    r"(?:(?:the|any|my|flags?|options?|using|passing|setting)\s{1,3}){0,2}[`'\"(]{0,2}$"
)
_BEFORE = 40

#: A line without one of these asks for no dtype.
_DTYPE_LINE = searched(r"float|half|double|fp|bf16|precision", re.IGNORECASE)


def dtypes(found: Found) -> None:
    """Note the dtypes that were asked for, and those that are only named."""
    for start, line in found.lines_with(_DTYPE_LINE):
        # An error message asks for no dtype, whatever it names.
        if not found.is_told(start):
            _dtypes(found, start, line, line.lower())


def _dtypes(found: Found, start: int, line: str, low: str) -> None:
    if "type" in low:
        for match in compiled(_KEYWORD).finditer(line):
            _dtype(found, "requested", match["dtype"], start + match.start())
    if "precision" in low:
        for match in compiled(_PRECISION).finditer(line):
            if match["word"] or match["dtype"].lower() not in ("float", "double"):
                word = (match["word"] or match["dtype"]).lower()
                _dtype(found, "requested", _PRECISIONS.get(word, word), start + match.start())
    if "fp" in low or "bf16" in low or "half" in low:
        for match in compiled(_SWITCH).finditer(line):
            if not _left_out(line, match.start()):
                _switch(found, match, start)
    if "()" in line:
        for match in compiled(r"\.(half|bfloat16|float|double)\(\)").finditer(line):
            _dtype(found, "requested", match[1], start + match.start())
    if ".to(" in low:
        for match in compiled(_CAST).finditer(line):
            _dtype(found, "requested", match["dtype"], start + match.start())
    for match in compiled(_PROSE).finditer(line):
        bare = match["dtype"].lower()
        if _left_out(line, match.start()):
            continue
        if bare not in ("float", "double", "half") or line[match.end() : match.end() + 10].lower().strip(" -") == "precision":
            _dtype(found, "requested", bare, start + match.start("dtype"))
    for match in compiled(_MENTIONED).finditer(line):
        _dtype(found, "mentioned", searched(r"[ -]").split(match[1])[0], start + match.start())


def _left_out(line: str, at: int) -> bool:
    return compiled(_LEFT_OUT).search(line[max(0, at - _BEFORE) : at]) is not None


def _switch(found: Found, match: re.Match[str], start: int) -> None:
    """``--fp16``, ``fp16: true``, ``bf16=True``, ``--no-half``."""
    value = (match["value"] or "").lower()
    if (not match["dashes"] and not value) or value.endswith(("false", "0", "no")):
        return
    name = match["name"].lower().replace("_", "-")
    if name.startswith("no-half") or "32" in name:
        dtype = "float32"
    elif "bf16" in name:
        dtype = "bfloat16"
    else:
        dtype = "float8" if name == "fp8" else "float16"
    found.add("dtype", "requested", dtype, start + match.start())


def _dtype(found: Found, name: str, spelled: str, at: int) -> None:
    value = parse_dtype(spelled)
    if value:
        found.add("dtype", name, value, at)


def autocast(found: Found) -> None:
    """Note whether autocast is on or off in code."""
    for match in compiled(r"autocast\s{0,3}\(([^()\n]{0,200})").finditer(found.text):
        off = compiled(r"enabled\s?=\s?False").search(match[1])
        found.add("autocast", "autocast", "off" if off else "on", match.start())
    for match in compiled(r"(?:without|disabl\w{1,3}|no|关闭|不用) (?:torch\.)?autocast|--disable-autocast").finditer(found.text):
        found.add("autocast", "autocast", "off", match.start())


def devices(found: Found) -> None:
    """Note devices asked for and named, and device maps."""
    text = found.text
    for match in compiled(_DEVICE_ASKED).finditer(text):
        _device(found, "requested", match[1], match.start())
    if "()" in text:
        for match in compiled(r"\.(cuda|cpu)\(\)").finditer(text):
            _device(found, "requested", match[1], match.start())
    if "cpu" in found.low or "gpu" in found.words or "显卡" in text:
        _runs_on_cpu(found)
    if "device_map" in found.low:
        for match in compiled(_DEVICE_MAP).finditer(text):
            found.add("device_map", "device_map", match[1] or match[3] or "dict", match.start())
    for match in compiled(r"(?<![\w/.-])(cuda|cpu|mps|xpu|npu|hpu|xla)(?::\d{1,3})?(?![\w/.-])").finditer(text):
        _device(found, "mentioned", match[1], match.start())


def _runs_on_cpu(found: Found) -> None:
    """Note that prose says that it runs on the CPU, and fails there."""
    from troubleshoot.reading.elsewhere import works_there

    for match in compiled(_ON_CPU).finditer(found.text):
        before = found.text[max(0, match.start() - _NEAR) : match.start()].rpartition("\n")[2]
        after = found.text[match.end() : match.end() + _NEAR].partition("\n")[0]
        if not found.is_told(match.start()) and not works_there(before, after):
            _device(found, "requested", "cpu", match.start())


def _device(found: Found, name: str, spelled: str, at: int) -> None:
    value = parse_device(spelled)
    if value:
        found.add("device", name, value, at)


def flags(found: Found) -> None:
    """Note command-line options with their values."""
    for match in compiled(_FLAG, 0).finditer(found.written):
        found.add("flag", match[1], (match[2] or match[3] or "").strip("\"'"), match.start())


def from_table(found: Found, kind: str) -> None:
    """Note the first place of each value of ``quantization``, ``attention``, ``launcher``, ``phase`` or ``os``."""
    low = found.low
    for literals, pattern, value in word_tables.OPTIONS[kind]:
        if not any(literal in low for literal in literals):
            continue
        match = compiled(pattern).search(found.text)
        if match:
            found.add(kind, kind, value, match.start())
