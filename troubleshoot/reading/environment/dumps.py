"""What tools print about a machine: torch's collect_env, and the env commands of transformers, accelerate, diffusers and peft."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading.environment.gathering import Draft
from troubleshoot.reading.environment.package_names import normalise_name

_NONE = frozenset({"", "n/a", "na", "none", "could not collect", "no cuda", "not found", "not installed", "unknown", "<fill in>", "no"})


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "version field": anchored(
            # - `transformers` version / PyTorch version (GPU?)
            r"[\s>*-]*+[`*]*+(?:🤗\s*+)?([A-Za-z][\w.-]*+)[`*]*+\s++version\s*+(\([^)]*+\))?"
            r"\s*+:\s*+[`*]*+([^\s`*(]++)[`*]*+\s*+(?:\(([^)]*+)\))?"  # : 2.6.0+cu124 (True)
        ),
        "library": anchored(r"\s*+(?:\[(pip\d?|conda)\]|pip)\s++(\S+?)(?:==|\s++)(\S++)(?:\s++(\S++))?"),
        "gpu": anchored(r"\s*+(?:GPU models and configuration\s*+:\s*+)?GPU\s++(\d++)\s*+:\s*+(\S.*)$"),
        "python": searched(r"\b(\d\.\d++(?:\.\d++)?\w*+)"),
        "version": anchored(r"v?(\d[\w.!+-]*+)"),
    }  # fmt: skip


#: ``X version: 1.2`` is taken for a distribution only where X is one of these.
_DISTRIBUTIONS = frozenset({
    "accelerate", "apex", "auto-gptq", "autoawq", "bitsandbytes", "datasets", "deepspeed", "diffusers", "flash-attn", "flax", "fsspec",
    "huggingface-hub", "jax", "jaxlib", "lightning", "liger-kernel", "llamafactory", "numpy", "optimum", "peft", "pyarrow",
    "pytorch-lightning", "safetensors", "sentence-transformers", "tensorflow", "timm", "tokenizers", "torch", "torchao", "torchaudio",
    "torchvision", "transformers", "triton", "trl", "unsloth", "vllm", "xformers",
})  # fmt: skip

#: Label of a line of collect_env and of the env commands -> name of the detail.
_DETAILS = {
    "cuda runtime version": "cuda",
    "nvidia driver version": "driver",
    "cudnn version": "cudnn",
    "hip runtime version": "rocm",
    "miopen runtime version": "miopen",
    "is cuda available": "cuda.available",
    "is xpu available": "xpu.available",
    "is debug build": "torch.debug",
}

#: Found in a platform string or in the name of a distribution; the first counts.
_SYSTEMS = (
    ("windows", "windows"), ("microsoft-standard-wsl", "wsl"), ("wsl2", "wsl"), ("macos", "macos"), ("mac os", "macos"),
    ("darwin", "macos"), ("linux", "linux"), ("ubuntu", "linux"), ("debian", "linux"), ("centos", "linux"), ("red hat", "linux"),
    ("rocky", "linux"), ("fedora", "linux"), ("amazon", "linux"), ("suse", "linux"), ("manjaro", "linux"), ("nixos", "linux"),
)  # fmt: skip


def parse_dumps(draft: Draft, lines: Sequence[str], numbers: Sequence[int], text: str) -> None:
    """Read what the tools printed into ``draft``."""
    if "PyTorch version:" in text and ("CUDA used to build" in text or "Is debug build" in text or "Python version:" in text):
        _collect_env(draft, lines, numbers)
    if "ersion" in text and (
        "`transformers` version" in text
        or "- Platform:" in text
        or "Platform:" in text
        or "PyTorch version (" in text
        or " version:" in text
    ):
        _hub_env(draft, lines, numbers)


def operating_system(text: str) -> str | None:
    """Return linux, windows, macos or wsl as ``text`` (a platform string, a distribution's name) says, or None."""
    lowered = text.lower()
    for word, name in _SYSTEMS:
        if word in lowered:
            return name
    return None


def platform_facts(draft: Draft, value: str) -> None:
    """Read ``Linux-5.15.0-x86_64-with-glibc2.35`` or ``macOS-14.4-arm64-arm-64bit``."""
    if draft.os in (None, "linux"):
        draft.os = operating_system(value) or draft.os
    if draft.os == "macos":
        found = searched(r"mac\s?os[- x]*+(\d++(?:\.\d++)*+)", re.IGNORECASE).search(value)
        draft.detail("os.version", found[1] if found else None)
    for machine in ("x86_64", "AMD64", "aarch64", "arm64"):
        if machine in value:
            draft.detail("machine", "x86_64" if machine == "AMD64" else machine)
            break


#: How the kernel calls the instructions of x86 (AVX512-BF16, AMX) and of Arm that multiply matrices of bfloat16.
_BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16", "svebf16"})


def cpu_dtypes(flags: str) -> str:
    """Return ``bf16`` where a CPU's flags name instructions for bfloat16; else an empty text."""
    return "" if _BFLOAT16_FLAGS.isdisjoint(flags.split()) else "bf16"


def built_for(draft: Draft, version: str) -> None:
    """Note what the local part of torch's version says of its build: ``2.6.0+cu124``, ``+rocm6.2``, ``+cpu``, ``+xpu``."""
    local = version.partition("+")[2].lower()
    cuda = anchored(r"cu(\d{2,3})").match(local)
    if cuda:
        draft.detail("torch.cuda", f"{cuda[1][:-1]}.{cuda[1][-1]}")
    elif local.startswith("rocm"):
        draft.detail("torch.rocm", local.removeprefix("rocm"))
    elif local.startswith("cpu"):
        draft.detail("torch.cuda", "cpu")
    elif local.startswith("xpu"):
        draft.detail("torch.xpu", "yes")


def _known(value: str) -> str | None:
    value = value.strip().strip("`*'\"")
    return None if value.lower() in _NONE else value


def _collect_env(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    patterns = _patterns()
    inside = False
    section = ""
    gpus = 0
    for index, raw in enumerate(lines):
        line = raw.strip()
        if not inside:
            if not line.lstrip("-*> ").startswith("PyTorch version:"):
                continue
            inside = True
        if not line:
            continue
        label, colon, value = line.lstrip("-*> ").partition(":")
        key = label.strip().lower()
        value = value.strip()
        library = patterns["library"].match(line)
        gpu = patterns["gpu"].match(line) if "GPU" in line else None
        if library:
            _library(draft, library, numbers[index])
        elif gpu:
            _device(draft, gpu[2].partition("(UUID:")[0], numbers[index])
            gpus += 1
        elif "_XpuDeviceProperties(" in line:
            found = searched(r"name='([^']++)'").search(line)
            if found:
                _device(draft, found[1], numbers[index], "xpu")
        elif not colon:
            if section == "cpu" and draft.os == "macos":
                _apple(draft, line, numbers[index])
        elif key == "pytorch version":
            version = _known(value)
            if version and patterns["version"].match(version):
                draft.package("torch", version, numbers[index])
                built_for(draft, version)
        elif key == "cuda used to build pytorch":
            built = _known(value)
            if built and built[0].isdigit():
                draft.detail("torch.cuda", built)
            elif value.lower() in ("none", "no cuda"):
                draft.detail("torch.cuda", "cpu")
        elif key == "rocm used to build pytorch":
            draft.detail("torch.rocm", _known(value))
        elif key == "os":
            draft.os = operating_system(value) or draft.os
            if draft.os == "macos":
                found = searched(r"(\d++(?:\.\d++)*+)").search(value)
                draft.detail("os.version", found[1] if found else None)
        elif key == "python version":
            found = patterns["python"].search(value)
            draft.python = found[1] if found else draft.python
        elif key == "python platform":
            platform_facts(draft, value)
        elif key == "cpu":
            section = "cpu"
            if draft.os == "macos" and value:
                _apple(draft, value, numbers[index])
        elif key == "flags":
            draft.detail("cpu.dtypes", cpu_dtypes(value) or None)
        elif key == "gpu models and configuration":
            if _known(value) and not value.lower().startswith("gpu"):
                # Windows prints bare names; ROCm the name with its target: AMD Instinct MI250X (gfx90a:sramecc+:xnack-).
                _device(draft, value, numbers[index])
                gpus += 1
        elif key in _DETAILS:
            flag = {"yes": "true", "no": "false"}.get(value.lower(), value.lower())
            draft.detail(_DETAILS[key], flag if key.startswith("is ") else _first_version(_known(value)))
        elif key == "versions of relevant libraries":
            section = "libraries"
    if gpus:
        draft.closed_accelerators = True
    if draft.os == "macos" or "torch.xpu" in draft.details or "torch.rocm" in draft.details:
        # No CUDA, but no build for the CPU alone either.
        draft.details.pop("torch.cuda", None)


def _first_version(value: str | None) -> str | None:
    if value is None:
        return None
    found = searched(r"(?<!\d)\d++(?:\.\d++)++|\d{4,}+").search(value)
    return found[0] if found else value


def _library(draft: Draft, match: re.Match[str], line: int) -> None:
    name, version = match[2], match[3]
    if not version[:1].isdigit():
        return
    if match[1] == "conda":
        from troubleshoot.reading.environment.listings import conda_package

        conda_package(draft, name, version, match[4], line)
        return
    draft.package(name, version, line)
    if normalise_name(name) == "torch":
        built_for(draft, version)


def _device(draft: Draft, name: str, line: int, kind: str | None = None) -> None:
    from troubleshoot.reading.environment.hardware import accelerator_named

    if draft.full or not name.strip():
        return
    if kind is None:
        kind = "rocm" if "gfx" in name or "torch.rocm" in draft.details else "cuda"
    draft.accelerator(accelerator_named(name.strip(), draft.source, kind=kind, line=line))


def _apple(draft: Draft, name: str, line: int) -> None:
    if name.startswith("Apple M") and not draft.accelerators:
        from troubleshoot.reading.environment.hardware import accelerator_named

        draft.accelerator(accelerator_named(name, draft.source, kind="mps", line=line))


def _hub_env(draft: Draft, lines: Sequence[str], numbers: Sequence[int]) -> None:
    pattern = _patterns()["version field"]
    for index, raw in enumerate(lines):
        if ":" not in raw or len(raw) > 300:
            continue
        line = raw.strip()
        if "ersion" in line:
            match = pattern.match(line)
            if match:
                _version_field(draft, match, line, numbers[index])
            continue
        label, _, value = line.lstrip("-*> ").partition(":")
        key = label.strip().strip("`*").lower()
        value = value.strip().strip("`*")
        if key == "platform":
            platform_facts(draft, value)
        elif (
            key in ("gpu type", "accelerator", "gpu", "npu type", "xpu type", "hpu type", "mlu type")
            and _known(value)
            and not value.lower().startswith(("yes", "no", "<"))
        ):
            _gpu_field(draft, key, value, numbers[index])


def _version_field(draft: Draft, match: re.Match[str], line: str, number: int) -> None:
    label = match[1].lower()
    value = match[3]
    if label == "python":
        if value[:1].isdigit() and draft.python is None:
            draft.python = value.rstrip(",;")
        return
    name = "torch" if label == "pytorch" else normalise_name(label)
    if name not in _DISTRIBUTIONS:
        return
    rest = line.partition(":")[2].strip().lower().strip("`*")
    if rest.startswith(("not installed", "not found")):
        draft.package(name, None, number)
        return
    if not anchored(r"v?\d").match(value):
        return
    draft.package(name, value.rstrip(",;"), number)
    if name == "torch":
        built_for(draft, value)
        flag = (match[4] or "").strip().lower()
        if flag in ("true", "false") and "gpu" in (match[2] or "").lower():
            draft.detail("cuda.available", flag)
        elif flag in ("cuda", "xpu", "npu", "mps"):
            draft.detail(f"{flag}.available", "true")
        elif flag == "na":
            draft.detail("cuda.available", "false")


def _gpu_field(draft: Draft, key: str, value: str, number: int) -> None:
    """``GPU type: NVIDIA A100-SXM4-80GB`` (transformers, accelerate), ``Accelerator: NVIDIA A100, 81920 MiB`` (diffusers)."""
    from troubleshoot.reading.environment.hardware import accelerator_named

    kind = {"npu type": "npu", "xpu type": "xpu", "hpu type": "hpu"}.get(key, "cuda")
    memory = None
    sized = anchored(r"(.*?),\s*+(\d{1,9})\s*+MiB$").match(value)
    if sized:
        value, memory = sized[1], round(int(sized[2]) / 1024, 1)
    if value.lower() in ("cuda", "mps", "xpu", "npu", "tpu", "true", "false"):
        return
    draft.accelerator(accelerator_named(value, draft.source, kind=kind, memory=memory, line=number))
