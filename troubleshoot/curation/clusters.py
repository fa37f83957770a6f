"""``troubleshoot kb gaps PATHS``: what the knowledge base does not know yet, from the reports that it could not answer."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from troubleshoot.basics.errors import InputError, TroubleshootError
from troubleshoot.basics.redact import redact_text
from troubleshoot.curation.wording import package_of, slug_of, template_of
from troubleshoot.engine.diagnosis import diagnose
from troubleshoot.engine.result import Diagnosis
from troubleshoot.knowledge import KnowledgeBase, load_kb
from troubleshoot.reading.report import Failure

#: Files that are taken for reports when a folder is given.
SUFFIXES = (".txt", ".log", ".md", ".out", ".err", ".ipynb")
_MESSAGE = 300


@dataclass(frozen=True)
class Gap:
    """Reports that fail alike and have no diagnosis: the next entry to write.

    ``fingerprints`` are those of the failures; failures whose messages differ only in dtypes, devices and numbers are one gap.
    ``nearest`` is the entry that resembles it most, if any. ``command`` starts the entry.
    """

    count: int
    exception: str
    message: str
    suggested: str
    nearest: str | None
    command: str
    fingerprints: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True)
class Gaps:
    """The gaps, most frequent first, and what became of the other reports."""

    reports: int
    diagnosed: int
    out_of_scope: int
    no_failure: int
    unreadable: tuple[str, ...]
    gaps: tuple[Gap, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"schema": 1, **asdict(self)}


def gaps(paths: Sequence[Path | str], *, kb: KnowledgeBase | None = None, progress: Callable[[str], None] = lambda _: None) -> Gaps:
    """Diagnose every report of ``paths`` (files and folders) and cluster those without a diagnosis by fingerprint.

    Raises:
        InputError: a path does not exist, or there is no report in them.
    """
    base = kb if kb is not None else load_kb()
    files = list(_files(paths))
    if not files:
        raise InputError(f"no report in {', '.join(map(str, paths))}: files of a folder must end in {', '.join(SUFFIXES)}")
    clusters: dict[tuple[str, str], list[tuple[Path, Failure, Diagnosis]]] = {}
    diagnosed = out_of_scope = no_failure = 0
    unreadable: list[str] = []
    for path in files:
        progress(str(path))
        try:
            diagnosis = diagnose(path, environment="report", kb=base)
        except (TroubleshootError, OSError) as error:
            unreadable.append(f"{path}: {error}")
            continue
        failure = diagnosis.report.cause
        if diagnosis.verdict != "unknown":
            diagnosed += 1
        elif diagnosis.reason == "out-of-scope":
            out_of_scope += 1
        elif failure is None:
            no_failure += 1
        else:
            clusters.setdefault((failure.root.name, template_of(failure.root.message)), []).append((path, failure, diagnosis))
    found = [_gap(name, found) for (name, _), found in clusters.items()]
    found.sort(key=lambda one: (-one.count, one.suggested, one.message))
    return Gaps(len(files), diagnosed, out_of_scope, no_failure, tuple(unreadable), tuple(_named(found, base)))


def _files(paths: Sequence[Path | str]) -> Iterator[Path]:
    seen: set[Path] = set()
    for one in map(Path, paths):
        if not one.exists():
            raise InputError(f"{one}: no such file or folder")
        inside = sorted(path for path in one.rglob("*") if path.suffix in SUFFIXES and path.is_file()) if one.is_dir() else [one]
        for path in inside:
            if path.resolve() not in seen:
                seen.add(path.resolve())
                yield path


def _gap(name: str, members: list[tuple[Path, Failure, Diagnosis]]) -> Gap:
    # The report with the most frames says most.
    path, failure, diagnosis = max(members, key=lambda one: (len(one[1].frames), -len(str(one[0]))))
    told = redact_text(failure.root.message, personal=True)
    message = " ".join(told.split())[:_MESSAGE]
    return Gap(
        count=len(members),
        exception=name,
        message=message,
        suggested=f"{package_of(failure)}/{slug_of(told)}",
        nearest=diagnosis.first.issue if diagnosis.first is not None else None,
        command="",
        fingerprints=tuple(dict.fromkeys(one.fingerprint for _, one, _ in members)),
        files=tuple(str(one) for one, _, _ in sorted(members, key=lambda member: member[0] != path)),
    )


def _named(found: list[Gap], base: KnowledgeBase) -> Iterator[Gap]:
    """Give every gap an id that no entry and no other gap has, and the command that starts it."""
    taken = set(base.ids())
    for one in found:
        issue = one.suggested
        number = 2
        while issue in taken:
            issue, number = f"{one.suggested}-{number}", number + 1
        taken.add(issue)
        yield replace(one, suggested=issue, command=f"troubleshoot kb new {issue} --report {shlex.quote(one.files[0])}")
