"""One job in one fresh process: what happens there gets a name, whatever it is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from troubleshoot.lab.verify import processes
from troubleshoot.lab.verify.isolated import Interpreter
from troubleshoot.lab.verify.outcomes import Case, Job, RunOutcome, RunResult
from troubleshoot.lab.verify.signals import Stop

_MODULE = "troubleshoot.lab.verify.child"


def run_job(
    job: Job, case: Case, interpreter: Interpreter, stop: Stop, *, timeout: float | None = None, module: str = _MODULE
) -> RunResult:
    """Run a job and return how it ended; nothing that the child does is raised here.

    Raises:
        Interrupted: a signal came; the child is gone by then.
    """
    result = Path(job.folder) / "result.json"
    result.unlink(missing_ok=True)
    given = json.dumps({**asdict(job), "parent": os.getpid(), "result": str(result)}).encode() + b"\n"
    try:
        done = processes.run(
            [interpreter.python, "-P", "-m", module],
            stop=stop,
            timeout=case.timeout if timeout is None else timeout,
            memory_mib=case.memory_mib,
            given=given,
            environment=interpreter.environment(),
            folder=Path(job.folder),
        )
    except OSError as error:
        return RunResult("cannot-run", error=f"{interpreter.python}: {error.strerror or error}")
    told = _read(result)
    if told is None:
        outcome, why = _unnatural(done, case)
        return RunResult(outcome, why, done.output or None, done.seconds, done.peak_mib, output=done.output)
    return RunResult(
        outcome=told["outcome"],
        error=told.get("error"),
        traceback=told.get("traceback"),
        seconds=float(told["seconds"]),
        peak_mib=done.peak_mib,
        relative_error=told.get("relative_error"),
        bytes_per_parameter=told.get("bytes_per_parameter"),
        detail=told,
        output=done.output,
    )


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) and "outcome" in told else None


def _unnatural(done: processes.Finished, case: Case) -> tuple[RunOutcome, str]:
    """Name the end of a child that left no result."""
    if done.ended == "hang":
        return "hang", f"did not end within {done.seconds:.0f} s"
    if done.ended == "memory":
        return "out-of-memory", f"took more than {case.memory_mib} MiB and was stopped"
    if done.code < 0:
        import signal

        try:
            name = signal.Signals(-done.code).name
        except ValueError:
            name = f"signal {-done.code}"
        if name in ("SIGSEGV", "SIGBUS"):
            return "segfault", f"crashed with {name}"
        if name == "SIGKILL":
            return "out-of-memory", "was killed by the system, most likely for its memory"
        return "signal", f"ended by {name}"
    # Windows reports an access violation as a status code.
    if done.code & 0xFFFFFFFF == 0xC0000005:
        return "segfault", "crashed with an access violation"
    said = next((line.strip() for line in reversed(done.output.splitlines()) if line.strip()), "") if done.output else ""
    return "exited", f"ended with exit code {done.code}: {said[:200]}" if said else f"ended with exit code {done.code} and told nothing"
