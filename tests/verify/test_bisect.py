"""Finding borders: every change of behaviour between neighbours that the grid of releases shows, with both sides run."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import troubleshoot.lab.verify.bisect as bisect_module
from troubleshoot.basics.errors import InputError, KnowledgeError
from troubleshoot.lab.verify.bisect import CANNOT, Bisection, Border, Probe, find_borders, state_of, write_bisection
from troubleshoot.lab.verify.outcomes import RunResult

BLIP2 = ["4.48.0", "4.48.3", "4.49.0", "4.50.0", "4.50.1", "4.50.2", "4.50.3", "4.51.0", "4.51.1", "4.51.3", "4.52.0"]


def test_both_borders_of_an_island_within_a_series_are_found() -> None:
    """4.50.0 to 4.50.2 fail, 4.50.3 is right: two borders, though 4.49 and 4.51 are right."""
    run: list[str] = []

    def state(version: str) -> str:
        run.append(version)
        return "fails" if version in ("4.50.0", "4.50.1", "4.50.2") else "right"

    borders = find_borders(BLIP2, state)
    assert [(one.before, one.after, one.to_state) for one in borders] == [("4.49.0", "4.50.0", "fails"), ("4.50.2", "4.50.3", "right")]
    assert {"4.49.0", "4.50.0", "4.50.2", "4.50.3"} <= set(run), "both sides of each were run"


def test_releases_that_cannot_run_make_no_border() -> None:
    """Where the older releases do not install, the first that runs is no change of behaviour."""
    assert find_borders(BLIP2, lambda version: CANNOT if version < "4.49.0" else "right") == ()


def test_coarsely_the_last_release_of_a_series_is_enough() -> None:
    """A border between series is found exactly; the first releases of series without a change are not run."""
    run: list[str] = []

    def state(version: str) -> str:
        run.append(version)
        return "fails" if version.startswith("4.50") else "right"

    borders = find_borders(BLIP2, state, coarse=True)
    assert [(one.before, one.after) for one in borders] == [("4.49.0", "4.50.0"), ("4.50.3", "4.51.0")]
    assert "4.48.0" not in run and "4.48.3" in run


def test_with_every_third_series_the_border_is_still_exact() -> None:
    """Twelve series of three releases: a border takes the grid and a bisection, not every series."""
    releases = [f"4.{series}.{patch}" for series in range(40, 52) for patch in range(3)]
    run: list[str] = []

    def state(version: str) -> str:
        run.append(version)
        return "fails" if releases.index(version) < releases.index("4.47.1") else "right"

    borders = find_borders(releases, state, every=3)
    assert [(one.before, one.after) for one in borders] == [("4.47.0", "4.47.1")]
    assert {"4.40.2", "4.43.2", "4.46.2", "4.49.2", "4.51.2"} <= set(run), "every third series, and the last"
    assert not {"4.41.2", "4.44.2", "4.50.2"} & set(run)


@pytest.mark.torch
def test_one_release_is_run_for_all_issues_before_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issues that are measured together share each environment, and each finds its own border."""
    run: list[tuple[str, str]] = []

    def reproduce(issue: str, releases: dict[str, str], **_more: object) -> tuple[RunResult, dict[str, object]]:
        version = releases["torch"]
        run.append((version, issue))
        broken = version < ("1.2" if issue == "torch/op-lacks-fft" else "1.3")
        return RunResult("raised", error="RuntimeError: no kernel") if broken else RunResult("ok"), {}

    monkeypatch.setattr(bisect_module, "reproduce", reproduce)
    monkeypatch.setattr(bisect_module, "published", lambda package: ("1.1", "1.2", "1.3", "1.4"))
    found = bisect_module.bisect(["torch/op-lacks-fft", "torch/op-lacks-dtype:bfloat16_cdist"], package="torch", of_its_time=False)
    assert [(one.issue, one.case, one.borders[0].after) for one in found] == [
        ("torch/op-lacks-fft", "half_fft_on_cpu", "1.2"),
        ("torch/op-lacks-dtype", "bfloat16_cdist", "1.3"),
    ]
    assert [version for version, _ in run] == sorted(version for version, _ in run)
    assert len(run) == len(set(run)), "nothing is run twice"


def test_packages_that_cannot_be_varied_together_are_refused() -> None:
    """Two issues of two packages need two measurements."""
    with pytest.raises(InputError, match="one package"):
        bisect_module.bisect(["transformers/blip2-query-tokens-fp32", "accelerate/dispatched-model-moved"])


