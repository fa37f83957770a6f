"""Settings in YAML and JSON files: a value is changed where it stands, and every other byte stays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from troubleshoot.editing.model import Plan, Refusal, RefusedError, Step
from troubleshoot.editing.spellings import HALF, NAMES, respelled, wanted_dtype
from troubleshoot.result import FixAdvice

_BOM = "\ufeff"
_DTYPE_KEYS = ("torch_dtype", "dtype", "mixed_precision", "precision", "compute_dtype", "bnb_4bit_compute_dtype", "amp_dtype")
_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class _Value:
    """A setting: its key, and where key and value stand in the text. ``value`` is None for a mapping or a list."""

    path: tuple[str, ...]
    value: str | None
    tag: str
    key_span: tuple[int, int]
    span: tuple[int, int]
    line: int

    @property
    def key(self) -> str:
        """The last part of its path."""
        return self.path[-1]

    @property
    def on(self) -> bool | None:
        """What a switch says; None for what is no switch."""
        if self.value is None or not self.tag.endswith(":bool"):
            return None
        return self.value.lower() in ("true", "yes", "on")


def is_config(path: str) -> bool:
    """Tell whether a file is taken for a configuration."""
    return path.lower().endswith(_SUFFIXES)


def plans_for_config(path: str, fixes: Iterable[FixAdvice]) -> tuple[list[Plan], list[Refusal]]:
    """Return what fixes change in a YAML or JSON file, and those that change nothing there. Raises RefusedError where it cannot be read."""
    try:
        data = Path(path).read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise RefusedError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RefusedError(f"{path} is no UTF-8") from error
    mark = _BOM if text.startswith(_BOM) else ""
    text = text.removeprefix(_BOM)
    found = list(_values(text, path))
    plans: list[Plan] = []
    refused: list[Refusal] = []
    for fix in fixes:
        try:
            wanted = wanted_dtype(fix)
            edits, steps = _changes(found, wanted, path, text)
        except RefusedError as error:
            refused.append(Refusal(fix, str(error)))
            continue
        after = _spliced(text, edits)
        _check(after, path)
        made = (mark + after).encode("utf-8")
        if all(made not in one.files.values() for one in plans):
            plans.append(Plan(fix, {path: made}, tuple(steps)))
    return plans, refused


def _values(text: str, path: str) -> Iterator[_Value]:
    # JSON may be indented by tabs, which YAML does not know; a blank has the same length.
    readable = text.replace("\t", " ") if path.endswith(".json") else text
    try:
        root = yaml.compose(readable, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise RefusedError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    waiting: list[tuple[tuple[str, ...], Any]] = [((), root)]
    met: set[int] = set()
    while waiting:
        prefix, node = waiting.pop(0)
        if node is None or id(node) in met:
            continue
        met.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += [(prefix, one) for one in node.value]
        if not isinstance(node, yaml.MappingNode):
            continue
        for key, value in node.value:
            here = (*prefix, str(key.value))
            scalar = isinstance(value, yaml.ScalarNode)
            yield _Value(
                here, value.value if scalar else None, value.tag, (key.start_mark.index, key.end_mark.index),
                (value.start_mark.index, value.end_mark.index), key.start_mark.line + 1,
            )  # fmt: skip
            waiting.append((here, value))


_Edit = tuple[int, int, str]


def _changes(found: list[_Value], wanted: str, path: str, text: str) -> tuple[list[_Edit], list[Step]]:
    """Return the spans to replace so that a file asks for a dtype ("float32": for no half one)."""
    edits: list[_Edit] = []
    steps: list[Step] = []

    def change(one: _Value, span: tuple[int, int], to: str, what: str) -> None:
        edits.append((*span, to))
        steps.append(Step("change-setting", path, one.line, what))

    for one in found:
        given = NAMES.get(one.value or "") if one.key in _DTYPE_KEYS else None
        if one.value is not None and given in HALF and given != wanted:
            old = text[slice(*one.span)]
            to = respelled(one.value, wanted, one.key)
            quote = old[:1] if old[:1] in "\"'" else '"' if path.endswith(".json") else "'" if to == "no" else ""
            change(one, one.span, f"{quote}{to}{quote}", f"{'.'.join(one.path)}: {one.value} becomes {to}")
    for change_ in _switches(found, wanted, path, text):
        change(*change_)
    if not edits:
        raise RefusedError(f"{Path(path).name} has no setting that asks for another dtype than {wanted}")
    return edits, steps


def _switches(found: list[_Value], wanted: str, path: str, text: str) -> Iterator[tuple[_Value, tuple[int, int], str, str]]:
    """``fp16: true`` beside ``bf16: false`` (training arguments), and ``fp16: {enabled: true}`` (DeepSpeed)."""
    by_path = {one.path: one for one in found}
    for one in found:
        if one.key not in ("fp16", "bf16"):
            continue
        given = NAMES[one.key]
        switch = one if one.value is not None else by_path.get((*one.path, "enabled"))
        if switch is None or given == wanted:
            continue
        if switch.value == "auto":
            raise RefusedError(f"{'.'.join(switch.path)} is auto: the arguments of the Trainer decide")
        if not switch.on:
            continue
        other = (*one.path[:-1], "bf16" if one.key == "fp16" else "fp16")
        opposite = by_path.get(other)
        false, true = ("false", "true") if text[slice(*switch.span)].islower() else ("False", "True")
        # Loss scaling and the like belong to float16: such a block stays, switched off, beside the new one.
        own = switch is not one and any(further.path[:-1] == one.path and further.key != "enabled" for further in found)
        if wanted == "float32" or opposite is not None or own:
            yield switch, switch.span, false, f"{'.'.join(switch.path)} becomes {false}"
        if wanted == "float32":
            continue
        if opposite is None and own:
            yield _block_before(one, other[-1], path, text)
            continue
        if opposite is None:
            yield _renamed(one, other[-1], text)
            continue
        target = opposite if opposite.value is not None else by_path.get((*other, "enabled"))
        if target is None:
            raise RefusedError(f"{'.'.join(other)} has no enabled to set")
        if not target.on:
            yield target, target.span, true, f"{'.'.join(target.path)} becomes {true}"


def _renamed(one: _Value, to: str, text: str) -> tuple[_Value, tuple[int, int], str, str]:
    """Without the other switch the key itself is renamed."""
    old = text[slice(*one.key_span)]
    quote = old[:1] if old[:1] in "\"'" else ""
    return one, one.key_span, f"{quote}{to}{quote}", f"{'.'.join(one.path)} becomes {to}"


def _block_before(one: _Value, to: str, path: str, text: str) -> tuple[_Value, tuple[int, int], str, str]:
    """A block that switches the other dtype on, before the one that is switched off."""
    start = one.key_span[0]
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    if indent.strip():
        raise RefusedError(f"line {one.line} holds more than the key {one.key}: write {to} beside it yourself")
    newline = "\r\n" if "\r\n" in text else "\n"
    if path.endswith(".json"):
        block = f'"{to}": {{"enabled": true}},{newline}{indent}'
    else:
        block = f"{to}:{newline}{indent}  enabled: true{newline}{indent}"
    return one, (start, start), block, f"{to}.enabled is true"


def _spliced(text: str, edits: list[_Edit]) -> str:
    for start, end, to in sorted(edits, reverse=True):
        text = text[:start] + to + text[end:]
    return text


def _check(text: str, path: str) -> None:
    try:
        if path.endswith(".json"):
            json.loads(text)
        else:
            yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        raise RefusedError(f"the edited {path} could not be read: {error}") from error
