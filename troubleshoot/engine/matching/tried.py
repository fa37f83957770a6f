"""What the experiments that a user made say of each cause: how well the cause predicted what came out (kb/experiments.yaml).

A cause that says *always* is right in 19 of 20 cases, one that says *mostly* in four of five; of one that says nothing, either outcome may
come. So far the table. An answer to a question counts fully. What was read from prose counts as often as it proved right on labelled
reports, and only where one clause names both what was changed and what came out: what stands farther apart proved right no more often
than by chance.
"""

from __future__ import annotations

import math

from troubleshoot.basics.lazy import lazy_attribute
from troubleshoot.engine.evidence import TRIED, Fact, Facts
from troubleshoot.knowledge.base import KnowledgeBase
from troubleshoot.knowledge.experiments import Prediction
from troubleshoot.knowledge.schema import NO_CAUSE

#: How often a prediction holds.
_ALWAYS, _MOSTLY = 0.95, 0.8
#: Before anybody looks, either outcome may come.
_EITHER = 0.5
#: How far an outcome that was read can be trusted, of 1 for an answer; fitted by ``troubleshoot kb learn`` (curation/outcome_fit.py).
READ = 0.5


def chance(prediction: Prediction | None, outcome: str) -> float:
    """Return how probable an outcome (``gone`` or ``same``) is under a prediction; None: nothing is predicted."""
    if prediction is None:
        return _EITHER
    holds = _ALWAYS if prediction.always else _MOSTLY
    return holds if prediction.outcome == outcome else 1.0 - holds


class Tried:
    """The outcomes of experiments: those that the report tells of, and those that the user answered. Nothing is looked up before
    somebody asks.
    """

    def __init__(self, base: KnowledgeBase | None = None, facts: Facts | None = None) -> None:
        """Keep what is known; without a base, nothing speaks for any cause."""
        self._base = base
        self._facts = facts
        self._odds: dict[str, float] = {}

    @lazy_attribute
    def outcomes(self) -> tuple[tuple[str, str, bool], ...]:
        """Of each experiment with an outcome that a cause may predict: its name, the outcome, and whether it was answered."""
        if self._base is None or self._facts is None:
            return ()
        told_of = self._facts.tried.keys() | {name for name in self._facts.stated if name.startswith(TRIED)}
        if not told_of:
            return ()
        known = ((name, self._facts.get(TRIED + name)) for name in self._base.experiments.experiments)
        told = ((name, facts[0]) for name, facts in known if facts)
        return tuple((name, fact.value, fact.source == "answer") for name, fact in told if fact.value in ("gone", "same"))

    @property
    def answered(self) -> bool:
        """Tell whether an outcome was answered."""
        return any(answered for _, _, answered in self.outcomes)

    @lazy_attribute
    def in_vain(self) -> dict[str, Fact]:
        """The experiments that changed nothing, by name, with where that is said."""
        if self._facts is None:
            return {}
        return {name: self._facts.get(TRIED + name)[0] for name, outcome, _ in self.outcomes if outcome == "same"}

    def already(self, kind: str) -> Fact | None:
        """Return where it is said that a fix of this kind was tried in vain: an experiment that is nothing else changed nothing."""
        if not self.in_vain or self._base is None:
            return None
        experiments = self._base.experiments.experiments
        return next((fact for name, fact in self.in_vain.items() if experiments[name].fix == kind), None)

    def unexpected(self, cause: str) -> str | None:
        """Return an experiment that repaired it, although the cause did not predict that it would."""
        predicted = self._base.predicted(cause) if self.outcomes and self._base is not None else {}
        repaired = (name for name, outcome, _ in self.outcomes if outcome == "gone")
        return next((name for name in repaired if name not in predicted or predicted[name].outcome != "gone"), None)

    def odds(self, cause: str) -> float:
        """Return what the outcomes add to the log-odds of a cause."""
        if not self.outcomes:
            return 0.0
        known = self._odds.get(cause)
        if known is None:
            assert self._base is not None
            said = self._base.predicted(cause)
            weights = [_weight(said[name], outcome, answered, cause) for name, outcome, answered in self.outcomes if name in said]
            known = self._odds[cause] = math.fsum(weights)
        return known


def outcome_weight(prediction: Prediction, outcome: str, trust: float = 1.0) -> float:
    """Return what an outcome adds to the log-odds of a cause that predicted something; ``trust`` in what is told of it, of 1."""
    return math.log(1.0 - trust + trust * chance(prediction, outcome) / _EITHER)


def _weight(prediction: Prediction, outcome: str, answered: bool, cause: str) -> float:
    if not answered and cause == NO_CAUSE:
        # What is no problem of the kind is no problem of one kind: labelled reports show no outcome that goes with it.
        return 0.0
    return outcome_weight(prediction, outcome, 1.0 if answered else READ)


#: Where there is no report, as when an issue is recalled.
NOTHING_TRIED = Tried()
