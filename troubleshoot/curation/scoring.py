"""``troubleshoot kb score FOLDER``: how good are the answers on labelled reports?

``FILE.jsonl`` holds one report a line: ``{"id", "cause", "also": [...], "fix": [kinds], "text"}``, with the cause ``none`` for reports that
are no precision problem. A ``round`` names the round that a report came with, where a file holds several; the report's id is then
``round/id``. A folder of such files is taken together, and so is one of folders with ``ID.txt`` files and a ``labels.yaml``
(``ID: {cause, also, fix}``), which are easier to make by hand. Reports are diagnosed with ``environment="report"``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from troubleshoot.basics.errors import InputError, KnowledgeError
from troubleshoot.engine.diagnosis import AsksModel, diagnose
from troubleshoot.engine.result import Diagnosis
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.knowledge.source import read_yaml

#: Kinds of fix that say too little to count as the right first fix.
_VAGUE = frozenset({"other", "config-change", "upgrade"})


@dataclass(frozen=True)
class Scored:
    """One labelled report with its answer."""

    id: str
    label: dict[str, Any]
    diagnosis: Diagnosis

    @property
    def positive(self) -> bool:
        """Tell whether the report is a precision problem."""
        return bool(self.label["cause"] != "none")

    @property
    def accepted(self) -> set[str]:
        """The causes that count as right."""
        return {self.label["cause"], *(self.label.get("also") or ())}

    @property
    def causes(self) -> list[str]:
        """The answered causes, best first, each once; empty where the tool abstains."""
        if self.diagnosis.verdict == "unknown":
            return []
        return list(dict.fromkeys(one.cause for one in self.diagnosis.diagnoses))

    @property
    def fixes(self) -> list[str]:
        """The kinds of the first diagnosis' fixes that are not known to misfit, in order."""
        first = self.diagnosis.first
        if first is None or self.diagnosis.verdict == "unknown":
            return []
        return [fix.kind for fix in first.recommended]

    @property
    def right(self) -> bool:
        """Tell whether the first cause is accepted."""
        return bool(self.causes) and self.causes[0] in self.accepted

    @property
    def probability(self) -> float:
        """The stated probability that the first cause is right; 0 for an abstention."""
        first = self.diagnosis.first
        return first.cause_confidence if first is not None and self.diagnosis.verdict != "unknown" else 0.0


def load_cases(path: Path) -> list[tuple[str, dict[str, Any], str]]:
    """Return (id, label, text) of every labelled report; of a folder with several files or folders, ids are ``file/id``
    (``round/id`` where a line names its round).

    Raises:
        InputError: nothing labelled is there, or a line, ``labels.yaml`` or a report is missing or malformed.
    """
    if path.suffix == ".jsonl":
        return [(f"{round_}/{name}" if round_ else name, label, text) for round_, name, label, text in _lines(path)]
    if (path / "labels.yaml").exists():
        return _pasted(path)
    parts = sorted([*path.glob("*.jsonl"), *(labels.parent for labels in path.glob("*/labels.yaml"))])
    if not parts:
        raise InputError(f"{path}: holds no labelled reports: neither FILE.jsonl nor labels.yaml with one ID.txt for each label")
    cases: list[tuple[str, dict[str, Any], str]] = []
    for part in parts:
        found = _lines(part) if part.suffix == ".jsonl" else (("", *one) for one in load_cases(part))
        cases += [(f"{round_ or part.stem}/{name}", label, text) for round_, name, label, text in found]
    return cases


def _lines(path: Path) -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """Yield (round, id, label, text) of each line; the round is empty where the file is one."""
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            label = json.loads(line)
            name, text, _ = str(label.pop("id")), label.pop("text"), label["cause"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}:{number}: is no JSON object with id, cause and text ({error!r})") from error
        yield str(label.pop("round", "")), name, label, str(text)


