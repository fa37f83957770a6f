"""Verification as a whole: what is reproduced, what each fix does, and what is said where nothing can be run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from troubleshoot.basics.errors import InputError, KnowledgeError, UnknownIssueError
from troubleshoot.cli import main
from troubleshoot.engine.records import seen_in
from troubleshoot.knowledge import load_kb
from troubleshoot.knowledge.schema import Affected, Range
from troubleshoot.lab.verify import requirements
from troubleshoot.lab.verify.outcomes import CEILING, FLOORS, Before, Case, FixOutcome, Program, RunResult, Verification, verdict_of
from troubleshoot.lab.verify.play import play
from troubleshoot.lab.verify.records import write_records
from troubleshoot.lab.verify.registry import cases, cases_of, find_case
from troubleshoot.lab.verify.runner import judge, tolerances, verify, verify_diagnosis
from troubleshoot.lab.verify.verify_text import render_summary, render_verification
from troubleshoot.reading.environment.machine import Environment, Package

EMPTY = Program(None, {})


def case(**more: Any) -> Case:
    return Case(**{"name": "one", "title": "One", "issues": ("a/b",), "build": lambda setting: EMPTY, **more})


def environment(**versions: str) -> Environment:
    versions = {"torch": "2.13.0", **versions}
    return Environment(tuple(Package(name, version, "local") for name, version in versions.items()), closed_packages=True, python="3.11.7")


def test_every_entry_names_a_case_that_declares_it() -> None:
    """Entries and cases agree with each other, and every issue of a case exists."""
    base = load_kb()
    for issue in base.ids():
        entry = base.entry(issue)
        if entry.verify is not None:
            assert issue in find_case(entry.verify.case).issues, issue
    for name, one in cases().items():
        if name not in ("hangs", "crashes", "leaves", "eats", "asserts", "runs_out", "lacks", "prints"):
            assert all(base.entry(issue).id == issue for issue in one.issues), name


def test_plays_are_fixes_of_the_entry() -> None:
    """A case plays fixes that exist, of the entry or of the advice for its cause."""
    from troubleshoot.engine.fixes.select import fixes_of

    base = load_kb()
    for one in cases().values():
        known = {
            fix.id
            for issue in one.issues
            if issue in base.ids()
            for fix in fixes_of(base.entry(issue), base.entry(issue).cause or one.cause, base)
        }
        assert set(one.plays) <= known or not known, (one.name, set(one.plays) - known)


def test_listing_cases_imports_no_torch() -> None:
    """Cases are declared without torch."""
    import subprocess
    import sys

    program = "import sys; from troubleshoot.lab.verify.registry import cases; assert len(cases()) >= 60; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_an_unknown_case_is_answered_with_its_like() -> None:
    """The error names what is spelled alike."""
    with pytest.raises(InputError, match="linear_input_dtype"):
        find_case("linear_input_dtypes")


@pytest.mark.parametrize(
    ("declared", "versions", "wanted"),
    [
        ({"present": {"transformers": ">=4.50,<4.51"}}, {"transformers": "4.50.2"}, None),
        ({"present": {"transformers": ">=4.50,<4.51"}}, {"transformers": "4.51.0"}, "needs transformers"),
        ({"present": {"accelerate": ""}}, {}, "needs accelerate, which is not installed"),
        ({"absent": ("accelerate",)}, {"accelerate": "1.5.2"}, "not installed; 1.5.2 is"),
        ({"torch": ">=2.3"}, {"torch": "2.1.0+cu121"}, "needs torch"),
        ({"python": "<3.11"}, {}, "needs Python"),
    ],
)
def test_what_a_case_needs(declared: dict[str, Any], versions: dict[str, str], wanted: str | None) -> None:
    """Packages, their absence, torch and Python are checked, and the reason is said."""
    reason = requirements.misses(case(**declared), environment(**versions))
    assert (reason is None) if wanted is None else (wanted in str(reason))


def test_devices_and_capability_are_checked() -> None:
    """A case of another device, or of newer GPUs, says so."""
    assert "cuda only" in str(requirements.wrong_device(case(devices=("cuda",)), "cpu"))
    assert "8.0" in str(requirements.wrong_capability(case(capability_at_least=8.0), "7.5"))
    assert requirements.wrong_capability(case(capability_below=8.0), "7.5") is None


def test_an_unaffected_release_is_told() -> None:
    """Outside of the affected releases nothing is to be reproduced."""
    affected = (Affected("transformers", (Range("4.50.0", "4.50.3"),), "reported"),)
    assert requirements.unaffected(affected, environment(transformers="4.50.2")) is None
    assert "4.50.3" in str(requirements.unaffected(affected, environment(transformers="4.50.3")))


def test_tolerance_has_a_floor_and_a_ceiling() -> None:
    """Ten times a healthy run's error, but neither less than the rounding of the operations nor so much that anything passes."""
    allowed = tolerances(RunResult("ok", detail={"healthy": {"float16": 0.001, "bfloat16": 0.4, "float32": 0.0}}))
    assert allowed["float16"] == pytest.approx(0.01)
    assert allowed["bfloat16"] == CEILING
    assert allowed["float32"] == FLOORS["float32"]


