"""Releases that are known as a range: entries, conditions, fixes and questions hold them in three values."""

from __future__ import annotations

import msgspec
import pytest

from troubleshoot.basics.versions import Releases
from troubleshoot.engine.evidence import collect_facts
from troubleshoot.engine.matching.conditions import Context, Programs, evaluate
from troubleshoot.engine.matching.releases import hold_releases
from troubleshoot.knowledge.schema import Affected, Condition, Range
from troubleshoot.reading import read_report
from troubleshoot.reading.environment.machine import Environment, Package

VERSIONS = ("4.49.0", "4.50.0", "4.50.1", "4.50.2", "4.50.3")


def environment(first: int, last: int) -> Environment:
    """Return one in which transformers is one of these releases."""
    chosen = VERSIONS[first : last + 1]
    return Environment((Package("transformers", "", "lines", 7, Releases(chosen, ((chosen[0], chosen[-1]),))),))


@pytest.mark.parametrize(("first", "last", "state"), [(1, 3, True), (2, 2, True), (0, 0, False), (4, 4, False), (1, 4, None), (0, 1, None)])
def test_affected_releases(first: int, last: int, state: bool | None) -> None:
    """All inside: affected. None inside: not. Some: unknown."""
    affected = (Affected(package="transformers", ranges=(Range(introduced="4.50.0", fixed="4.50.3"),), basis="measured"),)
    outcome = hold_releases(affected, collect_facts(read_report(""), environment(first, last)))
    assert outcome.state is state
    if state is not None:
        assert "from line numbers" in outcome.text
        assert outcome.line == 7


@pytest.mark.parametrize(("first", "last", "state"), [(1, 4, True), (0, 0, False), (0, 1, None)])
def test_conditions(first: int, last: int, state: bool | None) -> None:
    """``in`` a specifier; that the package is there is sure."""
    context = Context(collect_facts(read_report(""), environment(first, last)), Programs())

    def holds(**condition: str) -> bool | None:
        return evaluate(msgspec.convert({"fact": "package.transformers", **condition}, Condition), context).state

    assert holds(**{"in": ">=4.50"}) is state
    assert holds(**{"is": "present"}) is True
