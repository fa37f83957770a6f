"""Which facts a condition reads, and which an answer changes."""

from __future__ import annotations

from troubleshoot.knowledge.schema import Condition


def changes_environment(about: str) -> bool:
    """Tell whether an answer to a question changes packages, accelerators or what follows from them."""
    return about == "gpu" or about.startswith(("package.", "device."))


def condition_facts(condition: Condition) -> frozenset[str]:
    """Return the facts that a condition reads, by the names of the questions that ask for them."""
    found: set[str] = set()
    waiting = [condition]
    while waiting:
        one = waiting.pop()
        if one.fact is not None:
            found.add("gpu" if one.fact.startswith(("gpu.", "support.")) else one.fact)
        waiting += [*one.any, *one.all, *one.none]
    return frozenset(found)
