"""Diagnosing for somebody else, and what is kept of feedback."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from founding import BLIP2, QWEN2_VL

from troubleshoot import diagnose
from troubleshoot.basics.errors import InputError
from troubleshoot.basics.redact import redact_text
from troubleshoot.serve import tasks
from troubleshoot.serve.engine import Engine, as_data, usable
from troubleshoot.serve.errors import RequestError
from troubleshoot.serve.feedback import Feedback, counts
from troubleshoot.serve.settings import Settings


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(Settings())


def test_it_is_the_command_lines_diagnosis(engine: Engine) -> None:
    """The same object as of `diagnose --env report`."""
    diagnosis, errors = engine.diagnose(BLIP2.report(), language="en")
    assert errors == ()
    assert as_data(diagnosis) == diagnose(BLIP2.report(), environment="report").to_dict()


@pytest.mark.parametrize(
    "environment",
    [
        "Package Version\n------- -------\ntorch   2.6.0\ntransformers 4.57.6\n\nTesla T4",
        {"packages": {"torch": "2.6.0", "transformers": {"version": "4.57.6"}}, "accelerators": ["T4"]},
        {"packages": {"transformers": "4.57.6"}, "accelerators": [{"name": "Tesla T4", "capability": "7.5", "memory_gib": 15, "count": 2}]},
    ],
)
def test_environments_in_every_form(engine: Engine, environment: dict[str, object] | str) -> None:
    """A dump, a plain object, and the environment of an earlier answer."""
    diagnosis, errors = engine.diagnose(QWEN2_VL.report(versions=False), environment=environment)
    assert errors == ()
    package = diagnosis.environment.package("transformers")
    assert package is not None and package.version == "4.57.6"


def test_what_cannot_be_used_is_told(engine: Engine) -> None:
    """A wrong fact does not cost the diagnosis."""
    diagnosis, errors = engine.diagnose(BLIP2.report(), gpu="quux 9000", answers={"package.apex": "a\nb"}, environment={"packages": {}})
    assert diagnosis.verdict == "known"
    assert len(errors) == 3


def test_usable_facts_are_few_and_short() -> None:
    """Names that are no facts, long values and too many are left out."""
    found, wrong = usable({"gpu": "T4", "dtype.requested": "half", "no.such": "1", "package.torch": "x" * 500})
    assert found == {"gpu": "T4", "dtype.requested": "half"}
    assert len(wrong) == 2
    assert len(usable({f"flag.p{number}": "1" for number in range(1000)})[0]) == 64


@pytest.mark.parametrize("value", ["linux", "²", "nan", "-1", "1e999", "."])
def test_a_size_that_is_no_number_is_told(engine: Engine, value: str) -> None:
    """It is left out, and the report is diagnosed; in Python it is an error."""
    from troubleshoot import diagnose

    text = "Qwen2.5-7B on a T4\nRuntimeError: expected scalar type Float but found Half\n"
    found, errors = engine.diagnose(text, answers={"gpu.memory": value})
    assert found.diagnoses
    assert "no number" in errors[0]
    with pytest.raises(ValueError, match="no number"):
        diagnose(text, environment="report", answers={"gpu.memory": value})


def test_a_wrong_assumption_is_told_at_the_start() -> None:
    """An operator's mistake is not found by the first user."""
    with pytest.raises(InputError, match="no GPU is known"):
        Engine(Settings(assume={"gpu": "quux"}))


def test_feedback_counts(tmp_path: Path) -> None:
    """Counts per issue and fix; the file is the owner's alone; reports are dropped."""
    path = tmp_path / "feedback.db"
    feedback = Feedback(path)
    for worked in (True, False, True):
        feedback.add("a/b", "upgrade", worked)
    feedback.add("a/b", None, False)
    assert counts(path) == [
        {"issue": "a/b", "fix": "upgrade", "worked": 2, "failed": 1},
        {"issue": "a/b", "fix": None, "worked": 0, "failed": 1},
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("kept", [False, True])
def test_feedback_keeps_reports_only_redacted(kept: bool) -> None:
    """Reports are dropped; where the operator wants them, secrets and names are masked before they leave the worker."""
    engine = Engine(Settings(store_reports=kept))
    body = {"issue": BLIP2.issue, "fix": "upgrade", "worked": True, "report": "/home/alice/x.py: hf_" + "a1B2" * 8}
    issue, fix, worked, report = tasks.feedback(engine, json.dumps(body).encode())
    assert (issue, fix, worked) == (BLIP2.issue, "upgrade", True)
    if kept:
        assert report is not None and "[user]" in report and "alice" not in report and "a1B2a1B2" not in report
    else:
        assert report is None


def test_feedback_from_many_threads(tmp_path: Path) -> None:
    """Two open files and eight threads lose nothing."""
    path = tmp_path / "feedback.db"
    both = Feedback(path), Feedback(path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: both[number % 2].add("a/b", "x", True), range(100)))
    assert counts(path)[0]["worked"] == 100


@pytest.mark.parametrize("content", [None, b"no database"])
def test_no_feedback_file(tmp_path: Path, content: bytes | None) -> None:
    """A missing or another file is told."""
    path = tmp_path / "feedback.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match="feedback"):
        counts(path)


@pytest.mark.parametrize("most", [60, 100, 200])
def test_names_are_masked_before_they_are_cut(engine: Engine, most: int) -> None:
    """Half of a secret shows no more what it is."""
    secret = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
    name = "a" * (most - 16) + " " + secret
    told = [*usable({name: "\n"})[1]]
    body = json.dumps({"model": name, "messages": [{"role": "user", "content": "x"}]}).encode()
    for ask in (
        lambda: tasks.chat(engine, body, ""),
        lambda: tasks.tool_explain(engine, name, "en"),
        lambda: tasks.issue(engine, name),
        lambda: tasks.diagnose(engine, "application/json", json.dumps({"report": "x", "have": {name[6:]: 5}}).encode()),
    ):
        with pytest.raises(RequestError) as refused:
            ask()
        told += [redact_text(refused.value.message), redact_text(refused.value.param or "")]
    assert len(told) == 9
    assert not any(secret[:8] in one for one in told)
