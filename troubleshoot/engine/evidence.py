"""Report and Environment become Facts: normalised observations in a closed vocabulary (docs/writing-entries.md lists it).

A fact that nobody stated is unknown, never false. Facts that belong to one failure (its exception, operation, library) are kept by
:class:`FailureFacts`; what a message's holes caught is added per candidate by the matching.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

import msgspec

from troubleshoot.basics.lazy import lazy_attribute
from troubleshoot.basics.names import is_distribution, is_folder
from troubleshoot.basics.numbers import whole_number
from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading.environment.machine import Accelerator, Environment, Package
from troubleshoot.reading.environment.package_names import distribution_of
from troubleshoot.reading.places import PLUGIN_FOLDERS, locate
from troubleshoot.reading.report import Failure, Frame, Mention, Report

#: The facts that a failure's message and frames tell. A name that ends with a dot is a prefix.
CAUGHT = frozenset({"exception", "op", "library", "dtype.", "device.", "name.", "number.", "version.", "text."})
#: The facts that a condition may name.
VOCABULARY = CAUGHT | frozenset({
    "gpu.name", "gpu.capability", "gpu.architecture", "gpu.memory", "gpu.count",
    "support.float16", "support.bfloat16", "support.float8", "support.float4",
    "package.", "python", "os", "cuda", "rocm", "driver", "torch.build",
    "quantization", "attention", "autocast", "launcher", "device-map", "phase", "model", "flag.",
    "numbers.explained_by", "numbers.beyond_rounding_of", "numbers.overflow_of", "numbers.underflow_of", "numbers.integer_limit_of",
    "numbers.bytes_per_value",
    "requires.capability_min", "requires.capability_max", "accepts.arch", "accepts.dtype", "refuses.arch", "refuses.dtype",
    "got.arch", "got.dtype", "got.device", "tried.",
})  # fmt: skip

#: The facts that are read from numbers and refusals only when they are asked for.
_NUMBERS = {
    "rounding": "numbers.explained_by", "beyond-rounding": "numbers.beyond_rounding_of", "overflow": "numbers.overflow_of",
    "underflow": "numbers.underflow_of", "integer-limit": "numbers.integer_limit_of", "bytes": "numbers.bytes_per_value",
}  # fmt: skip
#: What came out of an experiment of kb/experiments.yaml: the prefix of its fact.
TRIED = "tried."
_DEMANDS = ("numbers.", "requires.", "accepts.", "refuses.", "got.")


def is_among(name: str, facts: frozenset[str]) -> bool:
    """Tell whether a fact is one of ``facts``, or begins with a prefix among them."""
    return name in facts or name.partition(".")[0] + "." in facts


#: The dtype that stands for each fact ``support.*`` in the hardware table.
_SUPPORT = {"float16": "float16", "bfloat16": "bfloat16", "float8": "float8_e4m3fn", "float4": "float4_e2m1fn_x2"}

#: ``F.layer_norm(``, ``torch.baddbmm(``, ``torch.nn.functional.linear(`` in the code of a frame
_CALL = searched(r"\b(?:F|torch|nn\.functional|torch\.nn\.functional|torch\._C\._nn|_VF)\.([a-z][a-z0-9_]+)\(")

_ABSOLUTE = anchored(r"[/~]|[A-Za-z]:/")

#: torch/nn/modules/FILE.py -> operation
_MODULE_OPS = {"linear": "linear", "conv": "conv", "normalization": "norm", "batchnorm": "batch_norm", "sparse": "embedding", "rnn": "rnn"}

#: module attributes of kinds that are handed on under the same name
_SAME_NAME = {
    "quantization": "quantization", "attention": "attention", "autocast": "autocast", "launcher": "launcher",
    "device_map": "device-map", "phase": "phase", "model": "model", "python": "python", "os": "os",
}  # fmt: skip


class Fact(msgspec.Struct, frozen=True):
    """One observation: its value in canonical spelling, where it comes from, and the line of the report (None: not from the report)."""

    value: str
    source: str
    line: int | None = None
    text: str = ""


@dataclass(frozen=True)
class FailureFacts:
    """What one failure shows by itself."""

    failure: Failure

    @lazy_attribute
    def all_paths(self) -> str:
        """All frames' files in one text, each once, after a newline and a slash: one search tells whether a part occurs at all."""
        return "".join([f"\n/{path}" for path in dict.fromkeys(self.paths)])

    @lazy_attribute
    def names(self) -> tuple[str, ...]:
        """The frames' files without the folders that all of the reporter's files share: what he calls them tells nothing.

        A plug-in's folder tells what failed, although all of the reporter's files may be in it.
        """
        own = [path.split("/")[:-1] for path in self.paths if _ABSOLUTE.match(path) and locate(path)[0] == "user"]
        shared: list[str] = []
        for parts in zip(*own, strict=False):
            if len(set(parts)) > 1 or parts[0] in PLUGIN_FOLDERS:
                break
            shared.append(f"{parts[0]}/")
        begin = "".join(shared)
        return tuple(path.removeprefix(begin) for path in self.paths)

    @lazy_attribute
    def all_names(self) -> str:
        """The same in one text, each once, as :attr:`all_paths`."""
        return "".join([f"\n/{name}" for name in dict.fromkeys(self.names)])

    @lazy_attribute
    def all_code(self) -> str:
        """The quoted code of all frames without blanks, each once: one search tells whether a piece occurs at all."""
        return "\n".join([squeezed(code) for code in dict.fromkeys(frame.code for frame in self.frames) if code])

    @lazy_attribute
    def uncoded(self) -> bool:
        """Tell whether a frame is shown without its code."""
        return any(frame.code is None for frame in self.frames)

    @lazy_attribute
    def frames(self) -> tuple[Frame, ...]:
        """All frames of the chain."""
        return self.failure.frames

    @lazy_attribute
    def complete(self) -> bool:
        """Tell whether the root's traceback is whole, so that a frame which is not there was not passed.

        A program does not begin inside a library: with such a frame outermost, the top was cut off, whatever header stands above it.
        """
        root = self.failure.root
        return root.complete and bool(root.frames) and locate(root.frames[0].path)[0] in ("user", "python")

    @lazy_attribute
    def paths(self) -> tuple[str, ...]:
        """The frames' files with forward slashes."""
        return tuple(frame.path for frame in self.frames)

    @lazy_attribute
    def caller(self) -> str | None:
        """The file of the deepest frame above torch and Python itself; None where there is none."""
        return next((path for path in reversed(self.paths) if locate(path)[0] not in ("torch", "functorch", "python")), None)

    @lazy_attribute
    def called_by(self) -> str | None:
        """The import name of the library that holds the deepest frame above torch; None where that is the user's own code or unknown.

        It has the form of a distribution's name: commands and titles are made of it. A server or a launcher there means that the frames
        below it were cut: it calls functions, and never saw a tensor.
        """
        path = self.caller or ""
        owner, _ = locate(path)
        return None if owner == "user" or owner in _CALLERS or "-packages/" not in path or not is_distribution(owner) else owner

    @lazy_attribute
    def plugin(self) -> str | None:
        """The folder of the plug-in that holds the deepest frame above torch, such as custom_nodes/ComfyUI-GGUF; None elsewhere.

        Commands and titles are made of it: a folder whose name a shell could read as anything else is none.
        """
        parts = (self.caller or "").split("/")
        at = next((at for at, part in enumerate(parts[:-2]) if part in PLUGIN_FOLDERS), None)
        return f"{parts[at]}/{parts[at + 1]}" if at is not None and is_folder(parts[at + 1]) else None

    @lazy_attribute
    def facts(self) -> dict[str, tuple[Fact, ...]]:
        """``exception``, ``op`` and ``library``."""
        found: dict[str, tuple[Fact, ...]] = {}
        root = self.failure.root
        if root.name:
            found["exception"] = (Fact(root.name, "report", root.line),)
        operations = _operations(root.frames)
        if operations:
            found["op"] = tuple(Fact(name, "report", line) for name, line in operations.items())
        libraries = _libraries(root.frames)
        if libraries:
            found["library"] = tuple(libraries)
        return found


