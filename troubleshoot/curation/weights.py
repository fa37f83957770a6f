"""``troubleshoot kb weigh FOLDER``: fit the weights of families' causes to labelled reports.

A family's cause has a weight, and every ``likelier`` condition that holds multiplies it. As shares are these products divided by their sum,
their logarithms are the coefficients of a conditional logit model. They are fitted by maximum a posteriori: the curator's number is the
mean of the prior, so that what few reports speak about stays near it. Reports of one folder are never on both sides of the
cross-validation: its figure is what to expect of reports that nobody has seen, the fitted one is not.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from troubleshoot.curation.scoring import load_cases
from troubleshoot.engine.diagnosis import examine
from troubleshoot.engine.matching.candidates import Candidate
from troubleshoot.engine.matching.conditions import CausePrograms
from troubleshoot.engine.ranking import LIKELY
from troubleshoot.knowledge import KnowledgeBase, load_kb
from troubleshoot.knowledge.schema import NO_CAUSE, Entry

#: How much a cause counts that the label accepts besides its own.
_ALSO = 0.6
_FOLDS = 5
_SWEEPS = 60
#: Two significant digits are kept, and what changes by less than this share stays.
_SAME = 0.06


class Parameter(NamedTuple):
    """A number of an entry: the weight of a cause, or with ``condition`` the factor of that one of its ``likelier`` conditions."""

    cause: int
    condition: int | None = None


@dataclass(frozen=True)
class Option:
    """A cause that is possible for one report: what multiplies to its weight, and how much it counts as an answer (0 to 1)."""

    parameters: tuple[Parameter, ...]
    accepted: float


@dataclass(frozen=True)
class Answered:
    """A labelled report that a family answers."""

    folder: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Weighed:
    """A family: how many labelled reports it answers, in how many its first cause is the label's own and is accepted, and the new numbers.

    ``before`` is what the entry says, ``unseen`` the cross-validated fit, ``after`` the fit to all: (own, accepted).
    """

    issue: str
    reports: int
    before: tuple[int, int]
    unseen: tuple[int, int]
    after: tuple[int, int]
    numbers: Mapping[Parameter, float]

    @property
    def borne_out(self) -> bool:
        """Whether the fit is better than what the entry says on folders that it did not see: only then are its numbers worth writing.

        An entry that was mended by hand on these reports is hard to beat; one that meets new ones is not.
        """
        own, accepted = (unseen - before for unseen, before in zip(self.unseen, self.before, strict=True))
        return min(own, accepted) >= 0 and own + accepted > 0


@dataclass(frozen=True)
class Weighing:
    """All families with enough reports."""

    families: tuple[Weighed, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object."""
        families = []
        for one in self.families:
            numbers = [{"cause": key.cause, "condition": key.condition, "value": value} for key, value in one.numbers.items()]
            families.append({**asdict(one), "numbers": numbers, "borne_out": one.borne_out})
        return {"schema": 1, "families": families}


def weigh(
    folder: Path | str,
    *,
    kb: KnowledgeBase | None = None,
    pull: float = 2.0,
    least: int = 12,
    progress: Callable[[str], None] = lambda _: None,
) -> Weighing:
    """Fit the families that answer at least ``least`` of the labelled reports; ``pull`` is the weight of the curator's numbers.

    Raises:
        InputError: the folder, ``labels.yaml`` or a report is missing or malformed.
        KnowledgeError: there is no knowledge base to read.
    """
    base = kb if kb is not None else load_kb()
    families: dict[str, tuple[CausePrograms, ...]] = {}
    answered: dict[str, list[Answered]] = defaultdict(list)
    for name, label, text in load_cases(Path(folder)):
        hypotheses = examine(text, environment="report", kb=base).hypotheses
        if hypotheses and hypotheses[0].confidence >= LIKELY and _is_weighed(hypotheses[0].entry):
            candidate = hypotheses[0].candidate
            options = _options(candidate, label)
            if any(option.accepted for option in options):
                families[candidate.entry.id] = candidate.context.programs.entry(candidate.entry).causes
                answered[candidate.entry.id].append(Answered(name.rpartition("/")[0], options))
        progress(name)
    enough = sorted(issue for issue, reports in answered.items() if len(reports) >= least)
    return Weighing(tuple(_weigh(issue, answered[issue], families[issue], pull) for issue in enough))


