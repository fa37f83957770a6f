"""Patterns that run over pasted text: compiled when they are first needed, and known to the check that attacks each of them.

A stranger chooses the text, so that every pattern has to be linear in it, whatever it holds. Three rules make that so:

- no pattern is made from a report's text;
- a pattern says how it is used: :func:`anchored` ones are tried at one place only (``match``, ``fullmatch``), :func:`searched` ones
  at every place (``search``, ``finditer``, ``sub``, ``split``), where a repeat in front costs a walk from each place again;
- repeats that may take the same characters do not stand side by side or inside each other: what comes first takes all it can (``*+``), or
  its length is bounded.

``troubleshoot.curation.growth`` tries each pattern against texts made of its own repeats, and the tests let nothing above linear pass.
"""

from __future__ import annotations

import re
from functools import lru_cache

#: (pattern, flags, whether it is searched for) -> compiled. Every pattern that does not depend on a text is in it once it was used.
COMPILED: dict[tuple[str, int, bool], re.Pattern[str]] = {}


def anchored(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return the compiled pattern, which is tried at one place of a text only."""
    return _compiled(pattern, flags, False)


def searched(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return the compiled pattern, which is looked for anywhere in a text."""
    return _compiled(pattern, flags, True)


@lru_cache(maxsize=128)
def composed(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern put together of those names of our tables that a text holds; as many as there are texts, so that few are kept."""
    return re.compile(pattern, flags)


def _compiled(pattern: str, flags: int, search: bool) -> re.Pattern[str]:
    key = (pattern, flags, search)
    found = COMPILED.get(key)
    if found is None:
        found = COMPILED[key] = re.compile(pattern, flags)
    return found
