"""What a report or an upstream thread already says about an entry that is to be written."""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from dataclasses import dataclass, replace

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.redact import redact_text
from troubleshoot.curation.wording import package_of, slug_of
from troubleshoot.engine.diagnosis import diagnose
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.reading.places import locate
from troubleshoot.reading.report import Failure, Report

_GITHUB = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+)/(issues|pull|discussions)/(\d+)")
_API = "https://api.github.com"
_SECONDS = 15
#: A thread is a text; more is not read.
_MOST_BYTES = 4_000_000


@dataclass(frozen=True)
class Draft:
    """What is known of an entry before it is written.

    ``suggested`` is an id for it; ``example`` the part of the report that fails, with secrets and addresses masked; ``seen`` the versions
    that the report names; ``answered_by`` the entry that answers the report now, which the new one may refine; ``upstream`` the title of
    the thread. ``notes`` are for the person who asked.
    """

    suggested: str | None = None
    cause: str | None = None
    exception: str | None = None
    message: str | None = None
    frame: tuple[str, str | None] | None = None
    example: str | None = None
    seen: tuple[str, ...] = ()
    answered_by: str | None = None
    references: tuple[tuple[str, str], ...] = ()
    upstream: str | None = None
    notes: tuple[str, ...] = ()


def draft_from_report(source: str | os.PathLike[str] | Report, kb: KnowledgeBase) -> Draft:
    """Read a report and return what it says.

    Raises:
        InputError: the report cannot be read, or nothing fails in it.
    """
    diagnosis = diagnose(source, environment="report", kb=kb)
    failure = diagnosis.report.cause
    if failure is None:
        raise InputError("nothing fails in the report. Give the message with --message, or write an entry with `symptoms` by hand")
    message = redact_text(failure.root.message, personal=True)
    first = diagnosis.first if diagnosis.verdict != "unknown" else None
    return Draft(
        suggested=f"{package_of(failure)}/{slug_of(message)}",
        cause=diagnosis.first.cause if diagnosis.first is not None else None,
        exception=failure.root.name or None,
        message=message,
        frame=_frame(failure),
        example=_example(diagnosis.report, failure),
        seen=tuple(f"{one.name} {one.version}" for one in diagnosis.environment.packages if one.version),
        answered_by=first.issue if first is not None else None,
        notes=(f"{first.issue} answers this report now: the new entry refines it",) if first is not None else (),
    )


def _frame(failure: Failure) -> tuple[str, str | None] | None:
    """Return the deepest frame in a library above torch as (path below site-packages, function): never its line."""
    for frame in reversed(failure.frames):
        owner, short = locate(frame.path)
        if owner not in ("user", "python", "torch", "functorch"):
            return short, frame.function.rpartition(".")[2] if frame.function else None
    return None


def _example(report: Report, failure: Failure) -> str:
    """Return the lines from the traceback's header to its message: what a reporter wrote around it stays theirs."""
    start = failure.root.frames[0].at - 1 if failure.root.frames else failure.root.line
    lines = [line for line, number in zip(report.lines, report.numbers, strict=True) if start <= number <= failure.root.last_line]
    return redact_text("\n".join(line.rstrip() for line in lines), personal=True)


def draft_from_url(url: str, kb: KnowledgeBase, *, offline: bool = False, api: str = _API) -> Draft:
    """Return what an upstream thread says; where it cannot be read, only the reference, with a note that says why.

    Raises:
        InputError: the address is none of https.
    """
    if not re.match(r"https://[^\s/]+/\S+$", url):
        raise InputError(f"--url {url}: give the https address of a report, fix, source file or documentation page")
    match = _GITHUB.match(url)
    kind = {"issues": "report", "pull": "fix", "discussions": "discussion"}.get(match[3], "docs") if match else "docs"
    draft = Draft(references=((kind, url),))
    if offline:
        return replace(draft, notes=(f"{url} was not opened (--offline): read it, and say only what it says",))
    if match is None or match[3] == "discussions":
        return replace(draft, notes=(f"{url} can only be cited: paste its traceback with --report FILE",))
    try:
        thread = _fetch(f"{api}/repos/{match[1]}/{match[2]}/issues/{match[4]}")
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        return replace(draft, notes=(f"{url} could not be read ({reason}): it is only cited",))
    title, body = str(thread.get("title") or ""), str(thread.get("body") or "")
    try:
        found = draft_from_report(body, kb)
    except InputError:
        return replace(draft, upstream=title or None, notes=(f"no failure in the first post of {url}: it is only cited",))
    return replace(found, references=draft.references, upstream=title or None)


def _fetch(url: str) -> dict[str, object]:
    request = urllib.request.Request(url, headers={"Accept": "application/vnd.github+json", "User-Agent": "troubleshoot"})
    with urllib.request.urlopen(request, timeout=_SECONDS) as response:
        data = json.loads(response.read(_MOST_BYTES))
    if not isinstance(data, dict):
        raise ValueError("the answer is no thread")
    return data


def merged(first: Draft, second: Draft) -> Draft:
    """Return one draft of two: what the first does not say, the second does; references and notes of both."""
    values = {
        name: getattr(first, name) if getattr(first, name) not in (None, ()) else getattr(second, name)
        for name in Draft.__dataclass_fields__
    }
    both = {"references": (*first.references, *second.references), "notes": (*first.notes, *second.notes)}
    return Draft(**{**values, **both})
