"""Asking another interpreter, or torch itself, in a subprocess with a time limit."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from troubleshoot.basics.errors import EnvironmentProbeError
from troubleshoot.reading.environment.machine import Environment

_MARK = "troubleshoot-environment:"

#: Runs on Python 3.6 and later with nothing installed; reads names of metadata directories as local_environment() does.
_PROBE = r"""
import json, os, platform, sys
def versions():
    found = {}
    for entry in sys.path:
        try:
            names = os.listdir(entry or ".")
        except OSError:
            continue
        for name in names:
            stem, dot, suffix = name.rpartition(".")
            if suffix not in ("dist-info", "egg-info", "egg"):
                continue
            project, dash, version = stem.partition("-")
            if suffix != "dist-info":
                version = version.partition("-")[0]
            found.setdefault(project, version)
    return found
def build():
    details = {"prefix": sys.prefix}
    for entry in sys.path:
        try:
            with open(os.path.join(entry or ".", "torch", "version.py")) as file:
                text = file.read(4096)
        except (OSError, UnicodeError):
            continue
        facts = {}
        for line in text.splitlines():
            name, equals, value = line.partition("=")
            facts[name.partition(":")[0].strip()] = value.strip().strip("'\"")
        if facts.get("cuda", "None") != "None": details["torch.cuda"] = facts["cuda"]
        elif facts.get("hip", "None") != "None": details["torch.rocm"] = facts["hip"]
        elif facts.get("xpu", "None") != "None": details["torch.xpu"] = facts["xpu"]
        elif "cuda" in facts and sys.platform != "darwin": details["torch.cuda"] = "cpu"
        break
    return details
answer = {"troubleshoot_environment": 1, "python": platform.python_version(), "platform": platform.platform()}
answer["packages"], answer["details"] = versions(), build()
"""

_TORCH_PROBE = r"""
def torch_facts(answer):
    details, warnings, accelerators = answer["details"], [], []
    def ask(name, question):
        try:
            value = question()
        except Exception as error:
            warnings.append("%s: %s: %s" % (name, type(error).__name__, str(error).splitlines()[0][:300] if str(error) else ""))
            return None
        if value is not None and value != "":
            details[name] = str(value)
        return value
    try:
        import torch
    except Exception as error:
        answer["warnings"] = ["torch cannot be imported: %s: %s" % (type(error).__name__, str(error)[:500])]
        return
    details["torch.version"] = str(torch.__version__)
    cuda, hip = getattr(torch.version, "cuda", None), getattr(torch.version, "hip", None)
    if cuda: details["torch.cuda"] = cuda
    if hip: details["torch.rocm"] = hip
    if getattr(torch.version, "xpu", None): details["torch.xpu"] = str(torch.version.xpu)
    if not (cuda or hip or getattr(torch.version, "xpu", None) or sys.platform == "darwin"): details["torch.cuda"] = "cpu"
    available = ask("cuda.available", lambda: str(torch.cuda.is_available()).lower()) == "true"
    if cuda or hip:
        ask("torch.archs", lambda: " ".join(torch.cuda.get_arch_list()))
        ask("cudnn", lambda: torch.backends.cudnn.version())
    if available:
        def native():
            try:
                return torch.cuda.is_bf16_supported(including_emulation=False)
            except TypeError:
                return torch.cuda.is_bf16_supported() and (bool(hip) or torch.cuda.get_device_capability()[0] >= 8)
        ask("bf16.native", lambda: str(bool(native())).lower())
        ask("bf16.supported", lambda: str(bool(torch.cuda.is_bf16_supported())).lower())
        for index in range(torch.cuda.device_count()):
            try:
                p = torch.cuda.get_device_properties(index)
                accelerators.append({"name": p.name, "kind": "rocm" if hip else "cuda", "capability": None if hip else [p.major, p.minor],
                    "memory": round(p.total_memory / 2.0**30, 1), "gfx": getattr(p, "gcnArchName", "").split(":")[0] if hip else None})
            except Exception as error:
                warnings.append("GPU %d: %s: %s" % (index, type(error).__name__, str(error)[:300]))
    mps = getattr(torch.backends, "mps", None)
    if mps is not None and ask("mps.available", lambda: str(mps.is_available()).lower()) == "true":
        try:
            name = mps.get_name()
        except Exception:
            name = "Apple silicon"
        accelerators.append({"name": name, "kind": "mps"})
    xpu = getattr(torch, "xpu", None)
    if xpu is not None and hasattr(xpu, "is_available") and ask("xpu.available", lambda: str(xpu.is_available()).lower()) == "true":
        for index in range(xpu.device_count()):
            p = xpu.get_device_properties(index)
            accelerators.append({"name": p.name, "kind": "xpu", "memory": round(p.total_memory / 2.0**30, 1)})
    answer["accelerators"] = accelerators
    answer["closed_accelerators"] = not warnings
    answer["warnings"] = warnings
