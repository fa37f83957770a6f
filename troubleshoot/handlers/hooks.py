"""``install()``: every exception that nobody catches is diagnosed after Python has printed it.

Hooks that were there before are called first, with everything they got; what is wrapped around ours later is left in place.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from troubleshoot.handlers.apart import ours
from troubleshoot.handlers.explaining import report
from troubleshoot.handlers.options import TIMEOUT, VERDICTS, Options, options

if TYPE_CHECKING:
    import os

    from troubleshoot.engine.result import Diagnosis
    from troubleshoot.knowledge import KnowledgeBase


class _Installed:
    """The options in force, None after ``uninstall()``; and for each hook of ours what was there before it.

    No dataclass: importing dataclasses would take longer than all of ``install()``.
    """

    def __init__(self) -> None:
        self.options: Options | None = None
        self.excepthook: Any = None
        self.threading: Any = None
        self.unraisable: Any = None


_state = _Installed()
_lock = threading.Lock()


def install(
    output: str | os.PathLike[str] | Callable[[Diagnosis], object] | Any = "stderr",
    *,
    language: str | None = None,
    kb: Sequence[str | os.PathLike[str]] = (),
    redact: bool = False,
    verdicts: Sequence[str] = VERDICTS,
    timeout: float = TIMEOUT,
) -> None:
    """Diagnose what nobody catches: in the main program, in threads, in asyncio callbacks and tasks, and what Python cannot raise.

    ``output`` is "stderr", a path, a logger or a function that gets the Diagnosis (:func:`troubleshoot.handlers.options.options`). A second
    call changes the options and installs nothing twice.

    Raises:
        InputError: an option cannot be used.
    """
    checked = options(output, language=language, kb=kb, redact=redact, verdicts=verdicts, timeout=timeout)
    if checked.output == "notes":
        from troubleshoot.basics.errors import InputError

        raise InputError('output="notes" would come too late, the traceback is printed first: use it with guard() or @explain')
    from troubleshoot.handlers import loops

    with _lock:
        _state.options = checked
        if sys.excepthook is not _excepthook and _state.excepthook is None:
            _state.excepthook, sys.excepthook = sys.excepthook, _excepthook
        if threading.excepthook is not _threading_hook and _state.threading is None:
            _state.threading, threading.excepthook = threading.excepthook, _threading_hook
        if sys.unraisablehook is not _unraisable_hook and _state.unraisable is None:
            _state.unraisable, sys.unraisablehook = sys.unraisablehook, _unraisable_hook
        loops.attach(_asyncio_report)


def uninstall() -> None:
    """Put the previous hooks back. One that somebody has wrapped since stays where it is and does nothing but call the previous one."""
    from troubleshoot.handlers import loops

    with _lock:
        _state.options = None
        if _state.excepthook is not None and sys.excepthook is _excepthook:
            sys.excepthook, _state.excepthook = _state.excepthook, None
        if _state.threading is not None and threading.excepthook is _threading_hook:
            threading.excepthook, _state.threading = _state.threading, None
        if _state.unraisable is not None and sys.unraisablehook is _unraisable_hook:
            sys.unraisablehook, _state.unraisable = _state.unraisable, None
        loops.detach()


def reload() -> KnowledgeBase:
    """Read the knowledge base and the installed overlays anew; handlers use it from their next report on.

    Either all of the new base is used or all of the old one: it is put in place in one step, once it has been read.

    Raises:
        KnowledgeError: it cannot be read; the old one stays in force.
    """
    from troubleshoot.knowledge import load_kb

    now = _state.options
    base = load_kb(now.kb if now is not None else ())
    with _lock:
        if _state.options is not None:
            _state.options = _state.options._replace(base=base)
    return base


def _excepthook(kind: type[BaseException], value: BaseException, traceback: Any) -> None:
    previous = _state.excepthook or sys.__excepthook__
    previous(kind, value, traceback)
    now = _state.options
    if now is None:
        return
    _flush()
    if _captured():
        # torch.distributed has put a buffer in place of stderr and prints it, with the rank, when we return.
        import atexit

        atexit.register(_report, value, now)
        return
    _report(value, now)


def _report(value: BaseException, now: Options) -> None:
    try:
        with ours(ended=True):
            report(value, now)
    except KeyboardInterrupt:
        # Ctrl-C ends the diagnosis; the exception that ended the program keeps its exit status.
        return


def _captured() -> bool:
    """Tell whether stderr is a buffer that somebody prints later."""
    io = sys.modules.get("io")
    return io is not None and isinstance(sys.stderr, io.StringIO)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            continue


def _threading_hook(arguments: Any) -> None:
    previous = _state.threading or threading.__excepthook__
    previous(arguments)
    now = _state.options
    if now is not None:
        report(arguments.exc_value, now)


def _unraisable_hook(unraisable: Any) -> None:
    previous = _state.unraisable or sys.__unraisablehook__
    previous(unraisable)
    now = _state.options
    # While the interpreter ends, modules are half gone.
    if now is not None and not sys.is_finalizing():
        report(unraisable.exc_value, now)


def _asyncio_report(exception: BaseException) -> None:
    now = _state.options
    if now is not None:
        report(exception, now)
