"""Which precision on which GPU: a guide to decide by, and the table behind it, both from the tables of environment/."""

# ruff: noqa: E501  (a sentence is read better whole)
from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, replace

from troubleshoot.curation.publishing.catalogue import Catalogue
from troubleshoot.curation.publishing.markup import chip, escape, front_matter, page_link, table
from troubleshoot.reading.environment.dtype_support import support
from troubleshoot.reading.environment.hardware_page import COLUMNS, devices, named_devices
from troubleshoot.reading.environment.machine import Accelerator

GUIDE, TABLE = "precision.md", "hardware.md"

_TONES = {"native": "good", "emulated": "warn", "slow": "warn", "none": "bad", "unknown": ""}

_TEXTS = {
    "en": {
        "title": "Which precision on which GPU",
        "lead": "The dtype to begin with, by what the device computes in natively. Four questions, then the table; why a device has a dtype or "
        "not, with sources, stands in {table}.",
        "q1": "Does the GPU compute natively in **bfloat16**? (NVIDIA from Ampere, compute capability 8.0; AMD from MI100 and RDNA 3; Apple "
        "from M3.) Then use it, for inference and for training: it has the range of float32, so nothing overflows that does not "
        "overflow there, and autocast needs no GradScaler. Its price is precision: 8 bits. Positions, timesteps, statistics of norms and small "
        "updates of weights stay in float32: {bf16}.",
        "q2": "If not, does it compute natively in **float16**? (V100, T4, RTX 20, P100.) Then load models in float16 and train with autocast "
        "and a GradScaler. Its price is range: 65504 at most. A model that was trained in bfloat16 may overflow: {fp16}. "
        "`is_bf16_supported()` says True on these GPUs as well, since bfloat16 is emulated there: {emulated}.",
        "q3": "If float16 is there but **slow** (GTX 10 and other consumer Pascal), or the GTX 16 series gives black images, compute in float32; "
        "half precision only saves memory: {slow}.",
        "q4": "Without a GPU, on the **CPU**: float32. bfloat16 halves the memory and works almost everywhere; float16 lacks kernels, the more the older torch is: {cpu}.",
        "q5": "**float8** and below are for matrix products of quantized models on GPUs that have them (compute capability 8.9 and later, "
        "MI350 and RDNA 4, MI300 in its own formats, float4 from 10.0): {float8}.",
        "questions": "Four questions, and one more",
        "table": "By generation",
        "table.lead": "“Begin with” follows from the other columns by the questions above. Support is stated for matrix products; where it differs for "
        "convolutions, that is said.",
        "ask": "Ask your own machine",
        "ask.lead": "`troubleshoot env` shows the same for the devices that are there, `troubleshoot env --gpu 4090` for one that is named; "
        "`troubleshoot diagnose FILE --gpu T4` takes it into account.",
        "find": "Your GPU: 4090, T4, MI300, M2 …",
        "find.none": "No GPU of this name is in the tables.",
        "column.device": "device", "column.infer": "begin with: inference", "column.train": "begin with: training",
        "bf16": "bfloat16", "fp16": "float16", "fp32": "float32",
        "train.bf16": "bfloat16 autocast", "train.fp16": "float16 autocast with GradScaler", "train.fp32": "float32",
        "conv": "(convolution: {state})",
        "broken": "convolutions give NaN",
        "hardware.title": "Which hardware has which dtype",
        "hardware.lead": "",
        "sources": "",
    },
    "zh": {
        "title": "哪种 GPU 用哪种精度",
        "lead": "先用哪种 dtype，取决于设备原生支持什么。先回答几个问题，再查表；每种支持情况见{table}。",
        "q1": "GPU 原生支持 **bfloat16** 吗？（NVIDIA 从 Ampere 即计算能力 8.0 起；AMD 从 MI100 和 RDNA 3 起；Apple 从 M3 起。）那就用它，推理和训练都用：它的范围与 "
        "float32 相同，不会比 float32 更容易溢出，autocast 也不需要 GradScaler。代价是精度只有 8 位：位置、时间步、归一化的统计量以及很小的权重更新要留在 float32：{bf16}。",
        "q2": "如果不支持，是否原生支持 **float16**？（V100、T4、RTX 20、P100。）那就用 float16 加载，训练用 autocast 加 GradScaler。代价是范围：最大 65504。用 bfloat16 训练出来的模型可能溢出："
        "{fp16}。这些 GPU 上 `is_bf16_supported()` 也返回 True，因为 bfloat16 是模拟的：{emulated}。",
        "q3": "如果有 float16 但很**慢**（GTX 10 等消费级 Pascal），或者 GTX 16 系列出黑图，就用 float32 计算；半精度只省显存：{slow}。",
        "q4": "没有 GPU、在 **CPU** 上：float32。bfloat16 内存减半，几乎处处可用；float16 缺少内核，torch 越旧缺得越多：{cpu}。",
        "q5": "**float8** 及更低精度只用于量化模型的矩阵乘，且需要硬件支持（计算能力 8.9 及以上；MI350 和 RDNA 4；MI300 用自己的格式；float4 从 10.0 起）：{float8}。",
        "questions": "几个问题",
        "table": "按架构查表",
        "table.lead": "“先用”两列由其余各列按上面的问题得出。支持情况针对矩阵乘；卷积不同时会注明。",
        "ask": "问自己的机器",
        "ask.lead": "`troubleshoot env` 列出本机设备的支持情况，`troubleshoot env --gpu 4090` 列出指定 GPU 的；`troubleshoot diagnose FILE --gpu T4` 按那块 GPU 回答。",
        "find": "你的 GPU：4090、T4、MI300、M2 ……",
        "find.none": "表中没有叫这个名字的 GPU。",
        "column.device": "设备", "column.infer": "先用：推理", "column.train": "先用：训练",
        "bf16": "bfloat16", "fp16": "float16", "fp32": "float32",
        "train.bf16": "bfloat16 autocast", "train.fp16": "float16 autocast 加 GradScaler", "train.fp32": "float32",
        "conv": "（卷积：{state}）",
        "broken": "卷积结果为 NaN",
        "hardware.title": "各种硬件支持的 dtype",
        "hardware.lead": "原生：硬件直接计算。模拟：通过更宽的类型计算，速度不超过 float32。慢：原生支持，但只有 float32 速度的一小部分。无：没有这样的内核。未知：没有找到来源。",
        "sources": "每一条结论及其来源见英文页：",
    },
}  # fmt: skip

