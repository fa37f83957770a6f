"""``troubleshoot explain``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from troubleshoot.basics.errors import UnknownIssueError
from troubleshoot.commands import process
from troubleshoot.commands.diagnose import load

if TYPE_CHECKING:
    from troubleshoot.knowledge import KnowledgeBase

_FORMATS = ("text", "markdown", "json", "html")


def run(issue: str, *, format: str, language: str | None, kb: Sequence[str], output: str | None, color: str) -> int:
    """Print the page of a known issue or of a cause. Raises UnknownIssueError with the names that are spelled most alike."""
    format = process.check_format(format, _FORMATS)
    colored = process.use_color(color, output) and format == "text"
    spoken = process.language(language)
    base = load(kb)
    wanted = issue.strip().removeprefix("kb/").removesuffix(".yaml")
    if wanted in base.causes.causes:
        process.write(_cause(base, wanted, format, spoken, colored, process.width(output)), output)
        return 0
    try:
        entry = base.entry(wanted)
    except UnknownIssueError as error:
        import difflib

        alike = difflib.get_close_matches(wanted, base.causes.causes, n=2, cutoff=0.6)
        if not alike:
            raise
        raise UnknownIssueError(wanted, tuple(dict.fromkeys((*alike, *error.suggestions)))[:4]) from None
    if format == "json":
        import msgspec

        process.write(msgspec.json.format(msgspec.json.encode(entry), indent=2).decode() + "\n", output)
        return 0
    from troubleshoot.telling import render_documents
    from troubleshoot.telling.entry import entry_document

    special = tuple(id_ for id_ in base.ids() if entry.id in base.entry(id_).refines)
    process.write(render_documents((entry_document(entry, spoken, special),), format, color=colored, width=process.width(output)), output)
    return 0


def _cause(base: KnowledgeBase, code: str, format: str, language: str, color: bool, width: int) -> str:
    cause = base.causes.causes[code]
    if format == "json":
        import msgspec

        return msgspec.json.format(msgspec.json.encode({"cause": code, **msgspec.to_builtins(cause)}), indent=2).decode() + "\n"
    from troubleshoot.telling import render_documents
    from troubleshoot.telling.entry import cause_document

    issues = []
    for id_ in base.ids():
        entry = base.entry(id_)
        if entry.cause == code or any(one.cause == code for one in entry.causes):
            issues.append((id_, entry.zh.title if language == "zh" and entry.zh else entry.title))
    return render_documents((cause_document(code, cause, language, tuple(issues)),), format, color=color, width=width)
