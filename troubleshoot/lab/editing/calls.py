"""Operations on the call that failed: the argument that has to be an integer or a float, what is written into a tensor, an operation
that computes in float32 only, a constant beyond the range of a dtype.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from typing import Any

import libcst as cst

from troubleshoot.basics.dtypes import FLOATING, HALF, parse_dtype
from troubleshoot.lab.editing import arguments
from troubleshoot.lab.editing.binding import find_binding
from troubleshoot.lab.editing.dtypes import set_argument
from troubleshoot.lab.editing.failure import Failure
from troubleshoot.lab.editing.plans import RefusedError
from troubleshoot.lab.editing.scene import Work
from troubleshoot.lab.editing.source import Source

#: Methods that write: the position of what is written.
_WRITES = {
    "copy_": 0, "masked_scatter": 1, "masked_scatter_": 1, "index_put_": 1, "index_copy": 2, "index_copy_": 2, "index_add": 2,
    "index_add_": 2, "scatter": 2, "scatter_": 2, "scatter_add": 2, "scatter_add_": 2, "scatter_reduce_": 2, "lerp": 0, "lerp_": 0,
}  # fmt: skip
_WRITTEN = frozenset({"source", "src", "values", "end"})
#: Expressions that are no tensors.
_NO_TENSOR = re.compile(r"\.(?:shape|size|dtype|device|ndim|item)\b|^(?:len|int|float|bool|str|range|min|max|round|abs|tuple|list)\(")
_LIMIT = re.compile(r"(?:\w+\.)?finfo\(.+\)\.(?P<end>min|max)")
_TYPE = re.compile(r"type (?:c10::|torch\.)?(\w+)")


def failing_call(work: Work) -> tuple[Source, Any, Any]:
    """Return the source, the statement and the expression that failed: what the interpreter says, else the only call of the line.

    Raises:
        RefusedError: it is not certain which.
    """
    spot = work.scene.innermost()
    source, statement = spot.source, spot.statement
    told = _plain(work.scene.failure.call if work.scene.failure is not None else "")
    nodes = [one for one in source.walk(statement) if isinstance(one, cst.BaseExpression)]
    if told:
        found = [one for one in nodes if _plain(source.code(one)) == told]
        if found:
            return source, statement, found[0]
    calls = [one for one in nodes if isinstance(one, cst.Call)]
    if told or len(calls) != 1:
        raise RefusedError(f"line {source.line(statement)} does not show which of its calls failed")
    return source, statement, calls[0]


def _plain(code: str) -> str:
    return "".join(code.split())


def _call(work: Work) -> tuple[Source, Any, cst.Call]:
    source, statement, node = failing_call(work)
    if not isinstance(node, cst.Call):
        raise RefusedError(f"line {source.line(statement)} fails at `{source.code(node)}`, which is no call")
    return source, statement, node


def cast_wanted(work: Work, cast: str) -> None:
    """Cast the argument that has to be an integer (class labels, indices) or a float (the targets of a regression, what is averaged).

    ``cast`` is what the fix writes; the function that failed knows better.
    """
    spot = work.scene.innermost()
    if cast == ".float()" and _grows(spot.source, spot.statement) is not None:
        _floats_from_the_start(work)
        return
    source, statement, call = _call(work)
    failure = work.scene.failure
    names = [*(failure.torch if failure is not None else ()), source.code(call.func).rpartition(".")[2]]
    for name in names:
        found = arguments.wanted(name)
        value = _argument(source, call, found[0], name == names[-1], failure) if found is not None else None
        if found is not None and value is not None:
            _append(work, source, value, ".long()" if found[1] == "int64" else ".float()")
            return
    if failure is None or failure.cause != "dtype-mismatch/integer-expected":
        raise RefusedError(f"line {source.line(statement)} does not show which value to cast")
    # Another function: the only tensor that is not yet what it should be.
    floats = cast == ".float()"
    named = dict(failure.named)
    wrong = [text for text, dtype in named.items() if (dtype in FLOATING) != floats]
    plain = [one for one in call.args if one.keyword is None and not one.star]
    if len(wrong) == 1:
        uses = [one for one in source.walk(call) if isinstance(one, cst.Name | cst.Attribute) and source.code(one) == wrong[0]]
        if len(uses) == 1:
            _append(work, source, uses[0], cast)
            return
    if named or len(call.args) != 1 or not plain or not isinstance(plain[0].value, cst.Name | cst.Attribute | cst.Subscript):
        raise RefusedError(f"line {source.line(statement)} does not show which value to cast")
    _append(work, source, plain[0].value, cast)


def _grows(source: Source, statement: Any) -> Any:
    """Return the tensor that a statement adds to in place, ``counts`` in ``counts += weights``, or None."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1 else None
    return small.target if isinstance(small, cst.AugAssign) else None


