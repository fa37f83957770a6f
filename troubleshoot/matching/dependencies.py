"""Which facts an entry's answer depends on, so that trying an answer re-evaluates only what the answer can change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Alternatives:
    """The members of an ``any``, sorted by how they are decided: mere places (with the text to look for), and the others."""

    places: tuple[tuple[str, Condition], ...]
    others: tuple[Condition, ...]


class ConditionMemo:
    """What follows from a condition alone. It is kept by identity, together with the condition, so that no other can take its place."""

    def __init__(self) -> None:
        """Start empty."""
        self._facts: dict[int, tuple[Condition, frozenset[str]]] = {}
        self._values: dict[int, tuple[Condition, frozenset[str]]] = {}
        self._alternatives: dict[int, tuple[tuple[Condition, ...], Alternatives]] = {}

    def facts(self, condition: Condition) -> frozenset[str]:
        """Return the facts that a condition reads."""
        known = self._facts.get(id(condition))
        if known is None:
            known = self._facts[id(condition)] = (condition, _condition_facts(condition))
        return known[1]

    def alternatives(self, conditions: tuple[Condition, ...]) -> Alternatives:
        """Return the members of an ``any``, sorted."""
        known = self._alternatives.get(id(conditions))
        if known is None:
            places = tuple((f"/{one.frame}" if "/" in one.frame else one.frame, one) for one in conditions if one.frame)
            others = tuple(one for one in conditions if not one.frame)
            known = self._alternatives[id(conditions)] = (conditions, Alternatives(places, others))
        return known[1]

    def values(self, condition: Condition) -> frozenset[str]:
        """Return the values that a condition compares with (``is`` or ``not``), in small letters."""
        known = self._values.get(id(condition))
        if known is None:
            value = condition.is_ if condition.is_ is not None else condition.not_
            listed = value if isinstance(value, list | tuple) else [value]
            known = self._values[id(condition)] = (condition, frozenset(str(one).strip().lower() for one in listed))
        return known[1]


def _condition_facts(condition: Condition) -> frozenset[str]:
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
        found |= _condition_facts(condition)
    for fix in entry.fixes:
        found |= {f"package.{fix.action[name]}" for name in ("upgrade", "downgrade", "uninstall") if name in fix.action}
    if entry.models:
        found.add("model")
    return frozenset(found)
