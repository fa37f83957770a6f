"""``kb stats``: every count is that of the files and records, worked out a second way."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from lint_bases import GOOD, write_base

from troubleshoot import load_kb
from troubleshoot.basics.errors import KnowledgeError
from troubleshoot.curation import lint, stats
from troubleshoot.curation.text import stats_text

RANGE = {"package": "acme", "ranges": [{"introduced": "1.0", "fixed": "2.0"}], "basis": "measured"}
WORKS = {"id": "cast", "outcome": "works"}


def run(case: str, outcome: str, *fixes: dict[str, Any]) -> dict[str, Any]:
    """Return one verification as a record keeps it."""
    on = {"dtype": "float16", "device": "cpu", "capability": None, "versions": {}}
    return {"case": case, **on, "date": "2026-01-02", "before": {"outcome": outcome}, "fixes": list(fixes)}


def write_record(root: Path, issue: str, *runs: dict[str, Any]) -> None:
    """Record verifications."""
    append(root, "verifications", *({"schema": 1, "issue": issue, **run} for run in runs))


def write_releases(root: Path, issue: str, *probes: tuple[str, str], date: str = "2026-01-02") -> None:
    """Record a bisection; of several, the last counts."""
    on = {"case": "one", "package": "acme", "device": "cpu", "torch": "", "others": {}, "date": date, "borders": []}
    seen = [{"version": version, "state": state, "detail": ""} for version, state in probes]
    append(root, "releases", {"schema": 1, "issue": issue, **on, "probes": seen})


def append(root: Path, name: str, *records: dict[str, Any]) -> None:
    """Add lines to a file of records."""
    (root / "records").mkdir(exist_ok=True)
    with (root / "records" / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in records)


def entry(issue: str, **changes: Any) -> dict[str, Any]:
    """Return a copy of the good entry under another id, with fields replaced; None removes."""
    made = {**deepcopy(GOOD), "id": issue, **changes}
    return {name: value for name, value in made.items() if value is not None}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Four entries, one of them withdrawn, with records."""
    fails = {**GOOD["fixes"][0], "id": "bf16", "kind": "use-bf16", "expected": "fails", "when": [{"fact": "os", "is": "linux"}]}
    good = entry("acme/good", affected=[RANGE], verify={"case": "one"}, fixes=[GOOD["fixes"][0], fails])
    good["zh"]["fixes"]["bf16"] = {"title": "换成 bfloat16"}
    bare = entry("acme/bare", zh=None, references=[], examples={}, verify={"case": "two"}, status="testing")
    reported = entry("umbrella/seen", fixes=[GOOD["fixes"][0], fails], affected=[{**RANGE, "basis": "reported"}])
    reported["examples"]["positive"] = [{"text": "a", "provenance": "reproduced"}, {"text": "b", "provenance": "reported"}]
    write_base(tmp_path, good, bare, reported, entry("acme/gone", status="withdrawn"))
    write_record(tmp_path, "acme/good", run("one", "reproduced", WORKS, {"id": "bf16", "outcome": "fails"}))
    write_record(tmp_path, "acme/bare", run("two", "not-reproduced", WORKS))
    write_record(tmp_path, "umbrella/seen", run("three", "reproduced", {"id": "bf16", "outcome": "skipped"}))
    write_releases(tmp_path, "acme/good", ("0.9", "right"), ("1.0", "RuntimeError"), ("1.9", "RuntimeError"), ("2.0", "right"))
    return tmp_path