def _is_weighed(entry: Entry) -> bool:
    """Tell whether an entry is a family that always answers. Where one may say that it is no problem, answered reports are not all."""
    return entry.kind == "family" and all(weighted.cause != NO_CAUSE for weighted in entry.causes)


def _options(candidate: Candidate, label: Mapping[str, Any]) -> tuple[Option, ...]:
    """Return the causes that are possible for a report."""
    also = frozenset(label.get("also") or ())
    possible = {weighted.cause for weighted, _ in candidate.cause_shares}
    return tuple(
        Option(
            (Parameter(number), *(Parameter(number, condition) for condition, holds in enumerate(holding) if holds)),
            1.0 if weighted.cause == label["cause"] else _ALSO if weighted.cause in also else 0.0,
        )
        for number, (weighted, holding) in enumerate(zip(candidate.entry.causes, candidate.holding, strict=True))
        if weighted.cause in possible
    )


def _weigh(issue: str, reports: Sequence[Answered], causes: Sequence[CausePrograms], pull: float) -> Weighed:
    start: dict[Parameter, float] = {}
    for number, cause in enumerate(causes):
        start[Parameter(number)] = math.log(cause.weighted.weight)
        for condition, (_, times, _) in enumerate(cause.likelier):
            start[Parameter(number, condition)] = math.log(times)
    folders = sorted({one.folder for one in reports})
    unseen = [0, 0]
    for fold in range(min(_FOLDS, len(folders))):
        held = frozenset(folders[fold::_FOLDS])
        fitted = _fit([one for one in reports if one.folder not in held], start, pull)
        right = _right([one for one in reports if one.folder in held], fitted)
        unseen = [unseen[0] + right[0], unseen[1] + right[1]]
    fitted = _fit(reports, start, pull)
    numbers = {key: _rounded(math.exp(value)) for key, value in fitted.items() if abs(value - start[key]) > _SAME}
    after = {**start, **{key: math.log(value) for key, value in numbers.items()}}
    return Weighed(issue, len(reports), _right(reports, start), (unseen[0], unseen[1]), _right(reports, after), numbers)


def _right(reports: Sequence[Answered], values: Mapping[Parameter, float]) -> tuple[int, int]:
    """Return in how many reports the likeliest cause is the label's own, and in how many it is accepted."""
    first = [max(one.options, key=lambda option: sum(values[key] for key in option.parameters)) for one in reports]
    return sum(option.accepted == 1.0 for option in first), sum(option.accepted > 0.0 for option in first)


def _fit(reports: Sequence[Answered], start: Mapping[Parameter, float], pull: float) -> dict[Parameter, float]:
    """Return the logarithms that make the accepted causes likeliest: Newton's steps along each axis, halved until the loss falls."""
    values = dict(start)
    loss, slope, bend = _loss(reports, values, start, pull)
    for _ in range(_SWEEPS):
        step = 1.0
        while step > 1e-3:
            moved = {key: value - step * slope[key] / bend[key] for key, value in values.items()}
            tried = _loss(reports, moved, start, pull)
            if tried[0] < loss:
                break
            step /= 2
        else:
            return values
        done = loss - tried[0] < 1e-6
        values, (loss, slope, bend) = moved, tried
        if done:
            return values
    return values


def _loss(
    reports: Sequence[Answered], values: Mapping[Parameter, float], start: Mapping[Parameter, float], pull: float
) -> tuple[float, dict[Parameter, float], dict[Parameter, float]]:
    """Return the negative logarithm of the posterior, its gradient, and the diagonal that scales the steps."""
    loss = 0.0
    slope = {key: 2 * pull * (value - start[key]) for key, value in values.items()}
    bend = dict.fromkeys(values, 2 * pull)
    for key, value in values.items():
        loss += pull * (value - start[key]) ** 2
    for one in reports:
        odds = [sum(values[key] for key in option.parameters) for option in one.options]
        most = max(odds)
        shares = [math.exp(value - most) for value in odds]
        total = sum(shares)
        accepted = sum(share * option.accepted for share, option in zip(shares, one.options, strict=True))
        loss -= math.log(accepted / total)
        for share, option in zip(shares, one.options, strict=True):
            probability = share / total
            pushes = probability - share * option.accepted / accepted
            for key in option.parameters:
                slope[key] += pushes
                bend[key] += probability * (1 - probability)
    return loss, slope, bend


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")
