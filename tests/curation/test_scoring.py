"""Scoring: every measure worked out by hand on a made-up folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from lint_bases import GOOD, write_base

from troubleshoot.basics.errors import InputError
from troubleshoot.curation import score
from troubleshoot.curation.scoring import Scored, load_cases, measures
from troubleshoot.engine.result import Diagnosis, FixAdvice, IssueDiagnosis
from troubleshoot.knowledge import KnowledgeBase, load_kb
from troubleshoot.reading.environment.machine import Environment
from troubleshoot.reading.report import Report


def answer(*causes: tuple[str, float], fixes: tuple[tuple[str, bool | None], ...] = (), verdict: str = "known") -> Diagnosis:
    """Make a diagnosis of (cause, probability) pairs; ``fixes`` are (kind, fits) of the first."""
    advice = tuple(FixAdvice(kind, kind, kind, "safe", fits, "", "") for kind, fits in fixes)
    return Diagnosis(
        verdict=verdict, reason=None, summary="", report=Report((), ()), environment=Environment(),
        diagnoses=tuple(
            IssueDiagnosis(f"a/{cause}", cause, 0, cause, probability, probability, "", fixes=advice if index == 0 else ())
            for index, (cause, probability) in enumerate(causes)
        ),
        questions=(), knowledge="", tool="", language="en",
    )  # type: ignore[arg-type]  # fmt: skip


def case(id_: str, cause: str, diagnosis: Diagnosis, *, also: tuple[str, ...] = (), fix: tuple[str, ...] = ()) -> Scored:
    """Make a scored report."""
    return Scored(id_, {"cause": cause, "also": list(also), "fix": list(fix)}, diagnosis)


FP32 = ("use-fp32",)

#: Four positives and two negatives.
SCORED = [
    # right at once; the first fix has the label's kind
    case("right", "x", answer(("x", 0.9), ("y", 0.1), fixes=(("cast-inputs", True), ("upgrade", True))), fix=("cast-inputs",)),
    # the first cause is only accepted; the fix that misfits does not count, so that the label's comes second
    case("accepted", "x", answer(("y", 0.6), fixes=(("use-bf16", False), ("other", True), ("use-fp32", None))), also=("y",), fix=FP32),
    # the label is third, after two wrong ones (a cause counts once); the label's fix says too little to be told by
    case("third", "x", answer(("y", 0.5), ("y", 0.4), ("z", 0.2), ("x", 0.1), fixes=(("use-fp32", True),)), fix=("upgrade",)),
    # abstained, though a weak diagnosis is listed
    case("abstained", "x", answer(("x", 0.3), fixes=(("cast-inputs", True),), verdict="unknown"), fix=("cast-inputs",)),
    case("quiet", "none", answer(verdict="unknown")),
    case("alarmed", "none", answer(("z", 0.4), verdict="likely")),
]  # fmt: skip


def test_the_counts() -> None:
    """A label "none" is a negative."""
    found = measures(SCORED)
    assert (found["cases"], found["positives"], found["negatives"]) == (6, 4, 2)


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        ("fair_top1", 2 / 4),  # right, accepted
        ("fair_top3", 3 / 4),  # and third
        ("strict_top1", 1 / 4),  # right
        ("exact_top1", 1 / 4),  # the same under its former name
        ("fix_top1", 1 / 3),  # of right, accepted and abstained, whose labels have a telling kind, only right
        ("fix_at_2", 2 / 4),  # right, and accepted: the misfit does not count
        ("false_alarms", 1 / 2),
        ("abstained", 1 / 4),
        # right 0.1², accepted 0.4², third 0.5², abstained 1², quiet 0, alarmed 0.4²
        ("brier", (0.01 + 0.16 + 0.25 + 1.0 + 0.0 + 0.16) / 6),
    ],
)
def test_a_measure_is_as_worked_out_by_hand(measure: str, value: float) -> None:
    """The comments beside the values say which reports count."""
    assert measures(SCORED)[measure] == round(value, 4)


def test_the_misses_are_named() -> None:
    """With what was answered instead; an abstention is a miss, a false alarm too."""
    misses = {miss["id"]: miss for miss in measures(SCORED)["misses"]}
    assert list(misses) == ["third", "abstained", "alarmed"]
    assert misses["third"]["answered"] == ["y", "z", "x"]
    assert misses["abstained"]["answered"] == []
    assert [miss["id"] for miss in measures(SCORED)["fix_misses"]] == ["third", "abstained"]


def test_nothing_to_measure_is_no_zero() -> None:
    """A share of no reports is None."""
    found = measures([])
    assert found["cases"] == 0
    assert [found[name] for name in ("fair_top1", "false_alarms", "brier")] == [None, None, None]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """A base of one entry."""
    return load_kb([write_base(tmp_path_factory.mktemp("kb"), GOOD)], shipped=False)


def folder(path: Path, labels: Any, **texts: str) -> Path:
    """Write a labelled folder."""
    (path / "labels.yaml").write_text(yaml.safe_dump(labels), encoding="utf-8")
    for name, text in texts.items():
        (path / f"{name}.txt").write_text(text, encoding="utf-8")
    return path


def test_a_folder_is_scored(base: KnowledgeBase, tmp_path: Path) -> None:
    """Two reports, one of them healthy; progress is told by id."""
    labels = {"1": {"cause": "dtype-mismatch/input-vs-weight", "fix": ["cast-inputs"]}, "2": {"cause": "none"}}
    told: list[str] = []
    cases = folder(tmp_path, labels, **{"1": "RuntimeError: frobnicator cannot take Half operands", "2": "all is well"})
    found = score(cases, kb=base, progress=told.append)
    assert told == ["1", "2"]
    assert (found["fair_top1"], found["fix_top1"], found["false_alarms"], found["misses"]) == (1.0, 1.0, 0.0, [])


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["a"], "is not a mapping"),
        ({"a": {"fix": ["upgrade"]}}, "a has no cause"),
        ({"a": "none"}, "a has no cause"),
        ({"a": {"cause": "none"}}, "a.txt: cannot be read"),
    ],
)
def test_a_malformed_folder_is_told(labels: Any, told: str, tmp_path: Path) -> None:
    """The message names what is wrong with it."""
    with pytest.raises(InputError, match=told):
        load_cases(folder(tmp_path, labels))


def test_a_folder_without_labels_is_told(tmp_path: Path) -> None:
    """And what a folder holds."""
    with pytest.raises(InputError, match=r"neither FILE\.jsonl nor labels\.yaml with one ID\.txt for each label"):
        load_cases(tmp_path)


def test_several_folders_are_taken_together(tmp_path: Path) -> None:
    """Each with labels of its own; an id names its folder."""
    for name, cause in (("b", "none"), ("a", "dtype-mismatch/double")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "labels.yaml").write_text(f"one: {{cause: {cause}}}", encoding="utf-8")
        (tmp_path / name / "one.txt").write_text(name, encoding="utf-8")
    assert [(id_, label["cause"], text) for id_, label, text in load_cases(tmp_path)] == [
        ("a/one", "dtype-mismatch/double", "a"),
        ("b/one", "none", "b"),
    ]


def test_files_of_lines_are_read(tmp_path: Path) -> None:
    """One report a line, with its label; an id names its file where there are several."""
    (tmp_path / "a.jsonl").write_text('{"id": "one", "cause": "none", "source": "x", "text": "all is well"}\n\n', encoding="utf-8")
    assert load_cases(tmp_path / "a.jsonl") == [("one", {"cause": "none", "source": "x"}, "all is well")]
    assert [name for name, _, _ in load_cases(tmp_path)] == ["a/one"]


def test_a_file_may_hold_several_rounds(tmp_path: Path) -> None:
    """The ids are then those of the rounds, whatever the file is called, so that reports may move from one to another."""
    lines = [{"id": "one", "round": name, "cause": "none", "text": name} for name in ("b-1", "b-2")]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert load_cases(tmp_path / "b.jsonl") == [("b-1/one", {"cause": "none"}, "b-1"), ("b-2/one", {"cause": "none"}, "b-2")]
    assert load_cases(tmp_path) == load_cases(tmp_path / "b.jsonl")


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "one", "text": "x"}', '{"cause": "none", "text": "x"}'])
def test_a_faulty_line_is_told_with_its_place(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"id": "one", "cause": "none", "text": "x"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.jsonl:2: is no JSON object"):
        load_cases(tmp_path)
