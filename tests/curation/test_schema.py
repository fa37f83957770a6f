"""kb/schema.json: what editors check entries by is generated from the code, and takes every shipped entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from lint_bases import GOOD, changed

from troubleshoot.commands.kb import json_schema
from troubleshoot.knowledge.collect import CAUSES_FOLDER, SCOPE_FILE, SIGNS_FILE, yaml_files
from troubleshoot.knowledge.experiments import EXPERIMENTS_FILE
from troubleshoot.knowledge.source import read_yaml

KB = Path(__file__).parents[2] / "kb"


@pytest.fixture(scope="module")
def validator() -> Any:
    """The schema beside the entries."""
    schema = json.loads((KB / "schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_schema_beside_the_entries_is_fresh() -> None:
    """``troubleshoot kb schema -o kb/schema.json`` writes it."""
    assert json.loads((KB / "schema.json").read_text(encoding="utf-8")) == json.loads(json.dumps(json_schema()))


def test_every_shipped_entry_is_valid(validator: Any) -> None:
    """The editor marks nothing that the loader takes."""
    wrong = []
    for path in yaml_files(KB):
        if path.relative_to(KB).parts[0] not in (CAUSES_FOLDER, EXPERIMENTS_FILE, SCOPE_FILE, SIGNS_FILE):
            data, _ = read_yaml(path)
            wrong += [f"{path.relative_to(KB)}: {error.json_path}: {error.message[:200]}" for error in validator.iter_errors(data)]
    assert wrong == []


def test_an_extension_is_valid(validator: Any) -> None:
    """An overlay's file is described too."""
    validator.validate({"schema": 1, "extends": "acme/good", "withdraw": True, "reason": "our build is fixed"})


@pytest.mark.parametrize(
    "wrong",
    [
        changed({"status": "stabel"}),
        changed({"fixes.0.kind": "cast-input"}),
        changed({"titel": "x"}),
        changed({"title": None}),
        changed({"signature.message": "text"}),
        {"schema": 1, "extends": "acme/good", "withdrow": True},
    ],
)
def test_what_the_loader_refuses_is_invalid(wrong: dict[str, Any], validator: Any) -> None:
    """Typing errors are seen while they are typed."""
    assert not validator.is_valid(wrong)
    assert validator.is_valid(GOOD)
