"""The shipped base with its examples, for tests that are generated from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from packaging.version import Version

from troubleshoot.curation.checked import Checked
from troubleshoot.curation.example_checks import answer_of
from troubleshoot.engine.diagnosis import diagnose
from troubleshoot.engine.result import Diagnosis
from troubleshoot.knowledge.base import KnowledgeBase, shipped_root
from troubleshoot.knowledge.collect import collect
from troubleshoot.knowledge.compiled import compile_base
from troubleshoot.knowledge.schema import Affected, Condition, Entry, Example

ROOT = shipped_root()
_COLLECTED = collect([ROOT])
BASE = KnowledgeBase(compile_base(_COLLECTED, []), (ROOT,))

#: entry id -> its positive examples with their texts
POSITIVE: dict[str, list[tuple[Example, str]]] = {}
for _entry, _example, _positive, _text in Checked(_COLLECTED, BASE, True).examples:
    if _positive and _entry.status != "withdrawn":
        POSITIVE.setdefault(_entry.id, []).append((_example, _text))

#: (entry id, number of the example)
EXAMPLES = [(issue, number) for issue, examples in POSITIVE.items() for number in range(len(examples))]


def ask(example: Example, text: str, *, have: Mapping[str, str] | None = None, **options: Any) -> Diagnosis:
    """Diagnose an example in the environment that it names, with further releases in ``have`` and other ``options``."""
    known = {name: version if version is not None else "absent" for name, version in example.environment.items()}
    given = {"gpu": example.gpu, **options}
    return diagnose(text, environment="report", kb=BASE, have={**known, **(have or {})}, **given)


def answer(example: Example, text: str, **options: Any) -> str:
    """Return the id of the entry that answers."""
    return answer_of(ask(example, text, **options))


def releases(affected: Affected) -> Iterator[tuple[str, bool]]:
    """Yield releases at the borders of the ranges, and whether each is affected; those of which nothing is known are left out."""
    borders = {border for part in affected.ranges for border in (part.introduced, part.fixed) if border is not None}
    for release in sorted({one for border in borders for one in (border, just_below(border)) if one}):
        if any(part.unknown_before is not None and Version(release) < Version(part.unknown_before) for part in affected.ranges):
            continue
        yield release, any(
            (part.introduced is None or Version(release) >= Version(part.introduced))
            and (part.fixed is None or Version(release) < Version(part.fixed))
            for part in affected.ranges
        )


def just_below(version: str) -> str | None:
    """Return a release shortly before another: 4.50.2 for 4.50.3, 4.49.99 for 4.50.0."""
    numbers = list(Version(version).release)
    for index in range(len(numbers) - 1, -1, -1):
        if numbers[index] > 0:
            return ".".join(map(str, [*numbers[:index], numbers[index] - 1, *[99] * (len(numbers) - index - 1)]))
    return None


def values(condition: Condition) -> list[str]:
    """Return the values that an ``is`` names."""
    named = condition.is_ if isinstance(condition.is_, list | tuple) else [condition.is_]
    return [str(one) for one in named]


def entry_of(issue: str) -> Entry:
    """Return an entry."""
    return BASE.entry(issue)
