"""What is known of versions and hardware, in words, each with where it is known from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from troubleshoot.basics import word_tables
from troubleshoot.telling.words import Words

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis, IssueDiagnosis
    from troubleshoot.reading.environment.machine import Accelerator, Environment, Package

_PACKAGE_FACT = r"\bpackage\.([A-Za-z0-9_.-]+)"
_PACKAGE_ACTIONS = ("upgrade", "downgrade", "install", "uninstall")


def source(words: Words, kind: str, line: int | None = None) -> str:
    """Return where a fact is known from: "report line 12", "this machine", "your answer"."""
    if line is not None and kind in ("report", "inferred", "file"):
        return words(f"source.{kind}-line", line=line)
    return words(f"source.{kind}")


def relevant_packages(diagnosis: Diagnosis, shown: IssueDiagnosis | None, limit: int = 8) -> tuple[str, ...]:
    """Return the names of the packages that bear on the answer, torch first: of hundreds installed a reader wants a few."""
    names: dict[str, None] = {"torch": None}
    owners = [shown.issue.partition("/")[0]] if shown is not None else []
    owners += [failure.place.library.partition("/")[0] for failure in diagnosis.report.failures if failure.place.library]
    # What an issue is filed under may be a family (amp, numerics), and code that a model brings along (transformers_modules) is no package.
    stated_names = {one.name for one in diagnosis.environment.packages}
    for owner in owners:
        name = _distribution(owner)
        if name in stated_names or (owner in word_tables.MODULES and diagnosis.environment.package(name) is not None):
            names[name] = None
    if shown is not None:
        for fix in shown.fixes:
            names.update(dict.fromkeys(fix.action[verb] for verb in _PACKAGE_ACTIONS if isinstance(fix.action.get(verb), str)))
        names.update((text.partition(" ")[0], None) for text in shown.affected)
        for item in shown.evidence:
            names.update(dict.fromkeys(_packages_in(item.text) if item.state != "unknown" else ()))
    names.update((one.name, None) for one in diagnosis.environment.packages if one.source == "answer")
    for question in diagnosis.questions:
        names.update(dict.fromkeys(_packages_in(question.about)))
    # What the report states by itself may matter to whoever reads on, unless it states everything.
    stated = [one.name for one in diagnosis.environment.packages if one.source == "report" and one.version]
    if len(stated) <= limit or shown is None:
        names.update(dict.fromkeys(stated))
    return tuple(names)[:limit]


def _packages_in(text: str) -> list[str]:
    return re.findall(_PACKAGE_FACT, text) if "package." in text else []


def _distribution(import_name: str) -> str:
    from troubleshoot.reading.environment.package_names import distribution_of

    return distribution_of(import_name)


def environment_line(words: Words, diagnosis: Diagnosis, shown: IssueDiagnosis | None) -> str:
    """Return the versions that matter, grouped by where they are known from; "" where nothing is known."""
    environment = diagnosis.environment
    groups: dict[str, list[str]] = {}
    without: list[str] = []
    for name in relevant_packages(diagnosis, shown):
        package = environment.package(name)
        # That a package nobody asked about is missing is no news.
        if package is None or (package.absent and not _matters(diagnosis, shown, name)):
            continue
        if package.version == "" and package.releases is None and not _matters(diagnosis, shown, name, presence=True):
            without.append(name)
            continue
        value = version_text(words, package)
        groups.setdefault(source(words, package.source, package.line), []).append(f"{name} {value}")
    system = [f"Python {environment.python}"] if environment.python else []
    if environment.os and environment.os != "linux":
        system.append(environment.os)
    if system:
        groups.setdefault(source(words, environment.source), []).extend(system)
    known = [words.list(names) + words.paren(where) for where, names in groups.items()]
    return words.list([*known, words("versions-unknown", names=words.list(without))] if without else known)


def version_text(words: Words, package: Package) -> str:
    """Return a package's version, or the releases that it is one of, or that it is there or not."""
    if package.version is None:
        return words("absent")
    if package.version or package.releases is None:
        return package.version or words("present")
    spans = [_span(words, first, last) for first, last in package.releases.spans]
    text = spans[0]
    for other in spans[1:]:
        text = words("releases.or", one=text, other=other)
    return text


def _span(words: Words, first: str | None, last: str | None) -> str:
    if first is None:
        return words("releases.earlier", last=last)
    if last is None:
        return words("releases.later", first=first)
    return first if first == last else words("releases.span", first=first, last=last)


def _matters(diagnosis: Diagnosis, shown: IssueDiagnosis | None, name: str, *, presence: bool = False) -> bool:
    """Tell whether a package's absence (or, where its version is unknown, its presence) bears on the answer."""
    if any(question.about == f"package.{name}" for question in diagnosis.questions):
        return True
    if shown is not None and any(item.text in (name, f"package.{name}") or f"package.{name} " in item.text for item in shown.evidence):
        return True
    return not presence and (name == "torch" or (shown is not None and shown.issue.startswith(f"{name}/")))


def accelerator_text(words: Words, one: Accelerator, *, with_source: bool = True) -> str:
    """Return one accelerator in a line: name, memory, capability, count, source."""
    parts = [f"{one.count} × {one.name}" if one.count > 1 else one.name]
    if one.memory:
        size = f"{one.memory:g}"
        if not re.search(rf"\b{re.escape(size)}\s?G", one.name):
            parts.append(words("memory", n=size))
    if one.capability:
        parts.append(words("capability", value=".".join(map(str, one.capability))))
    text = words.list(parts)
    if with_source:
        text += words.paren(source(words, one.source, one.line))
    return text


def accelerators_line(words: Words, environment: Environment) -> str:
    """Return the accelerators in a line, or that there is none, or "" where that is unknown."""
    if environment.accelerators:
        return "; ".join(accelerator_text(words, one) for one in environment.accelerators[:4])
    return words("gpu-none") if environment.closed_accelerators else ""


def half_precision(words: Words, environment: Environment) -> str:
    """Return what the first accelerator makes of float16 and bfloat16 where that is not simply native: "bfloat16 emulated"."""
    if not environment.accelerators:
        return ""
    from troubleshoot.reading.environment import support

    parts = []
    for dtype in ("float16", "bfloat16"):
        state = support(environment.accelerators[0], dtype).state
        if state in ("emulated", "slow", "none"):
            parts.append(f"{dtype} {support_word(words, state)}")
    return words.list(parts)


def support_word(words: Words, state: str) -> str:
    """Return the word for a state of support: native, emulated, slow, none, unknown."""
    return words(f"env.{state}")
