"""Operations on a module after it is made: cast it, keep a part of it in float32, move it."""

from __future__ import annotations

import re

from troubleshoot.lab.editing.binding import Binding, find_binding, last_touch
from troubleshoot.lab.editing.dtypes import change_dtype
from troubleshoot.lab.editing.plans import RefusedError
from troubleshoot.lab.editing.scene import Work
from troubleshoot.lab.editing.source import Source

_DATA = re.compile(r"^(?P<target>[\w.\[\]]+)\.data = (?P=target)\.to\(torch\.(?P<dtype>\w+)\)$")


def module_binding(work: Work) -> tuple[Binding, str]:
    """Return where the failed model is made, and how it is called there."""
    scene = work.scene
    failure = scene.failure
    if failure is None or not scene.spots:
        raise RefusedError(scene.why_nowhere())
    found = find_binding(scene.spots, failure.root)
    return found, found.name


def _insert(work: Work, binding: Binding, code: str, operation: str) -> None:
    failing = next((spot.statement for spot in work.scene.spots if spot.source is binding.source), None)
    last = last_touch(binding, failing)
    work.changes(binding.source).insert_after(last, code)
    work.step(operation, binding.source, last, code.splitlines()[0])


def cast_module(work: Work, path: str, dtype: str) -> None:
    """Cast a module (below the model; "" is the model) once everything is loaded."""
    binding, root = module_binding(work)
    last = last_touch(binding)
    _insert(work, binding, f"{call(root, path)}{work.cast(binding.source, last, dtype)}", "cast-module")


def cast_parameter(work: Work, change: str) -> None:
    """Cast one parameter of the model, as the line that was written for it says."""
    failure = work.scene.failure
    binding, root = module_binding(work)
    assert failure is not None
    lines = []
    for line in change.splitlines():
        match = _DATA.match(line)
        if match is None:
            raise RefusedError(f"`{line}` is no line that can be placed")
        target = root + match["target"].removeprefix(failure.root)
        lines.append(f"{target}.data = {target}{work.cast(binding.source, binding.statement, match['dtype'])}")
    _insert(work, binding, "\n".join(lines), "cast-parameter")


def keep_class_in_float32(work: Work, cls: str) -> None:
    """Put every module of a class back into float32 after the model was cast."""
    binding, root = module_binding(work)
    source = binding.source
    test = f"isinstance(module, {cls})" if _is_name_of(source, cls) else f'type(module).__name__ == "{cls}"'
    code = f"for module in {root}.modules():\n    if {test}:\n        module.float()  # its forward computes in float32"
    _insert(work, binding, code, "keep-float32")


def _is_name_of(source: Source, cls: str) -> bool:
    """Tell whether the file defines or imports a class at its top level."""
    import libcst as cst

    for one in source.module.body:
        if isinstance(one, cst.ClassDef) and one.name.value == cls:
            return True
        for small in one.body if isinstance(one, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.ImportFrom) and not isinstance(small.names, cst.ImportStar):
                names = [alias.asname.name if alias.asname else alias.name for alias in small.names]
                if any(source.code(name) == cls for name in names):
                    return True
    return False


def whole_float32(work: Work) -> None:
    """Take back the cast that made the model's weights half: where the script says it, else by a cast behind it."""
    try:
        change_dtype(work, "float32")
        return
    except RefusedError:
        if work.scene.failure is None or not work.scene.spots:
            raise
    cast_module(work, "", "float32")


def move_module(work: Work, path: str, device: str) -> None:
    """Move a module to where most of the model is."""
    binding, root = module_binding(work)
    last = last_touch(binding)
    _insert(work, binding, f"{call(root, path)}.to({work.device(binding.source, last, device)})", "move-module")


def call(root: str, path: str) -> str:
    """Return how code reaches a module."""
    code = root
    for part in path.split(".") if path else ():
        code += f"[{part}]" if part.isdigit() else f".{part}"
    return code
