"""Which facts an entry's answer depends on, so that trying an answer re-evaluates only what the answer can change."""

from __future__ import annotations

from collections.abc import Iterable

from troubleshoot.knowledge.schema import Condition, Entry

#: The answer "gpu" changes all of these.
GPU_FACTS = frozenset({"gpu.name", "gpu.capability", "gpu.architecture", "gpu.memory", "gpu.count", "device.kind"})


def changed_facts(answers: Iterable[str]) -> frozenset[str]:
    """Return the facts that answers to these questions can change; ``support.`` stands for all of its kind."""
    changed: set[str] = set()
    for name in answers:
        if name == "gpu":
            changed |= GPU_FACTS | {"gpu", "support."}
        else:
            changed.add(name)
            if name in ("device.kind", "device.requested"):
                changed |= {"device.kind", "support."}
    return frozenset(changed)


def changes_environment(answers: Iterable[str]) -> bool:
    """Tell whether answers to these questions change packages, accelerators or what follows from them."""
    return any(name == "gpu" or name.startswith(("package.", "device.")) for name in answers)


def condition_facts(condition: Condition) -> frozenset[str]:
    """Return the facts that a condition reads."""
    found: set[str] = set()
    waiting = [condition]
    while waiting:
        one = waiting.pop()
        if one.fact is not None:
            found.add("support." if one.fact.startswith("support.") else one.fact)
        waiting += [*one.any, *one.all, *one.none]
    return frozenset(found)


def evidence_facts(entry: Entry) -> frozenset[str]:
    """Return the facts that decide whether an entry answers: its evidence, its releases, its models."""
    found: set[str] = {f"package.{one.package}" for one in entry.affected}
    for condition in (*entry.evidence.required, *entry.evidence.supporting, *entry.evidence.refuting):
        found |= condition_facts(condition)
    if entry.models:
        found.add("model")
    return frozenset(found)


def entry_facts(entry: Entry) -> frozenset[str]:
    """Return the facts that an entry's evidence, causes, releases and own fixes read."""
    conditions = [condition for weighted in entry.causes for condition in (*weighted.likelier, *weighted.needs)]
    for fix in entry.fixes:
        conditions += [*fix.when, *fix.unless, *fix.later]
    found = set(evidence_facts(entry))
    for condition in conditions:
        found |= condition_facts(condition)
    for fix in entry.fixes:
        found |= {f"package.{fix.action[name]}" for name in ("upgrade", "downgrade", "uninstall") if name in fix.action}
    return frozenset(found)


def fixes_read(entry: Entry, changed: frozenset[str]) -> bool:
    """Tell whether a condition of an entry's own fixes reads one of these facts, or its commands concern one of these packages."""
    for fix in entry.fixes:
        if any(not changed.isdisjoint(condition_facts(one)) for one in (*fix.when, *fix.unless, *fix.later)):
            return True
        if any(f"package.{fix.action[name]}" in changed for name in ("upgrade", "downgrade", "uninstall") if name in fix.action):
            return True
    return False
