"""``kb gaps``: reports that fail alike and have no diagnosis become one proposal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lint_bases import GOOD, MESSAGE, write_base

from troubleshoot import load_kb
from troubleshoot.basics.errors import InputError
from troubleshoot.curation import gaps
from troubleshoot.curation.text import gaps_text
from troubleshoot.curation.wording import package_of, slug_of, template_of
from troubleshoot.knowledge import KnowledgeBase
from troubleshoot.knowledge.templates import compile_template, parse_template

REPORT = """\
Traceback (most recent call last):
  File "/home/jane/train.py", line 3, in <module>
    model(x)
  File "/opt/venv/lib/python3.10/site-packages/umbrella/layers.py", line {line}, in forward
    return whirl(x)
RuntimeError: whirligig of {dtype} cannot spin beside {device}
"""


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    """A base that knows the frobnicator only."""
    scope = "schema: 1\ngroups: [{id: missing-file, title: {en: a, zh: 乙}, exception: [FileNotFoundError]}]\n"
    return load_kb([write_base(tmp_path / "kb", GOOD, out_of_scope=scope)], shipped=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six reports: three that fail alike in two dtypes, one known, one out of scope, one healthy; and a file that is none."""
    root = tmp_path / "reports"
    (root / "deep").mkdir(parents=True)
    (root / "a.txt").write_text(REPORT.format(line=1, dtype="Half", device="cuda:0"))
    (root / "b.log").write_text(REPORT.format(line=7, dtype="Half", device="cuda:1"))
    (root / "deep" / "c.txt").write_text("RuntimeError: whirligig of BFloat16 cannot spin beside cpu:0\n")
    (root / "known.txt").write_text(MESSAGE)
    (root / "scope.txt").write_text("FileNotFoundError: [Errno 2] No such file or directory: 'a'\n")
    (root / "fine.txt").write_text("epoch 1, all is well\n")
    (root / "picture.png").write_bytes(b"RuntimeError: no report")
    return root


def test_reports_that_fail_alike_are_one_gap(base: KnowledgeBase, folder: Path) -> None:
    """Dtypes, devices, lines and cut tracebacks do not tell them apart; the fullest report stands for them."""
    found = gaps([folder], kb=base)
    (gap,) = found.gaps
    assert (gap.count, gap.exception) == (3, "RuntimeError")
    assert gap.message == "whirligig of Half cannot spin beside cuda:0"
    assert gap.suggested == "umbrella/whirligig-cannot-spin-beside"
    assert gap.files[0] == str(folder / "a.txt")
    assert len(gap.fingerprints) >= 2
    assert gap.command == f"troubleshoot kb new umbrella/whirligig-cannot-spin-beside --report {folder / 'a.txt'}"


def test_the_other_reports_are_counted(base: KnowledgeBase, folder: Path) -> None:
    """A file given twice is one report."""
    found = gaps([folder, folder / "known.txt"], kb=base)
    assert (found.reports, found.diagnosed, found.out_of_scope, found.no_failure) == (6, 1, 1, 1)
    assert "6 reports, 1 diagnosed, 3 without a diagnosis, 1 out of scope, 1 without a failure" in gaps_text(found)
    assert json.loads(json.dumps(found.to_dict()))["gaps"][0]["count"] == 3


def test_the_proposed_command_closes_the_gap(base: KnowledgeBase, folder: Path) -> None:
    """An entry begun from the proposal answers all reports of the gap."""
    from troubleshoot.curation import new_entry
    from troubleshoot.curation.draft import draft_from_report

    (gap,) = gaps([folder], kb=base).gaps
    (root,) = base.roots
    new_entry(gap.suggested, root, draft=draft_from_report(Path(gap.files[0]), base))
    after = gaps([folder], kb=load_kb([root], shipped=False))
    assert after.gaps == () or after.gaps[0].count == 1  # the bare message names no place of the library
    assert after.diagnosed >= 3


def test_two_gaps_never_get_one_id(base: KnowledgeBase, tmp_path: Path) -> None:
    """Nor that of an entry."""
    for number, text in enumerate(("whirligig lacks a kernel for it here", "whirligig lacks a kernel for you there")):
        (tmp_path / f"{number}.txt").write_text(f"RuntimeError: {text}\n")
    found = gaps([tmp_path / "0.txt", tmp_path / "1.txt"], kb=base)
    assert [one.suggested for one in found.gaps] == ["torch/whirligig-lacks-kernel-here", "torch/whirligig-lacks-kernel-there"]
    (tmp_path / "0.txt").write_text("RuntimeError: whirligig lacks a kernel here\n")
    (tmp_path / "1.txt").write_text("ValueError: whirligig lacks a kernel here\n")
    found = gaps([tmp_path / "0.txt", tmp_path / "1.txt"], kb=base)
    assert sorted(one.suggested for one in found.gaps) == ["torch/whirligig-lacks-kernel-here", "torch/whirligig-lacks-kernel-here-2"]


def test_no_report_is_an_error_in_use(base: KnowledgeBase, tmp_path: Path) -> None:
    """An empty folder, or none."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no report in"):
        gaps([tmp_path / "empty"], kb=base)
    with pytest.raises(InputError, match="no such file or folder"):
        gaps([tmp_path / "none"], kb=base)


@pytest.mark.parametrize(
    ("message", "template"),
    [
        ("expected scalar type Float but found Half", "expected scalar type {first:dtype} but found {second:dtype}"),
        (
            "Input type (torch.cuda.HalfTensor) and weight type (torch.FloatTensor) should be the same",
            "Input type ({first:tensor_type}) and weight type ({second:tensor_type}) should be the same",
        ),
        ("found two devices, cuda:0 and cpu!", "found two devices, {device_first:device} and {device_second:device}!"),
        ("\"addmm_impl_cpu_\" not implemented for 'Half'", "\"addmm_impl_cpu_\" not implemented for '{first:dtype}'"),
        ("half of the long floats are double", "half of the long floats are double"),
        (
            "index 7 of {x} in [y] is out of range at 0x7f",
            "index {number_first:int} of {{x}} in [[y]] is out of range at {path_first:path}",
        ),
        ("Half", "Half"),
        ("frob(a|b) is not a frob that can be", "{part_1:path} is not a frob that can be"),
    ],
)
def test_a_message_becomes_a_template(message: str, template: str) -> None:
    """What differs between reports becomes a typed hole; prose stays prose."""
    assert template_of(message) == template


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=80))
def test_any_message_becomes_a_template_that_can_be_read(message: str) -> None:
    """Whatever it holds; and where it has holes, it fits its message."""
    text = " ".join(message.split())
    if not text:
        return
    template = template_of(message)
    assert parse_template(template)
    if compile_template(template).holes:
        assert compile_template(template).search(text.lower(), text) is not None


@given(st.text(max_size=60))
def test_any_message_gives_a_name(message: str) -> None:
    """Small letters and hyphens."""
    assert all(char.isascii() and (char.isalnum() or char == "-") for char in slug_of(message))


def test_without_a_library_it_is_torch() -> None:
    """The folder of what no library names."""
    assert package_of(None) == "torch"
