"""``troubleshoot check``: the program under the recorder, and again in float32, each in a process of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from troubleshoot.checking.comparing import Compared, compare
from troubleshoot.checking.judging import ranked, settled
from troubleshoot.checking.model import Finding, Place
from troubleshoot.editing.failure import Failure
from troubleshoot.report.places import locate
from troubleshoot.trying.fresh import TIMEOUT, Program, Ran, run_program_fresh
from troubleshoot.verify.signals import Stop

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Checked:
    """What came of a check: the run itself, all that was seen, the float32 run, and what of it counts."""

    program: Program
    ran: Ran
    seen: Mapping[str, Any]
    candidates: tuple[Finding, ...] = ()
    reference: Ran | None = None
    compared: Compared | None = None
    findings: tuple[Finding, ...] = field(default=())

    @property
    def dtype(self) -> str:
        """The narrowest dtype that was met, by the tolerance that it needs."""
        met = self.seen.get("met") or []
        return "bfloat16" if "bfloat16" in met else "float16" if "float16" in met else "float32"


def prepare_check(told: Mapping[str, Any]) -> Callable[[], None]:
    """In the child: make ready for what is wanted once the program has imported torch; return what to do at its end."""
    from troubleshoot.handlers.apart import ours
    from troubleshoot.trying.patching import TorchFinder

    begun: list[Any] = []

    def begin(torch: Any) -> None:
        with ours():
            if told["mode"] == "float32":
                from troubleshoot.checking.float32 import begin as in_float32

                in_float32(json.loads(Path(told["draws"]).read_text(encoding="utf-8")))
                return
            from troubleshoot.checking.session import Check

            check = Check(every=told["every"], steps=told["steps"])
            begun.append(check)
            if told["until_first"]:
                check.until_first(lambda: (conclude(), sys.stdout.flush(), os._exit(0)))
            check.begin()

    def conclude() -> None:
        if not begun:
            return
        with ours(), suppress(Exception):
            check = begun[0]
            check.finish()
            result = {**check.seen(), "candidates": [one.to_dict() for one in check.candidates]}
            temporary = Path(told["result"] + ".part")
            temporary.write_text(json.dumps(result), encoding="utf-8")
            temporary.replace(told["result"])

    sys.meta_path.insert(0, TorchFinder(begin))
    return conclude


def check_program(
    program: Program,
    folder: Path,
    stop: Stop,
    *,
    timeout: float = TIMEOUT,
    every: int = 1,
    steps: int = 0,
    until_first: bool = False,
    comparing: bool = True,
    sources: Mapping[str, bytes] | None = None,
    reference: Ran | None = None,
    progress: Progress | None = None,
) -> Checked:
    """Run a program under the recorder and, unless told not to, in float32; ``reference`` is that run where it was made before.

    Raises:
        Interrupted: a signal came; no child is left.
    """
    say = progress or (lambda _: None)
    result = folder / "check.json"
    result.unlink(missing_ok=True)
    say(f"running {program.target}, every operation checked")
    wanted = {"mode": "record", "result": str(result), "every": every, "steps": steps, "until_first": until_first}
    ran = run_program_fresh(program, folder, stop, timeout=timeout, sources=sources, check=wanted)
    seen: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        seen = json.loads(result.read_text(encoding="utf-8"))
    candidates = [Finding.from_dict(one) for one in seen.get("candidates", ())]
    raised = raised_at(ran.failure)
    if raised is not None:
        candidates.append(raised)
    found = Checked(program, ran, seen, tuple(ranked(candidates)))
    compared: Compared | None = None
    if comparing and not until_first:
        compared, reference = _compared(found, program, folder, stop, timeout, sources, reference, say)
    differs = None if compared is None or compared.outcome == "unknown" else compared.outcome == "other"
    return Checked(program, ran, seen, found.candidates, reference, compared, tuple(settled(list(found.candidates), differs)))


def _compared(
    found: Checked, program: Program, folder: Path, stop: Stop, timeout: float, sources: Mapping[str, bytes] | None, reference: Ran | None,
    say: Progress,
) -> tuple[Compared, Ran | None]:  # fmt: skip
    if found.seen.get("met") == []:
        return Compared("unknown", "nothing runs in half precision"), None
    if found.ran.outcome != "ok":
        return Compared("unknown", f"the program does not come to its end: {found.ran.error}"), reference
    if reference is None:
        say(f"running {program.target} in float32")
        reference = run_in_float32(program, folder, stop, found.seen.get("draws", []), timeout=timeout, sources=sources)
    if reference.outcome != "ok":
        return Compared("unknown", f"it does not run in float32: {(reference.error or reference.outcome).splitlines()[0][:200]}"), reference
    return compare(found.ran.output, reference.output, found.dtype), reference


def run_in_float32(
    program: Program, folder: Path, stop: Stop, draws: list[str], *, timeout: float = TIMEOUT, sources: Mapping[str, bytes] | None = None
) -> Ran:
    """Run a program with everything in float32 and the same random numbers."""
    place = folder / "draws.json"
    place.write_text(json.dumps(draws), encoding="utf-8")
    return run_program_fresh(program, folder, stop, timeout=timeout, sources=sources, check={"mode": "float32", "draws": str(place)})


def raised_at(failure: Failure | None) -> Finding | None:
    """Return the finding that an exception is, where the knowledge base knows it."""
    if failure is None or not failure.known:
        return None
    for frame in reversed(failure.frames):
        if frame.number is not None and locate(frame.path)[0] == "user":
            place = Place(frame.file, frame.number)
            break
    else:
        place = Place()
    import linecache

    error = failure.error.splitlines()[0] if failure.error else ""
    code = linecache.getline(place.file, place.line).strip() if place.line else ""
    return Finding("raised", failure.cause, place, numbers={"error": error, "issue": failure.issue}, order=1 << 60, code=code)
