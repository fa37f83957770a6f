"""asyncio: exceptions of callbacks and of tasks that nobody awaited go to the event loop's exception handler, not to a hook.

asyncio is not imported for this: where the program imports it later, the event loop class is wrapped then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_MODULE = "asyncio.base_events"
_tell: list[Callable[[BaseException], None]] = []
_originals: list[tuple[Any, Any]] = []


def attach(tell: Callable[[BaseException], None]) -> None:
    """Call ``tell`` with each exception that an event loop's exception handler has handled."""
    _tell[:] = [tell]
    module = sys.modules.get(_MODULE)
    if module is not None:
        _wrap(module)
    elif _waiting not in sys.meta_path:
        sys.meta_path.insert(0, _waiting)


def detach() -> None:
    """Undo :func:`attach`."""
    _tell.clear()
    if _waiting in sys.meta_path:
        sys.meta_path.remove(_waiting)
    while _originals:
        loop, original = _originals.pop()
        if getattr(loop.call_exception_handler, "_troubleshoot", False):
            loop.call_exception_handler = original


def _wrap(module: ModuleType) -> None:
    loop = getattr(module, "BaseEventLoop", None)
    if loop is None or getattr(loop.call_exception_handler, "_troubleshoot", False):
        return
    original = loop.call_exception_handler

    def call_exception_handler(self: Any, context: dict[str, Any]) -> None:
        original(self, context)
        exception = context.get("exception")
        if _tell and isinstance(exception, BaseException):
            _tell[0](exception)

    call_exception_handler._troubleshoot = True  # type: ignore[attr-defined]
    call_exception_handler.__doc__ = original.__doc__
    loop.call_exception_handler = call_exception_handler
    _originals.append((loop, original))


class _Waiting:
    """Finds nothing itself; when the event loop's module is imported, it has the real finders find it and wraps it once it is loaded."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _MODULE:
            return None
        if _waiting in sys.meta_path:
            sys.meta_path.remove(_waiting)
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    _wrap_after(spec.loader)
                return spec  # type: ignore[no-any-return]
        return None


def _wrap_after(loader: Any) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        if _tell:
            _wrap(module)

    loader.exec_module = exec_module


_waiting: Any = _Waiting()
