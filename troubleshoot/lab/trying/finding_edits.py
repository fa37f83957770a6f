"""Edits that belong to what a check found, at the line of the finding: those of one line first, the whole program in float32 last.

Which of them is right, their results tell (:mod:`troubleshoot.lab.trying.mending`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import libcst as cst

from troubleshoot.basics.dtypes import HALF
from troubleshoot.engine.result import FixAdvice
from troubleshoot.lab.checking.check_findings import Finding
from troubleshoot.lab.checking.words import INSTEAD
from troubleshoot.lab.editing import calls, dtypes, training
from troubleshoot.lab.editing.binding import Spot, find_binding
from troubleshoot.lab.editing.failure import Failure
from troubleshoot.lab.editing.plans import Plan, RefusedError
from troubleshoot.lab.editing.scene import Scene, Work
from troubleshoot.lab.editing.source import Source, deep
from troubleshoot.reading.report import Frame

Operation = Callable[[Work, Finding], None]

_STEP = re.compile(r"(?P<scaler>[\w.]+)\.step\((?P<optimizer>[\w.]+)\s*[,)]")
_SCALER = re.compile(r"^\s*(?P<name>[\w.]+)\s*=\s*[\w.]*GradScaler\(", re.MULTILINE)
#: What is asked of a tensor, and is none.
_ASKED = frozenset({"shape", "dtype", "device", "ndim", "size", "dim", "numel", "item", "tolist", "float", "grad", "data"})


def plans_for_finding(script: str, finding: Finding, named: Mapping[str, str], data: Mapping[str, bytes] | None = None) -> list[Plan]:
    """Return the edits that a finding means in a program; ``named`` are the dtypes of the tensors that its line names.

    Raises:
        RefusedError: the script cannot be read, or is no file that is ever edited.
    """
    frame = Frame(finding.place.file, None, finding.place.line, None, 0)
    failure = Failure("", "", "known", "", finding.cause, "", frames=(frame,), named=tuple(named.items()))
    found: list[Plan] = []
    made: set[tuple[tuple[str, bytes], ...]] = set()
    for kind, operation in _EDITS.get(finding.rule, ()):
        try:
            with deep():
                work = Work(Scene(script, failure, data))
                operation(work, finding)
                files = work.result()
        except (RefusedError, RecursionError):
            continue
        key = tuple(sorted(files.items()))
        if files and key not in made:
            made.add(key)
            fix = FixAdvice(finding.rule, kind, _TITLES.get(kind) or INSTEAD[finding.rule][0], "unsafe", True, "", "")
            found.append(Plan(fix, files, tuple(work.steps), before={path: work.scene.source(path).data for path in files}))
    return found


def names_at(script: str, finding: Finding, data: Mapping[str, bytes] | None = None) -> tuple[str, int, int, tuple[str, ...]]:
    """Return the file of a finding, the first and last line of its statement, and what that names. Raises RefusedError."""
    frame = Frame(finding.place.file, None, finding.place.line, None, 0)
    spot = Scene(script, Failure("", "", "known", "", finding.cause, "", frames=(frame,)), data).innermost()
    source, statement = spot.source, spot.statement
    span = source.span(statement)
    texts = [source.code(one) for one in source.walk(statement) if isinstance(one, cst.Name | cst.Attribute)]
    plain = dict.fromkeys(one for one in texts if re.fullmatch(r"[A-Za-z_][\w.]*", one))
    return source.path, span.start.line, span.end.line, tuple(plain)


# --- GradScaler


def _unscale_before(work: Work, finding: Finding) -> None:
    spot = work.scene.innermost()
    source, statement = spot.source, spot.statement
    scaler, optimizer = _stepping(source, statement)
    # A loop over the parameters clips all of them: what it needs stands before it.
    for above in source.above(statement):
        if isinstance(above, cst.For) and "parameters" in source.code(above.iter):
            statement = above
    code = f"{scaler}.unscale_({optimizer})"
    work.changes(source).insert_before(statement, code)
    work.step("unscale", source, statement, code)


def _stepping(source: Source, statement: Any) -> tuple[str, str]:
    """Return the scaler and the optimizer of the step that follows a statement."""
    scalers = {match["name"] for match in _SCALER.finditer(source.text)}
    found = [match for match in _STEP.finditer(source.text) if match["scaler"] in scalers or f"{match['scaler']}.scale(" in source.text]
    named = {(match["scaler"], match["optimizer"]) for match in found}
    if len(named) != 1:
        raise RefusedError(f"line {source.line(statement)}: {len(named)} steps of a GradScaler could be meant")
    return next(iter(named))


def _scaler_of(source: Source) -> str:
    named = {match["name"] for match in _SCALER.finditer(source.text)}
    if len(named) != 1:
        raise RefusedError(f"{len(named)} GradScalers are made in {source.path}")
    return next(iter(named))


def _method(work: Work, name: str) -> tuple[Source, Any, cst.Call, Any]:
    """Return the only call of a method at the line, and whose method it is."""
    spot = work.scene.innermost()
    source, statement = spot.source, spot.statement
    found = [
        one
        for one in source.walk(statement)
        if isinstance(one, cst.Call) and isinstance(one.func, cst.Attribute) and one.func.attr.value == name
    ]
    if len(found) != 1:
        raise RefusedError(f"line {source.line(statement)} does not call {name}() once")
    function: Any = found[0].func
    return source, statement, found[0], function.value


def _step_by_scaler(work: Work, finding: Finding) -> None:
    source, statement, call, owner = _method(work, "step")
    scaler, optimizer = _scaler_of(source), source.code(owner)
    work.changes(source).put(call, f"{scaler}.step({optimizer})")
    work.step("scaler-step", source, call, f"{scaler}.step({optimizer})")
    if f"{scaler}.update(" not in source.text:
        work.changes(source).insert_after(statement, f"{scaler}.update()")


def _scale_loss(work: Work, finding: Finding) -> None:
    source, _, call, loss = _method(work, "backward")
    code = f"{_scaler_of(source)}.scale({source.code(loss)})"
    work.changes(source).put(loss, code)
    work.step("scale-loss", source, call, f"{code}.backward()")


def _one_step(work: Work, finding: Finding) -> None:
    source, statement, call, _ = _method(work, "step")
    if source.code(statement).strip().partition("#")[0].strip() != source.code(call):
        raise RefusedError(f"line {source.line(statement)} does more than the step")
    training.remove(work, source, statement, source.code(call), "one-step")


def _no_scaler(work: Work, finding: Finding) -> None:
    source = work.scene.innermost().source
    found = [one for one in source.walk() if isinstance(one, cst.Call) and source.code(one.func).endswith("GradScaler")]
    if len(found) != 1:
        raise RefusedError(f"{len(found)} GradScalers are made in {source.path}")
    dtypes.set_argument(work, source, found[0], "enabled", "False")


# --- one line in float32


def _halves(work: Work) -> list[str]:
    failure = work.scene.failure
    return [text for text, dtype in (failure.named if failure is not None else ()) if dtype in HALF]


def _line_in_float32(work: Work, finding: Finding) -> None:
    """Cast the half-precision tensors that the line computes with."""
    spot = work.scene.innermost()
    source, statement = spot.source, spot.statement
    count = 0
    for name in _halves(work):
        for node in source.walk(statement):
            if not isinstance(node, cst.Name | cst.Attribute) or source.code(node) != name or not _computed_with(source, node):
                continue
            work.changes(source).append(node, ".float()")
            work.step("cast-value", source, node, f"{name}.float()")
            count += 1
    if not count:
        raise RefusedError(f"line {source.line(statement)} names no tensor in half precision")


def _computed_with(source: Source, node: Any) -> bool:
    parent = source.parent(node)
    if isinstance(parent, cst.Attribute):
        call = source.parent(parent)
        method = parent.attr.value
        return parent.value is node and method not in _ASKED and isinstance(call, cst.Call) and not method.endswith("_")
    if isinstance(parent, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.CompFor | cst.For | cst.Element):
        return isinstance(parent, cst.AugAssign) and parent.value is node
    return not (isinstance(parent, cst.Arg) and parent.keyword is node)


def _dtype_here(work: Work, finding: Finding) -> None:
    """Write float32 where the line itself asks for half precision."""
    spot = work.scene.innermost()
    if not dtypes.change_within(work, spot.source, spot.statement, "float32"):
        raise RefusedError(f"line {spot.source.line(spot.statement)} asks for no half precision")


def _dtype_before(work: Work, finding: Finding) -> None:
    """Write float32 where the tensors of the line are made."""
    spot = work.scene.innermost()
    count = 0
    for name in _halves(work):
        try:
            binding = find_binding([spot], name)
        except RefusedError:
            continue
        if binding.known == name:
            count += dtypes.change_within(work, binding.source, binding.statement, "float32")
    if not count:
        raise RefusedError(f"line {spot.source.line(spot.statement)}: nothing that it names is made in half precision in plain sight")


def _sum_in_float32(work: Work, finding: Finding) -> None:
    """Make what is added to, a moving average or a sum, in float32."""
    spot = work.scene.innermost()
    source, statement = spot.source, spot.statement
    name = _added_to(source, statement)
    looped = _looped_over(source, statement, name)
    binding = find_binding([spot], looped) if looped == name else _made_before(source, statement, looped)
    if dtypes.change_within(work, binding.source, binding.statement, "float32"):
        return
    value = binding.statement.body[0].value
    if isinstance(value, cst.ListComp):
        value = value.elt
    elif isinstance(value, cst.DictComp):
        value = value.value
    if not isinstance(value, cst.Call | cst.Name | cst.Attribute | cst.Subscript):
        raise RefusedError(f"line {binding.source.line(binding.statement)} does not show what is added to")
    work.changes(binding.source).append(value, ".float()")
    work.step("sum-float32", binding.source, value, f"{binding.source.code(value)}.float()")
    for call in source.walk(statement):
        # lerp_ is the one that promotes nothing.
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == "lerp_" and call.args:
            work.changes(source).append(call.args[0].value, ".float()")
            work.step("cast-value", source, call, f"{source.code(call.args[0].value)}.float()")


def _added_to(source: Source, statement: Any) -> str:
    for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
        if isinstance(small, cst.AugAssign):
            return source.code(small.target)
        if isinstance(small, cst.Assign) and len(small.targets) == 1:
            return source.code(small.targets[0].target)
        node: Any = small.value if isinstance(small, cst.Expr) else None
        while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            node = node.func.value
        if isinstance(node, cst.Name | cst.Attribute):
            return source.code(node).removesuffix(".data")
    raise RefusedError(f"line {source.line(statement)} does not show what is added to")


def _looped_over(source: Source, statement: Any, name: str) -> str:
    """Return what a loop's variable runs over: ``ema`` for ``for e, p in zip(ema, net.parameters())``; the name itself without a loop."""
    for above in source.above(statement):
        if not isinstance(above, cst.For):
            continue
        targets = [one.value for one in above.target.elements] if isinstance(above.target, cst.Tuple) else [above.target]
        position = next((index for index, one in enumerate(targets) if source.code(one) == name), None)
        if position is None:
            continue
        over = above.iter
        if isinstance(over, cst.Call) and source.code(over.func) == "zip" and position < len(over.args):
            over = over.args[position].value
        return re.sub(r"\.(?:parameters|buffers|values|items|state_dict)\(\)", "", source.code(over))
    return name