#: Causes that the guide leads to.
_CAUSES = {
    "bf16": "numerics/bf16-rounding",
    "fp16": "numerics/fp16-overflow",
    "emulated": "hardware/no-bf16",
    "slow": "hardware/no-fp16",
    "cpu": "unsupported/half-on-cpu",
    "float8": "hardware/no-fp8",
}


@dataclass(frozen=True)
class Advice:
    """The dtype to begin with on a device: ``bf16``, ``fp16`` or ``fp32``, for inference and for training."""

    inference: str
    training: str


def advise(device: Accelerator | str) -> Advice:
    """Return the dtype to begin with, by what the device computes in natively.

    >>> from troubleshoot.reading.environment import accelerator_from_text
    >>> advise(accelerator_from_text("A100")), advise(accelerator_from_text("T4"))
    (Advice(inference='bf16', training='bf16'), Advice(inference='fp16', training='fp16'))
    """
    for name, dtype in (("bf16", "bfloat16"), ("fp16", "float16")):
        if support(device, dtype).state == "native" and support(device, dtype, "convolution").caveat is None:
            return Advice(name, name)
    return Advice("fp32", "fp32")


def guide_page(catalogue: Catalogue) -> str:
    """Return the decision guide with its table."""
    text = _TEXTS[catalogue.say.language]
    causes = {name: catalogue.cause_link(GUIDE, cause) for name, cause in _CAUSES.items()}
    table_link = page_link(GUIDE, TABLE, escape(text["hardware.title"]))
    questions = [text[f"q{number}"].format(**causes) for number in range(1, 6)]
    parts = [
        front_matter(title=text["title"]),
        f"# {escape(text['title'])}",
        text["lead"].format(table=table_link),
        f"## {escape(text['questions'])} {{ #questions }}",
        "\n".join(f"{number}. {question}" for number, question in enumerate(questions, 1)),
        f"## {escape(text['table'])} {{ #table }}",
        text["table.lead"],
        _finder(text),
        _devices_table((text["column.device"], text["column.infer"], text["column.train"], "bfloat16", "float16", "float8"), _rows(catalogue)),
        f"## {escape(text['ask'])} {{ #ask }}",
        text["ask.lead"],
    ]
    return "\n\n".join(parts) + "\n"


