"""``kb new``: the skeleton of an entry loads, answers its own message and lints as a draft."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lint_bases import problems_of, write_base

from troubleshoot import diagnose, load_kb
from troubleshoot.curation import new_entry
from troubleshoot.errors import InputError
from troubleshoot.knowledge.templates import parse_template


def test_a_new_entry_loads_and_answers_its_message(tmp_path: Path) -> None:
    """It is complete from the first minute."""
    path = new_entry("acme/frob", tmp_path, message="frobnicator [7] cannot take {x} \"operands\" C:\\new of type Half")
    base = load_kb([tmp_path])
    assert path == tmp_path / "acme" / "frob.yaml"
    assert base.entry("acme/frob").status == "draft"
    first = diagnose('RuntimeError: frobnicator [7] cannot take {x} "operands" C:\\new of type Half', kb=base, environment="report").first
    assert first is not None
    assert first.issue == "acme/frob"


@pytest.mark.parametrize("message", [None, "frobnicator cannot take operands of type Half"])
def test_a_new_entry_passes_lint_as_an_overlay(message: str | None, tmp_path: Path) -> None:
    """What is still to be written is no fault of a draft."""
    new_entry("acme/frob", write_base(tmp_path), message=message)
    assert problems_of(tmp_path) == []


def test_a_cause_is_written(tmp_path: Path) -> None:
    """Instead of the most usual one."""
    new_entry("acme/frob", tmp_path, cause="numerics/fp16-overflow")
    assert load_kb([tmp_path]).entry("acme/frob").cause == "numerics/fp16-overflow"


@pytest.mark.parametrize("issue", ["frob", "acme/", "/frob", "Acme/frob", "acme/../x", "acme/a b", "acme/x/y", "../frob", "./frob", ""])
def test_a_malformed_id_is_told(issue: str, tmp_path: Path) -> None:
    """Nothing is written."""
    with pytest.raises(InputError, match="is no id"):
        new_entry(issue, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_entry_is_never_overwritten(tmp_path: Path) -> None:
    """What somebody wrote stays."""
    new_entry("acme/frob", tmp_path)
    with pytest.raises(InputError, match="exists"):
        new_entry("acme/frob", tmp_path)


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=80))
def test_any_message_becomes_a_readable_entry(message: str) -> None:
    """Brackets, braces, quotes and backslashes are written so that they stay literal."""
    import tempfile

    if not message.strip():
        return
    with tempfile.TemporaryDirectory() as folder:
        new_entry("acme/frob", Path(folder), message=message)
        base = load_kb([folder], shipped=False)
        assert base.warnings == ()
        (template,) = base.entry("acme/frob").signature.message
        assert parse_template(template.template)
