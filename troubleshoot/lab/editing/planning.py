"""Which operation a fix means here: from its kind and action, the failing place, and the culprit that the tensors showed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from troubleshoot.engine.result import FixAdvice
from troubleshoot.lab.editing import calls, dtypes, modules, training, values
from troubleshoot.lab.editing.failure import Failure
from troubleshoot.lab.editing.plans import Plan, Refusal, RefusedError
from troubleshoot.lab.editing.scene import Scene, Work
from troubleshoot.lab.editing.source import deep

_DTYPE_OF = {"use-bf16": "bfloat16", "use-fp16": "float16", "use-fp32": "float32"}
_SETTING = re.compile(r"^\w+=[\w.\"'-]+(?:,\s*\w+=[\w.\"'-]+)*")
_AUTOCAST = re.compile(r"\bautocast\([^)\n]*dtype=torch\.(bfloat16|float16)")
_EPSILON = re.compile(r"\beps=([\d.e-]+)")


def plans_for(
    script: str, fixes: Iterable[FixAdvice], failure: Failure | None, *, data: Mapping[str, bytes] | None = None
) -> tuple[list[Plan], list[Refusal]]:
    """Return the edits that fixes mean in a script, in their order, and the fixes that mean none that is certain.

    ``data`` are contents in place of those of the files, by real path.

    Raises:
        RefusedError: the script cannot be read, or is no file that is ever edited.
    """
    plans: list[Plan] = []
    refused: list[Refusal] = []
    made: set[tuple[tuple[str, bytes], ...]] = set()
    for fix in fixes:
        if fix.expected != "works":
            continue
        try:
            with deep():
                work = Work(Scene(script, failure, data))
                _operate(work, fix, failure)
                files = work.result()
        except RefusedError as error:
            refused.append(Refusal(fix, str(error)))
            continue
        except RecursionError:
            refused.append(Refusal(fix, f"{script} nests too deep for this edit"))
            continue
        key = tuple(sorted(files.items()))
        if not files:
            refused.append(Refusal(fix, "the file has it already"))
        elif key not in made:
            made.add(key)
            plans.append(Plan(fix, files, tuple(work.steps), before={path: work.scene.source(path).data for path in files}))
    # What touches one line comes before what gives up half precision altogether.
    return sorted(plans, key=whole_model), refused


def whole_model(plan: Plan) -> bool:
    """Tell whether an edit puts the whole model into float32."""
    action = plan.fix.action
    whole = action.get("module", "") == "" and action.get("dtype") == "float32"
    return plan.fix.kind == "use-fp32" or (plan.fix.kind in ("cast-module", "keep-module-fp32") and whole)


def _operate(work: Work, fix: FixAdvice, failure: Failure | None) -> None:
    if fix.command is not None:
        raise RefusedError(f"it is no edit but a command: {fix.command}")
    action, code = fix.action, fix.code or ""
    changed = failure is not None and failure.change is not None and fix.code == failure.change[1]
    if action.get("patch") == "set_attention":
        dtypes.set_attention(work, str(action["implementation"]))
    elif fix.kind in _DTYPE_OF and _autocast_of(code) is not None and "autocast(" not in work.scene.main.text:
        _only_autocast(work, str(_autocast_of(code)))
    elif fix.kind in _DTYPE_OF:
        _ask_for(work, _DTYPE_OF[fix.kind], code)
    elif fix.kind == "cast-module":
        _cast_module(work, failure, code if changed else None)
    elif fix.kind == "keep-module-fp32":
        _keep_float32(work, fix, failure)
    elif fix.kind in ("cast-inputs", "cast-activations"):
        _cast_value(work, failure, code)
    elif fix.kind == "move-to-device":
        _move(work, failure, code if changed else None)
    elif fix.kind == "enable-autocast":
        if training.custom_function(work) is not None:
            training.custom_amp(work)
        else:
            values.under_autocast(work)
    elif fix.kind == "change-constant" and failure is not None and failure.cause == "numerics/constant-overflow":
        calls.finfo(work)
    elif fix.kind == "change-constant" and _EPSILON.search(code):
        training.set_epsilon(work, _EPSILON.findall(code)[0])
    elif failure is not None and failure.cause == "amp/scaler-order" and "unscale_" in code:
        training.unscale_once(work)
    elif fix.kind in ("config-change", "disable-amp", "change-backend") and _SETTING.match(code):
        dtypes.set_keywords(work, settings(code))
    elif not code:
        raise RefusedError("it is advice, which no edit carries out")
    else:
        raise RefusedError("its change of the program is not among the edits that are certain (docs/fixing.md)")


def _autocast_of(code: str) -> str | None:
    """Return the dtype in which a fix lets autocast compute over float32 weights, or None for a fix without autocast."""
    match = _AUTOCAST.search(code)
    if match is not None:
        return match[1]
    found = settings(code)
    switches = [dtype for key, dtype in (("bf16", "bfloat16"), ("fp16", "float16")) if found.get(key) == "True"]
    return switches[0] if switches and any(value == "torch.float32" for value in found.values()) else None


def _only_autocast(work: Work, dtype: str) -> None:
    """Weights in float32, half precision through autocast only: the Trainer's switch where there is one, else a block of autocast."""
    arguments = dtypes.trainer_arguments(work.scene.main)
    if arguments is None:
        training.autocast_only(work, dtype)
        return
    dtypes.change_dtype(work, "float32")
    dtypes.set_argument(work, work.scene.main, arguments, "bf16" if dtype == "bfloat16" else "fp16", "True")