torch_facts(answer)
"""

_PRINT = f"""
sys.stdout.flush()
os.write(1, ("\\n{_MARK}" + json.dumps(answer) + "\\n").encode("utf-8"))
"""


def foreign_environment(python: str | os.PathLike[str], *, deep: bool = False, timeout: float = 20.0) -> Environment:
    """Return the environment of another interpreter, by running a probe in it; ``deep`` also imports torch there.

    Raises :class:`~troubleshoot.basics.errors.EnvironmentProbeError` where it cannot be run or does not answer within ``timeout`` seconds.
    """
    path = os.path.expanduser(os.fspath(python))  # noqa: PTH111
    if os.path.isdir(path):  # noqa: PTH112
        path = _interpreter_in(path)
    return _run(path, deep, timeout)


def deep_environment(timeout: float = 60.0) -> Environment:
    """Return this interpreter's environment with what torch says of its devices, asked in a subprocess.

    A broken driver or an out-of-date torch cannot harm or hang the caller. Raises
    :class:`~troubleshoot.basics.errors.EnvironmentProbeError` as :func:`foreign_environment` does.
    """
    import sys

    environment = _run(sys.executable, True, timeout)
    return replace(environment, packages=tuple(replace(one, source="local") for one in environment.packages))


def _interpreter_in(directory: str) -> str:
    for inside in ("bin/python", "Scripts/python.exe", "python.exe"):
        candidate = os.path.join(directory, *inside.split("/"))  # noqa: PTH118
        if os.path.exists(candidate):  # noqa: PTH110
            return candidate
    raise EnvironmentProbeError(
        f"{directory} holds no Python interpreter; give the interpreter itself, such as {directory}/bin/python"
    )


def _run(python: str, deep: bool, timeout: float) -> Environment:
    import subprocess

    script = _PROBE + (_TORCH_PROBE if deep else "") + _PRINT
    # -I would hide PYTHONPATH, which is part of that environment; the working directory must not shadow modules, though.
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT")}
    command = [python, "-c", "import sys; sys.path[:1] = [] if sys.path[:1] == [''] else sys.path[:1]\n" + script]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, env=environ, check=False)
    except FileNotFoundError:
        raise EnvironmentProbeError(
            f'there is no interpreter {python}; give the path that `python -c "import sys; print(sys.executable)"` prints there'
        ) from None
    except PermissionError:
        raise EnvironmentProbeError(
            f"{python} may not be run; check its permissions, or give the interpreter instead of its directory"
        ) from None
    except OSError as error:
        raise EnvironmentProbeError(f"{python} cannot be run: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        what = "importing torch or asking its driver hangs" if deep else "it hangs at start-up"
        raise EnvironmentProbeError(
            f"{python} did not answer within {timeout:g} s: {what}; allow more time, or run the probe there and give its output with --env"
        ) from None
    return _answer(python, done.returncode, done.stdout, done.stderr, deep)


def _answer(python: str, code: int, out: bytes, err: bytes, deep: bool) -> Environment:
    import json

    for line in reversed(out.decode("utf-8", "replace").splitlines()):
        if line.startswith(_MARK):
            data: dict[str, Any] = json.loads(line[len(_MARK) :])
            return _environment(data)
    tail = err.decode("utf-8", "replace").strip().splitlines()
    reason = tail[-1] if tail else "no message"
    ended = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    advice = (
        "torch crashes when it is imported or asked for its devices; try without the deep probe"
        if deep and code < 0
        else "is it a Python interpreter of version 3.6 or later?"
    )
    raise EnvironmentProbeError(f"{python} {ended} and printed no environment ({reason[:300]}); {advice}")


def _environment(data: dict[str, Any]) -> Environment:
    from troubleshoot.reading.environment import gpus
    from troubleshoot.reading.environment.exchange import read_own
    from troubleshoot.reading.environment.gathering import Draft

    for one in data.get("accelerators") or ():
        target = one.pop("gfx", None)
        if target:
            one["architecture"] = gpus.GFX.get(target)
    draft = Draft("local")
    read_own(draft, data)
    return draft.finish()
