"""Writing fitted weights into the files of entries: only the numbers change, every other character stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from troubleshoot.basics.errors import InputError
from troubleshoot.basics.saving import save
from troubleshoot.curation.weights import Parameter, Weighing


def write_weights(weighing: Weighing, root: Path) -> tuple[Path, ...]:
    """Write the numbers that are borne out into the files below ``root`` (``kb/`` of a checkout), and return those that changed.

    Raises:
        InputError: ``root`` holds none of the families, or a file cannot be written.
    """
    files = {one.issue: root / f"{one.issue}.yaml" for one in weighing.families if (root / f"{one.issue}.yaml").is_file()}
    if weighing.families and not files:
        raise InputError(f"{root}: holds none of the families. Give the folder of the entries, such as kb of a checkout")
    changed = []
    for one in weighing.families:
        path = files.get(one.issue)
        if path is None or not one.borne_out:
            continue
        text = path.read_text(encoding="utf-8")
        new = with_numbers(text, one.numbers)
        if new != text:
            try:
                save(path, new.encode())
            except OSError as error:
                raise InputError(f"{path}: cannot be written: {error.strerror}") from error
            changed.append(path)
    return tuple(changed)


def with_numbers(text: str, numbers: Mapping[Parameter, float]) -> str:
    """Return an entry's text with other weights and factors. A condition that stands in the file once for several keeps its factor."""
    causes = _value(yaml.compose(text, Loader=yaml.SafeLoader), "causes")
    # YAML's aliases lead to one node from several conditions.
    uses = Counter(id(condition) for cause in causes.value for condition in _conditions(cause))
    edits: dict[tuple[int, int], str] = {}
    for key, number in numbers.items():
        cause = causes.value[key.cause]
        written = f"{number:g}"
        if key.condition is None:
            edits[_place(_value(cause, "weight"))] = written
            continue
        condition = _conditions(cause)[key.condition]
        times = _value(condition, "times")
        if uses[id(condition)] > 1:
            continue
        if times is not None:
            edits[_place(times)] = written
        elif condition.flow_style:
            end = condition.end_mark.index - 1
            edits[end, end] = f", times: {written}"
        else:
            end = condition.value[-1][1].end_mark.index
            edits[end, end] = f"\n{' ' * condition.start_mark.column}times: {written}"
    for place in sorted(edits, reverse=True):
        text = text[: place[0]] + edits[place] + text[place[1] :]
    return text


def _conditions(cause: yaml.MappingNode) -> Any:
    likelier = _value(cause, "likelier")
    return likelier.value if likelier is not None else ()


def _value(mapping: Any, name: str) -> Any:
    return next((value for key, value in mapping.value if key.value == name), None)


def _place(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.index, node.end_mark.index
