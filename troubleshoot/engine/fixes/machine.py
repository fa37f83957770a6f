"""What this machine cannot do is no fix: CUDA without a GPU, MPS away from a Mac, and what failed when it was run on such a machine.

Code that was written for CUDA and would do elsewhere (autocast, an argument ``device``) names the device that is there.
"""

from __future__ import annotations

import re

import msgspec

from troubleshoot.basics.patterns import searched
from troubleshoot.basics.versions import parse_version
from troubleshoot.engine.fixes.actions import kind_of
from troubleshoot.engine.fixes.defaults import Fit
from troubleshoot.engine.matching.conditions import Context
from troubleshoot.engine.result import SeenRun
from troubleshoot.knowledge.schema import Fix

#: The device as code names it: autocast("cuda"), .to("cuda"), device="cuda"; and .cuda().
_NAMED = searched(r"([\"'])cuda(?=\1)")
_CALLED = searched(r"\.cuda\(\)")
#: Moving something to a GPU, where nothing asks first whether there is one.
_TO_CUDA = searched(r"\.cuda\(|\.to\(\s?[\"']cuda|device\s?=\s?(?:torch\.device\()?[\"']cuda|Generator\([\"']cuda")
_TO_MPS = searched(r"\.to\(\s?[\"']mps|device\s?=\s?(?:torch\.device\()?[\"']mps|PYTORCH_(?:ENABLE_)?MPS", re.IGNORECASE)
_ASKS_FIRST = searched(r"is_available\(|if device|device\.type ==")
#: The devices that code names otherwise; ROCm's is called cuda.
_DEVICES = frozenset({"cpu", "mps", "xpu", "npu", "hpu", "xla"})
_CODE = ("edit", "setting")


def device_of(context: Context) -> str | None:
    """Return the one kind of device that the program is known to run on; None where that is unknown, or where there are several."""
    kinds = {fact.value for fact in context.facts.get("device.kind")}
    return kinds.pop() if len(kinds) == 1 else None


def on_device(fix: Fix, context: Context) -> Fix:
    """Return the fix for the device that is there, where it was written for CUDA. Moving to the CPU would be another fix."""
    device = device_of(context)
    moves = fix.kind == "move-to-device"
    if device not in _DEVICES or (moves and device == "cpu"):
        return fix
    name = kind_of(fix.action)
    if name == "patch":
        written = fix.action["patch"] == "autocast" or str(fix.action.get("device", "")).startswith("cuda")
        return msgspec.structs.replace(fix, action={**fix.action, "device": device}) if written else fix
    code = str(fix.action[name]) if name in _CODE else ""
    if "cuda" not in code or _ASKS_FIRST.search(code) is not None:
        return fix
    adapted = _CALLED.sub(f'.to("{device}")', _NAMED.sub(rf"\g<1>{device}", code))
    return msgspec.structs.replace(fix, action={**fix.action, name: adapted}) if adapted != code else fix


def impossible(fix: Fix, context: Context) -> Fit | None:
    """Return why a fix cannot be carried out on this machine; None where nothing speaks against it."""
    name = kind_of(fix.action)
    code = str(fix.action[name]) if name in _CODE else ""
    target = str(fix.action.get("device", "")) if name == "patch" else ""
    if _ASKS_FIRST.search(code) is not None:
        return None
    environment = context.facts.environment
    none = environment.closed_accelerators and not environment.accelerators
    if none and (target.startswith("cuda") or _TO_CUDA.search(code) is not None):
        return Fit(False, "there is no GPU", why_zh="没有 GPU")
    system = next((fact.value for fact in context.facts.get("os")), None)
    elsewhere = system in ("linux", "windows", "wsl") and device_of(context) != "mps"
    if elsewhere and (target.startswith("mps") or _TO_MPS.search(code) is not None):
        return Fit(False, f"MPS is a device of Macs, and this is {system}", why_zh=f"MPS 是 Mac 的设备，而这里是 {system}")
    return None


def failed_here(runs: tuple[SeenRun, ...], context: Context) -> Fit | None:
    """Return that a fix failed wherever it was run on such a device with such releases; None where no record says so."""
    device = device_of(context)
    here = [run for run in runs if device is not None and run.device == device and _same_releases(run, context)]
    if not here or any(run.outcome != "fails" for run in here):
        return None
    where = ", ".join((device or "", *(f"{name} {run_version}" for name, run_version in _known(here[-1], context))))
    return Fit(False, f"it failed when it was run here: {where}", why_zh=f"在同样的环境里试过，没有用：{where}")


def _known(run: SeenRun, context: Context) -> list[tuple[str, str]]:
    """Return the releases of a run whose packages the user's version is known of."""
    packages = ((name, version, context.facts.package(name)) for name, version in run.versions.items())
    return [(name, version) for name, version, package in packages if package is not None and package.version]


def _same_releases(run: SeenRun, context: Context) -> bool:
    """Tell whether the user has the series of all releases of a run that he tells of, torch among them."""
    known = _known(run, context)
    if "torch" not in {name for name, _ in known}:
        return False
    return all(_series(version) == _series(str(package.version)) for name, version in known if (package := context.facts.package(name)))


def _series(version: str) -> tuple[int, ...]:
    parsed = parse_version(version)
    return parsed.release[:2] if parsed is not None else ()
