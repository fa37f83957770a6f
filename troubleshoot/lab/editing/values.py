"""Operations on a value at the failing line: cast it, move it, give NumPy what it knows, compute in float32, run under autocast."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from troubleshoot.basics.dtypes import HALF
from troubleshoot.lab.editing.binding import Binding, Spot, find_binding
from troubleshoot.lab.editing.plans import RefusedError
from troubleshoot.lab.editing.scene import Work
from troubleshoot.lab.editing.source import Source, dotted, expression
from troubleshoot.lab.editing.training import under

_ASSIGNED = re.compile(r"^(?P<name>[\w.]+(?:\[[\"']\w+[\"']\])?) = (?P=name)\.to\((?P<to>.+)\)$")
_SITE = re.compile(r"^(?P<call>self(?:\.\w+|\[\w+\])+)\((?P<argument>.+)\.to\(torch\.(?P<dtype>\w+)\)\)$", re.DOTALL)
_FEATURES = re.compile(r"(?i)processor|extractor")
_FROM_ARRAY = re.compile(r"(?:^|\.)(?:from_numpy|as_tensor|tensor)$")


def cast_value(work: Work, change: str) -> None:
    """Cast the value that the line of the diagnosis names, ``x = x.to(torch.float16)`` or ``self.fc(x.to(torch.float16))``, where it
    is used.
    """
    site = _SITE.match(change)
    if site is not None:
        _cast_at_site(work, site["call"], site["argument"], site["dtype"])
        return
    for line in change.splitlines():
        match = _ASSIGNED.match(line)
        if match is None:
            raise RefusedError(f"`{line}` is no line that can be placed")
        _cast_name(work, _naming(work, match["name"]), match["name"], match["to"])


def _naming(work: Work, name: str) -> Spot:
    """Return the innermost frame whose failing statement names a value."""
    base = name.partition("[")[0]
    for wanted in (name, base):
        for spot in reversed(work.scene.spots):
            if dotted(wanted).search(spot.source.code(spot.statement)):
                return spot
    if not work.scene.spots:
        raise RefusedError(work.scene.why_nowhere())
    raise RefusedError(f"no line of the traceback in your own code names `{name}`")


def _cast_name(work: Work, spot: Spot, name: str, to: str) -> None:
    source, statement = spot.source, spot.statement
    dtype = to.removeprefix("torch.") if re.fullmatch(r"torch\.\w+", to) else None
    device = to.strip("\"'") if to[:1] in "\"'" else None
    if "[" in name or _starred(source, statement, name):
        _cast_features(work, spot, name, dtype, device, to)
        return
    binding = _own_binding(work, spot, name)
    if binding is not None and _at_binding(work, binding, name, dtype, device):
        return
    cast = work.cast(source, statement, dtype) if dtype else f".to({work.device(source, statement, device) if device else to})"
    used = _uses(source, statement, name)
    callee = _callee(source, used[0]) if len(used) == 1 else None
    if dtype and dtype != "float32" and callee is not None and _is_culprit(work, callee):
        cast = f".to({callee}.weight.dtype)"
    if len(used) == 1:
        work.changes(source).append(used[0], cast)
        work.step("cast-value" if dtype or not device else "move-value", source, used[0], f"{name}{cast}")
        return
    if not isinstance(statement, cst.SimpleStatementLine):
        raise RefusedError(f"line {source.line(statement)} uses `{name}` {len(used)} times, and it is the header of a block")
    work.changes(source).insert_before(statement, f"{name} = {name}{cast}")
    work.step("cast-value" if dtype or not device else "move-value", source, statement, f"{name} = {name}{cast}")


def _starred(source: Source, statement: cst.CSTNode, name: str) -> bool:
    base = name.partition("[")[0]
    return any(isinstance(one, cst.Arg) and one.star == "**" and source.code(one.value) == base for one in source.walk(statement))


def _uses(source: Source, statement: cst.CSTNode, name: str) -> list[Any]:
    """Return where a statement hands a value on: as an argument, an operand, a returned or assigned value; not where it asks for its
    shape, and not where it assigns to it.
    """
    body = getattr(statement, "test", None) or getattr(statement, "iter", None) or statement
    found = []
    for node in source.walk(body):
        if isinstance(node, cst.Name | cst.Attribute | cst.Subscript) and source.code(node) == name:
            parent = source.parent(node)
            if isinstance(parent, cst.Attribute | cst.AssignTarget | cst.AugAssign | cst.FormattedStringExpression):
                continue
            if isinstance(parent, cst.Subscript) and parent.value is node and isinstance(source.parent(parent), cst.AssignTarget):
                continue
            if isinstance(parent, cst.Arg) and parent.keyword is node:
                continue
            found.append(node)
    return found


def _callee(source: Source, node: cst.CSTNode) -> str | None:
    parent = source.parent(node)
    above = source.parent(parent) if parent is not None else None
    if isinstance(parent, cst.Arg) and isinstance(above, cst.Call):
        code = source.code(above.func)
        return code if re.fullmatch(r"[\w.\[\]]+", code) else None
    return None


def _is_culprit(work: Work, callee: str) -> bool:
    """Tell whether the called module is the one whose weight the value met."""
    failure = work.scene.failure
    if failure is None or failure.culprit is None or failure.culprit.parameter != "weight":
        return False
    module = failure.culprit.module or ""
    return callee == failure.root if not module else callee.rpartition(".")[2] == module.rpartition(".")[2]


def _own_binding(work: Work, spot: Spot, name: str) -> Binding | None:
    """Return where a name is assigned in the function that uses it, if that is certain."""
    if not name.isidentifier():
        return None
    try:
        binding = find_binding([spot], name)
    except RefusedError:
        return None
    same = spot.source.function(binding.statement) is spot.source.function(spot.statement)
    return binding if same and binding.known == name else None


def _value(binding: Binding) -> Any:
    """Return the call that a plain assignment takes its value from, or None."""
    statement = binding.statement
    if len(statement.body) != 1 or not isinstance(statement.body[0], cst.Assign | cst.AnnAssign):
        return None
    return statement.body[0].value if isinstance(statement.body[0].value, cst.Call) else None


def _at_binding(work: Work, binding: Binding, name: str, dtype: str | None, device: str | None) -> bool:
    """Cast where the value is made, if that is plain: behind a ``.to(device)``, or where an array becomes a tensor."""
    value = _value(binding)
    source = binding.source
    if value is None or dtype is None:
        return False
    function = source.code(value.func)
    if _only_to_device(source, value):
        _add_dtype(work, source, value, dtype)
        return True
    if _FROM_ARRAY.search(function) and not any(one.keyword is not None and one.keyword.value == "dtype" for one in value.args):
        cast = work.cast(source, binding.statement, dtype)
        work.changes(source).append(value, cast)
        work.step("cast-value", source, value, f"{name}: {cast}")
        return True
    return False


def _only_to_device(source: Source, value: cst.Call) -> bool:
    """Tell whether a call is ``x.to(device)`` and nothing else."""
    if not (isinstance(value.func, cst.Attribute) and value.func.attr.value == "to" and len(value.args) == 1):
        return False
    argument = value.args[0]
    text = source.code(argument.value)
    plain = argument.keyword is None and not argument.star
    return plain and ("device" in text or text.strip("\"'").partition(":")[0] in ("cuda", "cpu", "mps"))


def _add_dtype(work: Work, source: Source, value: cst.Call, dtype: str) -> None:
    text = work.dtype(source, value, dtype)

    def add(node: Any) -> Any:
        first = node.args[0]
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        return node.with_changes(args=[first.with_changes(comma=comma), cst.Arg(expression(text))])

    work.changes(source).replace(value, add)
    work.step("add-dtype", source, value, f".to(..., {text})")


def _cast_features(work: Work, spot: Spot, name: str, dtype: str | None, device: str | None, to: str) -> None:
    """Cast what a processor returns, where it is made; any other mapping item by item before the call."""
    base = name.partition("[")[0]
    source, statement = spot.source, spot.statement
    binding = _own_binding(work, spot, base)
    value = _value(binding) if binding is not None else None
    if binding is not None and value is not None and dtype is not None and _FEATURES.search(source.code(value)):
        if _only_to_device(source, value):
            _add_dtype(work, source, value, dtype)
            return
        if not (isinstance(value.func, cst.Attribute) and value.func.attr.value == "to"):
            text = work.dtype(source, binding.statement, dtype)
            work.changes(source).append(value, f".to({text})")
            work.step("add-dtype", source, value, f".to({text}) casts the floating-point tensors of a BatchFeature only")
            return
    if "[" not in name:
        raise RefusedError(f"line {source.line(statement)} hands `{base}` on as a whole, and which of its tensors to cast is not known")
    if not isinstance(statement, cst.SimpleStatementLine):
        raise RefusedError(f"line {source.line(statement)} is the header of a block: nothing can be put before its expression")
    cast = work.cast(source, statement, dtype) if dtype else f".to({work.device(source, statement, device) if device else to})"
    work.changes(source).insert_before(statement, f"{name} = {name}{cast}")
    work.step("cast-value", source, statement, f"{name} = {name}{cast}")


def _cast_at_site(work: Work, callee: str, argument: str, dtype: str) -> None:
    """Cast the only argument of a module's call inside the model's own code."""
    inner = argument[1:-1] if argument.startswith("(") and argument.endswith(")") else argument
    for spot in reversed(work.scene.spots):
        source = spot.source
        for node in source.walk(spot.statement):
            if not (isinstance(node, cst.Call) and len(node.args) == 1 and source.code(node.func) == callee):
                continue
            value = node.args[0].value
            if " ".join(source.code(value).split()) not in (" ".join(argument.split()), " ".join(inner.split())):
                continue
            to = f".to({callee}.weight.dtype)" if _is_culprit(work, callee) else work.cast(source, spot.statement, dtype)
            work.changes(source).append(value, to)
            work.step("cast-value", source, node, f"{callee}(...{to})")
            return
    raise RefusedError(f"`{callee}(...)` is in no line that may be edited" + (f": {work.scene.barred[-1]}" if work.scene.barred else ""))


def numpy_float32(work: Work) -> None:
    """Hand float32 to NumPy: ``x.numpy()`` becomes ``x.float().numpy()``, ``np.asarray(x)`` becomes ``np.asarray(x.float())``."""
    spot = work.scene.innermost()
    source = spot.source
    calls: list[Any] = [one for one in source.walk(spot.statement) if isinstance(one, cst.Call) and isinstance(one.func, cst.Attribute)]
    own = [node for node in calls if node.func.attr.value == "numpy" and not node.args]
    if len(own) == 1:
        receiver = own[0].func.value
        work.changes(source).append(receiver, ".float()")
        work.step("cast-value", source, own[0], ".float().numpy()")
        return
    arrays = [node for node in calls if node.func.attr.value in ("array", "asarray") and node.args and node.args[0].star == ""]
    if len(own) == 0 and len(arrays) == 1:
        value = arrays[0].args[0].value
        if isinstance(value, cst.Name | cst.Attribute | cst.Call | cst.Subscript):
            work.changes(source).append(value, ".float()")
            work.step("cast-value", source, arrays[0], f"{source.code(value)}.float()")
            return
    raise RefusedError(f"line {source.line(spot.statement)} hands more than one thing to NumPy, or none that can be seen")


def softmax_float32(work: Work) -> None:
    """Compute the softmax that the failing line draws from, or the loss, in float32."""
    spot = work.scene.innermost()
    source = spot.source
    function = source.function(spot.statement)
    calls = [
        node
        for node in source.walk(function)
        if isinstance(node, cst.Call)
        and source.code(node.func).rpartition(".")[2] in ("softmax", "log_softmax")
        and source.function(node) is function
        and source.line(node) <= source.line(spot.statement)
    ]
    if len(calls) != 1:
        raise RefusedError(f"{len(calls)} softmax calls lead to line {source.line(spot.statement)}")
    call = calls[0]
    if any(one.keyword is not None and one.keyword.value == "dtype" for one in call.args):
        raise RefusedError(f"line {source.line(call)}: the softmax says its dtype already")
    from troubleshoot.lab.editing.dtypes import with_argument

    dtype = f"{work.changes(source).torch()}.float32"
    work.changes(source).replace(call, lambda node: with_argument(node, "dtype", dtype))
    work.step("softmax-float32", source, call, f"softmax(..., dtype={dtype})")


def under_autocast(work: Work) -> None:
    """Run the statement that calls the failed model under autocast, on its device."""
    scene = work.scene
    failure = scene.failure
    if failure is None or not scene.spots:
        raise RefusedError(scene.why_nowhere())
    if failure.root_class is None:
        raise RefusedError("no model was being called when it failed")
    spot = next((one for one in scene.spots if dotted(failure.root).search(one.source.code(one.statement))), None)
    if spot is None:
        raise RefusedError(f"no line of the traceback in your own code calls `{failure.root}`")
    source, statement = spot.source, spot.statement
    if not isinstance(statement, cst.SimpleStatementLine):
        raise RefusedError(f"line {source.line(statement)} is the header of a block: put the whole of it under autocast yourself")
    device = (failure.main_device or "").partition(":")[0]
    if device in ("", "meta"):
        raise RefusedError("nothing tells on which device it runs")
    dtype = failure.main_dtype if failure.main_dtype in HALF else "bfloat16"
    item = f'{work.changes(source).torch()}.autocast("{device}", dtype={work.dtype(source, statement, dtype)})'
    parent = source.parent(statement)
    block = source.parent(parent) if parent is not None else None
    if isinstance(block, cst.With) and len(source.block(statement)) == 1 and not block.asynchronous:
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        last = block.items[-1]
        if not isinstance(last.comma, cst.Comma):
            more = [last.with_changes(comma=comma), cst.WithItem(expression(item))]
            work.changes(source).replace(block, lambda node: node.with_changes(items=[*node.items[:-1], *more]))
            work.step("autocast", source, block, f"with ..., {item}")
            return

    work.changes(source).replace(statement, under(item))
    work.step("autocast", source, statement, f"with {item}:")
