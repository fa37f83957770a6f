"""kb/experiments.yaml: what can be changed in a run, and what each cause says will come of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from troubleshoot import load_kb
from troubleshoot.cli import main
from troubleshoot.curation import lint
from troubleshoot.knowledge.base import shipped_root
from troubleshoot.knowledge.experiments import Experiments, Prediction
from troubleshoot.reading.contrast_words import OFF, OPPOSITE, TRIED

SMALL = """\
schema: 1
experiments:
  float32:
    name: {en: run it in float32, zh: 用 float32 运行}
    tells: {en: whether 16 bits are to blame, zh: 是否由 16 位引起}
    cost: medium
    how: {script: model.float()}
predictions:
  none: {float32: same}
"""


@pytest.fixture(scope="module")
def shipped() -> Experiments:
    """The shipped experiments."""
    return load_kb().experiments


def test_what_is_read_is_known(shipped: Experiments) -> None:
    """Every experiment that the reader of contrasts can name is in the file."""
    assert {*OFF.values(), *OPPOSITE.values(), *TRIED.values(), "other-gpu", "other-release", "other-weights"} <= set(shipped.experiments)


def test_every_cause_says_something(shipped: Experiments) -> None:
    """``none`` is a cause with predictions too."""
    for cause in [*load_kb().causes.causes, "none"]:
        assert shipped.predicted(cause), cause
    assert shipped.predicted("none")["float32"] == Prediction("same", True)


def test_a_cause_goes_before_its_family() -> None:
    """Cells of a family hold for its causes, unless a cause says otherwise, or that it says nothing."""
    names = ("float32", "cpu", "other-gpu")
    told = Experiments(
        experiments=dict.fromkeys(names),  # type: ignore[arg-type]
        predictions={
            "a": {"float32": "gone", "cpu": "mostly same"},
            "a/b": {"float32": "open", "cpu": "gone"},
            "a/c": {"other-gpu": "other"},
        },
    )
    assert told.predicted("a/b") == {"cpu": Prediction("gone", True)}
    assert told.predicted("a/c") == {
        "float32": Prediction("gone", True), "cpu": Prediction("same", False), "other-gpu": Prediction("other", True)
    }  # fmt: skip
    assert told.predicted("x/y") == {}


def test_an_overlay_adds_and_replaces(tmp_path: Path) -> None:
    """A team's own experiment and row stand beside ours, and go before ours of the same name."""
    text = SMALL.replace("float32:\n", "other-cluster:\n").replace("none: {float32: same}", "none: {other-cluster: same}")
    (tmp_path / "experiments.yaml").write_text(text, encoding="utf-8")
    told = load_kb([tmp_path]).experiments
    assert {"float32", "other-cluster"} <= set(told.experiments)
    assert told.predicted("none") == {"other-cluster": Prediction("same", True)}
    assert told.predicted("numerics/tf32")["no-tf32"] == Prediction("gone", True)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("none: {float32: same}", "none: {flaot32: same}", "'flaot32' is no experiment: did you mean 'float32'?"),
        ("none: {float32: same}", "numericz/tf32: {float32: same}", "is neither a cause nor a family"),
        ("none: {float32: same}", "none: {float32: maybe}", "invalid enum value 'maybe'"),
        ("cost: medium", "cost: cheap", "invalid enum value 'cheap'"),
        ("how: {script: model.float()}", "how: {abacus: beads}", "invalid enum value 'abacus'"),
        ("none: {float32: same}", "numerics: {float32: same}\n  numerics/tf32: {float32: same}", "is what its family says"),
    ],
)
def test_lint_finds(tmp_path: Path, old: str, new: str, said: str) -> None:
    """A misspelled name, an unknown cause, an unknown cell, a cell that its family has already."""
    assert old in SMALL
    shutil.copytree(shipped_root() / "causes", tmp_path / "causes")
    (tmp_path / "experiments.yaml").write_text(SMALL.replace(old, new), encoding="utf-8")
    assert any(said in str(problem) for problem in lint([tmp_path], shipped=False))


def test_the_table_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """``troubleshoot kb experiments``: all causes in one table, one cause in words, and as data."""

    def shown(*arguments: str) -> str:
        assert main(["kb", "experiments", *arguments]) == 0
        return capsys.readouterr().out

    assert "numerics/fp16-overflow" in shown()
    assert "whether 16 bits are to blame at all" in shown()
    one = shown("numerics/tf32", "--lang", "zh")
    assert "no-tf32          gone" in one
    assert "关闭 TF32" in one
    assert "fp16-overflow" not in one
    assert '"outcome": "gone"' in shown("numerics/tf32", "--format", "json")
    assert "| experiment |" in shown("--format", "markdown")
    assert main(["kb", "experiments", "numerics/tf23"]) == 2
    assert "Did you mean numerics/tf32?" in capsys.readouterr().err
