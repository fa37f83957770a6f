"""``diagnose()``: sources, environments, answers, the JSON contract, and that it never makes things worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from founding import ALL, BLIP2
from hypothesis import given, settings
from hypothesis import strategies as st

import troubleshoot
from troubleshoot import Environment, InputError, diagnose
from troubleshoot.reading.environment.machine import Package

TOP = {
    "schema",
    "tool",
    "knowledge",
    "verdict",
    "reason",
    "summary",
    "failures",
    "environment",
    "reader",
    "diagnoses",
    "questions",
    "culprit",
    "place",
    "operands",
    "contrasts",
    "outside",
    "errors",
    "numbers",
    "requirements",
    "tried",
}
ISSUE = {
    "issue",
    "cause",
    "failure",
    "title",
    "confidence",
    "cause_confidence",
    "explanation",
    "affected",
    "models",
    "evidence",
    "fixes",
    "references",
    "verify",
}
FIX = {"id", "kind", "title", "applicability", "fits", "why", "command", "code", "seen"}


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.issue)
def test_the_json_has_the_fields_of_the_contract(case: object) -> None:
    """Field names are stable within schema 1."""
    data = json.loads(json.dumps(diagnose(case.report(), environment="report").to_dict()))  # type: ignore[attr-defined]
    assert set(data) == TOP
    assert data["schema"] == 1
    assert data["verdict"] in ("known", "likely")
    for failure in data["failures"]:
        assert set(failure) == {"exception", "message", "line", "count", "ranks", "role", "fingerprint", "place"}
        assert set(failure["place"]) == {"user", "library"}
    assert set(data["place"]) == {"user", "library", "module", "operation"}
    for line in (data["place"]["user"], data["place"]["library"]):
        assert line is None or set(line) == {"file", "line", "function", "code", "at"}
    assert all(set(one) == {"name", "role", "dtype", "device"} for one in data["operands"])
    for one in data["diagnoses"]:
        assert set(one) >= ISSUE
        assert 0 <= one["confidence"] <= 1
        assert 0 <= one["cause_confidence"] <= 1
        for fix in one["fixes"]:
            assert set(fix) >= FIX
            assert fix["applicability"] in ("safe", "unsafe", "manual")
            assert fix["fits"] is not None or fix["why"]
        for item in one["evidence"]:
            assert set(item) == {"state", "kind", "text", "line"}
            assert item["state"] in ("supports", "refutes", "unknown")
    for question in data["questions"]:
        assert set(question) == {"ask", "about", "answers", "decides"}


def test_evidence_quotes_the_line_of_the_report() -> None:
    """The message is where it says."""
    text = BLIP2.report()
    first = diagnose(text, environment="report").first
    assert first is not None
    item = first.evidence[0]
    assert item.line is not None
    assert item.text in " ".join(text.splitlines()[item.line - 1].split())


def test_fixes_that_fit_come_first_then_the_undecided() -> None:
    """And what does not fit last, with the reason."""
    for case in ALL:
        first = diagnose(case.report(), environment="report").first
        assert first is not None
        ranks = [{True: 0, None: 1, False: 2}[fix.fits] for fix in first.fixes]
        assert ranks == sorted(ranks)
        assert all(fix.why for fix in first.fixes if fix.fits is False)


def test_a_str_is_text_and_a_path_a_file(tmp_path: Path) -> None:
    """Never guessed."""
    path = tmp_path / "report.txt"
    path.write_text(BLIP2.report(), encoding="utf-8")
    assert diagnose(path, environment="report").first == diagnose(BLIP2.report(), environment="report").first
    assert diagnose(str(path), environment="report").verdict == "unknown"
    with pytest.raises(InputError):
        diagnose(tmp_path / "missing.txt")


def test_bytes_are_decoded() -> None:
    """Logs come as bytes."""
    assert diagnose(BLIP2.report().encode("utf-16"), environment="report").verdict == "known"


def test_a_live_exception_is_diagnosed() -> None:
    """With the frames of this process."""
    try:
        raise RuntimeError("expected scalar type Float but found Half")
    except RuntimeError as error:
        diagnosis = diagnose(error, environment="report")
    assert diagnosis.first is not None
    assert diagnosis.first.cause.startswith("dtype-mismatch/")
    assert "test_diagnose.py" in (diagnosis.report.failures[0].place.user or "")


class HostileError(Exception):
    """Its text cannot be had."""

    def __str__(self) -> str:
        raise ValueError("no")

    __repr__ = __str__


def test_an_exception_never_makes_it_raise() -> None:
    """Neither a hostile exception nor a broken knowledge base."""
    for error in (HostileError(), RuntimeError("x" * 10**6), KeyError(), BaseException()):
        assert diagnose(error, environment="report").verdict in ("unknown", "likely", "known")
    broken = diagnose(RuntimeError("expected scalar type Float but found Half"), environment="report", kb=object())  # type: ignore[arg-type]
    assert broken.verdict == "unknown"
    assert broken.errors


def test_the_local_environment_counts_only_for_local_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pasted report from elsewhere says nothing about this machine."""
    diagnosis = diagnose(BLIP2.report(versions=False), environment="auto")
    assert all(package.source != "local" for package in diagnosis.environment.packages)