def test_no_releases_no_borders() -> None:
    """Nothing to run is no error."""
    assert find_borders([], lambda version: "right") == ()
    assert find_borders(["1.0"], lambda version: "right") == ()


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.data())
def test_a_single_change_is_always_found(patches: list[int], data: st.DataObject) -> None:
    """Wherever one change lies, it is found, between neighbours."""
    releases = [f"1.{minor}.{patch}" for minor, count in enumerate(patches) for patch in range(count)]
    first_new = data.draw(st.integers(0, len(releases)))
    borders = find_borders(releases, lambda version: "new" if releases.index(version) >= first_new else "old")
    wanted = [(releases[first_new - 1], releases[first_new])] if 0 < first_new < len(releases) else []
    assert [(one.before, one.after) for one in borders] == wanted


def test_states_do_not_depend_on_numbers_in_messages() -> None:
    """A message with another size or address is the same behaviour; another message is not."""
    one = state_of(RunResult("raised", error="RuntimeError: size 12 at 0x3.5"))
    assert one == state_of(RunResult("raised", error="RuntimeError: size 99 at 0x7.1"))
    assert one != state_of(RunResult("raised", error="RuntimeError: other"))
    assert state_of(RunResult("wrong", relative_error=None)) == "NaN or inf"
    assert state_of(RunResult("wrong", relative_error=0.9)) == "wrong result"
    assert state_of(RunResult("import-error")) == CANNOT


def bisection(probes: dict[str, str], *, accelerate: str = "1.5.2", torch: str = "2.13.0") -> Bisection:
    """Return what a run over these releases found."""
    told = list(probes.items())
    borders = tuple(Border(a, b, one, other) for (a, one), (b, other) in pairwise(told) if one != other)
    return Bisection(
        "transformers/static-cache-autocast", "static_cache_under_autocast", "transformers", "cpu", "3.11.7", torch,
        {"accelerate": accelerate}, tuple(Probe(version, state, f"it was {state}") for version, state in told), borders, "2026-11-22",
    )  # fmt: skip


def test_a_record_goes_on_with_the_releases_since(tmp_path: Path) -> None:
    """Nothing of the older half is lost, and the newer half keeps what it was run with."""
    write_bisection(tmp_path, bisection({"4.9.0": "right", "4.10.0": "wrong"}, accelerate="of its time"))
    path = write_bisection(tmp_path, bisection({"4.10.0": "wrong", "5.0.0": "right"}))
    (kept,) = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert [one["version"] for one in kept["probes"]] == ["4.9.0", "4.10.0", "5.0.0"]
    assert [(one["before"], one["after"]) for one in kept["borders"]] == [("4.9.0", "4.10.0"), ("4.10.0", "5.0.0")]
    assert kept["others"] == {"accelerate": "of its time; 1.5.2 from transformers 4.10.0 on"}


@pytest.mark.parametrize(
    "later",
    [
        bisection({"4.10.0": "right", "5.0.0": "right"}),
        bisection({"4.11.0": "wrong", "5.0.0": "right"}),
        bisection({"4.10.0": "wrong", "5.0.0": "right"}, torch="2.15.0"),
    ],
    ids=["disagrees", "shares no release", "another torch"],
)
def test_a_record_that_does_not_go_together_is_replaced(later: Bisection, tmp_path: Path) -> None:
    """Two halves of different machines say nothing about the releases between them."""
    write_bisection(tmp_path, bisection({"4.9.0": "right", "4.10.0": "wrong"}))
    path = write_bisection(tmp_path, later)
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(later.to_dict()))


def test_other_records_stay_as_they_are(tmp_path: Path) -> None:
    """One of another issue, one of another case of an issue that has several, and the file where a line of it is damaged."""
    one = bisection({"4.9.0": "right", "4.10.0": "wrong"})
    several = [replace(one, issue="torch/half-on-cpu", case=name, package="torch") for name in ("half_linear_on_cpu", "half_conv_on_cpu")]
    for each in (one, *several, several[0]):
        path = write_bisection(tmp_path, each)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["case"] for line in lines] == ["half_conv_on_cpu", "half_linear_on_cpu", "static_cache_under_autocast"]
    path.write_text("\n".join([*lines, "{"]), encoding="utf-8")
    with pytest.raises(KnowledgeError, match=r"releases\.jsonl:4: is no record of a run"):
        write_bisection(tmp_path, one)
    assert path.read_text(encoding="utf-8").splitlines() == [*lines, "{"]
