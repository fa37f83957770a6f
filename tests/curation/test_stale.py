"""``kb stale``: each reason to look again is found where it is, and only there."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from lint_bases import write_base
from test_stats import RANGE, entry, run, write_record, write_releases

from troubleshoot import load_kb
from troubleshoot.basics.errors import InputError
from troubleshoot.curation import stale
from troubleshoot.curation.aging import Staleness
from troubleshoot.curation.text import stale_text

TODAY = date(2026, 5, 15)
OPEN = {"package": "acme", "ranges": [{"introduced": "1.0"}], "basis": "reported"}
BORNE_OUT = (("0.9", "right"), ("1.5", "RuntimeError"), ("2.0", "right"))


def look(root: Path, *entries: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    """Return (entry, kind) of everything stale in a base of these entries."""
    return [(one.issue, one.kind) for one in found(root, *entries, **options).found]


def found(root: Path, *entries: dict[str, Any], **options: Any) -> Staleness:
    """Return what is stale in a base of these entries."""
    return stale(load_kb([write_base(root, *entries)], shipped=False), **{"offline": True, "today": TODAY, **options})


def test_a_good_entry_is_not_stale(tmp_path: Path) -> None:
    """No range, no case, a reference."""
    assert look(tmp_path, entry("acme/good")) == []


def test_an_entry_without_a_reference(tmp_path: Path) -> None:
    """Nobody can check what it says."""
    assert look(tmp_path, entry("acme/good", references=[])) == [("acme/good", "no-reference")]


@pytest.mark.parametrize(("day", "kinds"), [(None, ["open-range"]), ("2025-11-14", ["open-range"]), ("2025-11-15", [])])
def test_a_range_without_an_end(tmp_path: Path, day: str | None, kinds: list[str]) -> None:
    """Unless it was measured within the last six months."""
    if day:
        write_releases(tmp_path, "acme/good", ("0.9", "right"), ("1.5", "RuntimeError"), date=day)
    affected = [{**OPEN, "basis": "measured"} if day else OPEN]
    assert [kind for _, kind in look(tmp_path, entry("acme/good", affected=affected)) if kind != "contradicted"] == kinds


def test_a_case_without_a_record(tmp_path: Path) -> None:
    """Or with one that did not show the issue."""
    one = entry("acme/good", verify={"case": "one"})
    assert look(tmp_path, one) == [("acme/good", "no-record")]
    write_record(tmp_path, "acme/good", run("one", "not-reproduced"))
    assert look(tmp_path, one) == [("acme/good", "no-record")]
    write_record(tmp_path, "acme/good", run("one", "reproduced"))
    assert look(tmp_path, one) == []
    assert look(tmp_path, one, months=4) == [("acme/good", "old-record")]


def test_a_range_that_its_record_contradicts(tmp_path: Path) -> None:
    """What happens inside happens outside too."""
    write_releases(tmp_path, "acme/good", ("1.5", "RuntimeError"), ("2.0", "RuntimeError"))
    assert look(tmp_path, entry("acme/good", affected=[RANGE])) == [("acme/good", "contradicted")]
    write_releases(tmp_path, "acme/good", *BORNE_OUT)
    assert look(tmp_path, entry("acme/good", affected=[RANGE])) == []


def test_a_record_that_no_range_rests_on(tmp_path: Path) -> None:
    """The text says whether it bears the range out."""
    write_releases(tmp_path, "acme/good", *BORNE_OUT)
    reported = entry("acme/good", affected=[{**RANGE, "basis": "reported"}])
    (one,) = found(tmp_path, reported).found
    assert (one.kind, "bear it out: it can say" in one.text) == ("unused-record", True)
    write_releases(tmp_path, "acme/good", ("1.5", "right"))
    (one,) = found(tmp_path, reported).found
    assert one.text.endswith("do not bear it out")


def test_a_range_that_a_case_could_measure(tmp_path: Path) -> None:
    """The case installs the package whose releases are only reported."""
    verified = entry("acme/good", affected=[{**RANGE, "basis": "reported"}], verify={"case": "one", "install": {"acme": "1.5"}})
    assert ("acme/good", "bisectable") in look(tmp_path, verified)
    write_releases(tmp_path, "acme/good", *BORNE_OUT)
    assert ("acme/good", "bisectable") not in look(tmp_path, verified)


def test_what_the_index_says(tmp_path: Path) -> None:
    """A newer release, a package and a release that are gone; a package that could not be asked for is told, and asked for once."""
    asked: list[str] = []

    def published(name: str) -> tuple[str, ...]:
        asked.append(name)
        if name == "gone":
            raise InputError("pip finds no releases of gone: ERROR: No matching distribution found for gone")
        if name == "away":
            raise InputError("pip finds no releases of away: no network")
        return ("1.0", "2.0", "2.1")

    write_releases(tmp_path, "acme/good", *BORNE_OUT, date="2025-11-14")
    write_record(tmp_path, "acme/good", run("one", "reproduced"))
    good = entry("acme/good", affected=[RANGE], verify={"case": "one", "install": {"acme": "1.7", "gone": "1", "away": "1"}})
    result = found(tmp_path, good, offline=False, published=published)
    assert asked == ["acme", "away", "gone"]
    assert [one.kind for one in result.found] == ["new-release", "not-on-index", "not-on-index"]
    assert "acme 2.1 is out, measured up to 2.0: troubleshoot kb bisect acme/good --package acme --from 2.0" in result.found[0].text
    assert {one.text.partition(",")[0] for one in result.found[1:]} >= {"acme 1.7"}
    assert result.unasked == ("away: pip finds no releases of away: no network",)
    assert "not looked up: away" in stale_text(result)


@pytest.mark.parametrize(
    ("ranges", "day", "told"),
    [
        ([{"introduced": "1.0"}], "2026-05-01", True),  # open: the next release may have the end
        ([{"introduced": "1.0", "fixed": "2.0"}], "2026-05-01", False),  # closed, and looked at lately
        ([{"introduced": "1.0", "fixed": "2.0"}], "2025-05-01", True),  # what was fixed may have come back
    ],
)
def test_new_releases_matter(tmp_path: Path, ranges: list[dict[str, str]], day: str, told: bool) -> None:
    """Where the range is open, or its record old."""
    probes = BORNE_OUT if "fixed" in ranges[0] else BORNE_OUT[:2]
    write_releases(tmp_path, "acme/good", *probes, date=day)
    affected = [{**RANGE, "ranges": ranges}]
    kinds = look(tmp_path, entry("acme/good", affected=affected), offline=False, published=lambda name: ("1.0", "2.0", "2.1"))
    assert (("acme/good", "new-release") in kinds) is told


def test_the_text_groups_by_entry(tmp_path: Path) -> None:
    """And ends with how many."""
    text = stale_text(found(tmp_path, entry("acme/a", references=[], affected=[OPEN]), entry("acme/b")))
    assert text.count("acme/a\n") == 1
    assert text.endswith("1 entry needs another look\n")
    assert stale_text(Staleness((), ())) == "nothing is stale\n"


def test_what_is_said_of_the_shipped_base_is_true() -> None:
    """Of each kind, against the files themselves."""
    base = load_kb()
    (kb,) = base.roots
    runs = [json.loads(line) for line in (kb / "records" / "verifications.jsonl").read_text(encoding="utf-8").splitlines()]
    shown = {(run["issue"], run["case"]) for run in runs if run["before"]["outcome"] == "reproduced"}
    for one in stale(base, offline=True, today=date.today()).found:
        shipped = base.entry(one.issue)
        if one.kind == "no-record":
            assert shipped.verify is not None
            assert (one.issue, shipped.verify.case) not in shown
        elif one.kind == "open-range":
            assert any(part.fixed is None for affected in shipped.affected for part in affected.ranges)
        elif one.kind in ("unused-record", "bisectable"):
            assert any(affected.basis != "measured" for affected in shipped.affected)
        else:
            assert one.kind in ("old-record", "no-reference")
            assert one.kind == "old-record" or not shipped.references
