"""The labelled public reports under tests/data/labelled, unseen and retold: their form, and that what is right stays right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import get_args

import golden
import pytest
from shipped import BASE

from troubleshoot.curation.scoring import load_cases
from troubleshoot.knowledge.schema import FixKind

LABELLED = Path(__file__).parents[1] / "data" / "labelled"
UNSEEN = LABELLED.with_name("unseen")
RETOLD = LABELLED.with_name("retold")
RECENT = LABELLED.with_name("recent")
CASES = [*load_cases(LABELLED), *load_cases(UNSEEN), *load_cases(RETOLD), *load_cases(RECENT)]
CAUSES = {*BASE.causes.causes, "none"}
KINDS = set(get_args(FixKind))


def test_the_labels_are_of_the_vocabulary() -> None:
    """Causes, kinds of fix, and a public thread as the source."""
    wrong = [
        name
        for name, label, _ in CASES
        if not {label["cause"], *(label.get("also") or ())} <= CAUSES
        or label["cause"] in (label.get("also") or ())
        or not set(label.get("fix") or ()) <= KINDS
        or not str(label.get("source")).startswith("https://")
    ]
    assert wrong == []


def test_every_report_is_there_once() -> None:
    """One that is there twice would count twice; a thread may hold several reports."""
    texts = Counter(text.strip() for _, _, text in CASES)
    assert [text for text, count in texts.items() if count > 1] == []
    assert len(CASES) > 500


@pytest.mark.parametrize(
    ("part", "rounds", "cause", "fix", "alarms"),
    [
        ("labelled", "", 0.97, 0.95, 0.02),
        ("unseen", "", 0.89, 0.84, 0.05),
        ("unseen", "drawn-at-random", 0.93, 0.9, 0.05),
        ("retold", "held-out", 0.75, 0.7, 0.15),
    ],
)
def test_what_was_right_stays_right(part: str, rounds: str, cause: float, fix: float, alarms: float) -> None:
    """Of the answers kept in data/golden.jsonl (`python tests/golden.py` holds them against those of today).

    The labelled reports were tuned on, so that their floors are no forecast (docs/accuracy.md). The others were not: a drop there says that
    a change was made for the others alone. Look for it there, not by reading these.
    """
    found = golden.scored(part, golden.stored(), rounds)
    assert found.right / found.problems >= cause
    assert found.fixed / found.problems >= fix
    assert found.alarms / found.misses <= alarms


def test_every_report_has_a_kept_answer() -> None:
    """Reports came or went: run `python tests/golden.py --write`."""
    kept = {name for name in golden.stored() if name.startswith(golden.SETS) and "@" not in name}
    assert kept == {f"{path.name}/{name}" for path in (LABELLED, UNSEEN, RETOLD) for name, _, _ in load_cases(path)}


def test_the_words_were_fitted_to_these_reports() -> None:
    """A round was added or taken out: run `troubleshoot kb learn tests/data/labelled`. The unseen ones are not to be learned from."""
    table = BASE.word_odds
    assert table.reports == len(load_cases(LABELLED))
    assert set(table.causes) <= CAUSES
