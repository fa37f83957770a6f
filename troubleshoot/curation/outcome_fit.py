"""How far outcomes of experiments that were read from labelled reports can be trusted: the number ``READ`` of engine/matching/tried.py.

A report that tells of an experiment speaks for its cause in two ways: by telling of it at all, which is as likely as the causes of all such
reports say, and by what came out, which is as likely as the cause predicted it. Only the second is weighed here, and by one number: the
share to which the outcome counts, of 1 for a report that is always read rightly. Whoever mends the reader or the table fits it anew.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from troubleshoot.curation.scoring import load_cases
from troubleshoot.engine.matching.tried import outcome_weight
from troubleshoot.knowledge import KnowledgeBase, load_kb
from troubleshoot.knowledge.schema import NO_CAUSE
from troubleshoot.reading import read_report

#: How many reports the causes of all experiments together count as, beside those of one experiment.
_PULL = 10.0
_STEPS = 20


class Outcome(NamedTuple):
    """What a labelled report says of an experiment."""

    cause: str
    experiment: str
    outcome: str


class OutcomeFit(NamedTuple):
    """``trust`` is the fitted number, ``gain`` the log-likelihood that it adds, ``outcomes`` how many it rests on; ``counts`` says of each
    experiment how often the outcome was what the cause predicted, was not, and how often the cause says nothing.
    """

    trust: float
    gain: float
    outcomes: int
    counts: Mapping[str, tuple[int, int, int]]


def read_outcomes(folder: Path | str, *, progress: Callable[[str], None] = lambda _: None) -> list[Outcome]:
    """Return the sure outcomes of the labelled reports of a folder.

    Raises:
        InputError: the folder, ``labels.yaml`` or a report is missing or malformed.
    """
    found: list[Outcome] = []
    for name, label, text in load_cases(Path(folder)):
        told = {(one.experiment, one.outcome) for one in read_report(text).contrasts if one.sure and one.outcome in ("gone", "same")}
        found += [Outcome(str(label["cause"]), *one) for one in sorted(told)]
        progress(name)
    return found


def fit_outcomes(outcomes: Sequence[Outcome], *, kb: KnowledgeBase | None = None) -> OutcomeFit:
    """Fit the one number to outcomes."""
    base = kb if kb is not None else load_kb()
    overall = Counter(one.cause for one in outcomes)
    of_experiment: dict[str, Counter[str]] = defaultdict(Counter)
    for one in outcomes:
        of_experiment[one.experiment][one.cause] += 1

    def likelihood(trust: float) -> float:
        total = 0.0
        for one in outcomes:
            told = of_experiment[one.experiment]
            before = {cause: told[cause] + _PULL * count / len(outcomes) for cause, count in overall.items()}
            weights = {cause: value * math.exp(_odds(cause, one, base, trust)) for cause, value in before.items()}
            total += math.log(weights[one.cause] / math.fsum(weights.values()))
        return total

    trusts = [step / _STEPS for step in range(_STEPS)]
    best = max(trusts, key=likelihood)
    counts: dict[str, tuple[int, int, int]] = {}
    for name in sorted(of_experiment, key=lambda name: -of_experiment[name].total()):
        mine = [(one, base.predicted(one.cause).get(name)) for one in outcomes if one.experiment == name]
        agree = sum(said is not None and said.outcome == one.outcome for one, said in mine)
        silent = sum(said is None for _, said in mine)
        counts[name] = (agree, len(mine) - agree - silent, silent)
    return OutcomeFit(best, likelihood(best) - likelihood(0.0), len(outcomes), counts)


def _odds(cause: str, one: Outcome, base: KnowledgeBase, trust: float) -> float:
    prediction = base.predicted(cause).get(one.experiment)
    return outcome_weight(prediction, one.outcome, trust) if prediction is not None and cause != NO_CAUSE else 0.0
