"""``troubleshoot diagnose``."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.timelimit import OutOfTimeError, time_limit
from troubleshoot.commands import process
from troubleshoot.telling import FORMATS, render

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis
    from troubleshoot.knowledge import KnowledgeBase
    from troubleshoot.reader import Prompt, Reader
    from troubleshoot.reading.environment.machine import Environment
    from troubleshoot.reading.report import Report
    from troubleshoot.reading.report_files import Loaded

#: Seconds that a diagnosis may take without --timeout. It takes milliseconds, and of the longest report a few seconds.
LIMIT = 60.0
#: Seconds of a pipe's silence after which it is said what is waited for.
_SILENT = 2.0


def run(
    file: str | None,
    *,
    format: str,
    top: str | None,
    language: str | None,
    environment: str,
    python: str | None,
    deep: bool,
    kb: Sequence[str],
    answers: Sequence[str],
    gpu: str | None,
    have: Sequence[str],
    verify: bool,
    redact: bool,
    output: str | None,
    color: str,
    timeout: str | None = None,
    reader: Reader | None = None,
    dry_run: bool = False,
) -> int:
    """Diagnose what ``file`` holds and print it. Return 0 for a diagnosis, 1 for none. Raises InputError for what cannot be used."""
    format = process.check_format(format, FORMATS)
    shown = _count(top)
    colored = process.use_color(color, output) and format == "text"
    spoken = process.language(language)
    known = pairs("--answer", answers, "package.apex=absent")
    versions = pairs("--have", have, "transformers=4.50.1", bare="")
    where = chosen_environment(environment, python, deep)
    # What was skipped in an overlay is among the diagnosis's notes.
    seconds = process.seconds_of(timeout)
    source, left_out = load_source(file, seconds)
    base = load(kb, warn=False)

    from troubleshoot.engine.diagnosis import diagnose, question_for_model

    if reader is not None and dry_run:
        asked = question_for_model(source.report(), environment=where, kb=base, answers=known or None, gpu=gpu, have=versions or None)
        return _not_sent(reader, asked, output)

    def shown_of(report: Loaded, notes: Sequence[str]) -> tuple[Diagnosis, str]:
        diagnosis = diagnose(
            report.report(), environment=where, kb=base, language=spoken, answers=known or None, gpu=gpu, have=versions or None,
            reader=reader,
        )  # fmt: skip
        diagnosis = replace(diagnosis, errors=(*notes, *diagnosis.errors))
        return diagnosis, render(diagnosis, format, color=colored, width=process.width(output), top=shown, redact=redact)

    # Waiting for a model is no work on the report.
    waiting = reader.seconds + 1 if reader is not None else 0.0
    diagnosis, text = _in_time(source, left_out, (seconds or LIMIT) + waiting, shown_of)
    if verify:
        text = _with_verification(text, diagnosis, format, process.width(output))
    process.write(text, output)
    return 1 if diagnosis.verdict == "unknown" else 0


def _not_sent(reader: Reader, asked: Prompt | None, output: str | None) -> int:
    """Print what would be sent: the request, with the key masked. Return 1 where nothing would be."""
    if asked is None:
        process.write("Nothing would be sent: no answer of a model could change this one.\n", output)
        return 1
    from troubleshoot.basics.json_text import json_text
    from troubleshoot.reader.endpoint import headers

    lines = {name: "Bearer [the key]" if name == "Authorization" else value for name, value in headers(reader).items()}
    process.write(json_text({"url": reader.address, "headers": lines, "body": asked.body(reader.model)}, indent=2) + "\n", output)
    return 0


def _in_time(
    source: Loaded, left_out: Sequence[str], seconds: float, work: Callable[[Loaded, Sequence[str]], tuple[Diagnosis, str]]
) -> tuple[Diagnosis, str]:
    """Return what ``work`` makes of a report, or of its last failure alone where the whole takes too long; say so then.

    Raises:
        InputError: even that takes too long.
    """
    try:
        with time_limit(seconds):
            return work(source, left_out)
    except OutOfTimeError:
        part = source.around_last_failure()
    numbers = part.numbers or [0]
    told = (
        f"the whole report takes more than {seconds:g} s to diagnose: this rests on its lines {numbers[0]} to {numbers[-1]} of "
        f"{part.total} alone, those around its last failure. To allow more: --timeout SECONDS"
    )
    process.complain(f"warning: {told}")
    try:
        with time_limit(seconds):
            return work(part, [told, *left_out])
    except OutOfTimeError:
        raise InputError(
            f"neither the report nor its last failure alone could be diagnosed within {seconds:g} s. Give the lines around the failure "
            "alone, or allow more: --timeout SECONDS"
        ) from None


def _with_verification(text: str, diagnosis: Diagnosis, format: str, width: int) -> str:
    """Reproduce the first diagnosis and put what was seen behind it: as text, or as the key ``verification`` of the JSON object."""
    if format not in ("text", "json"):
        raise InputError(f"--verify does not go with --format {format}: use text or json, or `troubleshoot verify ISSUE --format html`")
    from troubleshoot.lab.verify.runner import verify_diagnosis

    result = verify_diagnosis(diagnosis)
    if format == "json":
        import json

        from troubleshoot.basics.json_text import json_text

        data = json.loads(text)
        from troubleshoot.basics.redact import redact_data

        data["verification"] = redact_data(result.to_dict(), personal=False) if result is not None else None
        return json_text(data, indent=2) + "\n"
    if result is None:
        first = diagnosis.first
        about = f"{first.issue} has no reproduction case" if first is not None else "there is no diagnosis to reproduce"
        return f"{text}\nVerify  {about}.\n"
    from troubleshoot.lab.verify.verify_text import render_verification

    return f"{text}\n{render_verification(result, width=width)}"


def _count(top: str | None) -> int | None:
    if top is None:
        return None
    if not top.isdecimal() or int(top) < 1:
        raise InputError(f"--top {top}: give how many diagnoses to show, 1 or more")
    return int(top)


def read_source(file: str | None) -> Report:
    """Return the report in a file or on standard input. Raises InputError with what to do instead."""
    return load_source(file, None)[0].report()


def load_source(file: str | None, seconds: float | None) -> tuple[Loaded, list[str]]:
    """Load a report, and return it with what is to be told of it.

    With ``seconds``, no longer than so long is waited for what comes through a pipe; then what came so far counts.

    Raises:
        InputError: there is nothing to read; the text says what to do instead.
    """
    terminal = sys.stdin is None or sys.stdin.isatty()
    if file is None and terminal:
        raise InputError(
            "no report given. Name a file (troubleshoot diagnose error.txt), or pipe into it (python train.py 2>&1 | troubleshoot diagnose)"
        )
    from troubleshoot.reading.report_files import load_report_file

    if file is not None and file != "-":
        if not _is_pipe(file):
            return _told(load_report_file(Path(file)), file)
        return _from_pipe(file, seconds)
    if sys.stdin is None:
        raise InputError("standard input is closed. Name a file: troubleshoot diagnose error.txt")
    if terminal:
        sys.stderr.write("Paste the report, then press Ctrl-D (Windows: Ctrl-Z, Enter).\n")
    if seconds is None or os.name == "nt":
        # Windows cannot wait for a pipe with a limit.
        try:
            return _told(load_report_file(sys.stdin.buffer), "standard input")
        except OSError as error:
            raise InputError(f"cannot read standard input: {error.strerror or error}") from error
    return _loaded(sys.stdin.fileno(), "standard input", time.monotonic() + seconds)


def _told(loaded: Loaded, name: str) -> tuple[Loaded, list[str]]:
    return loaded, [f"only the first {loaded.cut >> 30} GiB of {name} were read: there was more"] if loaded.cut else []


def _is_pipe(file: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(file).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False


def _from_pipe(file: str, seconds: float | None) -> tuple[Loaded, list[str]]:
    """Read a named pipe until its writers close it; after a while, say what is waited for."""
    import threading

    started = time.monotonic()
    say = threading.Timer(_SILENT, process.complain, [f"waiting for what is written into {file}, until it is closed (Ctrl-C ends)"])
    say.daemon = True
    say.start()
    try:
        with time_limit(seconds):
            # Waits for somebody to open the other end.
            handle = os.open(file, os.O_RDONLY)
        try:
            return _loaded(handle, file, None if seconds is None else started + seconds)
        finally:
            os.close(handle)
    except OutOfTimeError:
        raise InputError(f"nobody wrote into {file} within {seconds:g} s") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from None
    finally:
        say.cancel()


def _loaded(handle: int, name: str, until: float | None) -> tuple[Loaded, list[str]]:
    from troubleshoot.reading.report_files import load_report_file

    stream = _Waiting(handle, until)
    try:
        loaded, notes = _told(load_report_file(cast("BinaryIO", stream)), name)
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    if not stream.cut:
        return loaded, notes
    if not stream.count:
        raise InputError(f"nothing came from {name} within the time of --timeout")
    told = f"{name} was not at its end when the time of --timeout was up: this rests on the {stream.count:,} bytes that had come"
    process.complain(f"warning: {told}")
    return loaded, [told, *notes]


class _Waiting:
    """A stream that ends when its writer closes it, or at a time."""

    def __init__(self, handle: int, until: float | None) -> None:
        self._handle = handle
        self._until = until
        self.cut = False
        self.count = 0

    def read(self, size: int) -> bytes:
        """Return what there is, at most ``size`` bytes; nothing at the end."""
        if self._until is not None:
            import select

            left = self._until - time.monotonic()
            self.cut = self.cut or left <= 0 or not select.select([self._handle], [], [], left)[0]
            if self.cut:
                return b""
        data = os.read(self._handle, size)
        self.count += len(data)
        return data


def pairs(option: str, values: Sequence[str], example: str, *, bare: str | None = None) -> dict[str, str]:
    """Return ``NAME=VALUE`` options as a dict; ``bare`` is the value of a lone NAME. Raises InputError."""
    found: dict[str, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        # `--have transformers==4.50.1`, as in a requirements file, means the same.
        name, rest = name.strip(), rest.lstrip("=").strip()
        if not name or (not rest and (bare is None or equals)):
            raise InputError(f"{option} {value}: write NAME=VALUE, for example {option} {example}")
        if found.get(name, rest) != rest:
            raise InputError(f"{option} {name} is given twice, as {found[name]} and {rest}")
        found[name] = rest
    return found


def chosen_environment(choice: str, python: str | None, deep: bool) -> str | Path | Environment:
    """Return what to pass as ``environment``: the mode, a file, or what was probed. Raises InputError for contradictory options."""
    if python is not None:
        if choice not in ("auto", "local"):
            raise InputError(f"--python {python} and --env {choice} contradict each other: give one of them")
        from troubleshoot.reading.environment.foreign import foreign_environment

        return foreign_environment(python, deep=deep)
    if deep:
        if choice not in ("auto", "local"):
            raise InputError(f"--deep asks this machine, --env {choice} does not: give one of them")
        from troubleshoot.reading.environment.foreign import deep_environment

        return deep_environment()
    if choice in ("auto", "local", "report"):
        return choice
    path = Path(choice)
    if not path.is_file():
        raise InputError(
            f"--env {choice}: no such file. Give auto, local, report, or a file with the output of pip list, collect_env or nvidia-smi"
        )
    return path


def load(folders: Sequence[str], *, warn: bool = True) -> KnowledgeBase:
    """Return the knowledge base with overlay folders; with ``warn``, what was skipped is told on stderr. Raises InputError."""
    for folder in folders:
        if not Path(folder).is_dir():
            raise InputError(f"--kb {folder}: no such folder")
    from troubleshoot.knowledge import load_kb

    base = load_kb([Path(folder) for folder in folders])
    for warning in base.warnings if warn else ():
        process.complain("warning: " + " ".join(warning.split()))
    return base
