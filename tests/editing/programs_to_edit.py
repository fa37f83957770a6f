"""Programs that raise real torch errors in this process, their failures as the tool sees them, and their edits."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from troubleshoot.lab.editing.failure import Failure
from troubleshoot.lab.editing.files import unified_diff
from troubleshoot.lab.editing.planning import plans_for
from troubleshoot.lab.editing.plans import Plan, Refusal
from troubleshoot.lab.trying.child import _failure


def execute(path: Path, source: bytes | None = None) -> dict[str, Any]:
    """Run a script in this process, as ``__main__``, and return its globals."""
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    sys.path.insert(0, str(path.parent))
    try:
        exec(compile(path.read_bytes() if source is None else source, str(path), "exec", dont_inherit=True), names)
    finally:
        sys.path.remove(str(path.parent))
    return names


def fail(path: Path) -> Failure:
    """Run a script that fails and return its failure."""
    try:
        execute(path)
    except Exception as error:
        error.__traceback__ = error.__traceback__.tb_next.tb_next if error.__traceback__ else None  # type: ignore[union-attr]
        return _failure(error)
    raise AssertionError("the script does not fail")


def plan(path: Path, failure: Failure | None, fix: str | None = None) -> Plan:
    """Return the first plan, or that of a fix."""
    assert failure is not None
    plans, refused = plans_for(str(path), [one for one in failure.fixes if fix is None or one.id == fix], failure)
    assert plans, [(one.fix.id, one.why) for one in refused]
    return plans[0]


def refusals(path: Path, failure: Failure, fix: str) -> list[Refusal]:
    """Return why a fix is not turned into an edit."""
    plans, refused = plans_for(str(path), [one for one in failure.fixes if one.id == fix], failure)
    assert not plans
    return refused


def changed(made: Plan) -> list[str]:
    """Return the lines that an edit removes and adds."""
    found: list[str] = []
    for path, after in made.files.items():
        lines = unified_diff(path, Path(path).read_bytes(), after).decode().splitlines()
        found += [line for line in lines if line[:1] in "+-" and not line.startswith(("+++", "---"))]
    return found


def repaired(path: Path, made: Plan) -> dict[str, Any]:
    """Run the edited script and return its globals."""
    return execute(path, made.files[os.path.realpath(path)])