def _finder(text: dict[str, str]) -> str:
    """Return the field that finds a card's row; scripts show it, and without them the table is whole."""
    field = f'<input type="search" name="gpu" placeholder="{html.escape(text["find"])}" aria-label="{html.escape(text["find"])}">'
    return f'<form class="ts-filter ts-find" hidden>{field}<output></output></form>\n<p class="ts-nothing" hidden>{html.escape(text["find.none"])}</p>'


def _devices_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return f'<div class="ts-devices" markdown>\n\n{table(head, rows)}\n\n</div>'


def _rows(catalogue: Catalogue) -> list[tuple[str, ...]]:
    text = _TEXTS[catalogue.say.language]
    rows: list[tuple[str, ...]] = []
    for label, device, names in _apart():
        advice = advise(device)
        rows.append(
            (
                f'{label}<span class="ts-names">{html.escape(", ".join(names))}</span>',
                text[advice.inference],
                text[f"train.{advice.training}"],
                _state(device, "bfloat16", catalogue, compare=True),
                _state(device, "float16", catalogue, compare=True),
                _float8(device, catalogue),
            )
        )
    return rows


def _apart() -> Iterator[tuple[str, Accelerator | str, tuple[str, ...]]]:
    """Yield every generation; cards of it with a known defect have a row of their own."""
    for label, device, names in named_devices():
        if isinstance(device, str):
            yield label, device, names
            continue
        broken = tuple(name for name in names if support(replace(device, name=name), "float16", "convolution").caveat)
        yield label, device, tuple(name for name in names if name not in broken)
        if broken:
            yield f"{label.partition(' (')[0]} ({broken[0]} … {broken[-1]})", replace(device, name=broken[0]), broken


def _state(device: Accelerator | str, dtype: str, catalogue: Catalogue, *, compare: bool = False, operation: str = "matmul") -> str:
    say = catalogue.say
    state = support(device, dtype, operation).state
    shown = chip(say(f"env.{state}"), _TONES[state])
    convolution = support(device, dtype, "convolution").state
    if compare and support(device, dtype, "convolution").caveat:
        shown += " " + chip(_TEXTS[say.language]["broken"], "bad")
    elif compare and convolution != state:
        shown += " " + _TEXTS[say.language]["conv"].format(state=say(f"env.{convolution}"))
    return shown


def _float8(device: Accelerator | str, catalogue: Catalogue) -> str:
    """Return whether the device multiplies in float8: MI300 does so in formats of its own only."""
    if support(device, "float8_e4m3fn").state != "native" and support(device, "float8_e4m3fnuz").state == "native":
        return f"{_state(device, 'float8_e4m3fnuz', catalogue)} fnuz"
    return _state(device, "float8_e4m3fn", catalogue)


def hardware_page(catalogue: Catalogue) -> str:
    """Return the table of every generation and dtype, for a language that has no docs/hardware.md of its own."""
    text = _TEXTS[catalogue.say.language]
    head = (text["column.device"], *(f"{dtype.removesuffix('_e2m1fn_x2')} {operation}" for dtype, operation in COLUMNS))
    rows = [
        (label, *(_state(device, dtype, catalogue, operation=operation) for dtype, operation in COLUMNS)) for label, device in devices()
    ]
    parts = [
        front_matter(title=text["hardware.title"], hide=["toc"]),
        f"# {escape(text['hardware.title'])}",
        text["hardware.lead"],
        f'{text["sources"]}<a href="../../hardware/">Which hardware has which dtype</a>',
        _devices_table(head, rows),
    ]
    return "\n\n".join(parts) + "\n"
