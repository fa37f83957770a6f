"""The facts of a diagnosis: what the report and the environment say, and what the user answered, by its one entrance."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from troubleshoot.basics import word_tables
from troubleshoot.basics.errors import FactError, InputError
from troubleshoot.engine.evidence import TRIED, Facts, collect_facts, environment_of
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.reading.environment.machine import Environment, Package
from troubleshoot.reading.report import Report

#: The answer of one who does not know.
UNKNOWN = "unknown"


def given_answers(
    answers: Mapping[str, str] | None, gpu: str | None, have: Mapping[str, str] | None, base: KnowledgeBase
) -> dict[str, str]:
    """Bring the three entrances for answers to one form: fact name -> value.

    Raises:
        FactError: a name or a value is unknown; the message has the nearest known ones.
    """
    given = dict(answers or {})
    if gpu is not None:
        given["gpu"] = gpu
    for name, version in (have or {}).items():
        given[f"package.{name}"] = version
    for name, value in given.items():
        problem = fact_problem(name, value, base)
        if problem is not None:
            raise FactError(problem)
    return given


#: Facts with values of their own besides those of the table of options.
_VALUES = {
    "autocast": ("on", "off"), "device.kind": ("cuda", "cpu", "mps", "rocm", "xpu", "npu", "hpu", "xla"),
    "os": ("linux", "windows", "macos", "wsl"),
}  # fmt: skip
_ABSENT, _PRESENT = ("absent", "no", "none"), ("present", "yes")
_NUMBERS = ("gpu.memory", "gpu.count")


def fact_problem(name: str, value: str, base: KnowledgeBase) -> str | None:
    """Return what is wrong with a fact that somebody gives, with the nearest known names or values; None where it can be used."""
    from troubleshoot.engine.evidence import VOCABULARY, is_among

    if name == "gpu":
        from troubleshoot.reading.environment.hardware import accelerator_from_text

        try:
            accelerator_from_text(value)
        except InputError as error:
            return str(error)
        return None
    if not is_among(name, VOCABULARY):
        told = "The facts are listed in docs/writing-entries.md; for example package.apex=absent."
        return f"no fact is called {name!r}.{_nearest(name, VOCABULARY)} {told}"
    if value == UNKNOWN:
        return None
    if name.startswith(TRIED):
        known = ("gone", "same", "other")
        return None if value in known else f"{value!r} is no outcome: give gone, same, other (another failure) or {UNKNOWN} for {name}"
    if name.startswith("package."):
        return _package_problem(name.removeprefix("package."), value, base)
    if name.startswith("dtype."):
        from troubleshoot.basics.dtypes import parse_dtype

        return None if parse_dtype(value) else f"{value!r} is no dtype: give one such as float16, bfloat16 or float32 for {name}"
    if name in _NUMBERS:
        number = value.isascii() and value.replace(".", "", 1).isdigit()
        return None if number else f"{value!r} is no number: give one such as 16 for {name}"
    values = {*_VALUES.get(name, ()), *(one for _, _, one in word_tables.OPTIONS.get(name, ()))}
    if values and value.lower() not in values and value not in _ABSENT:
        return f"{value!r} is no value of {name}.{_nearest(value, values)} Known: {', '.join(sorted(values))}."
    return None


def _package_problem(name: str, value: str, base: KnowledgeBase) -> str | None:
    from troubleshoot.basics.versions import parse_version
    from troubleshoot.reading.environment.package_names import distribution_of, normalise_name

    normal = normalise_name(name)
    known = {*word_tables.PACKAGES.values(), *map(normalise_name, word_tables.DISTRIBUTIONS), *word_tables.CONDA.values()}
    if not ({normal, distribution_of(name)} & known or name in word_tables.PACKAGES or base.names_package(normal)):
        return f"no package is known as {name!r}.{_nearest(normal, known)}"
    if value and value not in (*_ABSENT, *_PRESENT) and parse_version(value) is None:
        return f"{value!r} is no version of {name}: give one such as 2.5.1, or absent"
    return None


def _nearest(name: str, known: Iterable[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, sorted(known), n=3)
    return f" Did you mean: {', '.join(close)}?" if close else ""


def told_beside(environment: Environment, given: Mapping[str, str]) -> tuple[str, str]:
    """Return the words of the facts that hold of the whole report: the GPU, however it was told, and what was given beside the text; and
    the words of the latter alone.

    A fact is a fact wherever it is said: phrases hear it as if the reporter had said it in each of his sentences.
    """
    told: list[str] = []
    for name, value in given.items():
        if name == "gpu":
            environment = _with_gpu(environment, value)
        elif value in (*_ABSENT, "off", "unknown"):
            continue
        elif name.startswith("package."):
            told.append(f"{name.removeprefix('package.')} {'' if value in _PRESENT else value}")
        elif name.startswith("flag."):
            told.append(f"--{name.removeprefix('flag.')} {value}")
        else:
            told.append("autocast" if name == "autocast" else value)
    beside = list(told)
    if environment.accelerators:
        card = environment.accelerators[0]
        told.append(_card(card.name))
        beside += told[-1:] if card.source != "report" else []
    return ", ".join(told), ", ".join(beside)


def _card(name: str) -> str:
    """Return a card as people write it: by the name of the table, in one word, and without the series; no word that any card has."""
    from troubleshoot.reading.environment.hardware import find_gpu

    known = find_gpu(name)
    if known is None:
        return name
    model = known.name.partition(" ")[2]
    return " ".join(dict.fromkeys((known.name, known.name.replace(" ", ""), model.replace(" ", "") if model[:1].isdigit() else "")))


def environment_for(report: Report, choice: str | os.PathLike[str] | Environment) -> Environment:
    """Return what is known of the program's environment, before answers. Local facts count only where the report is from here."""
    from troubleshoot.reading.environment.merging import merge
    from troubleshoot.reading.environment.parse import parse_environment

    stated = merge(environment_of(report), parse_environment(report.lines, report.numbers))
    if isinstance(choice, Environment):
        return _with_releases(merge(choice, stated), report)
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

        return parse_dtype(value) or value
    return value


def _with_gpu(environment: Environment, name: str) -> Environment:
    from troubleshoot.reading.environment.hardware import accelerator_from_text

    accelerator = accelerator_from_text(name)
    return replace(environment, accelerators=(accelerator,) if accelerator else (), closed_accelerators=True)


def _with_package(environment: Environment, name: str, value: str) -> Environment:
    from troubleshoot.reading.environment.package_names import normalise_name

    name = normalise_name(word_tables.PACKAGES.get(name, name))
    version = None if value in _ABSENT else "" if value in _PRESENT else value
    if version == "":
        known = environment.package(name)
        if known is not None and (known.version or known.releases is not None):
            return environment
    others = tuple(one for one in environment.packages if one.name != name)
    return replace(environment, packages=(*others, Package(name, version, "answer")))