#: Servers, launchers, schedulers and command lines: what they call may fail, and a newer release of them changes nothing.
_CALLERS = frozenset(
    {
        "IPython", "absl", "aiohttp", "airflow", "anyio", "asyncer", "celery", "click", "cog", "dask", "django", "fastapi", "fire", "flask",
        "gradio", "gradio_client", "gunicorn", "hydra", "invoke", "ipykernel", "joblib", "litserve", "loky", "magicgui", "mlflow",
        "multiprocess", "optuna", "pluggy", "prefect", "pytest", "_pytest", "ray", "runpod", "sanic", "starlette", "streamlit", "tornado",
        "typer", "tyro", "uvicorn", "wandb", "werkzeug", "xoscar",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """Everything that is known, by fact name."""

    report: Report
    environment: Environment
    stated: dict[str, tuple[Fact, ...]] = field(default_factory=dict)

    def get(self, name: str) -> tuple[Fact, ...]:
        """Return what is known of a fact that belongs to the whole report; an empty tuple where nothing is."""
        found = self.stated.get(name)
        if found is not None:
            return found
        if name.startswith("support."):
            return self.support(name.removeprefix("support."))
        if name.startswith(_DEMANDS):
            return self.told.get(name, ())
        if name.startswith(TRIED):
            return self.tried.get(name, ())
        return ()

    @lazy_attribute
    def tried(self) -> dict[str, tuple[Fact, ...]]:
        """What came out of the experiments that the report tells of surely; one with two outcomes is left out."""
        found: dict[str, dict[str, Fact]] = {}
        for one in self.report.contrasts:
            if one.sure:
                found.setdefault(TRIED + one.experiment, {}).setdefault(one.outcome, Fact(one.outcome, "report", one.line, one.quote))
        return {name: tuple(outcomes.values()) for name, outcomes in found.items() if len(outcomes) == 1}

    @lazy_attribute
    def told(self) -> dict[str, tuple[Fact, ...]]:
        """What the report's numbers and refusals tell; read when a condition first asks."""
        return told_facts(self.report)

    def package(self, name: str) -> Package | None:
        """Return what is known of a distribution."""
        return self.environment.package(name)

    def support(self, dtype: str) -> tuple[Fact, ...]:
        """Return how the user's device supports a dtype: native, slow, emulated or none; unknown without a device."""
        if dtype not in _SUPPORT:
            return ()
        from troubleshoot.reading.environment.dtype_support import cpu_of, support

        device: Accelerator | None = None
        source, line = self.environment.source, None
        if self.environment.accelerators:
            device = self.environment.accelerators[0]
            source, line = device.source, device.line
        elif self.on_cpu:
            device = cpu_of(self.environment)
        if device is None:
            return ()
        answer = support(device, _SUPPORT[dtype])
        if answer.state == "unknown":
            return ()
        return (Fact(answer.state, source, line, f"{device.name}: {dtype} is {answer.state}"),)

    def with_answers(self, answers: dict[str, str]) -> Facts:
        """Return the same facts with answers that concern neither packages nor the GPU."""
        return replace(self, stated={**self.stated, **{name: (Fact(value, "answer"),) for name, value in answers.items()}})

    @property
    def on_cpu(self) -> bool:
        """Tell whether the program is known to run on the CPU alone."""
        kinds = self.stated.get("device.kind", ())
        return bool(kinds) and all(kind.value == "cpu" for kind in kinds)


def told_facts(report: Report) -> dict[str, tuple[Fact, ...]]:
    """Return what a report's numbers and refusals tell, by fact name; they are read when this is first called."""
    found: dict[str, list[Fact]] = {}

    def add(name: str, value: str, line: int, text: str) -> None:
        facts = found.setdefault(name, [])
        if all(fact.value != value for fact in facts):
            facts.append(Fact(value, "report", line, text))

    for one in report.reckoned:
        add(_NUMBERS[one.verdict], one.of, one.line, one.text)
    for demand in report.requirements:
        for prefix, archs, dtypes in (
            ("accepts", demand.accepts_arch, demand.accepts_dtypes),
            ("refuses", demand.refuses_arch, demand.refuses_dtypes),
            ("got", demand.got_arch, demand.got_dtypes),
        ):
            for arch in archs:
                add(f"{prefix}.arch", str(arch), demand.line, demand.text)
                if prefix == "accepts":
                    for end, bound in (("min", arch.min), ("max", arch.max)):
                        if number := capability_number(bound):
                            add(f"requires.capability_{end}", number, demand.line, demand.text)
            for dtype in dtypes:
                add(f"{prefix}.dtype", dtype, demand.line, demand.text)
        if demand.got_device:
            add("got.device", demand.got_device, demand.line, demand.text)
    return {name: tuple(facts) for name, facts in found.items()}


def capability_number(arch: str | None) -> str | None:
    """Return ``8.9`` for ``sm_89``; None for what is no compute capability."""
    digits = (arch or "").removeprefix("sm_").rstrip("af")
    return f"{digits[:-1]}.{digits[-1]}" if arch and arch.startswith("sm_") and digits.isdigit() else None


def collect_facts(report: Report, environment: Environment, answers: dict[str, str] | None = None) -> Facts:
    """Bring a report, an environment and the user's answers to facts. An answer outranks everything else."""
    stated: dict[str, list[Fact]] = {}

    def add(name: str, value: str, source: str, line: int | None = None, text: str = "") -> None:
        facts = stated.setdefault(name, [])
        if all(fact.value != value for fact in facts):
            facts.append(Fact(value, source, line, text))

    for mention in report.mentions:
        kind = mention.kind
        if kind in _SAME_NAME:
            add(_SAME_NAME[kind], mention.value, "report", mention.line, mention.text)
        elif kind in ("dtype", "device"):
            add(f"{kind}.{mention.name}", mention.value, "report", mention.line, mention.text)
        elif kind == "flag":
            add(f"flag.{mention.name}", mention.value, "report", mention.line, mention.text)
        elif kind == "cuda":
            add(mention.name, mention.value, "report", mention.line, mention.text)
    _add_environment(environment, add)
    for name, value in (answers or {}).items():
        if not name.startswith("package."):
            # A report names several models, and whoever names one more takes none of them back.
            others = stated.get(name, []) if name == "model" else []
            stated[name] = [Fact(value, "answer"), *(one for one in others if one.value != value)]
    _add_device_kind(environment, stated)
    return Facts(report, environment, {name: tuple(facts) for name, facts in stated.items()})


def _add_environment(environment: Environment, add: object) -> None:
    assert callable(add)
    if environment.python:
        add("python", environment.python, environment.source)
    if environment.os:
        add("os", environment.os, environment.source)
    for name in ("cuda", "rocm", "driver"):
        if name in environment.details:
            add(name, environment.details[name], environment.source)
    if "torch.cuda" in environment.details:
        add("torch.build", environment.details["torch.cuda"], environment.source)
    elif environment.details.get("torch.hip"):
        add("torch.build", "rocm", environment.source)
    for one in environment.accelerators[:1]:
        add("gpu.name", one.name, one.source, one.line)
        if one.capability:
            add("gpu.capability", f"{one.capability[0]}.{one.capability[1]}", one.source, one.line)
        if one.architecture:
            add("gpu.architecture", one.architecture, one.source, one.line)
        if one.memory:
            add("gpu.memory", f"{one.memory:g}", one.source, one.line)
    # Where a report names several GPUs, what fails on one may work on another.
    for one in environment.accelerators[1:]:
        if one.capability:
            add("gpu.capability", f"{one.capability[0]}.{one.capability[1]}", one.source, one.line)
    if environment.accelerators:
        add("gpu.count", str(sum(one.count for one in environment.accelerators)), environment.source)


def _add_device_kind(environment: Environment, stated: dict[str, list[Fact]]) -> None:
    """Where the program runs: an accelerator that is known, else what was asked for, else nothing."""
    if "device.kind" in stated:
        return
    if environment.accelerators:
        one = environment.accelerators[0]
        stated["device.kind"] = [Fact(one.kind, one.source, one.line, one.name)]
    elif "device.requested" in stated:
        stated["device.kind"] = list(stated["device.requested"])
    elif environment.closed_accelerators:
        stated["device.kind"] = [Fact("cpu", environment.source, None, "no accelerator")]


def _operations(frames: tuple[Frame, ...]) -> dict[str, int]:
    """Return the torch operations named by the innermost frames, the deepest first, with their lines in the report."""
    found: dict[str, int] = {}
    for frame in reversed(frames[-6:]):
        path = frame.path
        owner, short = locate(path)
        if owner == "torch" and short.endswith("nn/functional.py") and frame.function:
            found.setdefault(frame.function, frame.at)
        elif owner == "torch" and "nn/modules/" in short:
            operation = _MODULE_OPS.get(short.rpartition("/")[2].removesuffix(".py"))
            if operation:
                found.setdefault(operation, frame.at)
        if frame.code:
            for match in _CALL.finditer(frame.code):
                found.setdefault(match[1], frame.at)
    return found


def _libraries(frames: tuple[Frame, ...]) -> list[Fact]:
    """Return the third-party packages of the frames above torch, the deepest first."""
    found: dict[str, Fact] = {}
    for frame in reversed(frames):
        owner, _ = locate(frame.path)
        if owner not in ("user", "python", "torch", "functorch") and owner not in found:
            found[owner] = Fact(owner, "report", frame.at)
    return list(found.values())


@lru_cache(maxsize=4096)
def squeezed(code: str) -> str:
    """Return code without blanks: terminals and formatters move them."""
    return "".join(code.split())


def environment_of(report: Report) -> Environment:
    """Return what a report says about packages and accelerators outside of listings: versions, GPU names, packages seen in frames."""
    packages: dict[str, Package] = {}
    for failure in report.failures:
        for frame in failure.frames:
            owner, _ = locate(frame.path)
            if owner not in ("user", "python") and owner not in packages:
                packages[owner] = Package(distribution_of(owner), "", "inferred", frame.at)
    found = {package.name: package for package in packages.values()}
    accelerators: list[Accelerator] = []
    working: list[Accelerator] = []
    python = system = None
    for mention in report.mentions:
        if mention.kind == "package":
            known = found.get(mention.name)
            if known is None or not known.version:
                version = None if mention.value == "absent" else mention.value
                if not (known is not None and version is None):
                    found[mention.name] = Package(mention.name, version, "report", mention.line)
        elif mention.kind == "gpu":
            if not _only_an_example(mention.value, mention.text):
                _add_gpu(working if _works_on(mention.value, mention.text) else accelerators, mention)
        elif mention.kind == "python" and python is None:
            python = mention.value
        elif mention.kind == "os" and system is None:
            system = mention.value
        elif mention.kind == "capability" and accelerators:
            _add_capability(accelerators, mention.value)
    # The card on which it works tells nothing about the other; where only that one is named, a part of it may fail there all the same.
    return Environment(tuple(found.values()), tuple(accelerators or working), python, system, source="report")


#: Messages name GPUs that would do: "only supported on A100+", "such as the H100", "MI300 or newer". These are not the user's.
_BEFORE_EXAMPLE = searched(
    r"(?:such as|e\.g\.?|for example|like|requires?|required|supported on|only on|at least|minimum|needs?)\s+(?:an?\s+|the\s+)?$"
)
_AFTER_EXAMPLE = searched(r"^\s*(?:\+|/|or (?:newer|later|higher|above|better)|and (?:newer|later|above)|series and)")


def _only_an_example(name: str, text: str) -> bool:
    """Tell whether a line names a GPU as one that would do, not as the one that is there."""
    start = text.find(name)
    if start < 0:
        return False
    before, after = text[max(0, start - 60) : start], text[start + len(name) : start + len(name) + 30]
    return _AFTER_EXAMPLE.search(after) is not None or _BEFORE_EXAMPLE.search(before.lower()) is not None


def _works_on(name: str, text: str) -> bool:
    """Tell whether a line says that it works on a GPU."""
    from troubleshoot.reading.elsewhere import works_there

    start = text.find(name)
    return start >= 0 and works_there(text[max(0, start - 60) : start], text[start + len(name) : start + len(name) + 80])


#: "V100 (32G)", "V100, 32 GB", "V100 with 32GB", "V100 显存32G"; "32G V100". Beside the card stands the host's memory as well.
_MEMORY_AFTER = anchored(
    r"(?:[\s,;:，：(（/*x×+-]|\d(?![\d.]*\s?g)|with|has|each|of|gpu|card|显存|每张|卡|vram|memory){0,10}?(?P<size>\d{1,3})\s?gi?b?(?![a-z0-9])"
    r"(?!\s{0,3}(?:of\s)?(?:ram|system|host|cpu|内存|free|used|disk|swap))",
    re.IGNORECASE,
)
_MEMORY_BEFORE = searched(r"(?<![\w.])(?P<size>\d{1,3})\s?gi?b?\s?(?:显存的?|vram)?[\s)）*x×-]{0,3}(?:nvidia|tesla)?\s?$", re.IGNORECASE)


def _memory_beside(name: str, text: str) -> float | None:
    """Return the memory that a line gives beside a card's name, where cards of that name are made with so much."""
    from troubleshoot.reading.environment.hardware import memory_sizes

    start = text.find(name)
    if start < 0:
        return None
    after, before = text[start + len(name) : start + len(name) + 60], text[max(0, start - 30) : start]
    found = _MEMORY_AFTER.match(after) or _MEMORY_BEFORE.search(before)
    return float(found["size"]) if found and float(found["size"]) in memory_sizes(name) else None


def _add_gpu(accelerators: list[Accelerator], mention: Mention) -> None:
    from troubleshoot.reading.environment.hardware import accelerator_named

    one = accelerator_named(mention.value, "report", line=mention.line)
    if one.memory is None:
        one = replace(one, memory=_memory_beside(mention.value, mention.text))
    if one.capability is None and one.architecture is None and one.kind == "cuda":
        return
    if all(one.name != other.name and (one.capability, one.kind) != (other.capability, other.kind) for other in accelerators):
        accelerators.append(one)


def _add_capability(accelerators: list[Accelerator], text: str) -> None:
    major, minor = map(whole_number, text.partition(".")[::2])
    if accelerators[0].capability is None and major is not None and minor is not None:
        accelerators[0] = replace(accelerators[0], capability=(major, minor))
