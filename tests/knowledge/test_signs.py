"""Signs: conditions by name, put in place while a base is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from troubleshoot.knowledge.collect import Collected, collect

SIGNS = """\
schema: 1
signs:
  under-autocast: {any: [{fact: autocast, is: "on"}, {text: autocast|amp}]}
"""
ENTRY = """\
schema: 1
id: acme/frob
title: Frob
status: testing
kind: family
impact: error
signature: {message: [{template: "frob must not be frobbed"}]}
causes:
  - cause: dtype-mismatch/autocast-boundary
    weight: 1
    likelier: [LIKELIER]
explanation: It frobs.
references: []
"""


def collected(folder: Path, likelier: str, signs: str | None = SIGNS) -> Collected:
    """Collect a base of one entry, whose cause has a condition, and of signs."""
    (folder / "acme").mkdir(parents=True)
    (folder / "acme" / "frob.yaml").write_text(ENTRY.replace("LIKELIER", likelier), encoding="utf-8")
    if signs is not None:
        (folder / "signs.yaml").write_text(signs, encoding="utf-8")
    return collect([folder])


def test_a_sign_is_its_condition(tmp_path: Path) -> None:
    """With the weight that the entry gives it; wherever a condition may stand."""
    found = collected(tmp_path / "a", "{sign: under-autocast, times: 4}")
    written = collected(tmp_path / "b", '{any: [{fact: autocast, is: "on"}, {text: autocast|amp}], times: 4}', None)
    assert found.problems == []
    assert found.entries["acme/frob"] == written.entries["acme/frob"]
    assert found.used_signs == {"under-autocast"}


def test_a_sign_within_a_combination(tmp_path: Path) -> None:
    """One of several conditions."""
    found = collected(tmp_path, "{all: [{sign: under-autocast}, {text: validation}], times: 2}")
    (cause,) = found.entries["acme/frob"].causes
    assert [bool(one.any) for one in cause.likelier[0].all] == [True, False]


def test_an_overlay_changes_a_sign(tmp_path: Path) -> None:
    """For its own entries; the last one wins."""
    collected(tmp_path / "shipped", "{sign: under-autocast, times: 4}")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "signs.yaml").write_text(SIGNS.replace("autocast|amp", "frobcast"), encoding="utf-8")
    assert "frobcast" in str(collect([tmp_path / "shipped", tmp_path / "own"]).signs)


@pytest.mark.parametrize(
    ("likelier", "signs", "told"),
    [
        ("{sign: under-autocats, times: 4}", SIGNS, "acme/frob.yaml:11: sign: there is no sign 'under-autocats': did you mean"),
        ("{sign: frobbed, times: 4}", None, "there is no sign 'frobbed': the signs are in signs.yaml"),
        ("{sign: under-autocast, text: amp, times: 4}", SIGNS, "a sign stands alone: put 'text' beside it with `all`"),
        ("{text: amp, times: 4}", SIGNS.replace("{any:", "{times: 2, any:"), "a sign is a bare condition"),
        ("{text: amp, times: 4}", SIGNS.replace("text: autocast|amp", "sign: under-autocast"), "a sign is a bare condition"),
        ("{text: amp, times: 4}", SIGNS.replace("fact:", "fakt:"), "signs.yaml"),
    ],
)
def test_faults_are_told_with_their_place(likelier: str, signs: str | None, told: str, tmp_path: Path) -> None:
    """What to do is said."""
    assert any(told in str(one) for one in collected(tmp_path, likelier, signs).problems)
