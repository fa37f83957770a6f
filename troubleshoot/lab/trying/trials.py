"""Which live patches to try on a failed program: those that its diagnosis recommends, in its order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from troubleshoot.basics.dtypes import HALF
from troubleshoot.engine.result import FixAdvice
from troubleshoot.lab.editing.failure import Failure
from troubleshoot.reading.places import locate

_DTYPE_OF = {"use-bf16": "bfloat16", "use-fp16": "float16", "use-fp32": "float32"}
_CAST = re.compile(r"\.to\(\s*(?:dtype\s*=\s*)?torch\.(\w+)\s*\)|\.(float|half|bfloat16|double|long)\(\s*\)")
_METHODS = {"float": "float32", "half": "float16", "bfloat16": "bfloat16", "double": "float64", "long": "int64"}

Action = Mapping[str, Any]


@dataclass(frozen=True)
class Trial:
    """A fix as a live patch: ``actions`` on the model, or the operands of a ``line`` cast (file, number, dtype)."""

    id: str
    kind: str
    title: str
    how: str
    actions: tuple[Action, ...] = ()
    line: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class NotTried:
    """A recommended fix that no live patch plays, with the reason."""

    id: str
    kind: str
    title: str
    why: str


def trials_for(failure: Failure) -> tuple[tuple[Trial, ...], tuple[NotTried, ...]]:
    """Return the trials that a failure's fixes make, each live patch once, and the fixes that make none."""
    trials: list[Trial] = []
    left: list[NotTried] = []
    met: set[str] = set()
    for fix in failure.fixes:
        if fix.fits is False or fix.expected != "works":
            continue
        made = _trials(fix, failure)
        if isinstance(made, str):
            left.append(NotTried(fix.id, fix.kind, fix.title, made))
            continue
        for one in made:
            key = repr((one.actions, one.line))
            if key not in met:
                met.add(key)
                trials.append(one)
    return tuple(trials), tuple(left)


def _trials(fix: FixAdvice, failure: Failure) -> list[Trial] | str:
    if fix.command is not None:
        return f"it changes packages: {fix.command}"
    if fix.kind in _DTYPE_OF:
        return [_on_model(fix, f"the model and its inputs in {_DTYPE_OF[fix.kind]}", *_whole(_DTYPE_OF[fix.kind]))]
    if "patch" in fix.action and not _is_change(fix, failure):
        return [_patched(fix, failure)]
    if fix.kind in ("cast-module", "keep-module-fp32"):
        return _cast_module(fix, failure)
    if fix.kind in ("cast-inputs", "cast-activations"):
        return _cast_values(fix, failure)
    if fix.kind == "move-to-device":
        return _move(fix, failure)
    if fix.kind == "enable-autocast":
        dtype = failure.main_dtype if failure.main_dtype in HALF else _named_dtype(fix.code) or "bfloat16"
        wide = ({"patch": "cast_module", "module": "", "dtype": "float32"},) if ".float()" in (fix.code or "") else ()
        return [_on_model(fix, f"the model under autocast in {dtype}", *wide, {"patch": "autocast", "dtype": dtype})]
    if fix.kind in ("ignore", "other") or fix.code is None:
        return "it is advice"
    return "it changes the program's own code or configuration (see `troubleshoot fix`)"


def _whole(dtype: str) -> tuple[Action, Action]:
    return {"patch": "cast_module", "module": "", "dtype": dtype}, {"patch": "cast_inputs", "dtype": dtype}


def _is_change(fix: FixAdvice, failure: Failure) -> bool:
    """Tell whether a fix's code is the line that was written for the culprit: it says more than the entry's own action."""
    return failure.change is not None and fix.code == failure.change[1]


def _patched(fix: FixAdvice, failure: Failure) -> Trial:
    action = fix.action
    if action["patch"] == "cast_module" and not action.get("module") and action.get("dtype") == "float32":
        return _on_model(fix, "the model and its inputs in float32", *_whole("float32"))
    told = ", ".join(f"{key}={value}" for key, value in action.items() if key != "patch" and value != "")
    return _on_model(fix, f"{action['patch']}({told})", action)


