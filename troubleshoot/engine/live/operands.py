"""The tensors that the failing operation was given, and where a mismatch among them shows."""

from __future__ import annotations

import re
from typing import Any

from troubleshoot.basics.dtypes import FLOATING, parse_dtype
from troubleshoot.engine.live.census import Census
from troubleshoot.engine.live.frames import Spot, named_values
from troubleshoot.engine.live.objects import Clock, elements, is_parameter, is_tensor, named_tensors, read_tensor
from troubleshoot.engine.live.seen import Operand
from troubleshoot.reading.places import locate

#: Frames above the failed one that may still be the operation's own: wrappers, decompositions.
_DEPTH = 40
_MOST_OPERANDS = 40
#: Functions of no module between the operation and the module that called them.
_HELPERS = 2

_CAST = re.compile(r"\.(float|half|bfloat16|double)\(\s*\)|\.(?:to|type)\(\s*(?:dtype\s*=\s*)?(torch\.\w+)\s*[,)]")
_UNKNOWN_CAST = re.compile(r"\.(?:to|type|type_as|cpu|cuda)\(")
_NO_OPERAND = re.compile(r"\.(?:shape|size|dtype|device|dim|ndim|numel|is_\w+|element_size|stride|requires_grad|layout)\b")
UPCAST = re.compile(r"\.float\(\s*\)|\.(?:to|type)\(\s*(?:dtype\s*=\s*)?torch\.float(?:32)?\s*[,)]")


class Found:
    """The operands of the frame in which the mismatch shows; ``kind`` is "device", "dtype" or empty."""

    def __init__(self, operands: list[Operand], keys: list[int], spot: Spot | None, kind: str) -> None:
        self.operands = operands
        #: the identity of each operand's tensor, 0 where the operand is a converted copy
        self.keys = keys
        self.spot = spot
        self.kind = kind


def find_operands(spots: list[Spot], census: Census, clock: Clock) -> Found:
    """Go from the failed frame outwards, through torch's own frames to the module that called it, until the operands differ."""
    near: list[Spot] = []
    helpers = 0
    for spot in reversed(spots[-_DEPTH:]):
        near.append(spot)
        if not in_torch(spot):
            # A function that only checks or wraps is no module's: whoever called it has the operands too.
            helpers += 1
            if spot.self_ is not None or helpers > _HELPERS:
                break
    # The operation as it was called tells more than torch's wrappers and decompositions do: those come last.
    near.sort(key=lambda spot: in_torch(spot) and "/torch/nn/" not in spot.file)
    first: Found | None = None
    for spot in near:
        clock.check()
        for text in dict.fromkeys((spot.expression(), spot.statement())):
            found = _read(spot, _named(spot, text), census)
            if found.kind:
                return found
            if first is None and found.operands:
                first = found
        if in_torch(spot):
            given = [(name, one, "", "") for name, one in spot.arguments]
            module = spot.self_
            if module is not None:
                given += [(f"self.{name}", one, "", "") for name, role, one in named_tensors(module) if role != "constant"]
            found = _read(spot, given, census)
            if found.kind:
                return found
    return first or Found([], [], None, "")


def in_torch(spot: Spot) -> bool:
    """Tell whether a frame is torch's own, or of code that torch.fx has written."""
    return locate(spot.file)[0] == "torch" or spot.file.startswith("<eval_with_key>")


def _named(spot: Spot, text: str) -> list[tuple[str, Any, str, str]]:
    return [(one.text, one.value, one.rest, one.keyword) for one in named_values(spot, text)]


def _read(spot: Spot, given: list[tuple[str, Any, str, str]], census: Census) -> Found:
    operands: list[Operand] = []
    keys: list[int] = []
    for name, value, rest, keyword in given:
        if is_tensor(value):
            members = [(name, value)]
        else:
            members = [(f"{name}[{index}]", one) for index, one in enumerate(elements(value)) if is_tensor(one)]
        for text, tensor in members:
            if len(operands) < _MOST_OPERANDS:
                _add(operands, keys, text, tensor, rest, keyword, census)
    return Found(operands, keys, spot, mismatch(operands))


def _add(operands: list[Operand], keys: list[int], name: str, tensor: Any, rest: str, keyword: str, census: Census) -> None:
    if _NO_OPERAND.match(rest):
        return
    header = read_tensor(tensor)
    dtype = header.dtype
    cast = _CAST.match(rest)
    if cast:
        dtype = parse_dtype(cast[1] or cast[2])
    elif _UNKNOWN_CAST.match(rest):
        return
    key = id(tensor)
    if key in keys and not cast:
        return
    held = census.owners.get(key)
    role = held.role if held else "parameter" if is_parameter(tensor) else "input"
    shown = name.removeprefix("self.") if held is None else held.name
    operands.append(Operand(shown, role, dtype, header.device, header.shape, held.path if held else None, keyword, bool(cast), name))
    keys.append(0 if cast else key)


def mismatch(operands: list[Operand]) -> str:
    """Return in what the operands differ: "device", else "dtype", else nothing. Zero-dimensional tensors of the CPU may meet any."""
    counted = [one for one in operands if not (one.shape == () and one.device == "cpu")]
    if len({one.device for one in counted if one.device}) > 1:
        return "device"
    if len({one.dtype for one in counted if one.dtype in FLOATING}) > 1:
        return "dtype"
    return ""
