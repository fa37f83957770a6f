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


def entry_facts(entry: Entry) -> frozenset[str]:
    """Return the facts that an entry's evidence, causes, releases and own fixes read."""
    conditions: list[Condition] = [*entry.evidence.required, *entry.evidence.supporting, *entry.evidence.refuting]
    for weighted in entry.causes:
        conditions += [*weighted.likelier, *weighted.needs]
    for fix in entry.fixes:
        conditions += [*fix.when, *fix.unless, *fix.later]
    found: set[str] = {f"package.{one.package}" for one in entry.affected}
    for condition in conditions:
        found |= condition_facts(condition)
    for fix in entry.fixes:
        found |= {f"package.{fix.action[name]}" for name in ("upgrade", "downgrade", "uninstall") if name in fix.action}
    if entry.models:
        found.add("model")
    return frozenset(found)
