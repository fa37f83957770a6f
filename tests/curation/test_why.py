"""``kb why``: what it says of an entry's place is what the diagnosis does."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from lint_bases import GOOD, MESSAGE, write_base

from troubleshoot import diagnose, load_kb
from troubleshoot.basics.errors import UnknownIssueError
from troubleshoot.curation import why
from troubleshoot.curation.checked import example_text
from troubleshoot.curation.text import why_text
from troubleshoot.knowledge import KnowledgeBase

TRACEBACK = """\
acme==2.0
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    model(x)
  File "/opt/venv/lib/python3.10/site-packages/acme/frob.py", line 9, in forward
    return frob(x)
RuntimeError: frobnicator cannot take Half operands
"""


def entry(issue: str, **changes: Any) -> dict[str, Any]:
    """Return a copy of the good entry under another id, with fields replaced."""
    return {**deepcopy(GOOD), "id": issue, **changes}


SPECIAL = entry(
    "acme/special",
    refines=["acme/good"],
    signature={**GOOD["signature"], "frames": [{"file": "acme/frob.py"}]},
    affected=[{"package": "acme", "ranges": [{"introduced": "1.0", "fixed": "2.1"}], "basis": "reported"}],
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """A general entry, one that refines it, one about a model, one about something else, and one that is withdrawn."""
    root = tmp_path_factory.mktemp("kb")
    other = entry("acme/other", signature={"message": [{"template": "quuxifier cannot take {found:dtype} operands"}]})
    model = entry("acme/model", refines=["acme/good"], models=["AcmeModel"])
    gone = entry("acme/gone", status="withdrawn")
    scope = (
        "schema: 1\ngroups: [{id: memory, title: {en: memory, zh: 显存}, message: ['frobnicator ran out of memory for all operands']}]\n"
    )
    return load_kb([write_base(root, GOOD, SPECIAL, other, model, gone, out_of_scope=scope)], shipped=False)


@pytest.mark.parametrize(
    ("issue", "report", "outcome", "reason"),
    [
        ("acme/good", MESSAGE, "first", "nothing rules it out"),
        ("acme/special", TRACEBACK, "first", "nothing rules it out"),
        ("acme/good", TRACEBACK, "overruled", "acme/special refines it"),
        ("acme/special", TRACEBACK.replace("acme==2.0", "acme==2.1"), "refuted", "version: acme 2.1 is not among acme 1.0 to before 2.1"),
        ("acme/special", TRACEBACK.replace("acme/frob.py", "umbrella/x.py"), "refuted", "frames: no frame in acme/frob.py"),
        ("acme/model", MESSAGE, "stands-back", "its model (AcmeModel, ...)"),
        ("acme/other", MESSAGE, "no-pattern", "None of its templates"),
        ("acme/gone", MESSAGE, "withdrawn", "never answers"),
    ],
)
def test_the_outcome_and_its_reason(base: KnowledgeBase, issue: str, report: str, outcome: str, reason: str) -> None:
    """One way to fare after the other."""
    found = why(report, issue, kb=base)
    assert found.outcome == outcome
    assert reason in " ".join(found.reasons)
    assert (found.position == 1) is (outcome == "first")
    text = why_text(found)
    assert text.startswith(f"{issue} ")
    assert json.loads(json.dumps(found.to_dict()))["outcome"] == outcome


def test_a_phrase_heard_in_two_sentences_is_shown_as_found(tmp_path: Path) -> None:
    """What led to the entry is among its patterns, although no single sentence holds it."""
    told = entry("acme/told", signature={"symptoms": ["frobnicator <wrong> operands"]})
    base = load_kb([write_base(tmp_path, told)], shipped=False)
    found = why("I start the frobnicator. It crashes with my operands.", "acme/told", kb=base)
    assert found.outcome == "first"
    assert [(one.found, one.where) for one in found.patterns] == [(True, "in two sentences, or in one and the title")]


def test_what_the_scope_claims_is_told(base: KnowledgeBase) -> None:
    """A group that knows the message better comes before every entry."""
    report = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nRuntimeError: frobnicator cannot take Half operands: '
    found = why(f"{report}frobnicator ran out of memory for all operands", "acme/good", kb=base)
    assert found.outcome == "out-of-scope"
    assert "(memory)" in found.reasons[0]


def test_an_entry_that_is_no_candidate_is_held_all_the_same(base: KnowledgeBase) -> None:
    """Its templates with what is missing from the report, its conditions against the failure."""
    found = why(MESSAGE, "acme/other", kb=base)
    (template,) = (one for one in found.patterns if one.kind == "template")
    assert (template.found, template.missing) == (False, ("quuxifier",))
    assert template.alike is not None and 50 < template.alike < 100
    assert [(one.part, one.state) for one in found.held] == [("supporting", None)]


def test_the_release_that_would_change_it_is_found(base: KnowledgeBase) -> None:
    """For the winner what would refute it, for the loser what would make it win: and the diagnosis agrees."""
    lost = why(TRACEBACK, "acme/good", kb=base)
    won = why(TRACEBACK, "acme/special", kb=base)
    assert ("package.acme", "2.1", "acme/good") in [(one.about, one.answer, one.first) for one in won.trials]
    assert ("package.acme", "2.1") in [(one.about, one.answer) for one in lost.trials]
    assert "--answer package.acme=2.1" in why_text(lost)


def test_an_unknown_entry_is_told(base: KnowledgeBase) -> None:
    """With the ids that are spelled alike."""
    with pytest.raises(UnknownIssueError, match="acme/good"):
        why(MESSAGE, "acme/goood", kb=base)


SHIPPED = load_kb()
REPORTS = [
    (issue, example, text)
    for issue in SHIPPED.ids()[::9]
    for example in SHIPPED.entry(issue).examples.positive[:1]
    if (text := example_text(example, SHIPPED.roots[0] / f"{issue}.yaml")) is not None
]


@pytest.mark.parametrize(("issue", "example", "text"), REPORTS, ids=[issue for issue, _, _ in REPORTS])
def test_it_agrees_with_the_diagnosis(issue: str, example: Any, text: str) -> None:
    """On the shipped base: the order, the confidence, the weights behind it, and every answer that is said to change it."""
    have = {name: version or "absent" for name, version in example.environment.items()}
    found = why(text, issue, kb=SHIPPED, gpu=example.gpu, have=have)
    diagnosis = diagnose(text, environment="report", kb=SHIPPED, gpu=example.gpu, have=have)
    assert found.outcome == "first"
    assert [(one.issue, one.cause, one.confidence) for one in found.ranking[:1]] == [
        (one.issue, one.cause, one.confidence) for one in diagnosis.diagnoses[:1]
    ]
    assert found.strength == pytest.approx(1 / (1 + math.exp(-sum(weight for _, weight in found.weights))), abs=2e-3)
    for trial in found.trials:
        answers = {} if trial.about == "gpu" else {trial.about: trial.answer}
        others = {name: version for name, version in have.items() if f"package.{name}" != trial.about}
        gpu = trial.answer if trial.about == "gpu" else example.gpu
        then = diagnose(text, environment="report", kb=SHIPPED, gpu=gpu, have=others, answers=answers)
        assert (then.first.issue if then.first else None) == trial.first
        assert trial.first != issue


def test_a_damaged_report_path_is_an_input_error(base: KnowledgeBase, tmp_path: Path) -> None:
    """As for diagnose."""
    from troubleshoot.basics.errors import InputError

    with pytest.raises(InputError):
        why(tmp_path / "none.txt", "acme/good", kb=base)


def test_outcomes_of_experiments_are_told_term_by_term() -> None:
    """What each adds to the log-odds of a cause, and to the entry."""
    text = "Training in fp16 gives a NaN loss."
    found = diagnose(text, environment="report").first
    assert found is not None
    for outcome, added in (("In float32 it works fine, no NaN.", 1), ("In float32 it is the same.", -1)):
        told = why(f"{text} {outcome}", found.issue)
        assert [one.state for one in told.held if one.part == "tried" and found.cause in one.condition] == [added > 0]
        # What helped is told of what is no problem as often: only what did not weakens the entry.
        assert ("tried" in dict(told.weights)) is (added < 0)
