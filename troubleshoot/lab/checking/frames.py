"""Which line of the user's program an operation belongs to, and which module."""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType
from typing import Any

from troubleshoot.lab.checking.check_findings import Place
from troubleshoot.reading.places import locate

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100,PTH120
_own: dict[CodeType, bool] = {}
#: torch's own frame around every call of a module.
_CALLS = ("_call_impl", "_wrapped_call_impl")
_MOST = 200


def is_users(code: CodeType) -> bool:
    """Tell whether code is the user's: neither ours, nor a library's, nor Python's."""
    known = _own.get(code)
    if known is None:
        name = code.co_filename.replace("\\", "/")
        known = _own[code] = not code.co_filename.startswith(_ROOT) and not name.startswith("<") and locate(name)[0] == "user"
        if name.startswith(("<stdin>", "<doctest", "<ipython-input")) or "/ipykernel_" in name:
            known = _own[code] = True
    return known


def users_line(start: FrameType | None = None) -> Place:
    """Return the innermost line outside of libraries; an empty place where there is none."""
    frame: FrameType | None = start or sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_users(code):
            return Place(code.co_filename, frame.f_lineno or 0)
        frame = frame.f_back
    return Place()


def module_path() -> str:
    """Return the qualified name of the module whose forward is running, seen from the outermost one; "" outside of modules."""
    import torch

    found: list[Any] = []
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_MOST):
        if frame is None:
            break
        if frame.f_code.co_name in _CALLS:
            one = frame.f_locals.get("self")
            if isinstance(one, torch.nn.Module) and (not found or found[-1] is not one):
                found.append(one)
        frame = frame.f_back
    if not found:
        return ""
    inner, outer = found[0], found[-1]
    return next((name for name, one in outer.named_modules() if one is inner), "") or type(outer).__name__


def inside_module() -> int:
    """Return how many calls of modules are under way."""
    count = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        count += frame.f_code.co_name == "_call_impl"
        frame = frame.f_back
    return count


def run_uncompiled() -> list[bool]:
    """Let what ``torch.compile`` is asked for run eagerly, where torch can (2.6 on): compiled code shows no operations.

    The list that is returned holds something once that has happened.
    """
    import functools

    import torch

    happened: list[bool] = []
    original = torch.compile

    @functools.wraps(original)
    def compile(*args: Any, **kwargs: Any) -> Any:
        if not happened and hasattr(torch.compiler, "set_stance"):
            happened.append(True)
            torch.compiler.set_stance("force_eager")
        return original(*args, **kwargs)

    torch.compile = compile
    return happened
