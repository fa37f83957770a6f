"""One exception, one report: diagnosed within a time limit, written where it should go, whatever goes wrong on the way."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from troubleshoot.handlers.apart import ours
from troubleshoot.handlers.options import Options, is_logger

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis

#: In an exception's own attributes: it has been reported.
_MARK = "__troubleshoot_reported__"
#: Exceptions that end a program on purpose.
_PURPOSE = (KeyboardInterrupt, SystemExit, GeneratorExit)

_busy = threading.local()


def report(exception: BaseException | None, options: Options) -> Diagnosis | None:
    """Diagnose an exception and write the report. Returns the diagnosis that was reported, or None. No Exception leaves this function.

    An exception is reported once, however many handlers it passes, and once per node of a distributed run.
    """
    if exception is None or isinstance(exception, _PURPOSE) or getattr(_busy, "now", False):
        return None
    _busy.now = True
    try:
        with ours():
            return _reported(exception, options)
    except Exception:
        return None
    finally:
        _busy.now = False


def _reported(exception: BaseException, options: Options) -> Diagnosis | None:
    if _seen(exception):
        return None
    from troubleshoot.handlers.election import elected, patience

    with patience():
        diagnosis: Diagnosis | None = in_time(lambda: _diagnose(exception, options), options.timeout)
        if diagnosis is None or diagnosis.verdict not in options.verdicts or not elected():
            return None
        deliver(diagnosis, exception, options)
        return diagnosis


def _seen(exception: BaseException) -> bool:
    """Tell whether an exception, or the one that it was raised from, was reported before, and mark it."""
    from troubleshoot.engine.live.objects import instance_dict

    one: BaseException | None = exception
    for _ in range(8):
        if one is None:
            break
        own = instance_dict(one)
        if own.get(_MARK) is True:
            return True
        one = BaseException.__dict__["__cause__"].__get__(one)
    instance_dict(exception)[_MARK] = True
    return False


def _diagnose(exception: BaseException, options: Options) -> Diagnosis:
    from troubleshoot.engine.diagnosis import diagnose

    base = options.base
    if base is None and options.kb:
        from troubleshoot.knowledge import load_kb

        base = load_kb(options.kb)
    return diagnose(exception, kb=base, language=options.language)


def in_time(work: Callable[[], Any], seconds: float) -> Any:
    """Return what ``work`` returns, or None where it raises or takes longer. It runs in a thread, so that what hangs can be left behind."""
    done: list[Any] = []

    def run() -> None:
        _busy.now = True
        try:
            with ours():
                done.append(work())
        except BaseException:
            # Told by the empty list: nothing may reach threading.excepthook from here.
            return

    try:
        thread = threading.Thread(target=run, name="troubleshoot", daemon=True)
        thread.start()
    except RuntimeError:
        # No more threads, or the interpreter is about to end.
        run()
        return done[0] if done else None
    thread.join(seconds)
    return done[0] if done else None


def deliver(diagnosis: Diagnosis, exception: BaseException, options: Options) -> None:
    """Write a diagnosis where the options say. Raises what writing raises."""
    output = options.output
    if output == "notes":
        add_note(exception, _text(diagnosis, options))
    elif isinstance(output, str):
        write_stderr(diagnosis, options)
    elif isinstance(output, os.PathLike):
        _append(os.fspath(output), diagnosis, options)
    elif is_logger(output):
        output.error(_text(diagnosis, options, full=True).rstrip("\n"))
    else:
        output(diagnosis)


def _text(diagnosis: Diagnosis, options: Options, *, color: bool = False, width: int = 100, full: bool = False) -> str:
    """Return the text: ``full`` where it is kept, for nobody can ask for the rest of it later."""
    from troubleshoot.telling import render

    return render(diagnosis, "text", color=color, width=width, redact=options.redact, full=full)


def write_stderr(diagnosis: Diagnosis, options: Options) -> None:
    """Write the report to stderr, in one piece, in what its encoding holds."""
    stream = stderr()
    if stream is None:
        return
    terminal = False
    width = 100
    try:
        terminal = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        width = os.get_terminal_size(stream.fileno()).columns if terminal else width
    except (OSError, ValueError, AttributeError):
        pass
    text = "\n" + _text(diagnosis, options, color=terminal, width=max(60, width))
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding, "replace"))
    stream.flush()


def stderr() -> TextIO | None:
    """Return the stream for reports: ``sys.stderr``, or the original one where that is closed; None where there is none."""
    for stream in (sys.stderr, sys.__stderr__):
        if stream is not None and not getattr(stream, "closed", False):
            return stream
    return None


def add_note(exception: BaseException, text: str) -> None:
    """Add a note that Python (3.11 or later) prints below the exception."""
    from troubleshoot.engine.live.objects import instance_dict

    notes = instance_dict(exception).setdefault("__notes__", [])
    if type(notes) is list:
        notes.append(text.rstrip("\n"))


def _append(path: str, diagnosis: Diagnosis, options: Options) -> None:
    if path.endswith(".jsonl"):
        from troubleshoot.basics.json_text import json_text

        text = json_text(diagnosis.to_dict(redact=options.redact)) + "\n"
    else:
        text = _text(diagnosis, options, full=True) + "\n"
    # One write to a file opened for appending: reports of several processes do not mix.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(handle, text.encode("utf-8", "backslashreplace"))
    finally:
        os.close(handle)
