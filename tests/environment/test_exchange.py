"""The tool's own JSON of an environment: a report may hold one, with anything in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from troubleshoot import diagnose

MEMBERS = ("python", "os", "platform", "packages", "details", "accelerators", "nvidia_smi", "warnings", "closed_packages")
OF_A_CARD = ("kind", "capability", "architecture", "memory", "count")
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["²", "9" * 5000, "T4, ² MiB, 5"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def diagnosed(environment: dict[str, object]) -> str:
    text = json.dumps({"troubleshoot_environment": 1, **environment})
    result = diagnose(f"RuntimeError: expected scalar type Float but found Half\n{text}\n", environment="report")
    assert result.first is not None
    return json.dumps(result.to_dict())


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(MEMBERS), ANY, max_size=4), st.dictionaries(st.sampled_from(OF_A_CARD), ANY, max_size=3))
def test_nothing_in_it_stops_a_diagnosis(members: dict[str, object], card: dict[str, object]) -> None:
    diagnosed(members)
    diagnosed({"accelerators": [{"name": "T4", **card}]})


@pytest.mark.parametrize(
    "card",
    [{"count": "x"}, {"count": float("inf")}, {"capability": [[1], 2]}, {"capability": [float("nan"), 1]}, {"memory": 10**400}],
    ids=str,
)
def test_a_value_that_is_none_is_left_out(card: dict[str, object]) -> None:
    accelerator = json.loads(diagnosed({"accelerators": [{"name": "T4", **card}]}))["environment"]["accelerators"][0]
    assert accelerator["capability"] == "7.5"
    assert accelerator.get("count", 1) == 1
