"""``--reader`` of the commands, through the real client, against an endpoint that plays recorded answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")

import replaying

from troubleshoot.cli import main
from troubleshoot.curation.scoring import load_cases
from troubleshoot.engine.diagnosis import question_for_model

DATA = Path(__file__).parents[1] / "data"
UNSURE = "In half precision every picture of my model is black, with float32 it is fine.\n"


def prompt_key(text: str) -> str:
    prompt = question_for_model(text, environment="report")
    assert prompt is not None
    return replaying.key_of(prompt.user)


def said(*causes: str, **of: Any) -> str:
    return json.dumps({"facts": [], "contrasts": [], "causes": list(causes), "entry": "none", **of})


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(list(arguments))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture
def report(tmp_path: Path) -> str:
    path = tmp_path / "report.txt"
    path.write_text(UNSURE, encoding="utf-8")
    return str(path)


def test_diagnose_with_a_reader(report: str, capsys: pytest.CaptureFixture[str]) -> None:
    with replaying.replaying({prompt_key(UNSURE): said("numerics/fp16-overflow")}) as (url, asked):
        options = (report, "--env", "report", "--reader", url, "--reader-model", "m1")
        code, out, _ = run("diagnose", *options, "--format", "json", capsys=capsys)
        assert code == 0
        assert json.loads(out)["reader"]["causes"] == ["numerics/fp16-overflow"]
        assert "Read by m1" in run("diagnose", *options, capsys=capsys)[1]
    assert len(asked) == 2


def test_an_endpoint_that_fails_changes_nothing_but_a_line(report: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain = run("diagnose", report, "--env", "report", "--format", "json", capsys=capsys)
    with replaying.replaying({}) as (url, _):
        found = run("diagnose", report, "--env", "report", "--format", "json", "--reader", url, "--reader-model", "m1", capsys=capsys)
    assert json.loads(found[1])["reader"]["problem"] == "status"
    assert (found[0], {**json.loads(found[1]), "reader": None}) == (plain[0], json.loads(plain[1]))


def test_a_dry_run_prints_what_would_be_sent_and_sends_nothing(
    report: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TROUBLESHOOT_READER_KEY", "sk-secret-4711")
    with replaying.replaying({prompt_key(UNSURE): said("numerics/tf32")}) as (url, asked):
        options = ("diagnose", report, "--env", "report", "--reader", url, "--reader-model", "m1")
        code, out, _ = run(*options, "--reader-dry-run", capsys=capsys)
        assert asked == []
        run(*options, capsys=capsys)
    told = json.loads(out)
    assert code == 0
    assert told["url"] == f"{url}/chat/completions"
    assert told["body"] == asked[0]
    assert "4711" not in out


def test_a_dry_run_says_that_nothing_would_be_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sure.txt"
    path.write_text("RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'\n", encoding="utf-8")
    code, out, _ = run("diagnose", str(path), "--reader", "http://localhost:1/v1", "--reader-model", "m", "--reader-dry-run", capsys=capsys)
    assert (code, out.startswith("Nothing would be sent")) == (1, True)


@pytest.mark.parametrize(
    "options", [("--reader", "http://h/v1"), ("--reader-model", "m"), ("--reader-dry-run",), ("--reader", "h", "--reader-model", "m")]
)
def test_options_that_do_not_go_together(options: tuple[str, ...], report: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("diagnose", report, *options, capsys=capsys)
    assert (code, out) == (2, "")
    assert "reader" in err


def test_scan_says_which_failures_a_model_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from troubleshoot.reader import Reader
    from troubleshoot.scale.scanning.log_scan import _READ, scan

    log = tmp_path / "train.log"
    trace = (
        'Traceback (most recent call last):\n  File "t{n}.py", line 1, in run{n}\n    a @ b\n'
        "RuntimeError: expected scalar type Half but found Float\n"
    )
    log.write_text("".join(trace.replace("{n}", str(n)) + f"step {n}\n" * 200 for n in range(3)), encoding="utf-8")
    with replaying.replaying({}) as (url, asked):
        found = scan([log], reader=Reader(url, "m1"))
        assert 0 < len(asked) <= min(len(found.problems), _READ)
        assert {one.reader for one in found.problems} == {"m1: status 404"}
        code, out, _ = run("scan", str(log), "--reader", url, "--reader-model", "m1", capsys=capsys)
        assert (code, "read by m1: status 404" in out) == (0, True)
    assert {one.reader for one in scan([log]).problems} == {None}


@pytest.mark.parametrize(("part", "step", "cause", "alarms"), [("unseen", 4, 0.96, 0.08), ("recent", 1, 0.93, 0.1)])
def test_the_recorded_model(
    part: str, step: int, cause: float, alarms: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part of the reports here; docs/accuracy.md has the figures of all."""
    cases = load_cases(DATA / part)[::step]
    sample = tmp_path / "sample.jsonl"
    sample.write_text("".join(json.dumps({"id": name, **label, "text": text}) + "\n" for name, label, text in cases), encoding="utf-8")
    without = json.loads(run("kb", "score", str(sample), "--format", "json", capsys=capsys)[1])
    with replaying.replaying(replaying.recorded((DATA / "reader").glob("*.jsonl"))) as (url, asked):
        told = json.loads(run("kb", "score", str(sample), "--format", "json", "--reader", url, "--reader-model", "m", capsys=capsys)[1])
    assert told["asked"] == len(asked) > 20
    # What is asked about changes with the rules: reports that were not recorded are answered without the model.
    assert told["unanswered"] <= told["asked"] / 5
    assert told["fair_top1"] >= max(cause, without["fair_top1"])
    assert told["false_alarms"] <= alarms
    assert told["strict_top1"] >= without["strict_top1"]
    assert told["fix_at_2"] >= without["fix_at_2"]
    assert told["brier"] < without["brier"]


def test_recordings_are_of_the_form_that_is_asked_for() -> None:
    """Every one holds to the schema but for entries and causes, which come and go."""
    recorded = replaying.recorded((DATA / "reader").glob("*.jsonl"))
    assert len(recorded) > 100
    for answer in map(json.loads, recorded.values()):
        assert set(answer) == {"facts", "contrasts", "causes", "entry"}
        assert 1 <= len(answer["causes"]) <= 3
