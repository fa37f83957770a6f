"""General advice about the library in which it failed: its name is put into the fix, or the fix is left out where none is to blame."""

from __future__ import annotations

import msgspec

from troubleshoot.knowledge.schema import Fix
from troubleshoot.matching.conditions import Context

#: What general fixes write where the library's name belongs.
PLACEHOLDER = "{library}"

#: Distributions whose import name is not their name on the package index.
_DISTRIBUTIONS = {"open_clip": "open_clip_torch"}


#: Names in reports are free text: this many fixes with a name in them are kept.
_MOST_NAMED = 500


def library_at_fault(context: Context) -> str | None:
    """Return the distribution that holds the deepest frame above torch; None where that is the user's own code, a checkout, or unknown.

    Where the user's own code called torch, a newer release of a library changes nothing.
    """
    owner = context.failure.called_by if context.failure is not None else None
    return None if owner is None else _DISTRIBUTIONS.get(owner, owner.replace("_", "-"))


def name_library(fix: Fix, context: Context) -> Fix | None:
    """Return the fix with the library's name in its placeholders; None where it has placeholders and no library is to blame."""
    if PLACEHOLDER not in fix.title:
        return fix
    name = library_at_fault(context)
    if name is None:
        return None
    # A server sees many reports about few libraries.
    named: dict[tuple[int, str], tuple[Fix, Fix]] = context.programs.named
    known = named.get((id(fix), name))
    if known is None or known[0] is not fix:
        if len(named) >= _MOST_NAMED:
            named.clear()
        known = named[(id(fix), name)] = (fix, _named(fix, name))
    return known[1]


def _named(fix: Fix, name: str) -> Fix:
    action = {key: value.replace(PLACEHOLDER, name) if isinstance(value, str) else value for key, value in fix.action.items()}
    zh = msgspec.structs.replace(fix.zh, title=fix.zh.title.replace(PLACEHOLDER, name)) if fix.zh else None
    return msgspec.structs.replace(fix, title=fix.title.replace(PLACEHOLDER, name), action=action, zh=zh)
