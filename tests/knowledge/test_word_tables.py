"""The tables of words: what the package reads is what ``kb/words`` says, and a slip in those files is told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from troubleshoot import load_kb
from troubleshoot.basics import word_tables
from troubleshoot.basics.errors import KnowledgeError
from troubleshoot.curation import checks
from troubleshoot.curation.make_word_tables import COMMAND, FILE, module_of

KB = Path(__file__).parents[2] / "kb"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the words."""
    shutil.copytree(KB / "words", tmp_path / "kb" / "words")
    return tmp_path / "kb"


def change(root: Path, name: str, old: str, new: str) -> None:
    """Replace a text in one of the files."""
    path = root / "words" / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_package_has_the_tables_of_the_base() -> None:
    """``python -m troubleshoot.curation.make_word_tables`` was run after the last change."""
    assert FILE.read_bytes() == module_of(KB)


def test_a_class_may_hold_another(root: Path) -> None:
    """Its words are put in where its name stands."""
    change(root, "classes.yaml", "fp64: fp64", "fp64: fp_sixtyfour")
    change(root, "classes.yaml", "16bit: <fp16>", "16bit: <fp64> <fp16>")
    made: dict[str, Any] = {}
    exec(module_of(root), made)
    assert made["CLASSES"]["16bit"] == f"{made['CLASSES']['fp64']}|{word_tables.CLASSES['16bit']}"
    assert made["CLASSES"]["fp64"].startswith("fp_sixtyfour|float64|")


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("classes.yaml", "fp64: fp64", "fp64: <16bit> <fp64>", r"classes\.yaml:1: has another shape .*the class 'fp64' holds itself"),
        ("classes.yaml", "<fp16>", "<fp15>", r"classes\.yaml:1: has another shape .*'fp15'"),
        ("packages.yaml", "spellings:", "spelings:", r"packages\.yaml:1: has another shape .*'spellings'"),
        ("options.yaml", "- value: gptq", "- valeu: gptq", r"options\.yaml:1: has another shape .*'value'"),
        ("models.yaml", "never:", "nevver:", r"models\.yaml:1: has another shape .*'never'"),
        ("triggers.yaml", "dtype:", "dtype: [", r"triggers\.yaml:\d+: .*not valid YAML"),
    ],
)
def test_slips_are_told_with_their_file(name: str, old: str, new: str, told: str, root: Path) -> None:
    """By whatever makes the tables, lint among them."""
    change(root, name, old, new)
    with pytest.raises(KnowledgeError, match=told):
        module_of(root)


def test_lint_tells_that_the_tables_are_old(root: Path) -> None:
    """And how to make them anew; words are no entries."""
    assert list(checks._check_words(root)) == []
    change(root, "classes.yaml", "fp64: fp64", "fp64: fp_sixtyfour")
    (told,) = checks._check_words(root)
    assert str(told).startswith(f"{root / 'words'}:1: was changed")
    assert COMMAND in str(told)
    (root / "words" / "gpus.yaml").unlink()
    assert "gpus.yaml" in str(next(checks._check_words(root)))
    assert load_kb([root], shipped=False).ids() == ()
    assert load_kb([root], shipped=False).warnings == ()
