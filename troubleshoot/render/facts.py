"""What is known of versions and hardware, in words, each with where it is known from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from troubleshoot.render.words import Words

if TYPE_CHECKING:
    from troubleshoot.environment.model import Accelerator, Environment
    from troubleshoot.result import Diagnosis, IssueDiagnosis

_PACKAGE_FACT = re.compile(r"\bpackage\.([A-Za-z0-9_.-]+)")
_PACKAGE_ACTIONS = ("upgrade", "downgrade", "install", "uninstall")


def source(words: Words, kind: str, line: int | None = None) -> str:
    """Return where a fact is known from: "report line 12", "this machine", "your answer"."""
    if line is not None and kind in ("report", "inferred", "file"):
        return words(f"source.{kind}-line", line=line)
    return words(f"source.{kind}")


def relevant_packages(diagnosis: Diagnosis, shown: IssueDiagnosis | None) -> tuple[str, ...]:
    """Return the names of the packages that bear on the answer, torch first: of hundreds installed a reader wants three."""
    names: dict[str, None] = {"torch": None}
    if shown is not None:
        owner = shown.issue.partition("/")[0]
        if diagnosis.environment.package(owner) is not None:
            names[owner] = None
        for fix in shown.fixes:
            for action in _PACKAGE_ACTIONS:
                if isinstance(fix.action.get(action), str):
                    names[fix.action[action]] = None
        for item in shown.evidence:
            if item.state != "unknown":
                names.update(dict.fromkeys(_PACKAGE_FACT.findall(item.text)))
        for text in shown.affected:
            names[text.partition(" ")[0]] = None
    for question in diagnosis.questions:
        names.update(dict.fromkeys(_PACKAGE_FACT.findall(question.about)))
    if shown is None:
        # Nothing is known: whatever the report itself states may matter to whoever looks at it next.
        names.update((one.name, None) for one in diagnosis.environment.packages if one.source in ("report", "answer", "file"))
    return tuple(names)


def environment_line(words: Words, diagnosis: Diagnosis, shown: IssueDiagnosis | None, limit: int = 8) -> str:
    """Return the versions that matter, grouped by where they are known from; "" where nothing is known."""
    environment = diagnosis.environment
    groups: dict[str, list[str]] = {}
    for name in relevant_packages(diagnosis, shown)[:limit]:
        package = environment.package(name)
        if package is None:
            continue
        if package.version is None:
            # That a package nobody asked about is missing is no news.
            if shown is None or name in ("torch", shown.issue.partition("/")[0]) or _asked(diagnosis, shown, name):
                groups.setdefault(source(words, package.source, package.line), []).append(f"{name} {words('absent')}")
            continue
        groups.setdefault(source(words, package.source, package.line), []).append(f"{name} {package.version or words('present')}")
    system = [f"Python {environment.python}"] if environment.python else []
    if environment.os and (environment.os not in ("linux",) or not groups):
        system.append(environment.os)
    if system:
        groups.setdefault(
            source(words, environment.source) if environment.source in ("report", "local", "file") else words("source.report"), []
        ).extend(system)
    return words.list(
        [
            f"{words.list(names)} ({where})" if words.language == "en" else f"{words.list(names)}（{where}）"
            for where, names in groups.items()
        ]
    )


def _asked(diagnosis: Diagnosis, shown: IssueDiagnosis, name: str) -> bool:
    return any(question.about == f"package.{name}" for question in diagnosis.questions) or any(
        f"package.{name}" in item.text for item in shown.evidence
    )


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
        where = source(words, one.source, one.line)
        text += f"（{where}）" if words.language == "zh" else f" ({where})"
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
    from troubleshoot.environment import support

    parts = []
    for dtype in ("float16", "bfloat16"):
        state = support(environment.accelerators[0], dtype).state
        if state in ("emulated", "slow", "none"):
            parts.append(f"{dtype} {support_word(words, state)}")
    return words.list(parts)


def support_word(words: Words, state: str) -> str:
    """Return the word for a state of support: native, emulated, slow, none, unknown."""
    return words(f"env.{state}")