def _floats_from_the_start(work: Work) -> None:
    """Make the tensor of integers that floats are added to in floating point."""
    spot = work.scene.innermost()
    name = spot.source.code(_grows(spot.source, spot.statement))
    failure = work.scene.failure
    if failure is not None and dict(failure.named).get(name) in FLOATING:
        raise RefusedError(f"`{name}` is floating point already")
    binding = find_binding([spot], name)
    value = getattr(binding.statement.body[0], "value", None)
    if binding.known != name or not isinstance(value, cst.Call):
        raise RefusedError(f"line {binding.source.line(binding.statement)} does not make `{name}` in one call")
    if any(one.keyword is not None and one.keyword.value == "dtype" for one in value.args):
        set_argument(work, binding.source, value, "dtype", f"{work.changes(binding.source).torch()}.float32")
    else:
        _append(work, binding.source, value, ".float()")


def _argument(source: Source, call: cst.Call, position: int, own: bool, failure: Failure | None) -> Any:
    """Return the argument at a position. ``own``: the call is that of the function itself, which may be a method of its first argument."""
    for one in call.args:
        if one.keyword is not None and one.keyword.value in arguments.NAMES and (position > 0) == (one.keyword.value != "input"):
            return one.value
    positional = [one.value for one in call.args if one.keyword is None and not one.star]
    if own and isinstance(call.func, cst.Attribute) and _is_tensor(source, call.func.value, failure):
        positional.insert(0, call.func.value)
    return positional[position] if position < len(positional) else None


def _is_tensor(source: Source, node: cst.CSTNode, failure: Failure | None) -> bool:
    """Tell whether an expression is a tensor, and no module of functions: by what it was, else by how it is written."""
    code = source.code(node)
    if failure is not None and any(text == code for text, _ in failure.named):
        return True
    return not re.fullmatch(r"(?:torch|F|nn)(?:\.\w+)*|self(?:\.\w+)*|\w+(?:\.nn\.functional|\.functional|\.linalg|\.fft)", code) and (
        not isinstance(node, cst.Name) or not any(code == one for one in _imported(source))
    )


