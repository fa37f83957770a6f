"""Operations on a training loop: the optimizer's epsilon, and the order of GradScaler's steps."""

from __future__ import annotations

import re
from typing import Any

import libcst as cst

from troubleshoot.lab.editing.dtypes import set_argument
from troubleshoot.lab.editing.plans import RefusedError
from troubleshoot.lab.editing.scene import Work
from troubleshoot.lab.editing.source import Source

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
    block = source.block(statement)
    text = source.code(statement).strip()
    if not re.fullmatch(r"[\w.]+\.unscale_\([\w.]+\)(?:\s*#.*)?", text):
        raise RefusedError(f"line {source.line(statement)} is no plain unscale_")
    code = text.partition("#")[0].strip()
    position = next(index for index, one in enumerate(block) if one is statement)
    for one in reversed(block[:position]):
        found = source.code(one)
        if re.search(r"\.(?:step|update)\(", found):
            break
        if isinstance(one, cst.SimpleStatementLine) and found.strip().partition("#")[0].strip() == code:
            _remove(work, source, statement, code)
            return
        if not isinstance(one, cst.SimpleStatementLine) and ".unscale_(" in found:
            break
    raise RefusedError(
        f"the other unscale_ is not in the block of line {source.line(statement)}: with gradients accumulated over several batches, "
        "unscale_, clip, step and update belong into the branch that steps"
    )


def _remove(work: Work, source: Source, statement: Any, code: str) -> None:
    def gone(node: Any) -> Any:
        # Comments above belong to what stood there before: they stay.
        if any(line.comment is not None for line in node.leading_lines):
            raise RefusedError(f"a comment stands above line {source.line(statement)}: remove `{code}` yourself")
        return cst.RemoveFromParent()

    work.changes(source).replace(statement, gone)
    work.step("unscale-once", source, statement, f"the second {code} is gone")
