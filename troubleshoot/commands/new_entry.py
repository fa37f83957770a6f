"""``troubleshoot kb new``: start an entry from what is pasted, cited and asked."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from troubleshoot.basics.errors import InputError
from troubleshoot.commands import process
from troubleshoot.commands.diagnose import load, read_source

if TYPE_CHECKING:
    from troubleshoot.curation.draft import Draft
    from troubleshoot.knowledge import KnowledgeBase


@dataclass(frozen=True)
class Given:
    """What the options of ``kb new`` say; None where they say nothing."""

    issue: str | None = None
    report: str | None = None
    url: str | None = None
    title: str | None = None
    cause: str | None = None
    message: str | None = None
    refines: str | None = None
    package: str | None = None
    introduced: str | None = None
    fixed: str | None = None


def run_new(given: Given, *, kb: str | None, offline: bool, yes: bool) -> int:
    """Write the file of a new entry and print its path. What is not given is asked for, where a person sits at the terminal.

    Raises:
        InputError: there is no folder to write to, or what was given cannot be used.
    """
    from troubleshoot.curation import new_entry
    from troubleshoot.knowledge.base import checkout_root

    root = Path(kb) if kb else checkout_root("Name a folder of your own: --kb DIR")
    base = load([kb] if kb and root.is_dir() else [], warn=False)
    _check(given, base)
    draft = _draft(given, base, offline)
    asking = not yes and given.report != "-" and sys.stdin is not None and sys.stdin.isatty()
    answered = _ask(given, draft, base) if asking else given
    issue = answered.issue or draft.suggested
    if issue is None:
        raise InputError("no id given. Name one, such as torch/my-slug, or start from a report (--report FILE), which suggests one")
    affected = (answered.package, answered.introduced, answered.fixed) if answered.package and answered.introduced else None
    path = new_entry(
        issue,
        root,
        cause=answered.cause,
        message=answered.message,
        title=answered.title,
        refines=answered.refines,
        affected=affected,
        draft=draft,
    )
    for note in draft.notes:
        process.complain(f"note: {note}")
    process.write(f"{path}\n", None)
    return 0


def _check(given: Given, base: KnowledgeBase) -> None:
    if given.cause is not None and given.cause not in base.causes.causes:
        raise InputError(f"--cause {given.cause}: no such cause.{_alike(given.cause, base.causes.causes)}")
    if given.refines is not None:
        base.entry(given.refines)
    if given.package and not given.introduced:
        raise InputError("--package needs --introduced: the first release that shows the issue")
    if (given.introduced or given.fixed) and not given.package:
        raise InputError("--introduced and --fixed need --package: whose releases they are")
    from troubleshoot.basics.versions import parse_version

    for option, version in (("--introduced", given.introduced), ("--fixed", given.fixed)):
        if version is not None and parse_version(version) is None:
            raise InputError(f"{option} {version}: is not a version (PEP 440)")


def _alike(word: str, known: Iterable[str]) -> str:
    alike = difflib.get_close_matches(word, list(known), n=3)
    return f" Did you mean: {', '.join(alike)}?" if alike else ""


def _draft(given: Given, base: KnowledgeBase, offline: bool) -> Draft:
    from troubleshoot.curation.draft import Draft, draft_from_report, draft_from_url, merged

    draft = Draft()
    if given.report is not None:
        draft = draft_from_report(read_source(given.report), base)
    if given.url is not None:
        draft = merged(draft, draft_from_url(given.url, base, offline=offline))
    if given.message is not None and draft.message is None:
        from dataclasses import replace

        from troubleshoot.curation.wording import slug_of

        draft = replace(draft, suggested=f"torch/{slug_of(given.message)}")
    return draft


def _ask(given: Given, draft: Draft, base: KnowledgeBase) -> Given:
    """Ask for what is not given; Enter takes the suggestion, and an empty answer leaves it to be filled in."""
    from dataclasses import replace

    import typer

    from troubleshoot.curation.skeleton import is_id

    def ask(question: str, default: str | None, fits: Callable[[str], str | None] = lambda _: None) -> str | None:
        while True:
            answer = str(typer.prompt(question, default=default or "", show_default=bool(default), err=True)).strip()
            wrong = fits(answer) if answer else None
            if wrong is None:
                return answer or None
            process.complain(wrong)

    def wrong_id(answer: str) -> str | None:
        if not is_id(answer):
            return "write package/slug in small letters, such as torch/linear-dtype"
        return f"{answer} exists already" if answer in base.ids() else None

    def wrong_cause(answer: str) -> str | None:
        known = base.causes.causes
        return None if answer in known else f"no such cause.{_alike(answer, known)} All of them: kb/causes"

    def wrong_parent(answer: str) -> str | None:
        return None if answer in base.ids() else f"no such entry.{_alike(answer, base.ids())}"

    told = replace(given, issue=given.issue or ask("Id (package/slug)", draft.suggested, wrong_id))
    if given.message is None and draft.message is None:
        told = replace(told, message=ask("Error message to recognise it by", None))
    return replace(
        told,
        title=given.title or ask("Title: the cause in one line, not the message", None),
        cause=given.cause or ask("Cause", draft.cause, wrong_cause),
        refines=given.refines or ask("More general entry that it refines", draft.answered_by, wrong_parent),
    )
