"""Collects what the rules see: the same thing at the same line is one finding."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from typing import Any

from troubleshoot.lab.checking.check_findings import Finding, Place

_MOST = 200


class Log:
    """Findings so far, in the order in which they were first seen."""

    def __init__(self) -> None:
        self.step = 0
        self.findings: dict[tuple[str, str, Place], Finding] = {}
        #: called with the first finding that is certain
        self.then: Callable[[], object] | None = None

    def add(
        self,
        rule: str,
        cause: str,
        place: Place,
        *,
        op: str = "",
        module: str = "",
        dtype: str = "",
        sure: bool = True,
        score: float = 1.0,
        step: int | None = None,
        order: int = 0,
        also: tuple[Place, ...] = (),
        numbers: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Add a finding, or count it where it is known. What is not named otherwise is one of its numbers."""
        numbers = {**(numbers or {}), **more}
        key = (rule, cause, place)
        known = self.findings.get(key)
        if known is not None:
            known.times += 1
            known.sure = known.sure or sure
            if score > known.score:
                known.score, known.numbers = score, dict(numbers)
            return
        if len(self.findings) >= _MOST:
            return
        found = Finding(rule, cause, place, op, module, dtype, dict(numbers), self.step if step is None else step, 1, sure, score, order)
        found.code = linecache.getline(place.file, place.line).strip()
        found.also = [one for one in dict.fromkeys(also) if one != place and one.line]
        self.findings[key] = found
        if sure:
            self.certain()

    def certain(self) -> None:
        """Something is certain to be found."""
        then, self.then = self.then, None
        if then is not None:
            then()
