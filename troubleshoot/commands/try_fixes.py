"""``troubleshoot run --try-fixes``: the user's program, and if it fails, the program again under each live patch that fits."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.json_text import json_text
from troubleshoot.basics.redact import redact_text
from troubleshoot.commands import process
from troubleshoot.lab.trying.fresh import Program, run_as_user
from troubleshoot.lab.trying.session import Session, try_fixes, why
from troubleshoot.lab.trying.trials import trials_for
from troubleshoot.lab.verify.signals import stoppable
from troubleshoot.lab.verify.workspace import workspace

_MARKS = {True: "✓", False: "✗"}


def run(
    target: str,
    arguments: Sequence[str],
    *,
    module: bool,
    options: Mapping[str, Any],
    timeout: float,
    first: bool,
    yes: bool,
    format: str,
) -> int:
    """Run the program, then its trials. Return 0 where it ends well or a fix lets it end, else the program's own exit status.

    The program's own streams stay as they are; what is said here goes to stderr, with ``format`` "json" to stdout, and the program's
    standard output to stderr.
    """
    process.check_format(format, ("text", "json"))
    if not module and not os.path.exists(target):  # noqa: PTH110
        raise InputError(f"cannot run {target}: no such file")
    program = Program(target, tuple(arguments), module, tuple(options["kb"]))
    with stoppable() as stop, workspace() as folder:
        status, failure = run_as_user(program, folder, options, stop, sys.stderr if format == "json" else None)
        session = Session(program, status, failure)
        stop.check()
        if status != 0 and failure is not None and failure.known:
            trials, left = trials_for(failure)
            session = Session(program, status, failure, (), left)
            if trials and _agreed(program, len(trials), timeout, first, yes):
                tried = try_fixes(program, trials, failure, folder, stop, timeout=timeout, first=first, progress=_progress)
                session = Session(program, status, failure, tried, left)
    if format == "json":
        process.write(json_text(session.to_dict(), indent=2) + "\n", None)
    elif status != 0:
        process.say(_text(session))
    return _status(session)


def _status(session: Session) -> int:
    if session.works is not None or session.status == 0:
        return 0
    if session.status < 0:
        if session.failure is None and os.name == "posix":
            # It died by a signal: so do we, for whoever waits.
            signal.signal(-session.status, signal.SIG_DFL)
            os.kill(os.getpid(), -session.status)
        return 128 - session.status
    return session.status


def _agreed(program: Program, count: int, timeout: float, first: bool, yes: bool) -> bool:
    """Say that the program runs again, and ask where somebody sits at the terminal."""
    times = "once more" if count == 1 else f"{count} more times" if not first else f"up to {count} more times"
    process.say(
        f"\ntroubleshoot: {program.target} now runs {times}, and once in float32 to compare its numbers, "
        "with all it does: files, network, training. "
        f"Each run is a fresh process of at most {timeout:g} s with an empty standard input.\n"
    )
    if yes or not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    process.say("Go on? [Y/n] ")
    try:
        return sys.stdin.readline().strip().lower() in ("", "y", "yes")
    except KeyboardInterrupt:
        return False


def _progress(text: str, done: int, total: int) -> None:
    process.say(f"troubleshoot: [{done + 1}/{total}] {text}\n")


def _text(session: Session) -> str:
    failure = session.failure
    if failure is None:
        return f"\ntroubleshoot: it ended with status {session.status} and no exception that Python saw: there is nothing to try.\n"
    if not failure.known:
        return "\ntroubleshoot: there is no diagnosis, so there is nothing to try.\n"
    lines = ["", f"{failure.issue}: {failure.cause}"]
    for one in session.tried:
        mark, outcome = ("–", "nothing to change") if one.idle else (_MARKS[one.works], one.ran.outcome)
        lines.append(f"  {mark} {one.trial.id} ({one.trial.how}): {outcome}")
        lines.append(f"      {why(one)}")
    for left in session.left:
        lines.append(f"  – {left.id}: not tried: {left.why}")
    works = session.works
    if works is not None:
        helps = "repairs it" if works.verdict.right else "lets it finish"
        lines += ["", f"{works.trial.id} {helps}: {works.trial.title}", "It printed:"]
        lines += [f"  | {line}" for line in redact_text(works.ran.output).rstrip("\n").splitlines()[-15:]]
        if not works.verdict.right:
            lines += ["That the program ends does not show that its results are right."]
        lines += [f"As a change of the source: troubleshoot fix {'-m ' if session.program.module else ''}{session.program.target}"]
    elif session.tried:
        lines += ["", "None of the live patches lets it finish with right results."]
    else:
        lines += ["", "No live patch fits: what is recommended changes packages or the program's own code."]
    return "\n".join(lines) + "\n"
