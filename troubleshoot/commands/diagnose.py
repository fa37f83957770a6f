"""``troubleshoot diagnose``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from troubleshoot.commands import process
from troubleshoot.errors import InputError
from troubleshoot.render import FORMATS, render

if TYPE_CHECKING:
    from troubleshoot.environment.model import Environment
    from troubleshoot.knowledge import KnowledgeBase
    from troubleshoot.report.model import Report
    from troubleshoot.result import Diagnosis


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
    base = load(kb, warn=False) if kb else None
    source = read_source(file)

    from troubleshoot.diagnosis import diagnose

    diagnosis = diagnose(source, environment=where, kb=base, language=spoken, answers=known or None, gpu=gpu, have=versions or None)
    text = render(diagnosis, format, color=colored, width=process.width(output), top=shown, redact=redact)
    if verify:
        text = _with_verification(text, diagnosis, format, process.width(output))
    process.write(text, output)
    return 1 if diagnosis.verdict == "unknown" else 0


def _with_verification(text: str, diagnosis: Diagnosis, format: str, width: int) -> str:
    """Reproduce the first diagnosis and put what was seen behind it: as text, or as the key ``verification`` of the JSON object."""
    if format not in ("text", "json"):
        raise InputError(f"--verify does not go with --format {format}: use text or json, or `troubleshoot verify ISSUE --format html`")
    from troubleshoot.verify.runner import verify_diagnosis

    result = verify_diagnosis(diagnosis)
    if format == "json":
        import json

        data = json.loads(text)
        from troubleshoot.redact import redact_data

        data["verification"] = redact_data(result.to_dict(), personal=False) if result is not None else None
        return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
    if result is None:
        first = diagnosis.first
        about = f"{first.issue} has no reproduction case" if first is not None else "there is no diagnosis to reproduce"
        return f"{text}\nVerify  {about}.\n"
    from troubleshoot.verify.text import render_verification

    return f"{text}\n{render_verification(result, width=width)}"


def _count(top: str | None) -> int | None:
    if top is None:
        return None
    if not top.isdecimal() or int(top) < 1:
        raise InputError(f"--top {top}: give how many diagnoses to show, 1 or more")
    return int(top)


def read_source(file: str | None) -> Path | Report:
    """Return the path to read, or the report on standard input. Raises InputError with what to do instead."""
    terminal = sys.stdin is None or sys.stdin.isatty()
    if file is None and terminal:
        raise InputError(
            "no report given. Name a file (troubleshoot diagnose error.txt), or pipe into it (python train.py 2>&1 | troubleshoot diagnose)"
        )
    if file is not None and file != "-":
        return Path(file)
    if sys.stdin is None:
        raise InputError("standard input is closed. Name a file: troubleshoot diagnose error.txt")
    if terminal:
        sys.stderr.write("Paste the report, then press Ctrl-D (Windows: Ctrl-Z, Enter).\n")
    from troubleshoot.report import read_report_file

    try:
        return read_report_file(sys.stdin.buffer)
    except OSError as error:
        raise InputError(f"cannot read standard input: {error.strerror or error}") from error


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
        from troubleshoot.environment.foreign import foreign_environment

        return foreign_environment(python, deep=deep)
    if deep:
        if choice not in ("auto", "local"):
            raise InputError(f"--deep asks this machine, --env {choice} does not: give one of them")
        from troubleshoot.environment.foreign import deep_environment

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
