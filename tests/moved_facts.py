"""Facts moved: every unseen report with a stated GPU, model or release, once as it is and once with that fact given beside the text.

    python tests/moved_facts.py [-v]      the share of answers that stay, by kind of fact

The answer is the issue, the cause and the first fix.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from troubleshoot import diagnose
from troubleshoot.basics.errors import FactError
from troubleshoot.curation.scoring import load_cases
from troubleshoot.engine.evidence import environment_of
from troubleshoot.reading import read_report

UNSEEN = Path(__file__).parent / "data" / "unseen"


@dataclass(frozen=True)
class Moved:
    """A report without a fact that it stated, and the fact as it is given instead."""

    kind: str
    name: str
    before: str
    after: str
    given: dict[str, Any]


def answer(text: str, **given: Any) -> tuple[str | None, ...]:
    """Return verdict, issue, cause and first fix of a report."""
    found = diagnose(text, environment="report", **given)
    first = found.first
    if first is None or found.verdict == "unknown":
        return ("unknown",)
    return (first.issue, first.cause, first.recommended[0].id if first.recommended else None)


def moved(name: str, text: str) -> Iterator[Moved]:
    """Yield a report with each of its facts moved that stands there once and can be taken out without the words around it."""
    report = read_report(text)
    environment = environment_of(report)
    by_kind: dict[str, list[Any]] = {}
    for one in report.mentions:
        by_kind.setdefault(one.kind, []).append(one)
    cards = by_kind.get("gpu", ())
    if len(cards) == 1 and environment.accelerators and text.count(cards[0].value) == 1:
        yield Moved("gpu", name, text, text.replace(cards[0].value, ""), {"gpu": cards[0].value})
    models = by_kind.get("model", ())
    if len(models) == 1 and text.count(models[0].value) == 1:
        yield Moved("model", name, text, text.replace(models[0].value, ""), {"answers": {"model": models[0].value}})
    for one in by_kind.get("package", ()):
        others = [other for other in by_kind["package"] if other.name == one.name]
        if one.value not in ("", "absent") and len(others) == 1 and text.count(one.value) == 1:
            yield Moved("release", name, text, text.replace(one.value, ""), {"have": {one.name: one.value}})


def every_moved() -> Iterator[Moved]:
    """Yield all of them."""
    for name, _, text in load_cases(UNSEEN):
        yield from moved(name, text)


def main() -> None:
    """Print the shares."""
    stayed: dict[str, list[bool]] = {}
    for one in every_moved():
        try:
            before, after = answer(one.before), answer(one.after, **one.given)
        except FactError:
            # A package that no table and no entry names: it says nothing, and is not taken.
            continue
        stayed.setdefault(one.kind, []).append(before == after)
        if before != after and "-v" in sys.argv:
            print(f"{one.kind} {one.name} {one.given}\n  - {before}\n  + {after}")
    for kind, same in stayed.items():
        print(f"{kind}: {sum(same)} of {len(same)} stay")


if __name__ == "__main__":
    main()