def _imported(source: Source) -> set[str]:
    """Return the names that a file imports."""
    found: set[str] = set()
    for node in source.walk():
        if isinstance(node, cst.Import | cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                found.add(source.code(alias.asname.name if alias.asname is not None else alias.name).partition(".")[0])
    return found


def _append(work: Work, source: Source, value: Any, cast: str, operation: str = "cast-value") -> None:
    if source.code(value).endswith(cast):
        raise RefusedError(f"line {source.line(value)} has {cast} already")
    work.changes(source).append(value, cast)
    work.step(operation, source, value, f"{source.code(value)}{cast}")


def cast_written(work: Work) -> None:
    """Cast what is written into a tensor to the dtype of that tensor."""
    source, statement, node = _written_at(work)
    target, value = _write(source, statement, node)
    code = source.code(target)
    if not re.fullmatch(r"[\w.\[\]\"']+", code):
        raise RefusedError(f"line {source.line(statement)} writes into `{code}`, which has no name")
    _append(work, source, value, f".to({code}.dtype)")


def _written_at(work: Work) -> tuple[Source, Any, Any]:
    spot = work.scene.innermost()
    with suppress(RefusedError):
        return failing_call(work)
    return spot.source, spot.statement, None


def _write(source: Source, statement: Any, node: Any) -> tuple[Any, Any]:
    for small in getattr(statement, "body", ()) if isinstance(statement, cst.SimpleStatementLine) else ():
        if isinstance(small, cst.Assign) and len(small.targets) == 1 and isinstance(small.targets[0].target, cst.Subscript):
            return small.targets[0].target.value, small.value
        if isinstance(small, cst.AugAssign):
            target = small.target.value if isinstance(small.target, cst.Subscript) else small.target
            return target, small.value
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _WRITES:
        position = _WRITES[node.func.attr.value]
        named = next((one.value for one in node.args if one.keyword is not None and one.keyword.value in _WRITTEN), None)
        positional = [one.value for one in node.args if one.keyword is None and not one.star]
        value = named if named is not None else positional[position] if position < len(positional) else None
        if value is not None:
            return node.func.value, value
    raise RefusedError(f"line {source.line(statement)} does not show what is written into which tensor")


def in_float32(work: Work) -> None:
    """Give an operation float32 where torch has it in no half precision (FFT, decompositions). What comes back is cast where it is used
    next, if it has to be.
    """
    source, statement, call = _call(work)
    failure = work.scene.failure
    named = dict(failure.named) if failure is not None else {}
    values: list[Any] = []
    if isinstance(call.func, cst.Attribute) and named.get(source.code(call.func.value)) in HALF:
        values.append(call.func.value)
    for one in call.args:
        code = source.code(one.value)
        if one.star or _NO_TENSOR.search(code):
            continue
        if isinstance(one.value, cst.Name | cst.Attribute | cst.Subscript):
            if named.get(code) in HALF:
                values.append(one.value)
        elif one.keyword is None and isinstance(one.value, cst.Call | cst.BinaryOperation):
            values.append(one.value)
    if not values:
        raise RefusedError(f"line {source.line(statement)} does not show which tensor its operation is given")
    for value in values:
        _append(work, source, value, ".float()")


def finfo(work: Work) -> None:
    """Write the least or greatest number of the tensor's own dtype in the place of a constant that it cannot hold."""
    spot = work.scene.innermost()
    source, statement = spot.source, spot.statement
    failure = work.scene.failure
    match = _TYPE.search(failure.error) if failure is not None else None
    dtype = parse_dtype(match[1].lower()) if match is not None else None
    limit = {"float16": 65504.0, "bfloat16": 3.3895e38}.get(dtype or "", 3.4028e38)
    found = []
    for node in source.walk(statement):
        value = _number(source, node)
        end = _LIMIT.fullmatch(source.code(node)) if isinstance(node, cst.Attribute) else None
        if end is not None:
            # The end of another dtype's range.
            found.append((node, -1.0 if end["end"] == "min" else 1.0))
        elif value is not None and abs(value) > limit and abs(value) != float("inf"):
            parent = source.parent(node)
            if not (isinstance(parent, cst.UnaryOperation) and _number(source, parent) is not None):
                found.append((node, value))
    if not found:
        found = _constants(work, source, statement, limit)
    if len(found) != 1:
        raise RefusedError(f"line {source.line(statement)} shows {len(found) or 'no'} constants beyond the range of {dtype or 'the dtype'}")
    node, value = found[0]
    owner = _owner(source, statement, node)
    info = f"{owner}.dtype" if owner else f"{work.changes(source).torch()}.{dtype}" if dtype else None
    if info is None:
        raise RefusedError(f"line {source.line(statement)} does not show the dtype of the tensor")
    code = f"{work.changes(source).torch()}.finfo({info}).{'min' if value < 0 else 'max'}"
    work.changes(source).put(node, code)
    work.step("finfo", source, node, f"{source.code(node)} becomes {code}")


def _number(source: Source, node: Any) -> float | None:
    """Return the value of a literal, also of a negative one and of ``float("...")``."""
    if not isinstance(node, cst.Integer | cst.Float | cst.UnaryOperation):
        return None
    try:
        value = ast.literal_eval(source.code(node))
    except (ValueError, SyntaxError):
        return None
    return float(value) if isinstance(value, int | float) else None


def _constants(work: Work, source: Source, statement: Any, limit: float) -> list[tuple[Any, float]]:
    """Return the names in a statement that hold a constant beyond the limit."""
    found = []
    for node in source.walk(statement):
        parent = source.parent(node) if isinstance(node, cst.Name | cst.Attribute) else None
        if not isinstance(parent, cst.Arg) or parent.keyword is node:
            continue
        try:
            binding = find_binding([work.scene.innermost()], source.code(node))
        except RefusedError:
            continue
        for small in binding.statement.body:
            value = _number(source, small.value) if isinstance(small, cst.Assign | cst.AnnAssign) and small.value is not None else None
            if value is not None and abs(value) > limit and binding.known == source.code(node):
                found.append((node, value))
    return found


def _owner(source: Source, statement: Any, node: Any) -> str | None:
    """Return the tensor that a constant is written into: the one whose method is called, or that is assigned to."""
    for one in source.above(node):
        if isinstance(one, cst.Call) and isinstance(one.func, cst.Attribute):
            code = source.code(one.func.value)
            if re.fullmatch(r"[\w.\[\]]+", code) and not re.fullmatch(r"torch(?:\.\w+)*|F|nn(?:\.\w+)*", code):
                return code
            return None
        if one is statement:
            break
    for small in getattr(statement, "body", ()) if isinstance(statement, cst.SimpleStatementLine) else ():
        if isinstance(small, cst.Assign) and isinstance(small.targets[0].target, cst.Subscript):
            return source.code(small.targets[0].target.value)
    return None
