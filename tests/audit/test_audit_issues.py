"""Every known issue that an audit or a watch points to exists."""

from __future__ import annotations

import ast
from pathlib import Path

import troubleshoot.lab.auditing
from troubleshoot.knowledge import load_kb

FOLDER = Path(troubleshoot.lab.auditing.__file__).parent


def test_every_issue_that_the_checks_name_is_in_the_knowledge_base() -> None:
    """What looks like an id in the checks is one."""
    known = set(load_kb().ids())
    packages = {one.partition("/")[0] for one in known}
    named = {
        node.value
        for path in FOLDER.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count("/") == 1 and " " not in node.value
        and node.value.partition("/")[0] in packages
    }  # fmt: skip
    assert len(named) > 20
    assert named <= known
