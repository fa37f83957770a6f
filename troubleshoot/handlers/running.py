"""Running a program as python does, with a diagnosis after its traceback.

The program runs in this process as ``__main__``: the same argv, path, streams and exit status. Only frames of ours are taken out of its
traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType, TracebackType
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.handlers import apart
from troubleshoot.handlers.options import Options


def run_program(
    target: str, arguments: Sequence[str], options: Options, *, module: bool = False, sources: Mapping[str, bytes] | None = None
) -> int:
    """Run a script, or a module with ``module``, with its arguments, and return the exit status.

    ``sources`` has, by absolute path, what is run in place of what the script's file holds.

    Raises:
        InputError: there is no such script.
        SystemExit: the program's own.
        KeyboardInterrupt: the program was interrupted; its traceback has been printed, what is left is the end by SIGINT.
    """
    from troubleshoot.handlers import hooks

    source = b"" if module else _source(target)
    if sources and source is not None:
        source = sources.get(os.path.realpath(target), source)
    hooks.install(options.output, language=options.language, kb=options.kb, redact=options.redact)
    sys.argv[:] = [target, *arguments]
    try:
        if module:
            _run_module(target)
        else:
            _run_script(os.path.abspath(target), source)  # noqa: PTH100  (pathlib would be one import more than python makes)
    except SystemExit:
        raise
    except BaseException as error:
        traceback = _without_ours(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        if isinstance(error, KeyboardInterrupt):
            sys.excepthook = _silent
            raise
    else:
        return 0
    return 1


def _silent(*_: object) -> None:
    """Stand in for an excepthook that has done its work."""


def _source(path: str) -> bytes | None:
    """Return a script's source, None for a folder or an archive with ``__main__``. Raises InputError."""
    if os.path.isdir(path):  # noqa: PTH112
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            source = file.read()
    except OSError as error:
        raise InputError(f"cannot run {path}: {error.strerror or error}") from error
    return None if source[:4] == b"PK\x03\x04" else source


def _run_script(path: str, source: bytes | None) -> None:
    import builtins

    if source is None:
        import runpy

        # The folder or the archive is in sys.path whatever Python was told: it is where __main__ is found.
        apart.hand_over(path)
        runpy.run_path(path, run_name="__main__")
        return
    main = ModuleType("__main__")
    # As python does: https://docs.python.org/3/library/__main__.html
    main.__dict__.update(__file__=path, __builtins__=builtins, __annotations__={}, __cached__=None, __loader__=_loader(path))
    sys.modules["__main__"] = main
    code = compile(source, path, "exec", dont_inherit=True)
    apart.hand_over(_first(os.path.dirname(os.path.realpath(path))))  # noqa: PTH120
    exec(code, main.__dict__)


def _loader(path: str) -> Any:
    from importlib.machinery import SourceFileLoader

    return SourceFileLoader("__main__", path)


def _run_module(name: str) -> None:
    import runpy

    apart.hand_over(_first(os.getcwd()))  # noqa: PTH109
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _first(folder: str) -> str | None:
    """Return the folder that Python would put first in ``sys.path``; None where it was told to put none."""
    return None if sys.flags.safe_path else folder


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the program's first frame on."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100,PTH120
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not (file.startswith(folder) or file == "<frozen runpy>" or os.path.basename(file) == "runpy.py"):  # noqa: PTH119
            return traceback
        traceback = traceback.tb_next
    return None
