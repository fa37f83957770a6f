"""The facts of a diagnosis: what the report and the environment say, and what the user answered, by its one entrance."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from troubleshoot.basics.errors import InputError
from troubleshoot.engine.evidence import TRIED, Facts, collect_facts, environment_of
from troubleshoot.reading.environment.machine import Environment, Package
from troubleshoot.reading.report import Report

#: The answer of one who does not know.
UNKNOWN = "unknown"


def given_answers(answers: Mapping[str, str] | None, gpu: str | None, have: Mapping[str, str] | None) -> dict[str, str]:
    """Bring the three entrances for answers to one form: fact name -> value."""
    from troubleshoot.engine.evidence import VOCABULARY, is_among

    given = dict(answers or {})
    if gpu is not None:
        given["gpu"] = gpu
    for name, version in (have or {}).items():
        given[f"package.{name}"] = version
    for name in given:
        if name != "gpu" and not is_among(name, VOCABULARY):
            import difflib

            close = difflib.get_close_matches(name, sorted(VOCABULARY), n=2)
            hint = f" Did you mean: {', '.join(close)}?" if close else ""
            raise InputError(
                f"no fact is called {name!r}.{hint} The facts are listed in docs/writing-entries.md; for example package.apex=absent."
            )
    return given


def environment_for(report: Report, choice: str | os.PathLike[str] | Environment) -> Environment:
    """Return what is known of the program's environment, before answers. Local facts count only where the report is from here."""
    if isinstance(choice, Environment):
        return choice
    from troubleshoot.reading.environment.merging import merge
    from troubleshoot.reading.environment.parse import parse_environment

    stated = merge(environment_of(report), parse_environment(report.lines, report.numbers))
    if choice == "report":
        return _with_releases(stated, report)
    if choice == "auto":
        frames = [(frame.file, frame.number, frame.code) for failure in report.failures for frame in failure.frames]
        if not frames:
            return stated
        from troubleshoot.reading.environment.locality import is_local

        if not is_local(frames):
            return _with_releases(stated, report)
        choice = "local"
    if choice == "local":
        from troubleshoot.reading.environment.local import local_environment

        return merge(stated, local_environment())
    from troubleshoot.reading.environment.exchange import load_environment

    return _with_releases(merge(stated, load_environment(Path(choice))), report)


def _with_releases(environment: Environment, report: Report) -> Environment:
    """Add what the frames' lines of code tell of packages that are seen in the report, and whose version nobody states."""
    if all(one.version != "" for one in environment.packages):
        return environment
    from troubleshoot.engine.lines import infer_releases

    return infer_releases(environment, report)


def facts_with(report: Report, environment: Environment, given: Mapping[str, str]) -> Facts:
    """Return the facts with the user's answers, which outrank all else; one who does not know is only not asked again."""
    plain: dict[str, str] = {}
    for name, value in given.items():
        if value == UNKNOWN:
            continue
        if name == "gpu":
            environment = _with_gpu(environment, value)
            if not environment.accelerators:
                # Whatever device the program asks for: the user says that there is none.
                plain["device.kind"] = "cpu"
        elif name.startswith("package."):
            environment = _with_package(environment, name.removeprefix("package."), value)
        else:
            plain[name] = _canonical_answer(name, value)
    return collect_facts(report, environment, plain)


def _canonical_answer(name: str, value: str) -> str:
    if name.startswith("dtype."):
        from troubleshoot.basics.dtypes import parse_dtype

        dtype = parse_dtype(value)
        if dtype is None:
            raise InputError(f"{value!r} is no dtype: give one such as float16, bfloat16 or float32 for {name}")
        return dtype
    if name.startswith(TRIED) and value not in ("gone", "same", "other"):
        raise InputError(f"{value!r} is no outcome: give gone, same, other (another failure) or {UNKNOWN} for {name}")
    return value


def _with_gpu(environment: Environment, name: str) -> Environment:
    from troubleshoot.reading.environment.hardware import accelerator_from_text

    accelerator = accelerator_from_text(name)
    return replace(environment, accelerators=(accelerator,) if accelerator else (), closed_accelerators=True)


def _with_package(environment: Environment, name: str, value: str) -> Environment:
    from troubleshoot.reading.environment.package_names import normalise_name

    name = normalise_name(name)
    version = None if value in ("absent", "no", "none") else "" if value in ("present", "yes") else value
    if version == "":
        known = environment.package(name)
        if known is not None and (known.version or known.releases is not None):
            return environment
    others = tuple(one for one in environment.packages if one.name != name)
    return replace(environment, packages=(*others, Package(name, version, "answer")))