def test_local_means_this_interpreter() -> None:
    """When asked for, the installed packages speak."""
    diagnosis = diagnose("RuntimeError: expected scalar type Float but found Half", environment="local")
    assert diagnosis.environment.package("msgspec").source == "local"  # type: ignore[union-attr]


def test_an_environment_may_be_given() -> None:
    """As an object or a file."""
    environment = Environment(packages=(Package("transformers", "4.51.0", "file"),))
    refuted = diagnose(BLIP2.report(versions=False), environment=environment)
    assert BLIP2.issue in {issue for issue, _ in refuted.refuted}


def test_a_file_describes_the_environment(tmp_path: Path) -> None:
    """``--env FILE``."""
    path = tmp_path / "freeze.txt"
    path.write_text("transformers==4.51.0\ntorch==2.6.0\naccelerate==1.5.2\n", encoding="utf-8")
    assert BLIP2.issue in {issue for issue, _ in diagnose(BLIP2.report(versions=False), environment=path).refuted}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"answers": {"pakage.apex": "absent"}}, "package.|facts"),
        ({"gpu": "T1000000"}, "no GPU is known"),
        ({"answers": {"dtype.requested": "banana"}}, "is no dtype"),
    ],
)
def test_unusable_answers_say_what_to_do(options: dict[str, object], told: str) -> None:
    """A typo is not silently ignored."""
    with pytest.raises(InputError, match=told):
        diagnose(BLIP2.report(), environment="report", **options)  # type: ignore[arg-type]


def test_an_answer_outranks_the_report() -> None:
    """The user knows better than an old paste."""
    assert diagnose(BLIP2.report(), environment="report", have={"transformers": "4.51.0"}).first.issue != BLIP2.issue  # type: ignore[union-attr]


def test_chinese_is_answered_in_chinese() -> None:
    """Title, explanation, fixes."""
    first = diagnose(BLIP2.report(language="zh"), environment="report", language="zh").first
    assert first is not None
    assert any("\u4e00" <= char <= "\u9fff" for char in first.title + first.explanation)
    assert all(any("\u4e00" <= char <= "\u9fff" for char in fix.title) for fix in first.fixes)


def test_str_is_the_terminal_text() -> None:
    """``print(diagnosis)`` is enough."""
    assert BLIP2.issue in str(diagnose(BLIP2.report(), environment="report"))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400), st.sampled_from(ALL))
def test_any_text_around_a_report_is_survived(noise: str, case: object) -> None:
    """No input raises, and the failure is still found behind harmless noise."""
    assert troubleshoot.diagnose(noise, environment="report").verdict in ("unknown", "likely", "known")
    assert troubleshoot.diagnose(case.report() + "\n" + noise, environment="report").report.failures  # type: ignore[attr-defined]


def test_prose_beside_frames_without_a_message_may_tell_what_it_was() -> None:
    """A traceback that was cut above its message is no other failure than the one described; one with a message of its own is."""
    told = "The kernel requires activations to be FP16, an FP32 tensor causes a runtime error.\n\n"
    frames = (
        '  File "/usr/lib/python3.9/site-packages/auto_gptq/nn_modules/qlinear/qlinear_exllamav2.py", line 152, in forward\n'
        "    out = gemm(x)\n"
    )
    cut = diagnose(told + frames, environment="report")
    assert cut.verdict == "likely"
    assert cut.diagnoses[0].cause == "dtype-mismatch/quantized-compute"
    other = diagnose(told + "Traceback (most recent call last):\n" + frames + "FileNotFoundError: weights.bin\n", environment="report")
    assert other.verdict not in ("likely", "known")


@pytest.mark.parametrize("source", [None, 1, [], bytearray(b"x"), memoryview(b"x")])
def test_what_cannot_be_diagnosed_is_told(source: object) -> None:
    with pytest.raises(InputError, match="what can be diagnosed is text"):
        diagnose(source)  # type: ignore[arg-type]


def test_a_repr_holds_nothing_of_the_report() -> None:
    """A notebook, a failed assertion and a log of local variables print it, and nothing is masked there."""
    result = diagnose("token hf_abcdefghijklmnopqrstuvwxyzABCDEFGH\nRuntimeError: expected scalar type Half but found Float\n")
    assert "hf_" not in repr(result) + repr(result.report) + repr([result])
    assert repr(result).startswith("<Diagnosis likely")
