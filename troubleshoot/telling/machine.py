"""An environment as a page: packages and devices with their sources, and which dtypes the devices support."""

from __future__ import annotations

from typing import TYPE_CHECKING

from troubleshoot.telling.document import Block, Document, Point, Prose, Section, Table, filled
from troubleshoot.telling.facts import accelerator_text, source, support_word, version_text
from troubleshoot.telling.words import Words

if TYPE_CHECKING:
    from troubleshoot.reading.environment.machine import Accelerator, Environment

#: Packages that decide precision and device questions, in the order shown.
MATTER = [
    "torch",
    "torchvision",
    "torchaudio",
    "transformers",
    "diffusers",
    "accelerate",
    "peft",
    "trl",
    "bitsandbytes",
    "apex",
    "flash-attn",
    "xformers",
    "triton",
    "deepspeed",
    "torchao",
    "auto-gptq",
    "gptqmodel",
    "autoawq",
    "optimum",
    "sentence-transformers",
    "timm",
    "open-clip-torch",
    "lightning",
    "pytorch-lightning",
    "vllm",
    "unsloth",
    "safetensors",
    "numpy",
    "onnx",
    "onnxruntime",
    "onnxruntime-gpu",
    "tensorrt",
    "transformer-engine",
    "torch-npu",
    "intel-extension-for-pytorch",
]

_TONES = {"native": "good", "emulated": "warn", "slow": "warn", "none": "bad", "unknown": "dim"}
_COLUMNS = ("float16", "bfloat16", "float8_e4m3fn", "float4_e2m1fn_x2", "tf32")


def machine_document(environment: Environment, language: str, python: str | None = None, *, deep: bool = False) -> Document:
    """Return the page of ``environment``; ``python`` names the interpreter asked, ``deep`` tells that torch was asked too."""
    words = Words(language)
    title = words("env.title-python", python=python) if python else words("env.title")
    sections = filled(
        Section(words("Packages"), _packages(environment, words)),
        Section(words("Accelerators"), _accelerators(environment, words)),
        Section(words("Support"), _support(environment, words)),
        Section(words("Details"), _details(environment, words, deep)),
        Section(words("Note"), tuple(Prose(warning, "warn") for warning in environment.warnings)),
    )
    system = words.list([part for part in (f"Python {environment.python}" if environment.python else "", environment.os or "") if part])
    where = words("env.source", source=source(words, environment.source))
    return Document(
        badge="",
        title=title,
        subtitle=" · ".join(part for part in (system, where) if part),
        sections=sections,
        language=words.language,
    )


def _packages(environment: Environment, words: Words) -> tuple[Block, ...]:
    known = {one.name: one for one in environment.packages}
    shown = [known[name] for name in MATTER if name in known]
    blocks: list[Block] = []
    if shown:
        versions = (version_text(words, one) for one in shown)
        blocks += [
            Point(f"{one.name} {version}" + words.paren(source(words, one.source, one.line)))
            for one, version in zip(shown, versions, strict=True)
        ]
    else:
        blocks.append(Prose(words("env.no-packages"), "warn"))
    others = len(known) - len(shown)
    if others:
        blocks.append(Prose(words("env.others", n=others), "dim"))
    return tuple(blocks)


def _accelerators(environment: Environment, words: Words) -> tuple[Block, ...]:
    if environment.accelerators:
        return tuple(Point(accelerator_text(words, one)) for one in environment.accelerators)
    return (Prose(words("env.empty" if environment.closed_accelerators else "env.not-looked"), "dim"),)


def device_document(device: Accelerator | None, language: str) -> Document:
    """Return the page of a GPU that is named, None for the CPU: which dtypes it has."""
    words = Words(language)
    shown = ("CPU", Accelerator("CPU", "cpu", "report")) if device is None else (device.name, device)
    sections = (Section(words("Support"), _states([shown], words)),)
    title = "CPU" if device is None else accelerator_text(words, device, with_source=False)
    return Document(badge="", title=title, sections=sections, language=words.language)


def _support(environment: Environment, words: Words) -> tuple[Block, ...]:
    from troubleshoot.reading.environment.dtype_support import cpu_of

    devices: list[tuple[str, Accelerator]] = []
    for one in environment.accelerators:
        if all(one.name != name for name, _ in devices):
            devices.append((one.name, one))
    return _states([*devices, ("CPU", cpu_of(environment))], words)


def _states(devices: list[tuple[str, Accelerator]], words: Words) -> tuple[Block, ...]:
    """Return the dtypes of devices as a table, with what follows from them below it."""
    from troubleshoot.reading.environment import support

    rows, remarks = [], []
    for name, device in devices:
        answers = [support(device, dtype) for dtype in _COLUMNS]
        rows.append((name, *(support_word(words, answer.state) for answer in answers)))
        for dtype, answer in zip(_COLUMNS, answers, strict=True):
            text = "; ".join(part for part in (answer.note if answer.state not in ("none", "unknown") else "", answer.caveat or "") if part)
            if text and answer.state != "unknown":
                remarks.append(
                    Point(f"{name}, {_short(dtype)}: {text} ({answer.source})" if answer.source else f"{name}, {_short(dtype)}: {text}")
                )
    tones = tuple((support_word(words, state), tone) for state, tone in _TONES.items())
    return (Table((words("env.device"), *map(_short, _COLUMNS)), tuple(rows), tones), *remarks)


def _short(dtype: str) -> str:
    return {"float8_e4m3fn": "float8", "float4_e2m1fn_x2": "float4"}.get(dtype, dtype)


def _details(environment: Environment, words: Words, deep: bool) -> tuple[Block, ...]:
    blocks: list[Block] = [Point(f"{name}: {value}") for name, value in sorted(environment.details.items())]
    if not deep and any(one.name == "torch" and one.version for one in environment.packages):
        blocks.append(Prose(words("env.torch-unread"), "dim"))
    return tuple(blocks)
