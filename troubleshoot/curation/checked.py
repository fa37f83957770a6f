"""A base under lint, and the walks over its entries that checks share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from troubleshoot.basics.errors import KnowledgeProblem
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.collect import Collected
from troubleshoot.knowledge.schema import Condition, Entry, Example, Fix


@dataclass(frozen=True)
class Checked:
    """A base under lint: what was collected, and the same compiled. ``shipped``: it is ours alone, and held to all rules."""

    collected: Collected
    base: KnowledgeBase
    shipped: bool

    def place(self, id_: str) -> Path | str:
        """Return the file of an entry."""
        return self.collected.places.get(id_, id_)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All entries."""
        return tuple(self.collected.entries.values())

    @cached_property
    def examples(self) -> list[tuple[Entry, Example, bool, str]]:
        """Every example as (entry, example, positive, text); unreadable ones are reported by their own check."""
        found: list[tuple[Entry, Example, bool, str]] = []
        for entry in self.entries:
            for positive, examples in ((True, entry.examples.positive), (False, entry.examples.negative)):
                for example in examples:
                    text = example_text(example, self.collected.places[entry.id])
                    if text is not None:
                        found.append((entry, example, positive, text))
        return found

    @cached_property
    def conditions(self) -> list[tuple[Path | str, Entry | None, Condition]]:
        """Every condition, nested ones too, as (file, entry, condition); the entry is None for the general fixes of a cause."""
        found: list[tuple[Path | str, Entry | None, Condition]] = []
        for entry in self.entries:
            found += [(self.place(entry.id), entry, one) for one in walk(conditions_of(entry))]
        for code, cause in self.base.causes.causes.items():
            found += [(self.cause_place(code)[0], None, one) for one in walk(conditions_of_fixes(cause.fixes))]
        return found

    def cause_place(self, code: str) -> tuple[Path | str, str]:
        """Return the file of a cause, and what precedes its fields there."""
        return self.collected.cause_places[code]


Check = Callable[[Checked], Iterator[KnowledgeProblem]]


def example_text(example: Example, entry_file: Path) -> str | None:
    """Return an example's text, from the entry or from its file; None where it cannot be read."""
    if example.text is not None:
        return example.text
    if example.file is None:
        return None
    try:
        return (entry_file.parent / example.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def conditions_of(entry: Entry) -> list[Condition]:
    """Return the conditions of an entry's evidence, causes and fixes, without the nested ones."""
    found: list[Condition] = [*entry.evidence.required, *entry.evidence.supporting, *entry.evidence.refuting]
    for weighted in entry.causes:
        found += [*weighted.likelier, *weighted.needs]
    return found + conditions_of_fixes(entry.fixes)


def conditions_of_fixes(fixes: Iterable[Fix]) -> list[Condition]:
    """Return the conditions of fixes."""
    return [one for fix in fixes for one in (*fix.when, *fix.unless, *fix.later)]


def walk(conditions: Iterable[Condition]) -> Iterator[Condition]:
    """Yield conditions and all that are nested in them."""
    waiting = list(conditions)
    while waiting:
        condition = waiting.pop()
        yield condition
        waiting += [*condition.any, *condition.all, *condition.none]


def phrases_of(condition: Condition) -> tuple[str, ...]:
    """Return the phrases of a ``text`` condition."""
    if condition.text is None:
        return ()
    return (condition.text,) if isinstance(condition.text, str) else condition.text
