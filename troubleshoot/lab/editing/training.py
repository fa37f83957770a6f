"""Operations on a training loop: the optimizer's epsilon, the order of GradScaler's steps, autocast over float32 weights, and custom
autograd functions under autocast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import libcst as cst

from troubleshoot.lab.editing.dtypes import change_dtype, set_argument
from troubleshoot.lab.editing.plans import RefusedError
from troubleshoot.lab.editing.scene import Work
from troubleshoot.lab.editing.source import Source, expression

_OPTIMIZER = re.compile(r"(?:^|\.)(?:Adam\w*|NAdam|RAdam|RMSprop|Adagrad|Adadelta|Lion|Adafactor)$")


def set_epsilon(work: Work, value: str) -> None:
    """Set ``eps`` of the only optimizer that has one."""
    source = work.scene.main
    calls = [node for node in source.walk() if isinstance(node, cst.Call) and _OPTIMIZER.search(source.code(node.func))]
    if len(calls) != 1:
        raise RefusedError(f"{len(calls)} optimizers are made there" if calls else "the script makes no optimizer that has an eps")
    set_argument(work, source, calls[0], "eps", value, "set-epsilon")


def unscale_once(work: Work) -> None:
    """Remove the second ``scaler.unscale_(optimizer)`` of one step, where both stand in the same block without a step between them."""
    spot = work.scene.innermost()
    source, statement = spot.source, spot.statement
    text = source.code(statement).strip()
    if not re.fullmatch(r"[\w.]+\.unscale_\([\w.]+\)(?:\s*#.*)?", text):
        raise RefusedError(f"line {source.line(statement)} is no plain unscale_")
    code = text.partition("#")[0].strip()
    for one in _run_before(source, statement):
        found = source.code(one)
        if re.search(r"\.(?:step|update)\(", found):
            break
        if isinstance(one, cst.SimpleStatementLine) and found.strip().partition("#")[0].strip() == code:
            remove(work, source, statement, code, "unscale-once")
            return
        if not isinstance(one, cst.SimpleStatementLine) and ".unscale_(" in found:
            break
    raise RefusedError(
        f"no other unscale_ runs before line {source.line(statement)} in the same iteration: with gradients accumulated over several "
        "batches, unscale_, clip, step and update belong into the branch that steps"
    )


def _run_before(source: Source, statement: Any) -> Iterator[Any]:
    """Yield what surely runs before a statement in one iteration, nearest first: what precedes it in its block, and in those around."""
    while True:
        block = source.block(statement)
        position = next((index for index, one in enumerate(block) if one is statement), 0)
        yield from reversed(block[:position])
        above = next((one for one in source.above(statement) if isinstance(one, cst.BaseCompoundStatement)), None)
        if not isinstance(above, cst.If | cst.With):
            return
        statement = above


def remove(work: Work, source: Source, statement: Any, code: str, operation: str) -> None:
    """Remove a statement, with the branch that holds nothing else."""
    above = next((one for one in source.above(statement) if isinstance(one, cst.BaseCompoundStatement)), None)
    if len(source.block(statement)) == 1 and isinstance(above, cst.If):
        if above.orelse is not None or source.parent(above) is None or isinstance(source.parent(above), cst.If):
            raise RefusedError(f"line {source.line(statement)} is all that its branch holds: remove the branch yourself")
        statement = above

    def gone(node: Any) -> Any:
        # Comments above belong to what stood there before: they stay.
        if any(line.comment is not None for line in node.leading_lines):
            raise RefusedError(f"a comment stands above line {source.line(statement)}: remove `{code}` yourself")
        return cst.RemoveFromParent()

    work.changes(source).replace(statement, gone)
    work.step(operation, source, statement, f"the second {code} is gone")


_AUTOCAST_ON = re.compile(r"\bautocast\(\s*(?:device_type\s*=\s*)?[\"'](\w+)[\"']")


def custom_function(work: Work) -> tuple[Source, cst.ClassDef, str] | None:
    """Return the custom autograd function whose forward or backward failed in a program that uses autocast, and which of the two."""
    scene = work.scene
    if not scene.spots or not any("autocast" in one.text for one in (scene.main, *(spot.source for spot in scene.spots))):
        return None
    spot = scene.spots[-1]
    function = spot.source.function(spot.statement)
    owner = next((one for one in spot.source.above(spot.statement) if isinstance(one, cst.ClassDef)), None)
    if function is None or owner is None or function.name.value not in ("forward", "backward"):
        return None
    if not any(spot.source.code(base.value).rpartition(".")[2] == "Function" for base in owner.bases):
        return None
    return spot.source, owner, function.name.value


def custom_amp(work: Work) -> None:
    """Decorate the forward and the backward of a custom autograd function, so that both run under the same autocast.

    Where the forward itself fails, its operation is none that autocast knows: it is given float32.
    """
    found = custom_function(work)
    assert found is not None
    source, owner, failed = found
    methods = {one.name.value: one for one in owner.body.body if isinstance(one, cst.FunctionDef)}
    if "setup_context" in methods or not {"forward", "backward"} <= methods.keys():
        raise RefusedError(f"`{owner.name.value}` is no autograd function with a forward(ctx, ...) and a backward(ctx, ...)")
    if any("custom_fwd" in source.code(one) or "custom_bwd" in source.code(one) for way in methods.values() for one in way.decorators):
        raise RefusedError(f"`{owner.name.value}` has custom_fwd or custom_bwd already")
    failure = work.scene.failure
    texts = [one.text for one in (source, work.scene.main)]
    device = next((match[1] for match in map(_AUTOCAST_ON.search, texts) if match), None)
    device = device or ((failure.main_device or "").partition(":")[0] if failure is not None else "")
    if not device:
        raise RefusedError("nothing tells on which device autocast is")
    torch = work.changes(source).torch()
    wide = f", cast_inputs={torch}.float32" if failed == "forward" else ""
    decorators = {"forward": f'custom_fwd(device_type="{device}"{wide})', "backward": f'custom_bwd(device_type="{device}")'}
    for name, call in decorators.items():
        code = f"{torch}.amp.{call}"
        work.changes(source).replace(methods[name], _decorated(code))
        work.step("custom-autograd", source, methods[name], f"@{code}")


def _decorated(code: str) -> Any:
    return lambda node: node.with_changes(decorators=[*node.decorators, cst.Decorator(expression(code))])


_MAKER = re.compile(r"\.(?:half|bfloat16)\(\)|torch\.(?:float16|half|bfloat16)\b")


def autocast_only(work: Work, dtype: str) -> None:
    """Hold the weights in float32 and compute in half precision under autocast: the casts are gone, the calls of the model stand in a block
    of autocast.
    """
    source = work.scene.main
    models = [_target(source, one) for one in source.walk() if isinstance(one, cst.SimpleStatementLine) and _MAKER.search(source.code(one))]
    trained = r"\.(?:parameters|train|eval)\("
    called = [name for name in dict.fromkeys(models) if name and re.search(rf"(?<![\w.]){re.escape(name)}{trained}", source.text)]
    if len(called) != 1:
        raise RefusedError(f"{len(called)} models of the script are cast to half precision and trained")
    name = called[0]
    match = _AUTOCAST_ON.search(source.text)
    if match is not None:
        raise RefusedError("the script uses autocast already")
    device = "cuda" if re.search(r"\.cuda\(|[\"']cuda", source.text) else "cpu"
    change_dtype(work, "float32")
    item = f'{work.changes(source).torch()}.autocast("{device}", dtype={work.changes(source).torch()}.{dtype})'
    count = 0
    for node in source.walk():
        if not isinstance(node, cst.SimpleStatementLine):
            continue
        calls = [one for one in source.walk(node) if isinstance(one, cst.Call) and source.code(one.func) == name]
        if not calls:
            continue
        if ".backward(" in source.code(node):
            raise RefusedError(f"line {source.line(node)} calls the model and goes backward in one: autocast is for the forward only")
        work.changes(source).replace(node, under(item))
        work.step("autocast", source, node, f"with {item}:")
        count += 1
    if not count:
        raise RefusedError(f"`{name}` is called in no line of its own")


def _target(source: Source, statement: cst.SimpleStatementLine) -> str:
    """Return the name that a statement assigns to, or converts in place."""
    small = statement.body[0]
    if isinstance(small, cst.Assign) and len(small.targets) == 1:
        return source.code(small.targets[0].target)
    match = re.match(r"([\w.]+)\.(?:half|bfloat16|to)\(", source.code(statement).strip())
    return match[1] if match is not None else ""


def under(item: str) -> Any:
    """Return the change that puts a statement into a block."""

    def wrap(node: Any) -> Any:
        inner = node.with_changes(leading_lines=())
        return cst.With([cst.WithItem(expression(item))], cst.IndentedBlock([inner]), leading_lines=node.leading_lines)

    return wrap
