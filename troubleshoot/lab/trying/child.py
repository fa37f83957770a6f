"""The child process: runs the user's program as ``python`` does, notes what it dies of, and plays one live patch where it is told to.

It is started by :mod:`~troubleshoot.lab.trying.boot`; its only argument is the path of its job
(:class:`~troubleshoot.lab.trying.fresh.Job` as JSON).
Before the program begins, as little as possible is imported: what diagnoses comes when it has failed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from troubleshoot.handlers import apart

if TYPE_CHECKING:
    from troubleshoot.lab.editing.failure import Failure, KnownValue

#: Local and global names of one frame that are looked at.
_MOST_NAMES = 200
#: Seconds for looking into the exception.
_PATIENCE = 3.0
_DEVICES = ("cuda", "cpu", "mps", "xpu", "meta", "npu", "hpu")
_TRYING = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100,PTH120
_OURS = (_TRYING, os.path.join(os.path.dirname(_TRYING), "checking"))  # noqa: PTH118,PTH120


def main(known: frozenset[str]) -> int:
    """Run the job and return the program's exit status. ``known`` are the modules that Python itself has loaded."""
    apart.begin(known)
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    if job["parent"]:
        _let_go_of_input(job["parent"])
    note = Path(job["note"])
    previous = sys.excepthook

    def hook(kind: type[BaseException], value: BaseException, traceback: TracebackType | None) -> None:
        traceback = without_ours(traceback)
        value = value.with_traceback(traceback)
        if previous is sys.__excepthook__ and job["sources"]:
            with apart.ours(ended=True):
                _print(kind, value, traceback)
        else:
            previous(kind, value, traceback)
        with suppress(Exception), apart.ours(ended=True):
            from troubleshoot.lab.editing.failure import encode

            _write(note, encode(_failure(value, job["kb"])))

    sys.excepthook = hook
    sources = {path: Path(edited).read_bytes() for path, edited in job["sources"].items()}
    if sources:
        from troubleshoot.lab.trying.sources import stand_in

        stand_in(sources)
    if job["trial"] is not None:
        from troubleshoot.lab.trying.patching import prepare

        prepare(job["trial"], Path(job["state"]))
    conclude = _nothing
    if job["check"] is not None:
        from troubleshoot.lab.trying.checked import prepare_check

        conclude = prepare_check(job["check"])
    from troubleshoot.handlers.options import options
    from troubleshoot.handlers.running import run_program

    given = job["options"]
    output: Any = _nowhere
    if given is not None:
        output = Path(given["output"]) if given["output"] else "stderr"
    checked = options(output, **({key: given[key] for key in ("language", "kb", "redact")} if given is not None else {}))
    try:
        return run_program(job["target"], job["arguments"], checked, module=job["module"], sources=sources)
    finally:
        conclude()


def _nothing() -> None:
    """What is to be done at the end of a program that is not checked."""


def _nowhere(_: object) -> None:
    """Where the report goes that nobody asked for."""


def _let_go_of_input(parent: int) -> None:
    """Keep the pipe that tells of the parent's end, and give the program an empty standard input."""
    from troubleshoot.lab.verify.child import tie_to

    kept = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    tie_to(parent, kept)


def _print(kind: type[BaseException], value: BaseException, traceback: TracebackType | None) -> None:
    """Print a traceback with the lines of the edited sources, which are in no file."""
    import traceback as printer

    printer.print_exception(kind, value, traceback)


def without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of the patch that is tried, of what checks, and of what that calls in turn."""
    frames = []
    ours = False
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        # An operation that is looked at is called once more by torch's own wrapper of it.
        ours = file.startswith(_OURS) or (ours and os.path.basename(file) == "_ops.py")  # noqa: PTH119
        if not ours:
            frames.append(traceback)
        traceback = traceback.tb_next
    rebuilt: TracebackType | None = None
    for one in reversed(frames):
        rebuilt = TracebackType(rebuilt, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return rebuilt


def _failure(error: BaseException, kb: Sequence[str] = ()) -> Failure:
    from troubleshoot.engine.diagnosis import diagnose
    from troubleshoot.engine.live import looking
    from troubleshoot.knowledge import load_kb
    from troubleshoot.lab.editing.failure import failure_of

    usual = looking.LIMIT
    # The program has ended and nobody waits for its exit: a busy machine must not hide the culprit.
    looking.LIMIT = _PATIENCE
    try:
        diagnosis = diagnose(error, kb=load_kb(kb) if kb else None)
        return failure_of(diagnosis, looking.look(error), tuple(_values(error.__traceback__)))
    finally:
        looking.LIMIT = usual


def _values(traceback: TracebackType | None) -> list[KnownValue]:
    """Return the names of dtypes and devices in the frames of the user's own code."""
    from troubleshoot.lab.editing.failure import KnownValue
    from troubleshoot.reading.places import locate

    found: dict[tuple[str, str | None, str], KnownValue] = {}
    while traceback is not None:
        frame: FrameType = traceback.tb_frame
        file = frame.f_code.co_filename
        if locate(file.replace("\\", "/"))[0] == "user":
            own = frame.f_code.co_name
            scopes = [(None, frame.f_globals)] if own == "<module>" else [(own, dict(frame.f_locals)), (None, frame.f_globals)]
            for function, names in scopes:
                for name, value in list(names.items())[:_MOST_NAMES]:
                    kind = _kind(value)
                    if kind is not None and not name.startswith("__"):
                        found[(file, function, name)] = KnownValue(file, function, name, kind, str(value).removeprefix("torch."))
        traceback = traceback.tb_next
    return list(found.values())


def _kind(value: Any) -> str | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    if type(value) is getattr(torch, "dtype", None):
        return "dtype"
    if type(value) is getattr(torch, "device", None) or (type(value) is str and value.partition(":")[0] in _DEVICES):
        return "device"
    return None


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(".part")
    temporary.write_bytes(data)
    temporary.replace(path)
