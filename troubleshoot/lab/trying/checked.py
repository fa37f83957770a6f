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

from troubleshoot.lab.checking.check_findings import Finding, Place
from troubleshoot.lab.checking.comparing import Compared, compare
from troubleshoot.lab.checking.judging import Verdict, judge, ranked, settled
from troubleshoot.lab.editing.failure import Failure
from troubleshoot.lab.trying.fresh import TIMEOUT, Program, Ran, run_program_fresh
from troubleshoot.lab.verify.signals import Stop
from troubleshoot.reading.places import locate

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
    from troubleshoot.lab.trying.patching import TorchFinder

    begun: list[Any] = []

    def begin(torch: Any) -> None:
        with ours():
            if told["mode"] == "names":
                from troubleshoot.lab.trying.names import look_at_line

                look_at_line(torch, told)
                return
            if told["mode"] == "float32":
                from troubleshoot.lab.checking.float32 import begin as in_float32

                in_float32(**json.loads(Path(told["draws"]).read_text(encoding="utf-8")))
                return
            from troubleshoot.lab.checking.session import Check

            check = Check(every=told["every"], steps=told["steps"])
            begun.append(check)
            if told["until_first"]:
                check.until_first(end)
            check.begin()

    def end() -> None:
        conclude()
        sys.stdout.flush()
        os._exit(0)

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
    trial: Mapping[str, Any] | None = None,
    references: References | None = None,
    progress: Progress | None = None,
) -> Checked:
    """Run a program under the recorder and, unless told not to, in float32: with edited ``sources`` or under a ``trial``, the program as
    it is (``references``) is what it is compared with.

    Raises:
        Interrupted: a signal came; no child is left.
    """
    say = progress or (lambda _: None)
    result = folder / "check.json"
    result.unlink(missing_ok=True)
    say(f"running {program.target}, every operation checked")
    wanted = {"mode": "record", "result": str(result), "every": every, "steps": steps, "until_first": until_first}
    ran = run_program_fresh(program, folder, stop, timeout=timeout, sources=sources, trial=trial, check=wanted)
    seen: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        seen = json.loads(result.read_text(encoding="utf-8"))
    candidates = [Finding.from_dict(one) for one in seen.get("candidates", ())]
    raised = raised_at(ran.failure)
    if raised is not None:
        candidates.append(raised)
    found = Checked(program, ran, seen, tuple(ranked(candidates)))
    compared: Compared | None = None
    reference: Ran | None = None
    if comparing and not until_first:
        compared, reference = _compared(found, references or References(program, folder, stop, timeout, say), sources, trial)
    differs = None if compared is None or compared.outcome == "unknown" else compared.outcome == "other"
    return Checked(program, ran, seen, found.candidates, reference, compared, tuple(settled(list(found.candidates), differs)))


class References:
    """Runs of a program in float32; one for each sequence of drawn dtypes, made when it is asked for. With ``base`` it is the program with
    these edited sources that is run: what it does wrong in float32 too is not what an edit is held against.
    """

    def __init__(
        self, program: Program, folder: Path, stop: Stop, timeout: float = TIMEOUT, say: Progress | None = None,
        base: Mapping[str, bytes] | None = None,
    ) -> None:  # fmt: skip
        self.base = base
        self.program, self.folder, self.stop, self.timeout = program, folder, stop, timeout
        self.say = say or (lambda _: None)
        self._made: dict[str, Ran] = {}

    def get(self, seen: Mapping[str, Any], sources: Mapping[str, bytes] | None, trial: Mapping[str, Any] | None = None) -> Ran:
        """Return the run of the program as it is; where that fails in float32 too, the one with its edited sources, or under the trial."""
        draws = json.dumps({"draws": seen["draws"], "skips": seen["skips"]})
        key = draws
        if key not in self._made:
            self.say(f"running {self.program.target} in float32")
            self._made[key] = run_in_float32(self.program, self.folder, self.stop, draws, timeout=self.timeout, sources=self.base)
        made = self._made[key]
        if made.outcome != "ok" and (sources or trial is not None):
            made = run_in_float32(self.program, self.folder, self.stop, draws, timeout=self.timeout, sources=sources, trial=trial)
        return made


def _compared(
    found: Checked, references: References, sources: Mapping[str, bytes] | None, trial: Mapping[str, Any] | None
) -> tuple[Compared, Ran | None]:  # fmt: skip
    if not found.seen:
        return Compared("unknown", "torch was not at work, or the program ended without a chance to look"), None
    if found.ran.outcome != "ok":
        return Compared("unknown", f"the program does not come to its end: {found.ran.error}"), None
    if not found.seen["met"] and references.program is found.program and sources is None and trial is None:
        return Compared("unknown", "nothing runs in half precision"), None
    reference = references.get(found.seen, sources, trial)
    if reference.outcome != "ok":
        return Compared("unknown", f"it does not run in float32: {(reference.error or reference.outcome).splitlines()[0][:200]}"), reference
    return compare(found.ran.output, reference.output, found.dtype), reference


def run_judged(
    program: Program,
    folder: Path,
    stop: Stop,
    references: References,
    *,
    timeout: float = TIMEOUT,
    sources: Mapping[str, bytes] | None = None,
    trial: Mapping[str, Any] | None = None,
) -> tuple[Ran, Verdict]:
    """Run a program with a fix, and judge it by its results.

    Raises:
        Interrupted: a signal came; no child is left.
    """
    checked = check_program(program, folder, stop, timeout=timeout, sources=sources, trial=trial, references=references)
    return checked.ran, judge(checked.ran.outcome, checked.ran.error, checked.findings, checked.compared)


def run_in_float32(
    program: Program, folder: Path, stop: Stop, draws: str, *, timeout: float = TIMEOUT, sources: Mapping[str, bytes] | None = None,
    trial: Mapping[str, Any] | None = None,
) -> Ran:  # fmt: skip
    """Run a program with everything in float32, the same random numbers and the same steps left out (``draws``, as JSON)."""
    place = folder / "draws.json"
    place.write_text(draws, encoding="utf-8")
    wanted = {"mode": "float32", "draws": str(place)}
    return run_program_fresh(program, folder, stop, timeout=timeout, sources=sources, trial=trial, check=wanted)


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
