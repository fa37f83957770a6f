"""Signs: conditions that many entries share, by name, so that they are mended in one place (``kb/signs.yaml``).

``{sign: under-autocast, times: 4}`` in an entry is read as the condition of that name with ``times: 4``.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import yaml

from troubleshoot.basics.errors import KnowledgeError, KnowledgeProblem
from troubleshoot.knowledge.schema import Signs
from troubleshoot.knowledge.sound import check_sound
from troubleshoot.knowledge.source import convert, read_yaml

SIGNS_FILE = "signs.yaml"
#: What may stand beside the name of a sign.
_BESIDE = frozenset({"sign", "ask", "times"})


def read_signs(path: Path) -> dict[str, dict[str, Any]]:
    """Return the signs of a file as plain data, checked.

    Raises:
        KnowledgeError: a condition is malformed, or holds another sign or a weight.
    """
    data, node = read_yaml(path)
    check_sound(convert(data, node, Signs, path), path, node)
    signs: dict[str, dict[str, Any]] = data["signs"]
    for name, condition in signs.items():
        if used_signs(condition) or {"ask", "times"} & set(condition):
            raise KnowledgeError((KnowledgeProblem(path, 1, f"signs.{name}", "a sign is a bare condition: no sign, ask or times within"),))
    return signs


def put_signs(data: Any, signs: dict[str, dict[str, Any]], path: Path, node: yaml.Node) -> Any:
    """Return plain data with every sign replaced by its condition.

    Raises:
        KnowledgeError: a sign is unknown, or stands beside another condition.
    """
    if isinstance(data, list):
        return [put_signs(one, signs, path, node) for one in data]
    if not isinstance(data, dict):
        return data
    name = data.get("sign")
    if not isinstance(name, str):
        return {key: put_signs(value, signs, path, node) for key, value in data.items()}
    problem = _problem(name, set(map(str, data)), signs)
    if problem is not None:
        raise KnowledgeError((KnowledgeProblem(path, _line_of(node, name), "sign", problem),))
    return {**signs[name], **{key: value for key, value in data.items() if key != "sign"}}


def _problem(name: str, fields: set[str], signs: dict[str, dict[str, Any]]) -> str | None:
    """Say what is wrong with a use of a sign."""
    beside = sorted(fields - _BESIDE)
    if beside:
        return f"a sign stands alone: put {beside[0]!r} beside it with `all`"
    if name in signs:
        return None
    close = difflib.get_close_matches(name, signs, n=1)
    return f"there is no sign {name!r}: " + (f"did you mean {close[0]!r}?" if close else f"the signs are in {SIGNS_FILE}")


def used_signs(data: Any) -> set[str]:
    """Return the names of the signs in plain data."""
    if isinstance(data, list):
        return {name for one in data for name in used_signs(one)}
    if not isinstance(data, dict):
        return set()
    own = {data["sign"]} if isinstance(data.get("sign"), str) else set()
    return own | {name for value in data.values() for name in used_signs(value)}


def _line_of(node: yaml.Node, name: str) -> int:
    """Return the line of the first ``sign: name``."""
    stack: list[yaml.Node] = [node]
    lines: list[int] = []
    while stack:
        one = stack.pop()
        if isinstance(one, yaml.MappingNode):
            for key, value in one.value:
                if key.value == "sign" and value.value == name:
                    lines.append(value.start_mark.line + 1)
                stack.append(value)
        elif isinstance(one, yaml.SequenceNode):
            stack.extend(one.value)
    return min(lines, default=1)
