"""The operation that failed, and its operands: their names from the code, their dtypes and devices from the message.

What an operand is follows from the order of the operation's arguments. Where that does not decide which operand a dtype belongs to, the
operand has no dtype.
"""

# ruff: noqa: SIM905  (lists of words read better as text)
from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from troubleshoot.basics.dtypes import parse_dtype
from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading.calls import Call, Line
from troubleshoot.reading.module_path import GAP, Step, Walk, written

#: Characters of a message in which its operands are looked for, and of an expression that is shown as a name.
_MESSAGE, _NAME = 600, 60


class NamedOperand(msgspec.Struct, frozen=True):
    """An operand of the failing operation.

    ``name`` is how the code calls it (``query_embeds``, ``model.qformer.layernorm.weight``), ``role`` what it is to the operation
    (``input``, ``weight``, ``query``), ``dtype`` and ``device`` as torch names them. Empty is unknown.
    """

    name: str = ""
    role: str = ""
    dtype: str = ""
    device: str = ""


def _table(text: str) -> dict[str, tuple[str, ...]]:
    """Return {name: arguments} of lines such as ``conv1d conv2d: input weight bias``; ``-`` is an argument that is no tensor."""
    found = {}
    for line in text.strip().splitlines():
        names, _, arguments = line.partition(":")
        found.update(dict.fromkeys(names.split(), tuple(arguments.split())))
    return found


#: The arguments of torch's functions, as its documentation names them, in their order.
_ARGUMENTS = _table("""
    linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d: input weight bias
    layer_norm group_norm: input - weight bias
    rms_norm: input - weight
    batch_norm: input running_mean running_var weight bias
    embedding prelu: input weight
    scaled_dot_product_attention: query key value attn_mask
    matmul @ dot: input other
    mm bmm: input mat2
    addmm: input mat1 mat2
    baddbmm: input batch1 batch2
    grid_sample: input grid
    cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits: input target weight
    mse_loss l1_loss smooth_l1_loss huber_loss kl_div: input target
    gather index_select: input - index
    scatter scatter_add: input - index src
    index_add index_copy: input - index source
    masked_scatter: input mask source
    index_put: input indices values
    where: condition input other
    lerp: input end weight
    cdist: x1 x2
    bilinear: input1 input2 weight
""")
#: The same tensors in the order and under the names in which the kernels below check them: (function, kernel) -> (name, argument).
_KERNELS = {
    ("linear", "addmm"): (("self", "bias"), ("mat1", "input"), ("mat2", "weight")),
    ("linear", "mm"): (("self", "input"), ("mat2", "weight")),
    ("embedding", "index_select"): (("self", "weight"), ("index", "input")),
}
#: Functions whose kernel takes the dtype of one argument and expects it of another: "expected scalar type X but found Y".
_EXPECTS = _table("""
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d layer_norm group_norm: input weight
    matmul @: input other
    bmm: input mat2
    grid_sample: input grid
""")
#: Facts of messages that are an argument under another name.
_ALSO = {"mask": ("attn_mask",), "destination": ("input",), "indexed": ("input",), "source": ("values", "src")}
#: Facts of messages that name an operand, whatever the operation.
_ROLES = frozenset("input weight bias query key value mask destination source index indexed hidden".split())

_EXPECTED = searched(r"expected scalar type (\w+) but found (\w+)")
_PAIR = searched(
    r"\b(mat1|m1|self|input) and (mat2|m2|weight) (?:must|to) have the same dtype,? but got:? "
    r"([\w:]+(?: \w+)?) (?:and|!=) ([\w:]+(?: \w+)?)"
)
_TWO_DEVICES = searched(r"at least two devices, ([\w:]+) and ([\w:]+)! \(when checking ar(?:gu|u)ment for argument (\w+) in method (\w+)")
_ONE_DEVICE = searched(
    r"but got (\w+) is on ([\w:]+), different from other tensors on ([\w:]+) \((?:when checking argument in method )?(\w+)"
)
_KERNEL = anchored(r"wrapper_+(?:[A-Z]+_+)?(\w+)")
_WRITE = anchored(r"([\w.]{1,80})\[.{1,200}?\]\s*+=(?!=)\s*+(.{1,200})")
_PLAIN = anchored(r"[^\W\d][\w.]*+(?:\[[^\[\]]{1,30}\])?")
_KEYWORD = anchored(r"([^\W\d]\w*+)\s*+=(?!=)")
_TORCH_ROOTS = frozenset("torch F nn functional _VF".split())


