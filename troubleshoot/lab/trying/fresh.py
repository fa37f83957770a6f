"""Running the user's program in a fresh process, and what became of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.lab.editing.failure import Failure, decode
from troubleshoot.lab.verify import processes
from troubleshoot.lab.verify.signals import Stop

#: By its path: see there.
_BOOT = str(Path(__file__).with_name("boot.py"))

#: Seconds that one rerun may take unless the caller says otherwise.
TIMEOUT = 600.0
#: Seconds between two looks at whether a signal has come.
_LOOK = 0.2


@dataclass(frozen=True)
class Program:
    """A script, or a module with ``module``, its arguments, and the folders of further entries for its diagnosis."""

    target: str
    arguments: tuple[str, ...] = ()
    module: bool = False
    kb: tuple[str, ...] = ()

    @cached_property
    def file(self) -> str:
        """The file that holds the program: the script itself, or the module's as ``python -m`` finds it from the working folder.

        Raises:
            InputError: there is no such module, or it is no Python source.
        """
        return module_file(self.target) if self.module else self.target


def module_file(name: str) -> str:
    """Return the source file that ``python -m NAME`` runs. None of the packages on the way is imported.

    Raises:
        InputError: there is no such module, or it is no Python source.
    """
    places: Sequence[str] | None = [str(Path.cwd()), *sys.path]
    parts = name.split(".")
    spec = None
    for end in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:end]), places) if places is not None else None
        if spec is None:
            raise InputError(f"no module named {name}: run it from the folder that holds it, as for python -m")
        places = spec.submodule_search_locations
    if places is not None:
        spec = PathFinder.find_spec(f"{name}.__main__", places)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        what = "it is a package without __main__.py" if spec is None else spec.origin
        raise InputError(f"{name} has no source that could be edited: {what}")
    return spec.origin


@dataclass(frozen=True)
class Job:
    """What a child is told.

    ``sources`` maps real paths to files that hold edited sources, ``options`` are those of the report on stderr, ``check`` is what
    :mod:`troubleshoot.lab.trying.checked` wants to be seen.
    """

    target: str
    arguments: tuple[str, ...]
    module: bool
    note: str
    state: str
    parent: int
    sources: Mapping[str, str] = field(default_factory=dict)
    trial: Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None
    kb: tuple[str, ...] = ()
    check: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Ran:
    """How a program ended.

    ``outcome`` is one of those of a verification (ok, raised, exited, hang, segfault, signal, out-of-memory, device-side-assert,
    import-error, cannot-run). ``passed`` tells whether the call that had failed came through (None: unknown), ``applied`` whether a live
    patch was, and ``changed`` whether it changed anything. ``output`` is what it printed on both streams; empty where they were the
    user's own.
    """

    outcome: str
    error: str | None = None
    status: int = 0
    seconds: float = 0.0
    output: str = ""
    failure: Failure | None = None
    passed: bool | None = None
    applied: bool | None = None
    changed: bool | None = None


def run_program_fresh(
    program: Program,
    folder: Path,
    stop: Stop,
    *,
    timeout: float = TIMEOUT,
    trial: Mapping[str, Any] | None = None,
    sources: Mapping[str, bytes] | None = None,
    check: Mapping[str, Any] | None = None,
) -> Ran:
    """Run a program with its output captured and an empty standard input, under a trial, with edited sources, or checked.

    Raises:
        Interrupted: a signal came; the child is gone by then.
    """
    command, note, state = _start(program, folder, os.getpid(), trial, sources or {}, None, check)
    done = processes.run(command, stop=stop, timeout=timeout)
    told = _told(state) if trial is not None else {}
    if told.get("refused"):
        return Ran("cannot-run", told["refused"], done.code, done.seconds, done.output)
    failure = _failure(note)
    outcome, error = _outcome(done, failure, bool(told.get("passed")))
    return Ran(outcome, error, done.code, done.seconds, done.output, failure, told.get("passed"), told.get("applied"), told.get("changed"))


def run_as_user(
    program: Program, folder: Path, options: Mapping[str, Any], stop: Stop, stdout: Any = None
) -> tuple[int, Failure | None]:
    """Run a program with the user's own streams, terminal and signals; return its exit status and what it died of.

    The status is negative for a signal. ``stdout`` is what its standard output goes to (default: ours). A signal that asks to stop is
    handed on.
    """
    command, note, _ = _start(program, folder, 0, None, {}, options)
    # The terminal sends an interrupt to both: the program decides what becomes of it.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = subprocess.Popen(command, stdout=stdout, preexec_fn=_default_interrupt if os.name == "posix" else None)
        status = _wait(child, stop)
    finally:
        signal.signal(signal.SIGINT, before)
    return status, _failure(note)


def _wait(child: subprocess.Popen[bytes], stop: Stop) -> int:
    while True:
        try:
            return child.wait(_LOOK)
        except subprocess.TimeoutExpired:
            if stop.signal is not None:
                child.send_signal(stop.signal)
                return child.wait()


def _default_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _start(
    program: Program,
    folder: Path,
    parent: int,
    trial: Mapping[str, Any] | None,
    sources: Mapping[str, bytes],
    options: Mapping[str, Any] | None,
    check: Mapping[str, Any] | None = None,
) -> tuple[list[str], Path, Path]:
    note, state = folder / "failure.json", folder / "state.json"
    for one in (note, state):
        one.unlink(missing_ok=True)
    held: dict[str, str] = {}
    for number, (path, source) in enumerate(sources.items()):
        place = folder / f"edited-{number}.py"
        place.write_bytes(source)
        held[path] = str(place)
    job = Job(program.target, program.arguments, program.module, str(note), str(state), parent, held, trial, options, program.kb, check)
    place = folder / "job.json"
    place.write_text(json.dumps(asdict(job)), encoding="utf-8")
    return [sys.executable, *_flags(), _BOOT, str(place)], note, state


def _flags() -> list[str]:
    """Return the options that this interpreter was given, such as -O, -W and -X: the program gets them too."""
    # What multiprocessing uses for its own children; sys.flags, sys.warnoptions and sys._xoptions put into words.
    return list(getattr(subprocess, "_args_from_interpreter_flags", list)())


def _told(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        told = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(told, dict):
            return told
    return {}


def _failure(path: Path) -> Failure | None:
    with suppress(OSError, ValueError):
        return decode(path.read_bytes())
    return None


def _outcome(done: processes.Finished, failure: Failure | None, passed: bool) -> tuple[str, str | None]:
    """Name the end of a program; see ``troubleshoot.lab.verify.runs``."""
    if done.ended == "hang":
        beyond = ", past the call that failed" if passed else ""
        return "hang", f"still running after {done.seconds:.0f} s{beyond}"
    if failure is not None:
        text = failure.error
        if text.startswith(("ImportError", "ModuleNotFoundError")):
            return "import-error", text
        if "out of memory" in text or "OutOfMemoryError" in text or text.startswith("MemoryError"):
            return "out-of-memory", text
        return ("device-side-assert" if "device-side assert" in text else "raised"), text
    if done.code < 0:
        name = _signal(-done.code)
        if name in ("SIGSEGV", "SIGBUS"):
            return "segfault", f"crashed with {name}"
        if name == "SIGKILL":
            return "out-of-memory", "was killed by the system, most likely for its memory"
        return "signal", f"ended by {name}"
    return ("exited", f"ended with exit status {done.code}") if done.code else ("ok", None)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


