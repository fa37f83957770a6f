"""A condition in the words of a reader, English or Chinese: what would have to be known for it to hold."""

from __future__ import annotations

from collections.abc import Iterable

from troubleshoot.knowledge.schema import Condition

#: What the facts are called: English, Chinese.
_NAMES = {
    "gpu.name": ("the GPU", "GPU"),
    "gpu.capability": ("the GPU's compute capability", "GPU 的计算能力"),
    "gpu.architecture": ("the GPU's architecture", "GPU 的架构"),
    "gpu.memory": ("the GPU's memory in GiB", "GPU 的显存（GiB）"),
    "gpu.count": ("the number of GPUs", "GPU 的数量"),
    "device.kind": ("the device", "设备"),
    "dtype.requested": ("the dtype asked for", "指定的 dtype"),
    "dtype.expected": ("the expected dtype", "期望的 dtype"),
    "dtype.found": ("the dtype found", "实际的 dtype"),
    "dtype.dtype": ("the dtype", "dtype"),
    "device.device": ("the device", "设备"),
    "quantization": ("the quantization", "量化方式"),
    "attention": ("the attention implementation", "注意力实现"),
    "autocast": ("autocast", "autocast"),
    "launcher": ("the launcher", "启动方式"),
    "device-map": ("device_map", "device_map"),
    "phase": ("the phase", "所处阶段"),
    "model": ("the model", "模型"),
    "exception": ("the error", "异常"),
    "op": ("the operation", "算子"),
    "library": ("the library", "库"),
    "os": ("the system", "操作系统"),
    "torch.build": ("the build of torch", "torch 的构建"),
}  # fmt: skip

#: Facts named by what follows the dot; ``{}`` stands for it.
_PREFIXES = {
    "support": ("the GPU's support for {}", "GPU 对 {} 的支持"),
    "dtype": ("the dtype of the {}", "{} 的 dtype"),
    "device": ("the device of the {}", "{} 所在设备"),
    "flag": ("the setting {}", "设置 {}"),
}

#: The comparisons of a PEP 440 specifier. The long ones first: ``<=`` begins with ``<``.
_COMPARISONS = (
    ("<=", ("{} or older", "不高于 {}")), (">=", ("{} or newer", "不低于 {}")), ("==", ("{}", "等于 {}")), ("!=", ("not {}", "不等于 {}")),
    ("<", ("older than {}", "低于 {}")), (">", ("newer than {}", "高于 {}")),
)  # fmt: skip


def describe(condition: Condition, language: str = "en") -> str:
    """Return a condition as a clause: "torch is older than 2.3", "GPU 的计算能力低于 8"."""
    if condition.any:
        return _joined(_alternatives(condition.any, language), (" or ", " 或 "), language)
    if condition.all:
        return _joined((_part(one, language) for one in condition.all), (" and ", " 且 "), language)
    if condition.none:
        return _one(
            language,
            "none of this holds: {}",
            "以下都不成立：{}",
            _joined((describe(one, language) for one in condition.none), ("; ", "；"), language),
        )
    if condition.code:
        return _one(language, "a frame runs {}", "有一帧运行 {}", condition.code)
    if condition.function:
        return _one(language, "a frame is in the function {}", "有一帧位于函数 {}", condition.function)
    if condition.frame:
        return _in_frames((condition.frame,), language)
    if condition.text is not None:
        phrase = condition.text if isinstance(condition.text, str) else condition.text[0]
        return _one(language, "the report has words such as: {}", "报告里有类似这样的词：{}", phrase)
    return _fact(condition, str(condition.fact), language)


def _alternatives(conditions: tuple[Condition, ...], language: str) -> list[str]:
    """Return the clauses of alternatives; files of frames are one clause, for many of them may stand side by side."""
    files = tuple(one.frame for one in conditions if one.frame and not (one.code or one.function))
    others = [describe(one, language) for one in conditions if one.frame not in files or one.code or one.function]
    return [_in_frames(files, language), *others] if files else others


def _in_frames(files: tuple[str, ...], language: str) -> str:
    return _one(language, "a frame is in {}", "有一帧位于 {}", _values(files, language))


def _fact(condition: Condition, fact: str, language: str) -> str:
    area, _, rest = fact.partition(".")
    if area == "package":
        return _package(condition, rest, language)
    names = _NAMES.get(fact) or (_PREFIXES.get(area) if rest else None)
    name = _one(language, *names, rest) if names else fact
    for value, verbs in (
        (condition.is_, ("is", "是")),
        (condition.not_, ("is not", "不是")),
        (condition.in_, ("is", "是")),
        (condition.contains, ("contains", "包含")),
    ):
        if value is not None:
            return f"{name} {_one(language, *verbs)} {_values(value, language)}"
    if condition.at_least is not None:
        return _one(language, "{} is at least {}", "{}不低于 {}", name, f"{condition.at_least:g}")
    if condition.below is not None:
        return _one(language, "{} is below {}", "{}低于 {}", name, f"{condition.below:g}")
    return _one(language, "{} is known", "{}已知", name)


def _package(condition: Condition, name: str, language: str) -> str:
    state = condition.is_ if condition.is_ is not None else condition.not_
    if state in ("present", "absent"):
        there = (state == "present") == (condition.is_ is not None)
        return _one(language, "{} is installed", "已安装 {}", name) if there else _one(language, "{} is not installed", "没有安装 {}", name)
    if condition.in_ is not None:
        parts = (_release(part.strip(), language) for part in condition.in_.split(","))
        return _one(language, "{} is {}", "{} {}", name, _joined(parts, (" and ", " 且 "), language))
    return _one(language, "{} is {}", "{} 是 {}", name, _values(state, language))


def _release(part: str, language: str) -> str:
    for sign, words in _COMPARISONS:
        if part.startswith(sign):
            return _one(language, *words, part.removeprefix(sign).strip())
    return part


def _part(condition: Condition, language: str) -> str:
    text = describe(condition, language)
    return f"({text})" if len(condition.any) > 1 else text


def _values(value: object, language: str) -> str:
    if not isinstance(value, list | tuple):
        return str(value)
    *first, last = map(str, value)
    return _joined((_joined(first, (", ", "、"), language), last), (" or ", " 或 "), language) if first else last


def _joined(parts: Iterable[str], joints: tuple[str, str], language: str) -> str:
    return _one(language, *joints).join(parts)


def _one(language: str, english: str, chinese: str, *values: object) -> str:
    text = chinese if language == "zh" else english
    return text.format(*values) if values else text
