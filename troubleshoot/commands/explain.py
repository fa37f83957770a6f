"""``troubleshoot explain``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from troubleshoot.basics.errors import UnknownIssueError
from troubleshoot.commands import process
from troubleshoot.commands.diagnose import load

if TYPE_CHECKING:
    from troubleshoot.knowledge import KnowledgeBase
    from troubleshoot.knowledge.schema import OutOfScope
    from troubleshoot.telling.document import Document
    from troubleshoot.telling.explained import Part

_FORMATS = ("text", "markdown", "json", "html")


def run(issue: str, *, format: str, language: str | None, kb: Sequence[str], output: str | None, color: str) -> int:
    """Print the page of a known issue, of a cause, of a group of causes, or of a kind of problem that is none of precision.

    Text fits one screen; the other formats hold everything. Raises UnknownIssueError with the names that are spelled most alike.
    """
    format = process.check_format(format, _FORMATS)
    colored = process.use_color(color, output) and format == "text"
    spoken = process.language(language)
    base = load(kb)
    wanted = issue.strip().removeprefix("kb/").removesuffix(".yaml")
    text = _page(base, wanted, format, spoken, colored, process.width(output))
    process.write(text, output)
    return 0


def _page(base: KnowledgeBase, wanted: str, format: str, language: str, color: bool, width: int) -> str:
    cause = wanted.removeprefix("causes/")
    # Some causes are called as an issue is: the issue is what an answer leads to.
    if cause in base.causes.causes and (cause != wanted or wanted not in base.index.ids):
        return _cause(base, cause, format, language, color, width)
    group = tuple(code for code in base.causes.causes if code.partition("/")[0] == wanted)
    if group:
        return _group(base, wanted, group, format, language, color, width)
    try:
        entry = base.entry(wanted)
    except UnknownIssueError as error:
        outside = _outside(base, wanted)
        if outside:
            return _kind(wanted, outside, format, language, color, width)
        import difflib

        alike = difflib.get_close_matches(wanted, base.causes.causes, n=2, cutoff=0.6)
        if not alike:
            raise
        raise UnknownIssueError(wanted, tuple(dict.fromkeys((*alike, *error.suggestions)))[:4]) from None
    if format == "json":
        import msgspec

        return msgspec.json.format(msgspec.json.encode(entry), indent=2).decode() + "\n"
    if format == "text":
        from troubleshoot.engine.records import seen_in
        from troubleshoot.telling import explained

        seen = seen_in(base.roots)
        return explained.one_screen(*explained.of_issue(entry, language, lambda fix: seen(entry.id, fix), width), color=color, width=width)
    from troubleshoot.telling import render_documents
    from troubleshoot.telling.entry import entry_document

    special = tuple(id_ for id_ in base.ids() if entry.id in base.entry(id_).refines)
    return render_documents((entry_document(entry, language, special),), format)


def _cause(base: KnowledgeBase, code: str, format: str, language: str, color: bool, width: int) -> str:
    cause = base.causes.causes[code]
    if format == "json":
        import msgspec

        return msgspec.json.format(msgspec.json.encode({"cause": code, **msgspec.to_builtins(cause)}), indent=2).decode() + "\n"
    found = [entry for entry in map(base.entry, base.ids()) if entry.cause == code or any(one.cause == code for one in entry.causes)]
    # The message families first: the others are their special cases.
    found.sort(key=lambda entry: entry.kind != "family")
    issues = [(entry.id, entry.zh.title if language == "zh" and entry.zh else entry.title) for entry in found]
    if format == "text":
        from troubleshoot.telling import explained

        return explained.one_screen(*explained.of_cause(code, cause, language, issues, width), color=color, width=width)
    from troubleshoot.telling import render_documents
    from troubleshoot.telling.entry import cause_document

    return render_documents((cause_document(code, cause, language, tuple(issues)),), format)


def _group(base: KnowledgeBase, name: str, codes: Sequence[str], format: str, language: str, color: bool, width: int) -> str:
    """Return the page of a group of causes, such as ``numerics``."""
    known = base.causes.causes
    causes = [(code, known[code].title.zh if language == "zh" else known[code].title.en) for code in codes]
    if format == "json":
        return process.json_text({"group": name, "causes": [{"cause": code, "title": title} for code, title in causes]})
    from troubleshoot.telling import explained

    return _drawn(explained.of_group(name, language, causes), format, color, width)


def _outside(base: KnowledgeBase, wanted: str) -> tuple[OutOfScope, ...]:
    """Return the kinds of problems of a name that the tool only recognises: ``memory``, ``gpu-memory``."""
    named = base.out_of_scope.get(wanted)
    found = (named,) if named is not None else tuple(one for id_, one in base.out_of_scope.items() if wanted in id_.split("-"))
    # A group without messages repeats, for an exception's class, what another says.
    return tuple(one for one in found if one.message) or found


def _kind(name: str, groups: Sequence[OutOfScope], format: str, language: str, color: bool, width: int) -> str:
    if format == "json":
        import msgspec

        return process.json_text([msgspec.to_builtins(one) for one in groups])
    from troubleshoot.telling import explained

    return _drawn(explained.of_outside(name, groups, language), format, color, width)


def _drawn(page: tuple[Document, tuple[Part, ...]], format: str, color: bool, width: int) -> str:
    from troubleshoot.telling import explained, render_documents

    if format == "text":
        return explained.one_screen(*page, color=color, width=width)
    return render_documents((explained.whole(*page),), format)