def _ask_for(work: Work, dtype: str, code: str) -> None:
    found = settings(code)
    if not found or any(key.endswith("dtype") for key in found):
        dtypes.change_dtype(work, dtype)
        return
    try:
        dtypes.set_keywords(work, found)
    except RefusedError as refused:
        if work.steps:
            raise
        try:
            dtypes.change_dtype(work, dtype)
        except RefusedError:
            raise refused from None


def settings(code: str) -> dict[str, str]:
    """Return the settings at the beginning of a fix's line: ``bf16=True, fp16=False  (Ampere or newer)`` has two."""
    match = _SETTING.match(code)
    if match is None:
        return {}
    try:
        call = ast.parse(f"f({match[0]})", mode="eval").body
    except SyntaxError:
        return {}
    assert isinstance(call, ast.Call)
    return {one.arg: ast.unparse(one.value) for one in call.keywords if one.arg is not None}


def _cast_module(work: Work, failure: Failure | None, change: str | None) -> None:
    if failure is None:
        modules.module_binding(work)
        return
    culprit = failure.culprit
    several = len(failure.odd) > 1
    if change is not None and not several and ".data = " in change:
        modules.cast_parameter(work, change)
        return
    dtype = failure.main_dtype
    if dtype is None:
        raise RefusedError("nothing tells which dtype most of the model has: run the script, so that its tensors can be looked at")
    # Where several parts stand out, naming one of them would only lead to the next.
    path = culprit.module or "" if change is not None and culprit is not None and not several else ""
    modules.cast_module(work, path, dtype)


def _keep_float32(work: Work, fix: FixAdvice, failure: Failure | None) -> None:
    culprit = failure.culprit if failure is not None else None
    if failure is not None and failure.cause == "dtype-mismatch/broken-fp32-guard":
        if culprit is None or not culprit.cls:
            raise RefusedError("nothing tells which modules compute in float32: run the script, so that it can be looked at")
        modules.keep_class_in_float32(work, culprit.cls)
        return
    if failure is not None and failure.cause in ("numerics/nan-loss", "numerics/invalid-probabilities", "numerics/fp16-overflow"):
        values.softmax_float32(work)
        return
    if "model.parameters()" in (fix.code or "") or fix.action.get("module") == "":
        modules.whole_float32(work)
        return
    raise RefusedError("nothing tells which module to keep in float32")


def _cast_value(work: Work, failure: Failure | None, code: str) -> None:
    if failure is None:
        raise RefusedError(work.scene.why_nowhere())
    if training.custom_function(work) is not None:
        training.custom_amp(work)
        return
    if failure.cause == "dtype-mismatch/buffer-write":
        try:
            calls.cast_written(work)
            return
        except RefusedError:
            if failure.change is None:
                raise
    if failure.change is not None and failure.change[0] in ("cast-inputs", "cast-activations"):
        values.cast_value(work, failure.change[1])
        return
    if failure.cause == "unsupported/numpy-bf16":
        values.numpy_float32(work)
        return
    if failure.cause.startswith(("unsupported/op-lacks", "unsupported/half-on-cpu")):
        calls.in_float32(work)
        return
    match = re.search(r"=\s*\w+(\.(?:long|float|bool)\(\))", code)
    if match is not None and failure.culprit is None:
        calls.cast_wanted(work, match[1])
        return
    if failure.culprit is None and failure.root_class is not None:
        raise RefusedError("the tensors of the failed call do not show which one to cast")
    raise RefusedError("nothing tells which tensor to cast: run the script, so that its tensors can be looked at")


def _move(work: Work, failure: Failure | None, change: str | None) -> None:
    culprit = failure.culprit if failure is not None else None
    if failure is None or culprit is None or failure.change is None or failure.change[0] != "move-to-device":
        raise RefusedError("nothing tells what is on the wrong device: run the script, so that its tensors can be looked at")
    if "register_buffer" in failure.change[1]:
        raise RefusedError(f"`{culprit.parameter}` is a plain attribute; where it is made, write: {failure.change[1]}")
    if failure.cause == "device-mismatch/module-left-behind" and culprit.meets is not None:
        modules.move_module(work, culprit.module or "", culprit.meets)
        return
    values.cast_value(work, failure.change[1])
