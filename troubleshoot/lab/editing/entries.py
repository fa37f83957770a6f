"""The fixes of a known issue as advice, where no diagnosis has chosen and ordered them."""

from __future__ import annotations

from troubleshoot.engine.fixes import actions
from troubleshoot.engine.fixes.library import nameless
from troubleshoot.engine.fixes.select import fixes_of
from troubleshoot.engine.result import FixAdvice
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.knowledge.schema import Entry


def fixes_of_issue(entry: Entry, cause: str | None, base: KnowledgeBase) -> tuple[FixAdvice, ...]:
    """Return an entry's fixes for a cause (None: its own, or all of a family) in the order of the entry; whether they fit is not known."""
    causes = [cause] if cause else [entry.cause] if entry.cause else [one.cause for one in entry.causes]
    found: dict[str, FixAdvice] = {}
    for one in causes:
        for fix in map(nameless, fixes_of(entry, one, base)):
            found.setdefault(
                fix.id,
                FixAdvice(
                    id=fix.id, kind=fix.kind, title=fix.title, applicability=fix.applicability, fits=None, why="", reason=fix.reason,
                    command=actions.command(fix.action), code=actions.code(fix.action), expected=fix.expected, action=dict(fix.action),
                ),
            )  # fmt: skip
    return tuple(found.values())
