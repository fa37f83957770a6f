"""How well numbers and refusals are read, on labelled passages (data/numbers, data/requirements; their READMEs have the conventions).

    python tests/reading_scores.py [numbers|requirements] [develop|aside] [--wrong]

Prints precision and recall; with ``--wrong`` the passages that are read wrongly, which is for ``develop`` only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from troubleshoot.reading.environment.hardware import normalise
from troubleshoot.reading.reader import read_report
from troubleshoot.reading.requirements import Arch, Requirement

DATA = Path(__file__).parent / "data"
SETS, HALVES = ("numbers", "requirements"), ("develop", "aside")


@dataclass
class Score:
    """Counts of what was read rightly, read wrongly, and missed; ``wrong`` tells each passage of the last two."""

    right: int = 0
    false: int = 0
    missed: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.false)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)

    def __str__(self) -> str:
        counts = f"{self.right} right, {self.false} false, {self.missed} missed"
        return f"precision {self.precision:.3f}, recall {self.recall:.3f} ({counts})"


def cases(which: str, half: str) -> Iterator[dict[str, Any]]:
    """Yield the labelled passages of a half."""
    for line in (DATA / which / f"{half}.jsonl").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def score_numbers(half: str) -> Score:
    """A passage is found where a verdict of the label is given; every other verdict is false."""
    score = Score()
    for case in cases("numbers", half):
        wanted = {case["verdict"].split(" ")[0], *case.get("also", ())} - {"none"}
        read = {f"{one.verdict}:{one.of}" for one in read_report(case["text"]).reckoned}
        score.right += bool(read & wanted)
        score.false += len(read - wanted)
        score.missed += bool(wanted) and not read & wanted
        if read - wanted or (wanted and not read & wanted):
            score.wrong.append(f"{case['id']}: wanted {sorted(wanted)}, read {sorted(read)}\n{case['text']}")
    return score


def score_requirements(half: str) -> Score:
    """The set of each field is right or wrong as a whole."""
    score = Score()
    for case in cases("requirements", half):
        wanted, read = _labelled(case), _read(read_report(case["text"]).requirements)
        wrong = []
        for name, values in wanted.items():
            if values == read[name]:
                score.right += bool(values)
                continue
            score.false += bool(read[name])
            score.missed += bool(values)
            wrong.append(f"{name} wanted {sorted(values)}, read {sorted(read[name])}")
        if wrong:
            score.wrong.append(f"{case['id']}: {'; '.join(wrong)}\n{case['text']}")
    return score


def _labelled(case: dict[str, Any]) -> dict[str, set[str]]:
    accepts, got, refuses = case["accepts"], case["got"], case["refuses"]
    return {
        "accepts.arch": {_arch(one) for one in _list(accepts.get("arch"))},
        "accepts.dtypes": set(_list(accepts.get("dtypes"))),
        "refuses.arch": {_arch(one) for one in _list(refuses.get("arch"))},
        "refuses.dtypes": set(_list(refuses.get("dtypes"))),
        "got.arch": {_arch(one) for one in _list(got.get("arch"))},
        "got.dtype": set(_list(got.get("dtype"))),
        "got.device": {normalise(one) for one in _list(got.get("device"))},
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _arch(value: str | dict[str, str]) -> str:
    return value if isinstance(value, str) else str(Arch(**value))


def _read(found: tuple[Requirement, ...]) -> dict[str, set[str]]:
    accepted = {arch for one in found for arch in one.accepts_arch}
    if len(found) > 1 and accepted and all(arch.min and not arch.max for arch in accepted):
        accepted = {max(accepted, key=lambda arch: int("0" + "".join(filter(str.isdigit, arch.min or ""))))}
    return {
        "accepts.arch": {str(arch) for arch in accepted},
        "accepts.dtypes": {dtype for one in found for dtype in one.accepts_dtypes},
        "refuses.arch": {str(arch) for one in found for arch in one.refuses_arch},
        "refuses.dtypes": {dtype for one in found for dtype in one.refuses_dtypes},
        "got.arch": {str(arch) for one in found for arch in one.got_arch},
        "got.dtype": {dtype for one in found for dtype in one.got_dtypes},
        "got.device": {normalise(one.got_device) for one in found if one.got_device},
    }


SCORES = {"numbers": score_numbers, "requirements": score_requirements}


def main(arguments: list[str]) -> None:
    """Print the figures that are asked for."""
    for which in [one for one in SETS if one in arguments] or SETS:
        for half in [one for one in HALVES if one in arguments] or HALVES:
            score = SCORES[which](half)
            print(f"{which}, {half}: {score}")
            if "--wrong" in arguments:
                print("\n".join(score.wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
