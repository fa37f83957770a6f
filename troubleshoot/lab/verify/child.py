"""The child process: runs one job, read from standard input, and writes its result beside the case's files.

Only this module and those it imports must be importable in an isolated environment: it uses torch, the standard library and nothing else.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

#: The longest text that is handed back.
_MOST = 40_000


def tie_to(parent: int, pipe: int = 0) -> None:
    """Die with the parent: by the kernel's signal on Linux, elsewhere because its end of a pipe, which is standard input, closes."""
    if sys.platform == "linux":
        import ctypes
        import signal

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        # It may have died before that call.
        if parent and os.getppid() != parent:
            os._exit(1)
    threading.Thread(target=_await_end_of_input, args=(pipe,), daemon=True).start()


def _await_end_of_input(pipe: int) -> None:
    try:
        while os.read(pipe, 4096):
            pass
    except OSError:
        return
    os._exit(1)


def main() -> int:
    """Run the job on standard input. The exit code is 0 whatever the program does; a result file says what it did."""
    job = json.loads(sys.stdin.buffer.readline())
    tie_to(int(job["parent"]))
    began = time.monotonic()
    result: dict[str, Any] = {"outcome": "ok"}
    try:
        result.update(_run(job))
    except BaseException as error:
        result.update(_failed(error))
    result["seconds"] = round(time.monotonic() - began, 3)
    result["sys_path"] = [entry or str(Path.cwd()) for entry in sys.path]
    result["python"] = ".".join(map(str, sys.version_info[:3]))
    target = Path(job["result"])
    temporary = target.with_suffix(".part")
    temporary.write_text(json.dumps(result), encoding="utf-8")
    temporary.replace(target)
    sys.stdout.flush()
    sys.stderr.flush()
    # A thread of the program, or a destructor after a lost CUDA context, must not keep this process.
    os._exit(0)


def _run(job: dict[str, Any]) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    # The reference is float32: TF32 would show up as an error of the program.
    if hasattr(torch.backends, "cudnn"):
        torch.backends.cudnn.allow_tf32 = False
    found: dict[str, Any] = {"torch": str(torch.__version__)}
    if job["device"] == "cuda":
        found.update(_accelerator(torch))
    from troubleshoot.lab.verify.registry import find_case

    if job["role"] == "timing":
        from troubleshoot.lab.verify import timing

        seconds = timing.measure(torch, job["device"], job["dtypes"] or timing.DTYPES)
        return found | {"timings": seconds, "hidden": timing.HIDDEN, "tokens": timing.TOKENS}
    case = find_case(job["case"])
    if job["role"] == "reference":
        return found | _reference(torch, case, job)
    return found | _attempt(torch, case, job)


def _accelerator(torch: Any) -> dict[str, Any]:
    if not torch.cuda.is_available():
        raise CannotRunError("torch finds no CUDA device here")
    major, minor = torch.cuda.get_device_capability()
    return {"device_name": torch.cuda.get_device_name(), "capability": f"{major}.{minor}"}


class CannotRunError(Exception):
    """The case cannot be run here; the message says why."""


def _seeded(torch: Any, case: Any, setting: Any) -> Any:
    torch.manual_seed(0)
    return case.build(setting)


def _reference(torch: Any, case: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Compute the reference, and how far from it a healthy run of each dtype is."""
    from troubleshoot.lab.verify.compare import relative_error, round_model, round_to
    from troubleshoot.lab.verify.outcomes import Setting

    setting = Setting(getattr(torch, case.reference), torch.device("cpu"), False, Path(job["folder"]))
    output = _seeded(torch, case, setting).run().detach().clone()
    healthy: dict[str, float | None] = {}
    for name in job["dtypes"]:
        program = _seeded(torch, case, setting)
        dtype = getattr(torch, name)
        round_model(program.model, dtype)
        rounded = round_to(program.inputs, dtype)
        healthy[name] = relative_error(program.run(rounded), output)
    torch.save(output, job["reference"])
    return {"healthy": healthy, "finite": bool(torch.isfinite(output).all())}


def _attempt(torch: Any, case: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Run the faulty program, with the fix that the job names, and hold its output against the reference."""
    from troubleshoot.lab.verify import compare
    from troubleshoot.lab.verify.outcomes import Setting
    from troubleshoot.lab.verify.patches import apply

    device = torch.device(job["device"])
    setting = Setting(getattr(torch, job["dtype"]), device, True, Path(job["folder"]), job["variant"])
    program = _seeded(torch, case, setting)
    requested = getattr(torch, job["requested"] or job["dtype"])
    for action in job["patches"]:
        apply(action, program.model, requested=requested)
    if job["autocast"]:
        with torch.autocast(job["device"], dtype=getattr(torch, job["autocast"])):
            output = program.run()
            changed = program.run(program.last_changed) if program.last_changed is not None else None
    else:
        output = program.run()
        changed = program.run(program.last_changed) if program.last_changed is not None else None
    found: dict[str, Any] = {"bytes_per_parameter": compare.bytes_per_parameter(program.model)}
    complaint = program.check(program.model, output) if program.check is not None else None
    error = compare.relative_error(output, torch.load(job["reference"], weights_only=True))
    found["relative_error"] = error
    wrong: list[str] = []
    if complaint:
        wrong.append(complaint)
    tolerance = job["tolerance"]
    if error is None:
        wrong.append("the output holds NaN or inf")
    elif tolerance is not None and error > tolerance:
        wrong.append(f"the output is {error:.2g} off the reference; a healthy {job['dtype']} run is within {tolerance:.2g}")
    if changed is not None:
        seen = compare.leak(output, changed)
        found["leak"] = seen
        if error is not None and (seen is None or (tolerance is not None and seen > tolerance)):
            wrong.append("earlier positions change when only the last one does")
    if wrong:
        found["outcome"] = "wrong"
        found["error"] = "; ".join(wrong)
    return found


def _failed(error: BaseException) -> dict[str, Any]:
    text = f"{type(error).__name__}: {error}"[:_MOST]
    outcome = "raised"
    if isinstance(error, CannotRunError):
        return {"outcome": "cannot-run", "error": str(error)}
    if isinstance(error, ImportError):
        outcome = "import-error"
    elif (
        isinstance(error, MemoryError)
        or "OutOfMemoryError" in type(error).__name__
        or "can't allocate memory" in text
        or "out of memory" in text
    ):
        outcome = "out-of-memory"
    elif "device-side assert" in text:
        outcome = "device-side-assert"
    return {"outcome": outcome, "error": text, "traceback": _traceback(error)[-_MOST:]}


def _traceback(error: BaseException) -> str:
    """Format an exception as its program would have printed it: the frames of this runner, which lead to the case, are left out."""
    own = str(Path(__file__).parent)
    cases = str(Path(__file__).parent / "cases")
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        one.__traceback__ = _without(one.__traceback__, own, cases)
        one = one.__cause__ or one.__context__
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def _without(frames: TracebackType | None, own: str, cases: str) -> TracebackType | None:
    start = frames
    while start is not None:
        file = start.tb_frame.f_code.co_filename
        if not file.startswith(own) or file.startswith(cases):
            return start
        start = start.tb_next
    return frames


if __name__ == "__main__":
    sys.exit(main())