def _on_model(fix: FixAdvice, how: str, *actions: Action) -> Trial:
    return Trial(fix.id, fix.kind, fix.title, how, actions)


def _named_dtype(code: str | None) -> str | None:
    match = _CAST.search(code or "")
    if match is None:
        return None
    return match[1] or _METHODS[match[2]]


def _cast_module(fix: FixAdvice, failure: Failure) -> list[Trial] | str:
    culprit = failure.culprit
    if failure.cause == "dtype-mismatch/broken-fp32-guard" and culprit is not None and culprit.cls:
        keep: Action = {"patch": "keep_fp32", "modules": f"class:{culprit.cls}"}
        return [_on_model(fix, f"every {culprit.cls} in float32", keep)]
    if fix.kind == "keep-module-fp32":
        if culprit is not None and culprit.module:
            return [_on_model(fix, f"{culprit.module} in float32", {"patch": "keep_fp32", "modules": [culprit.module]})]
        return [_on_model(fix, "the model and its inputs in float32", *_whole("float32"))]
    dtype = _named_dtype(fix.code) if _is_change(fix, failure) else failure.main_dtype
    if dtype is None:
        return "nothing tells which dtype most of the model has"
    return [_on_model(fix, f"the whole model in {dtype}", {"patch": "cast_module", "module": "", "dtype": dtype})]


def _cast_values(fix: FixAdvice, failure: Failure) -> list[Trial] | str:
    culprit = failure.culprit
    found = []
    if culprit is not None and failure.cause != "dtype-mismatch/buffer-write" and culprit.parameter in ("weight", "bias"):
        where = culprit.module or "the model"
        action = {"patch": "cast_inputs", "module": culprit.module or "", "dtype": "model"}
        found.append(_on_model(fix, f"what {where} is given, in its own dtype", action))
    dtype = _named_dtype(failure.change[1] if failure.change is not None else fix.code)
    if failure.cause == "dtype-mismatch/buffer-write" and culprit is not None:
        dtype = culprit.has
    line = _line(failure)
    if dtype is not None and line is not None:
        # Integers are wanted of one operand, not of all of them: class labels, and not the logits beside them.
        wanted = failure.cause == "dtype-mismatch/integer-expected"
        what = "the argument that must be an integer, or a float" if wanted else f"operands in {dtype}"
        how = f"{what}, at {line[0].rpartition('/')[2]}:{line[1]}"
        at = {"file": line[0], "number": line[1], "dtype": dtype, "wanted": wanted}
        found.append(Trial(fix.id, fix.kind, fix.title, how, (), at))
    return found or "nothing tells which tensor to cast"


def _line(failure: Failure) -> tuple[str, int] | None:
    """Return the failing line: of the deepest frame that is not torch's own."""
    for frame in reversed(failure.frames):
        if frame.number is not None and locate(frame.path)[0] not in ("torch", "python"):
            return frame.file, frame.number
    return None


def _move(fix: FixAdvice, failure: Failure) -> list[Trial] | str:
    culprit = failure.culprit
    if culprit is None or culprit.has is None or culprit.meets is None:
        return "nothing tells what is on the wrong device"
    if culprit.has == "meta" or failure.main_device is None:
        return "a tensor on the meta device holds no data that could be moved"
    if failure.cause == "device-mismatch/inputs-left-behind":
        if culprit.meets == "meta":
            return "a tensor on the meta device holds no data that could be moved"
        return [_on_model(fix, f"the inputs on {culprit.has}", {"patch": "move_inputs", "device": culprit.has})]
    module = culprit.module or ""
    device = culprit.meets if failure.cause == "device-mismatch/module-left-behind" else failure.main_device
    return [_on_model(fix, f"{module or 'the model'} on {device}", {"patch": "move_module", "module": module, "device": device})]
