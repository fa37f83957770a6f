"""Where a program makes the object that a failing line names: through assignments, functions' parameters and attributes of ``self``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst

from troubleshoot.lab.editing.plans import RefusedError
from troubleshoot.lab.editing.source import Source, dotted

_CONVERSION = re.compile(r"\.(?:half|bfloat16|float|double|to|cuda|cpu|type)\s*\(")


@dataclass(frozen=True)
class Spot:
    """A frame in a file that may be edited, with its statement."""

    source: Source
    function: str | None
    statement: cst.CSTNode


@dataclass(frozen=True)
class Binding:
    """The statement that gives a name its object; ``name`` is how it is called there, ``known`` the part of it that is assigned."""

    source: Source
    statement: Any
    name: str
    known: str


def find_binding(spots: Sequence[Spot], name: str) -> Binding:
    """Find the assignment of ``name`` that the innermost of the spots which names it sees.

    Raises:
        RefusedError: it is not certain where the object is made.
    """
    for position, spot in enumerate(spots):
        if dotted(name).search(spot.source.code(spot.statement)):
            return _from(spots, position, name)
    raise RefusedError(f"no line of the traceback in your own code names `{name}`")


def _from(spots: Sequence[Spot], position: int, name: str) -> Binding:
    spot = spots[position]
    source, statement = spot.source, spot.statement
    function = source.function(statement)
    for known in _prefixes(name):
        if known.startswith("self."):
            found = _in_class(source, statement, known)
        else:
            found = _before(source, statement, known, function)
            if found is None and function is not None and _is_parameter(function, known):
                return _from_caller(spots, position, function, name, known)
            if found is None and function is not None:
                found = _before(source, None, known, None)
        if found is not None:
            return Binding(source, found, name, known)
    where = f" in `{function.name.value}`" if function is not None else ""
    raise RefusedError(f"the file does not show where `{name}`{where} is made")


def _prefixes(name: str) -> list[str]:
    """``a.b[0].c`` itself, then what it is part of, down to the first name (or the first attribute of self)."""
    parts = re.findall(r"^\w+|\.\w+|\[[^\]]*\]", name)
    found = ["".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return [one for one in found if one != "self"]


def _targets(source: Source, statement: cst.CSTNode) -> list[str]:
    """Return the texts that a simple statement assigns to."""
    found: list[str] = []
    if not isinstance(statement, cst.SimpleStatementLine):
        return found
    for small in statement.body:
        if isinstance(small, cst.Assign):
            for target in small.targets:
                inner = target.target
                elements = [one.value for one in inner.elements] if isinstance(inner, cst.Tuple | cst.List) else [inner]
                found += [source.code(one) for one in elements]
        elif isinstance(small, cst.AnnAssign) and small.value is not None:
            found.append(source.code(small.target))
    return found


def _before(source: Source, statement: cst.CSTNode | None, name: str, function: cst.FunctionDef | None) -> Any:
    """Return the last assignment to a name before a statement, in the same function (None: at the top level)."""
    end = source.line(statement) if statement is not None else None
    best = None
    for node in source.walk(function if function is not None else None):
        if not isinstance(node, cst.SimpleStatementLine) or source.function(node) is not function:
            continue
        if any(isinstance(one, cst.ClassDef) for one in source.above(node)) and function is None:
            continue
        if (end is None or source.line(node) < end) and name in _targets(source, node):
            if end is None and best is not None:
                raise RefusedError(f"`{name}` is assigned more than once at the top level")
            best = node
    return best


def _in_class(source: Source, statement: cst.CSTNode, name: str) -> Any:
    owner = next((one for one in source.above(statement) if isinstance(one, cst.ClassDef)), None)
    if owner is None:
        return None
    found = [node for node in source.walk(owner) if name in _targets(source, node)]
    if len(found) > 1:
        raise RefusedError(f"`{name}` is assigned more than once in `{owner.name.value}`")
    return found[0] if found else None


def _is_parameter(function: cst.FunctionDef, name: str) -> bool:
    parameters = function.params
    listed = (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params)
    return any(one.name.value == name for one in listed)


def _from_caller(spots: Sequence[Spot], position: int, function: cst.FunctionDef, name: str, known: str) -> Binding:
    """Follow a parameter to what the frame above passes for it."""
    parameters = [one.name.value for one in (*function.params.posonly_params, *function.params.params)]
    if position == 0:
        raise RefusedError(f"`{known}` is a parameter of `{function.name.value}`, and the traceback does not show its caller")
    above = spots[position - 1]
    calls = [
        node
        for node in above.source.walk(above.statement)
        if isinstance(node, cst.Call) and above.source.code(node.func).rpartition(".")[2] == function.name.value
    ]
    if len(calls) != 1:
        raise RefusedError(f"`{known}` is a parameter of `{function.name.value}`; its caller is not a plain call of it")
    method = bool(parameters) and parameters[0] in ("self", "cls") and isinstance(calls[0].func, cst.Attribute)
    names = parameters[1:] if method else parameters
    for index, argument in enumerate(calls[0].args):
        if argument.star:
            break
        if argument.keyword.value == known if argument.keyword is not None else index < len(names) and names[index] == known:
            passed = above.source.code(argument.value)
            if not re.fullmatch(r"[\w.\[\]\"']+", passed):
                raise RefusedError(f"`{known}` of `{function.name.value}` is made in the call itself: `{passed}`")
            return _from(spots, position - 1, passed + name[len(known) :])
    raise RefusedError(f"`{known}` is a parameter of `{function.name.value}`, and its call does not name what it passes")


def last_touch(binding: Binding, before: cst.CSTNode | None = None) -> Any:
    """Return the last statement in the binding's block that makes, changes or converts the object, before ``before`` if that is there."""
    source = binding.source
    last = binding.statement
    block = source.block(binding.statement)
    start = next(index for index, one in enumerate(block) if one is binding.statement)
    for one in block[start + 1 :]:
        if before is not None and (one is before or any(above is one for above in source.above(before))):
            break
        if _touches(source, one, binding.known):
            last = one
    return last


def _touches(source: Source, statement: cst.CSTNode, name: str) -> bool:
    if any(one == name or one.startswith((f"{name}.", f"{name}[")) for one in _targets(source, statement)):
        return True
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    text = source.code(statement).strip()
    return bool(re.match(re.escape(name) + r"(?:[.\[][\w.\[\]]*)?" + _CONVERSION.pattern, text))