def _pasted(folder: Path) -> list[tuple[str, dict[str, Any], str]]:
    """Read reports that lie beside their labels."""
    try:
        labels, _ = read_yaml(folder / "labels.yaml")
    except KnowledgeError as error:
        raise InputError(str(error)) from error
    if not isinstance(labels, dict):
        raise InputError(f"{folder / 'labels.yaml'}: is not a mapping of ID to cause, also and fix")
    cases: list[tuple[str, dict[str, Any], str]] = []
    for name, label in labels.items():
        path = folder / f"{name}.txt"
        if not isinstance(label, dict) or "cause" not in label:
            raise InputError(f"{folder / 'labels.yaml'}: {name} has no cause")
        try:
            cases.append((str(name), label, path.read_text(encoding="utf-8")))
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    return cases


def score(
    folder: Path | str,
    *,
    kb: KnowledgeBase | None = None,
    progress: Callable[[str], None] | None = None,
    reader: AsksModel | None = None,
) -> dict[str, Any]:
    """Diagnose every labelled report and return the measures, with the misses by id.

    ``fair_top1``, ``fair_top3``: the first cause (one of the first three) is the label's or among ``also``. ``strict_top1`` (the same as
    ``exact_top1``, its former name): the first cause is the label's own. ``fix_top1``: the first fix
    not known to misfit has a kind in the label's, kinds that say little (other, config-change, upgrade) not counting, over the labels
    that have another kind; ``fix_at_2``: one of the first two has. ``false_alarms``: share of negatives answered other than unknown.
    ``brier``: mean squared error of the stated probability of the first cause, abstentions counting as 0.
    With a ``reader`` also ``asked`` (the reports that it was asked about), ``unanswered`` and ``changed`` (the ids of reports whose first
    cause is another one because of it).
    """
    scored: list[Scored] = []
    for name, label, text in load_cases(Path(folder)):
        scored.append(Scored(name, label, diagnose(text, environment="report", kb=kb, reader=reader)))
        if progress:
            progress(name)
    return measures(scored) if reader is None else {**measures(scored), **_read(scored)}


def _read(scored: list[Scored]) -> dict[str, Any]:
    """Return how often a reader was asked, and what came of it."""
    told = [(one.id, one.diagnosis.reader) for one in scored if one.diagnosis.reader is not None and one.diagnosis.reader.asked]
    return {
        "asked": len(told),
        "unanswered": sum(1 for _, reader in told if reader.problem is not None),
        "changed": [name for name, reader in told if reader.changed],
    }


def measures(scored: list[Scored]) -> dict[str, Any]:
    """Return the measures of scored reports."""
    positives = [one for one in scored if one.positive]
    negatives = [one for one in scored if not one.positive]
    strict = _share([bool(one.causes) and one.causes[0] == one.label["cause"] for one in positives])
    telling = [one for one in positives if set(one.label.get("fix") or ()) - _VAGUE]
    return {
        "cases": len(scored),
        "positives": len(positives),
        "negatives": len(negatives),
        "fair_top1": _share([one.right for one in positives]),
        "fair_top3": _share([bool(one.accepted & set(one.causes[:3])) for one in positives]),
        "strict_top1": strict,
        "exact_top1": strict,
        "fix_top1": _share([bool(one.fixes) and one.fixes[0] in set(one.label["fix"]) - _VAGUE for one in telling]),
        "fix_at_2": _share([bool(set(one.fixes[:2]) & set(one.label.get("fix") or ())) for one in positives]),
        "false_alarms": _share([one.diagnosis.verdict != "unknown" for one in negatives]),
        "abstained": _share([one.diagnosis.verdict == "unknown" for one in positives]),
        "brier": _mean([(one.probability - _truth(one)) ** 2 for one in scored]),
        "misses": [
            {
                "id": one.id,
                "cause": one.label["cause"],
                "also": one.label.get("also") or [],
                "answered": one.causes[:3],
                "verdict": one.diagnosis.verdict,
            }
            for one in scored
            if not (one.right if one.positive else one.diagnosis.verdict == "unknown")
        ],
        "fix_misses": [
            {"id": one.id, "fix": one.label.get("fix") or [], "offered": one.fixes[:3]}
            for one in positives
            if not set(one.fixes[:2]) & set(one.label.get("fix") or ())
        ],
    }


def _truth(one: Scored) -> float:
    """The first cause is right: 1. An abstention is right (0) on a negative and wrong (1) on a positive."""
    if not one.positive:
        return 0.0
    return 1.0 if one.right or not one.causes else 0.0


def _share(values: list[bool]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def _mean(values: list[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
