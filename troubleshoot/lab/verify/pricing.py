"""What a fix costs the user, not the toy: the named model's parameters in the bytes that each takes, and time at a real layer size."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from troubleshoot.engine.fixes.price import Price, parameter_count
from troubleshoot.engine.result import Diagnosis
from troubleshoot.lab.verify import isolated, processes
from troubleshoot.lab.verify.outcomes import Case, FixOutcome, Job, RunResult, Timing, Verification
from troubleshoot.lab.verify.runs import run_job
from troubleshoot.lab.verify.signals import Stop
from troubleshoot.reading.environment.local import local_environment

NO_GPU = "not measured, needs a GPU"

_COUNTER = "troubleshoot.lab.verify.counting"
_SECONDS = 120.0


@dataclass(frozen=True)
class Prices:
    """What prices are asked for: the user's models by id or folder, the memory of the user's GPU in GiB (None: that of the GPU that it runs
    on), and whether a layer of a real size is timed.
    """

    models: tuple[str, ...] = ()
    memory: float | None = None
    timing: bool = False


NO_PRICES = Prices()


def prices_of(diagnosis: Diagnosis) -> Prices:
    """Return what a diagnosed report names: its models and its GPU."""
    accelerators = diagnosis.environment.accelerators
    models = tuple(one.value for one in diagnosis.report.mentions if one.kind == "model")
    return Prices(models, accelerators[0].memory if accelerators else None)


def add(prices: Prices, result: Verification, job: Job, case: Case, stop: Stop, progress: Callable[[str, int, int], None]) -> Verification:
    """Return the verification with what each fix costs. The verdict stays, whatever cannot be told."""
    if prices.models and any(one.weights_bytes_per_parameter for one in result.fixes):
        progress("counting parameters", 0, 1)
        memory = prices.memory if prices.memory is not None else _memory_here(result.device)
        found = target(prices.models, memory, stop)
        if found is not None:
            result = replace(result, fixes=tuple(_priced(one, found) for one in result.fixes))
    if not prices.timing:
        return result
    if result.device != "cuda":
        return replace(result, timing=Timing(why=NO_GPU))
    if result.verdict == "cannot-run":
        return replace(result, timing=Timing(why="not measured, since the case cannot run here"))
    progress("timing a layer", 0, 1)
    return replace(result, timing=timed(run_job(job, case, isolated.this_interpreter(), stop)))


def _priced(one: FixOutcome, found: Target) -> FixOutcome:
    return replace(one, price=found.price(one.weights_bytes_per_parameter)) if one.weights_bytes_per_parameter else one


def _memory_here(device: str) -> float | None:
    """Return the memory of this machine's GPU where it was run on; what was run on the CPU says nothing of the user's GPU."""
    accelerators = local_environment(accelerators=True).accelerators if device == "cuda" else ()
    return accelerators[0].memory if accelerators else None


@dataclass(frozen=True)
class Target:
    """What prices are told for: the user's model by its id or folder, its parameters, and the memory of the user's GPU in GiB."""

    model: str
    parameters: float
    basis: str
    memory: float | None

    def price(self, bytes_per_parameter: float) -> Price:
        """Return what the model takes at so many bytes per parameter."""
        return Price(self.model, self.parameters, self.basis, bytes_per_parameter, self.memory)  # type: ignore[arg-type]


def target(models: Sequence[str], memory: float | None, stop: Stop) -> Target | None:
    """Return the first model whose parameters can be counted: by the tool's table, by its configuration where that is on this machine, by
    its name. None where there is none.
    """
    for model in models:
        counted = parameter_count(model)
        if counted is not None and not counted[1]:
            return Target(model, counted[0], "table", memory)
        by_config = count_by_config(model, stop)
        if by_config is not None:
            return Target(model, by_config, "config", memory)
        if counted is not None:
            return Target(model, counted[0], "name", memory)
    return None


def count_by_config(model: str, stop: Stop) -> float | None:
    """Return the parameters of a model whose configuration lies in a folder or in the Hugging Face cache; None where it does not.

    A process of its own builds the model on the meta device, which takes no memory; nothing is downloaded, and no code of the model is run.
    """
    if not (Path(model) / "config.json").is_file() and not _cached(model):
        return None
    here = {**isolated.this_interpreter().environment(), "HF_HUB_OFFLINE": "1"}
    done = processes.run([sys.executable, "-P", "-m", _COUNTER, model], stop=stop, timeout=_SECONDS, environment=here)
    lines = done.output.strip().splitlines()
    if done.code != 0 or not lines:
        return None
    try:
        return float(json.loads(lines[-1])["parameters"])
    except (ValueError, KeyError, TypeError):
        return None


def _cached(model: str) -> bool:
    """Tell whether the Hugging Face cache has something of a model."""
    home = Path(os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    return "/" in model and (hub / f"models--{model.replace('/', '--')}").is_dir()


def timed(result: RunResult) -> Timing:
    """Return what a child of the role ``timing`` measured, or why it did not."""
    if result.outcome != "ok":
        return Timing(why=f"not measured: {result.error or result.outcome}")
    told = result.detail
    return Timing(dict(told["timings"]), int(told["hidden"]), int(told["tokens"]))