class Operation:
    """The operation that failed: its name, and how the code calls its arguments."""

    def __init__(self, name: str = "", names: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.names = dict(names or {})

    @property
    def arguments(self) -> tuple[str, ...]:
        """Its arguments that are tensors, in their order."""
        return tuple(one for one in _ARGUMENTS.get(self.name, ()) if one != "-")

    @property
    def called(self) -> dict[str, str]:
        """Each argument with its name in the code, empty where it is not known."""
        return {one: self.names.get(one, "") for one in self.arguments}


def find_operation(walk: Walk, message: str) -> Operation:
    """Return the operation at which a traceback ends; without a name where the frames do not tell."""
    steps = walk.steps
    at = len(steps) - 1
    while at >= 0 and steps[at].short == "torch/nn/functional.py":
        at -= 1
    if at < 0:
        return Operation(steps[0].name) if steps and steps[0].name in _ARGUMENTS else Operation()
    step = steps[at]
    function = steps[at + 1].name if at + 1 < len(steps) else ""
    found = _called(walk, step, function, message)
    if step.short.startswith("torch/nn/modules/") and found.name:
        # Torch's own names tell a reader nothing: what the module was given has a name in the code that called it.
        found.names = {}
        module = written(walk.module or ())
        if module and step.name in ("forward", "_conv_forward"):
            found.names = dict(zip(("input", "target"), _handed(steps, at), strict=False))
            found.names.update((one, f"{module}.{one}") for one in ("weight", "bias") if one in found.arguments)
    return found


def find_operands(operation: Operation, message: str, caught: Mapping[str, str]) -> tuple[NamedOperand, ...]:
    """Return the operands of which the code or the message tells something. ``caught`` are the message's facts: ``dtype.input``."""
    arguments = operation.arguments
    message = message[:_MESSAGE]
    read = {"dtype": _dtypes(operation.name, arguments, message), "device": _devices(operation.name, arguments, message)}
    dtypes, devices = dict(read["dtype"]), dict(read["device"])
    for fact, value in caught.items():
        kind, _, role = fact.partition(".")
        argument = _argument(role, arguments) if role in _ROLES or role in arguments else ""
        if argument and not read.get(kind):
            (dtypes if kind == "dtype" else devices).setdefault(argument, value)
    pair = bool(dtypes or devices) or _EXPECTED.search(message) is not None
    roles = [*arguments, *(one for one in (*dtypes, *devices) if one not in arguments)]
    found = [
        NamedOperand(operation.names.get(one, ""), one, dtypes.get(one, ""), devices.get(one, ""))
        for one in dict.fromkeys(roles)
        if one in dtypes or one in devices or (pair and not dtypes and not devices and operation.names.get(one) and one != "bias")
    ]
    return tuple(found)


def _argument(role: str, arguments: tuple[str, ...]) -> str:
    """Return the argument that a fact is about; the fact's own name where the operation is not known."""
    if not arguments or role in arguments:
        return role
    for also in _ALSO.get(role, ()):
        if also in arguments:
            return also
    # The messages of products call their operands input and weight, whatever they are.
    return arguments[1] if role == "weight" and arguments[0] == "input" and len(arguments) > 1 else ""


def _dtypes(name: str, arguments: tuple[str, ...], message: str) -> dict[str, str]:
    """Return the dtypes that the message gives to arguments by their order."""
    match = _PAIR.search(message)
    if match:
        first, second = parse_dtype(match[3]), parse_dtype(match[4])
        kernel = dict(_KERNELS.get((name, "addmm" if match[1] in ("self", "mat1") else "mm"), ()))
        left = kernel.get(match[1], arguments[0] if arguments and match[1] != "mat1" else match[1])
        right = kernel.get(match[2], arguments[1] if len(arguments) > 1 and match[2] != "mat2" else match[2])
        if name in ("matmul", "@", "mm", "dot") and len(arguments) > 1:
            left, right = arguments[0], arguments[1]
        return {left: first, right: second} if arguments and first and second else {}
    match = _EXPECTED.search(message)
    if match and name in _EXPECTS:
        expected, found = parse_dtype(match[1]), parse_dtype(match[2])
        left, right = _EXPECTS[name]
        return {left: expected, right: found} if expected and found else {}
    return {}


def _devices(name: str, arguments: tuple[str, ...], message: str) -> dict[str, str]:
    """Return the devices that the message gives to arguments: the one that it names, and those checked before it."""
    match = _TWO_DEVICES.search(message)
    if match:
        common, own, argument, method = match.groups()
    else:
        match = _ONE_DEVICE.search(message)
        if match is None:
            return {}
        argument, own, common, method = match.groups()
    kernel = _KERNEL.match(method)
    checked = _KERNELS.get((name, kernel[1].strip("_") if kernel else "")) or tuple((one, one) for one in arguments)
    names = [one for one, _ in checked]
    if argument == "mat2" and name in ("matmul", "@"):
        argument = "other"
    if argument not in names:
        return {argument: own}
    at = names.index(argument)
    return {**{known: common for _, known in checked[:at]}, checked[at][1]: own}


def _called(walk: Walk, step: Step, function: str, message: str) -> Operation:
    """Return the operation that a frame's line calls; ``function`` is that of torch's own frame below it."""
    line = step.line
    if message.startswith("Index put") and step.frame.code:
        match = _WRITE.match(step.frame.code)
        names = {"input": _name(match[1], step), "values": _name(match[2], step)} if match else {}
        return Operation("index_put", names)
    calls = [] if line is None else [call for call in line.calls if _is_operation(call)]
    marks = walk.shown.marks(step.frame)
    if marks is not None and line is not None:
        calls = [call for call in calls if call.start == marks[0] and (call.end or len(line.code)) == marks[1]]
    elif function:
        calls = [call for call in calls if call.parts[-1] == function]
    if len(calls) == 1:
        name = _plain(calls[0])
        if name not in _ARGUMENTS and walk.innermost is not step.frame:
            # A function of torch's that is written in Python: what failed is something in it.
            return Operation()
        return Operation(name, _names(calls[0], step, _ARGUMENTS.get(name, ())))
    if calls or function or line is None:
        return Operation(function if function in _ARGUMENTS else "")
    start, end = marks or (0, len(line.code))
    at = line.code.find("@", start, end)
    if at > 0 and line.code.count("@", start, end) > 1:
        return Operation("@")
    if at > 0:
        return Operation("@", {"input": _name(_before(line, at), step), "other": _name(_behind(line, at + 1), step)})
    return Operation()


def _before(line: Line, at: int) -> str:
    """Return the expression that ends before a sign: a name with attributes, a call; empty for anything else."""
    end = len(line.code[:at].rstrip())
    starts = [call.start for call in line.calls if call.end == end]
    if starts:
        return line.code[min(starts) : end]
    start = max(line.code.rfind(one, 0, end) for one in " (,=*+-/") + 1
    return line.code[start:end] if _PLAIN.fullmatch(line.code, start, end) else ""


def _behind(line: Line, at: int) -> str:
    """Return the expression that begins behind a sign, in the same way."""
    start = at + len(line.code[at:]) - len(line.code[at:].lstrip())
    ends = [call.end for call in line.calls if call.start == start]
    if ends:
        return "" if None in ends else line.code[start : max(end for end in ends if end is not None)]
    match = _PLAIN.match(line.code, start)
    return match[0] if match else ""


def _is_operation(call: Call) -> bool:
    """Tell whether a call is one of torch's functions, or a method with the name of one that takes another tensor."""
    return len(call.parts) > 1 and (call.parts[0] in _TORCH_ROOTS or (call.parts[0] != "self" and _plain(call) in _ARGUMENTS))


def _plain(call: Call) -> str:
    return call.parts[-1].rstrip("_")


def _names(call: Call, step: Step, arguments: tuple[str, ...]) -> dict[str, str]:
    """Return how a call names its arguments, as far as the line shows them."""
    given = _given(call, step)
    if call.parts[0] not in _TORCH_ROOTS:
        given.insert(0, ".".join(call.parts[:-1]))
    found: dict[str, str] = {}
    for position, text in enumerate(given):
        if text.startswith("*"):
            break
        keyword = _KEYWORD.match(text)
        if keyword:
            found[keyword[1]] = _name(text[keyword.end() :], step)
        elif position < len(arguments):
            found[arguments[position]] = _name(text, step)
    return {role: name for role, name in found.items() if role in arguments and name}


def _name(text: str, step: Step) -> str:
    """Return how an expression is shown: with its module's path where it is an attribute of one, empty where it is long."""
    text = text.strip()
    if len(text) > _NAME or not text:
        return ""
    if text.startswith("self.") and _PLAIN.fullmatch(text) and step.own and step.own[-1] != GAP:
        return f"{written(step.own) or 'self'}{text[4:]}"
    return text


def _handed(steps: Sequence[Step], at: int) -> list[str]:
    """Return what the code that called torch's module gave it, up to what it does not show."""
    file = steps[at].short
    while at > 0 and steps[at].short == file:
        at -= 1
    caller = steps[at]
    if caller.call is None or caller.short.startswith("torch/"):
        return []
    found: list[str] = []
    for text in _given(caller.call, caller):
        if text.startswith("*") or _KEYWORD.match(text):
            break
        found.append(_name(text, caller))
    return found


def _given(call: Call, step: Step) -> list[str]:
    """Return the arguments that the line shows whole."""
    given = call.arguments
    if call.end is None and given and not (step.frame.code or "").rstrip().endswith(","):
        del given[-1]
    return given