def test_a_hiding_fix_says_that_it_hides() -> None:
    """What only ends without an error works, with a warning; everything else must be right."""
    wrong = RunResult("wrong", error="the output is 0.9 off the reference")
    assert judge(wrong, 0.1, hides=True) == (True, "it ends; the failure is hidden, not repaired: the output is 0.9 off the reference")
    assert judge(wrong, 0.1)[0] is False


def test_the_verdict_compares_with_what_was_expected() -> None:
    """A popular fix that fails as the entry says is as expected; one that works against it is not."""
    reproduced = Before("reproduced")
    works, fails = FixOutcome("a", "use-fp32", "works", "works", ""), FixOutcome("b", "use-bf16", "fails", "fails", "")
    assert verdict_of(reproduced, (works, fails)) == "verified"
    assert verdict_of(reproduced, (FixOutcome("b", "use-bf16", "fails", "works", ""),)) == "unexpected"
    assert verdict_of(reproduced, (FixOutcome("c", "upgrade", "works", "skipped", ""),)) == "verified"
    assert verdict_of(Before("not-reproduced"), ()) == "not-reproduced"


def test_how_fixes_are_played() -> None:
    """A patch is applied live, a dtype is loaded, an upgrade installs, advice is left."""
    base = load_kb()
    found = {fix.id: play(fix, find_case("blip2_query_tokens")) for fix in base.entry("transformers/blip2-query-tokens-fp32").fixes}
    assert found["upgrade"].install == {"transformers": "4.50.3"}
    assert found["cast-model"].patches
    assert found["use-fp32"].dtype == "float32"
    assert found["use-bf16"].dtype == "bfloat16"
    assert found["enable-autocast"].autocast == "float16"
    assert found["cast-query-tokens"].variant == "cast-query-tokens"


def test_what_cannot_run_here_says_why() -> None:
    """Without a second device, or without the package, nothing is claimed."""
    result = verify("minicpm/vpm-left-on-cpu", device="cpu")
    assert (result.verdict, result.exit_code) == ("cannot-run", 2)
    assert "accelerator" in result.before.why