def test_each_count_on_a_made_up_base(root: Path) -> None:
    """Worked out by hand: good has everything, bare nothing, seen what a report gives; what is withdrawn counts nowhere else."""
    found = stats(load_kb([root], shipped=False)).to_dict()
    assert found["statuses"] == {"draft": 0, "testing": 1, "stable": 2, "withdrawn": 1}
    expected = {
        "entries": 3, "packages": 2, "with_reference": 2, "references": 2, "with_near_miss": 2, "near_misses": 2, "fixes": 5,
        "with_reasons": 3, "with_conditions": 2, "with_positive_example": 2, "with_case": 2, "with_recorded_case": 1, "measured_ranges": 1,
        "fixes_run": 2, "advice_that_fails": 2, "advice_that_fails_run": 1, "with_chinese": 1, "templates": 3, "phrases": 3,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    assert found["positive_examples"] == {"reproduced": 1, "constructed": 1, "reported": 1}
    assert found["best_origin"] == {"reproduced": 1, "constructed": 1, "reported": 0}
    assert found["affected"] == {"measured": 1, "release-notes": 0, "reported": 1}


@pytest.mark.parametrize(
    "probes",
    [
        (),
        (("1.5", "right"), ("2.1", "right")),  # not there inside the range
        (("1.5", "RuntimeError"), ("2.1", "RuntimeError")),  # still there behind it
        (("1.5", "cannot-run"), ("2.1", "right")),  # nothing was seen inside
    ],
)
def test_a_range_counts_as_measured_only_where_its_record_bears_it_out(root: Path, probes: tuple[tuple[str, str], ...]) -> None:
    """The word in the entry is not enough."""
    write_releases(root, "acme/good", *probes)
    assert stats(load_kb([root], shipped=False)).measured_ranges == 0


def test_a_damaged_line_of_the_records_is_told(root: Path) -> None:
    """With file and line, not counted as if nothing had been run; lint tells it beside everything else."""
    with (root / "records" / "releases.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"issue": "acme/good"}\n')
    with pytest.raises(KnowledgeError, match=r"releases\.jsonl:2: is no record of a run"):
        stats(load_kb([root], shipped=False))
    told = [str(one) for one in lint([root], shipped=False)]
    assert sum("releases.jsonl:2: is no record" in one for one in told) == 1
    assert len(told) > 1


def test_the_text_has_every_count(root: Path) -> None:
    """For people."""
    text = stats_text(stats(load_kb([root], shipped=False)))
    assert "entries                                  3 (1 testing, 2 stable, 1 withdrawn; 3 issue)" in text
    assert "advice that does not help                2 listed, 1 run and seen to fail" in text


def test_the_counts_of_the_shipped_base_are_true() -> None:
    """Read from the YAML and JSON files themselves, without the tool's own reading."""
    base = load_kb()
    (kb,) = base.roots
    paths = sorted(path for path in kb.glob("*/*.yaml") if path.parent.name != "words")
    files = [yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) for path in paths]
    entries = [one for one in files if one["status"] != "withdrawn"]
    found = stats(base)
    assert found.entries == len(entries)
    assert found.with_reference == sum(bool(one["references"]) for one in entries)
    assert found.with_near_miss == sum(bool(one["examples"].get("negative")) for one in entries)
    assert found.fixes == sum(len(one.get("fixes", ())) for one in entries)
    assert found.with_reasons == sum(all(fix["reason"].strip() for fix in one.get("fixes", ())) for one in entries)
    positive = [example.get("provenance", "reproduced") for one in entries for example in one["examples"].get("positive", ())]
    assert found.positive_examples == {name: positive.count(name) for name in ("reproduced", "constructed", "reported")}
    assert found.with_positive_example == sum(bool(one["examples"].get("positive")) for one in entries)
    assert found.with_case == sum("verify" in one for one in entries)
    assert found.with_chinese == sum(bool(one.get("zh", {}).get("title") and one["zh"].get("explanation")) for one in entries)
    runs = [json.loads(line) for line in (kb / "records" / "verifications.jsonl").read_text(encoding="utf-8").splitlines()]
    shown = {(run["issue"], run["case"]) for run in runs if run["before"]["outcome"] == "reproduced"}
    assert found.with_recorded_case == sum((one["id"], one["verify"]["case"]) in shown for one in entries if "verify" in one)
    fails = [(one["id"], fix["id"]) for one in entries for fix in one.get("fixes", ()) if fix.get("expected") == "fails"]
    index = json.loads((kb / "records" / "index.json").read_text(encoding="utf-8"))["issues"]
    assert found.advice_that_fails == len(fails)
    assert found.advice_that_fails_run == sum({run[0] for run in index.get(issue, {}).get(fix, ())} == {"fails"} for issue, fix in fails)
    assert found.measured_ranges == sum(part["basis"] == "measured" for one in entries for part in one.get("affected", ()))
