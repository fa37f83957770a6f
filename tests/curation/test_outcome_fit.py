"""How far outcomes that were read can be trusted: the fit, and that the number of the engine is still the one that fits best."""

from __future__ import annotations

from pathlib import Path

import pytest

from troubleshoot import load_kb
from troubleshoot.curation.outcome_fit import Outcome, fit_outcomes, read_outcomes
from troubleshoot.engine.matching.tried import READ

BASE = load_kb()
LABELLED = Path(__file__).parents[1] / "data" / "labelled"


def outcomes(right: int, wrong: int) -> list[Outcome]:
    """Return outcomes of two causes that predict the opposite of float32, so many as predicted and so many against it."""
    told = {"numerics/fp16-overflow": ("gone", "same"), "checkpoint/nan-weights": ("same", "gone")}
    return [
        Outcome(cause, "float32", outcome)
        for cause, pair in told.items()
        for outcome, count in zip(pair, (right, wrong), strict=True)
        for _ in range(count)
    ]


def test_what_is_read_rightly_is_trusted() -> None:
    """And what is right by chance is not."""
    assert fit_outcomes(outcomes(95, 5), kb=BASE).trust >= 0.9
    assert fit_outcomes(outcomes(72, 28), kb=BASE).trust == pytest.approx(0.5, abs=0.1)
    assert fit_outcomes(outcomes(50, 50), kb=BASE).trust == 0.0
    assert fit_outcomes(outcomes(90, 10), kb=BASE).counts == {"float32": (180, 20, 0)}


@pytest.mark.slow
def test_the_engine_trusts_as_far_as_labelled_reports_say() -> None:
    """The reader or the table was changed: run ``troubleshoot kb learn tests/data/labelled`` and put the number into the engine."""
    assert fit_outcomes(read_outcomes(LABELLED), kb=BASE).trust == pytest.approx(READ, abs=0.15)