def test_errors_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown issues, fixes, cases and devices are errors with a hint."""
    with pytest.raises(UnknownIssueError):
        verify("torch/linear-dtypes")
    with pytest.raises(InputError, match="cpu or cuda"):
        verify("torch/linear-dtype", device="tpu")
    with pytest.raises(InputError, match="no case"):
        verify("hardware/no-driver")
    with pytest.raises(InputError, match="linear_input_dtype"):
        verify("torch/linear-dtype", case="conv_input_dtype")
    assert main(["verify"]) == 2
    assert "name one issue" in capsys.readouterr().err


@pytest.fixture(scope="module")
def linear() -> Verification:
    """The commonest mismatch, verified on the CPU."""
    pytest.importorskip("torch")
    return verify("torch/linear-dtype", device="cpu")


@pytest.mark.torch
def test_the_commonest_mismatch(linear: Verification) -> None:
    """It is reproduced, diagnosed as itself, and its fixes work."""
    assert linear.verdict == "verified"
    assert linear.before.diagnosed_as == "torch/linear-dtype"
    assert {fix.outcome for fix in linear.fixes} <= {"works", "skipped"}
    assert all(fix.relative_error is not None and fix.relative_error < 0.01 for fix in linear.fixes if fix.outcome == "works")


@pytest.mark.torch
def test_json_is_the_contract(linear: Verification) -> None:
    """The object has the fields of docs/verification.md and is JSON."""
    data = json.loads(json.dumps(linear.to_dict()))
    assert list(data) == ["issue", "case", "tier", "device", "environment", "before", "fixes", "verdict"]
    assert {"outcome", "error", "diagnosed_as", "seconds"} <= set(data["before"])
    assert set(data["fixes"][0]) == {"id", "kind", "expected", "outcome", "why", "relative_error", "weights_bytes_per_parameter"}


@pytest.mark.torch
def test_text_says_that_no_gpu_was_used(linear: Verification) -> None:
    """A run on the CPU claims nothing for CUDA."""
    text = render_verification(linear)
    assert "not yet run on CUDA" in text
    assert "✓ cast-inputs" in text
    assert "1 verified" in render_summary([linear])


@pytest.mark.torch
def test_the_page_is_whole_and_escaped(linear: Verification) -> None:
    """The HTML page shows the fixes and the traceback, needs nothing from elsewhere, and is well formed whatever a message holds."""
    from dataclasses import replace
    from html.parser import HTMLParser

    from troubleshoot.lab.verify.verify_page import render_html

    page = render_html([replace(linear, before=replace(linear.before, error="<script>alert(1)</script>"))])
    assert "<script>" not in page and "http:" not in page and "https:" not in page
    assert "cast-inputs" in page and "<svg" in page and "Traceback" in page
    opened: list[str] = []

    class Balanced(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "br", "rect"):
                opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert tag == "rect" or opened.pop() == tag

    Balanced().feed(page)
    assert opened == []


@pytest.mark.torch
def test_records_are_kept_by_device_and_versions(linear: Verification, tmp_path: Path) -> None:
    """The same run twice is one record; what was seen is read back by issue and fix."""
    folder = tmp_path / "records"
    write_records(folder, [linear])
    write_records(folder, [linear])
    lines = (folder / "verifications.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["issue"] for line in lines] == ["torch/linear-dtype"]
    seen = seen_in([tmp_path])
    runs = seen("torch/linear-dtype", "cast-inputs")
    assert [(one.outcome, one.device) for one in runs] == [("works", "cpu")]
    assert "torch" in runs[0].versions
    assert seen("torch/linear-dtype", "no-such-fix") == ()


def test_a_run_elsewhere_is_another_record(tmp_path: Path) -> None:
    """Beside runs of other issues and on other versions; the newer of two on the same replaces the older."""

    def run(issue: str, torch: str, verdict: str) -> Verification:
        before = Before("reproduced")
        environment = {"packages": {"torch": torch}}
        return Verification(issue, "one", "minimal", "cpu", environment, before, (), verdict, "float16")  # type: ignore[arg-type]

    write_records(tmp_path, [run("b/two", "2.13.0", "old"), run("a/one", "2.0.1", "old")])
    write_records(tmp_path, [run("b/two", "2.13.0", "new"), run("b/two", "2.0.1", "new")])
    found = [json.loads(line) for line in (tmp_path / "verifications.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(one["issue"], one["versions"]["torch"], one["verdict"]) for one in found] == [
        ("a/one", "2.0.1", "old"), ("b/two", "2.0.1", "new"), ("b/two", "2.13.0", "new"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["{", "[]", '{"issue": "a/b", "fixes": []}', "\udcff", "[" * 9999])
def test_a_damaged_line_is_named_and_kept(text: str, tmp_path: Path) -> None:
    """The runs that are still in the file would be lost."""
    run = {**dict.fromkeys(("issue", "case", "dtype", "device", "date"), ""), "capability": None, "versions": {}, "fixes": []}
    kept = json.dumps({**run, "before": {"outcome": "reproduced"}}).encode() + b"\n" + text.encode("utf-8", "surrogateescape")
    (tmp_path / "verifications.jsonl").write_bytes(kept)
    with pytest.raises(KnowledgeError, match=r"verifications\.jsonl:2: is no record of a run"):
        write_records(tmp_path, [])
    assert (tmp_path / "verifications.jsonl").read_bytes() == kept


def test_missing_or_damaged_records_are_none(tmp_path: Path) -> None:
    """A base without records, or with a broken index, has seen nothing."""
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "index.json").write_text("{", encoding="utf-8")
    assert seen_in([tmp_path, tmp_path / "nowhere"])("torch/linear-dtype", "cast-inputs") == ()


@pytest.mark.slow
@pytest.mark.torch
def test_only_the_named_fix_is_tried() -> None:
    """--fix leaves the others out."""
    pytest.importorskip("torch")
    result = verify("torch/embedding-indices", device="cpu", fixes=["cast-integer"])
    assert [fix.id for fix in result.fixes] == ["cast-integer"]


@pytest.mark.slow
@pytest.mark.torch
def test_a_fix_that_the_report_does_not_call_for_is_no_surprise() -> None:
    """The fix for GPTQ and AWQ models is tried on a plain one and does not help: the entry never offered it there."""
    pytest.importorskip("torch")
    result = verify("torch/sdpa-mask-dtype", case="sdpa_integer_mask", device="cpu", fixes=["quantized-half", "cast-mask"])
    found = {fix.id: fix for fix in result.fixes}
    assert found["quantized-half"].outcome == "fails"
    assert found["quantized-half"].ruled_out
    assert "nothing in this report calls for it" in found["quantized-half"].why
    assert found["cast-mask"].outcome == "works"
    assert result.verdict == "verified"


@pytest.mark.slow
@pytest.mark.torch
def test_a_silent_failure_is_seen_by_its_result() -> None:
    """Nothing raises, the output is wrong, and the symptom is diagnosed as this issue."""
    pytest.importorskip("torch")
    result = verify("numerics/bf16-positions", device="cpu", fixes=["rope-fp32"])
    assert result.before.outcome == "reproduced"
    assert "off the reference" in str(result.before.error)
    assert result.verdict == "verified"


@pytest.mark.slow
@pytest.mark.torch
def test_a_diagnosis_can_be_verified() -> None:
    """The first issue with a case is run."""
    pytest.importorskip("torch")
    import troubleshoot

    diagnosis = troubleshoot.diagnose("RuntimeError: mat1 and mat2 must have the same dtype, but got Float and Half", environment="report")
    result = verify_diagnosis(diagnosis, device="cpu", fixes=["cast-inputs"])
    assert result is not None
    assert result.issue == "torch/linear-dtype"
    assert verify_diagnosis(troubleshoot.diagnose("the frobnicator exploded", environment="report")) is None


def test_siblings_of_a_family_are_listed() -> None:
    """A family has the case that its entry names first, then the others."""
    names = [one.name for one in cases_of("torch/linear-dtype", "linear_input_dtype")]
    assert names[0] == "linear_input_dtype"
    assert "linear_lora_by_hand" in names
