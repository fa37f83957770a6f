"""Small knowledge bases for the tests of lint: one good entry, and the same with one fault."""

from __future__ import annotations

import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from troubleshoot.curation import lint

MESSAGE = "RuntimeError: frobnicator cannot take Half operands"

#: An entry without a fault. A fault is written into a copy of it, under the id ``acme/faulty``.
GOOD: dict[str, Any] = {
    "schema": 1,
    "id": "acme/good",
    "title": "The frobnicator wants float32",
    "status": "stable",
    "kind": "issue",
    "cause": "dtype-mismatch/input-vs-weight",
    "impact": "error",
    "signature": {"message": [{"template": "frobnicator cannot take {found:dtype} operands"}], "symptoms": ["frobnicator nan|inf"]},
    "evidence": {"supporting": [{"fact": "dtype.found", "is": ["float16", "bfloat16"]}]},
    "explanation": "It was written for float32.",
    "fixes": [
        {
            "id": "cast",
            "kind": "cast-inputs",
            "title": "Cast the inputs",
            "applicability": "safe",
            "action": {"edit": "x = x.float()"},
            "reason": "It computes in float32.",
        }
    ],
    "examples": {
        "positive": [{"text": MESSAGE, "provenance": "constructed"}],
        "negative": [{"text": "ValueError: no frob", "provenance": "constructed", "because": "another error", "expect": "none"}],
    },
    "references": [{"kind": "report", "url": "https://example.org/acme/1"}],
    "zh": {
        "title": "frobnicator 需要 float32",
        "explanation": "它只为 float32 编写。",
        "fixes": {"cast": {"title": "转换输入", "reason": "它用 float32 计算。"}},
    },
}

#: What the faulty copy says instead of "frobnicator", so that the two do not answer for each other.
OTHER = "quuxifier"


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of GOOD about another message with fields replaced; a key is a path such as ``fixes.0.action``, None removes."""
    entry: dict[str, Any] = yaml.safe_load(yaml.safe_dump(deepcopy(GOOD)).replace("frobnicator", OTHER))
    entry["id"] = "acme/faulty"
    for path, value in changes.items():
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        target: Any = entry
        for step in steps:
            target = target[step] if isinstance(step, int) else target.setdefault(step, {})
        if value is None:
            del target[last]
        else:
            target[last] = value
    return entry


def write_base(root: Path, *entries: dict[str, Any], **files: str) -> Path:
    """Write entries, the shipped taxonomy and further files (``out_of_scope``, ``signs`` or ``causes``: their text) below ``root``."""
    for entry in entries:
        path = root / f"{entry['id']}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(entry, allow_unicode=True, sort_keys=False), encoding="utf-8")
    if "causes" in files:
        (root / "causes.yaml").write_text(files["causes"], encoding="utf-8")
    else:
        shutil.copytree(Path(__file__).parents[2] / "kb" / "causes", root / "causes", dirs_exist_ok=True)
    if "signs" in files:
        (root / "signs.yaml").write_text(files["signs"], encoding="utf-8")
    if "out_of_scope" in files:
        (root / "out-of-scope.yaml").write_text(files["out_of_scope"], encoding="utf-8")
    return root


def problems_of(root: Path, **options: Any) -> list[str]:
    """Lint a folder alone; each problem as ``acme/faulty.yaml:LINE: ...``."""
    return [str(one).replace(f"{root}/", "") for one in lint([root], shipped=False, **options)]