def _made_before(source: Source, statement: Any, name: str) -> Any:
    """Return where something that a loop runs over is made."""
    loop = next(one for one in source.above(statement) if isinstance(one, cst.For))
    function = source.function(loop)
    return find_binding([Spot(source, function.name.value if function is not None else None, loop)], name)


# --- the program


def _autocast(work: Work, finding: Finding) -> None:
    """Hold the weights in float32, and compute in half precision under autocast."""
    training.autocast_only(work, finding.dtype or "bfloat16")


def _everything(work: Work, finding: Finding) -> None:
    dtypes.change_dtype(work, "float32")


_TITLES = {
    "use-fp32": "The whole program in float32",
    "line": "This line in float32",
    "dtype": "What this line asks for in float32",
    "operands": "The tensors of this line in float32 from the start",
}
_NUMBERS: tuple[tuple[str, Operation], ...] = (
    ("dtype", _dtype_here), ("line", _line_in_float32), ("operands", _dtype_before), ("use-fp32", _everything),
)  # fmt: skip
_EDITS: Mapping[str, tuple[tuple[str, Operation], ...]] = {
    "clipped-scaled": (("order", _unscale_before),),
    "stepped-scaled": (("order", _step_by_scaler),),
    "never-scaled": (("order", _scale_loss),),
    "stepped-twice": (("order", _one_step),),
    "scaler-with-bf16": (("order", _no_scaler),),
    "constant-overflow": (("change-constant", lambda work, _: calls.finfo(work)), *_NUMBERS),
    "absorbed": (("sum", _sum_in_float32), *_NUMBERS),
    "weights-stuck": (("autocast", _autocast), ("use-fp32", _everything)),
    "gradient-gone": (("use-fp32", _everything),),
    **dict.fromkeys(("overflow", "gradient-overflow", "squashed", "flattened", "cancelled", "integers", "phase"), _NUMBERS),
    **dict.fromkeys(("divided-by-lost", "rounded-out-of-domain"), _NUMBERS),
}
