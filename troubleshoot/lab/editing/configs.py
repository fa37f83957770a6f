"""Settings in YAML and JSON files: a value is changed where it stands, and every other byte stays.

Nothing is constructed from a file, so that aliases cost nothing; how large it is and how deep it nests is looked at before anything goes
down its levels.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from troubleshoot.engine.result import FixAdvice
from troubleshoot.lab.editing.lines import line_end, line_number, split_lines
from troubleshoot.lab.editing.plans import MOST_BYTES, MOST_CHANGES, Plan, Refusal, RefusedError, Step
from troubleshoot.lab.editing.spellings import HALF, NAMES, respelled, wanted_dtype

_BOM = "\ufeff"
_DTYPE_KEYS = ("torch_dtype", "dtype", "mixed_precision", "precision", "compute_dtype", "bnb_4bit_compute_dtype", "amp_dtype")
_SUFFIXES = (".yaml", ".yml", ".json")
_SWITCHES = ("fp16", "bf16", "enabled")
#: Parsers go down a level per call, the one in C until the process is gone.
_MOST_LEVELS = 100
#: The parser in C where PyYAML has it; both tell the same places.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: Anchors and tags before a value.
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
#: Escapes of JSON that YAML does not know: they are read as other text of the same length.
_FOREIGN = re.compile(r"\\(?:u[dD][89a-fA-F]|.)", re.DOTALL)


@dataclass(frozen=True)
class _Value:
    """A setting: its key, and where key and value stand in the text. ``value`` is None for a mapping or a list.

    ``alias`` tells that the value stands elsewhere, at its anchor.
    """

    path: tuple[str, ...]
    value: str | None
    tag: str
    key_span: tuple[int, int]
    span: tuple[int, int]
    line: int
    alias: bool = False

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
        raise RefusedError(f"{path}:{line_number(data.decode('latin-1'), error.start)}: it is no UTF-8") from error
    mark = _BOM if text.startswith(_BOM) else ""
    text = text.removeprefix(_BOM)
    found = list(_values(text, path))
    if _is_json(path):
        _check_json(text, f"{path} is no valid JSON")
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
        if _is_json(path):
            _check_json(after, f"the edited {path} could not be read")
        else:
            _composed(after, f"the edited {path}")
        made = (mark + after).encode("utf-8")
        if all(made not in one.files.values() for one in plans):
            plans.append(Plan(fix, {path: made}, tuple(steps), before={path: data}))
    return plans, refused


def _is_json(path: str) -> bool:
    return path.lower().endswith(".json")


def _composed(text: str, name: str) -> Any:
    """Return the tree of a file. Raises RefusedError where it is too large or too deep, or no YAML."""
    if len(text) > MOST_BYTES:
        raise RefusedError(f"{name} is too large for a configuration: over {MOST_BYTES // 1000} KB")
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > _MOST_LEVELS:
                    at = event.start_mark.index if event.start_mark is not None else 0
                    raise RefusedError(f"{name}:{line_number(text, at)}: it nests more than {_MOST_LEVELS} levels deep")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
        return yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        raise RefusedError(f"{name} cannot be read: {' '.join(str(error).split())}") from error


def _shared(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield where the value of an anchor begins and ends, and the place of an alias of it (a merge names one too)."""
    anchors: dict[str | None, tuple[int, int]] = {}
    opened: list[tuple[str | None, int]] = []
    events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
    for event in events:
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, start))
        elif isinstance(event, yaml.CollectionEndEvent):
            name, start = opened.pop()
            anchors[name] = (start, end)
        elif isinstance(event, yaml.ScalarEvent):
            anchors[event.anchor] = (start, end)
        elif isinstance(event, yaml.AliasEvent) and event.anchor in anchors:
            yield (*anchors[event.anchor], start)


def _refuse_shared(edits: Iterable[tuple[int, int]], changed: Counter[tuple[int, int]], text: str) -> None:
    """Raise RefusedError where an edit would change another place too, which has the value from an alias or a merge.

    ``changed`` counts the aliases that are settings of their own and are to have the new value.
    """
    shared = list(_shared(text))
    for span in edits:
        uses = [at for start, end, at in shared if start <= span[0] < end]
        if len(uses) > changed[span]:
            lines = ", ".join(dict.fromkeys(str(line_number(text, at)) for at in uses))
            raise RefusedError(
                f"what stands in line {line_number(text, span[0])} is used again in line {lines}, by an alias or a merge (<<), "
                "which the edit would change too: write the setting there, or change the anchor yourself"
            )


def _values(text: str, path: str) -> Iterator[_Value]:
    readable = text
    if _is_json(path):
        # JSON may be indented by tabs, which YAML does not know; a blank has the same length.
        readable = _FOREIGN.sub(lambda one: "/" * len(one[0]) if one[0][1:2] in ("u", "/") and one[0] != "\\u" else one[0], text)
        readable = readable.replace("\t", " ")
    waiting: deque[tuple[tuple[str, ...], Any]] = deque([((), _composed(readable, path))])
    met: set[int] = set()
    while waiting:
        prefix, node = waiting.popleft()
        if node is None or id(node) in met:
            continue
        met.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += [((*prefix, str(index)), one) for index, one in enumerate(node.value)]
        if not isinstance(node, yaml.MappingNode):
            continue
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            here = (*prefix, key.value)
            scalar = isinstance(value, yaml.ScalarNode)
            start, end = value.start_mark.index, value.end_mark.index
            own = _PROPERTIES.match(text, start, end)
            alias = start < key.end_mark.index
            yield _Value(
                here, value.value if scalar else None, value.tag, (key.start_mark.index, key.end_mark.index),
                (own.end() if own else start, end), line_number(text, key.start_mark.index), alias,
            )  # fmt: skip
            waiting.append((here, value))


_Edit = tuple[int, int, str]


def _changes(found: list[_Value], wanted: str, path: str, text: str) -> tuple[list[_Edit], list[Step]]:
    """Return the spans to replace so that a file asks for a dtype ("float32": for no half one)."""
    edits: dict[tuple[int, int], str] = {}
    steps: list[Step] = []
    aliases: list[_Value] = []
    _refuse_repeated(found)

    def change(one: _Value, span: tuple[int, int], to: str, what: str) -> None:
        if one.alias and span == one.span:
            aliases.append(one)
            return
        edits[span] = to
        steps.append(Step("change-setting", path, one.line, what))

    for one in found:
        given = NAMES.get(one.value or "") if one.key in _DTYPE_KEYS else None
        if one.value is not None and given in HALF and given != wanted:
            old = text[slice(*one.span)]
            to = respelled(one.value, wanted, one.key)
            quote = old[:1] if old[:1] in "\"'" else '"' if _is_json(path) else "'" if to == "no" else ""
            change(one, one.span, f"{quote}{to}{quote}", f"{'.'.join(one.path)}: {one.value} becomes {to}")
    for change_ in _switches(found, wanted, path, text):
        change(*change_)
    for one in aliases:
        if one.span not in edits:
            raise RefusedError(
                f"{'.'.join(one.path)} is an alias of what stands in line {line_number(text, one.span[0])}: change the anchor yourself"
            )
    if not edits:
        raise RefusedError(f"{Path(path).name} has no setting that asks for another dtype than {wanted}")
    if len(edits) > MOST_CHANGES:
        raise RefusedError(f"{path} has {len(edits)} such settings: change the program that writes it")
    if not _is_json(path):
        _refuse_shared(edits, Counter(one.span for one in aliases), text)
    return [(*span, to) for span, to in edits.items()], steps


def _refuse_repeated(found: list[_Value]) -> None:
    """Raise RefusedError where a setting that counts stands twice: which one is in force depends on the reader."""
    counted = Counter(one.path for one in found if one.key in (*_DTYPE_KEYS, *_SWITCHES))
    for path, count in counted.items():
        if count > 1:
            lines = ", ".join(str(one.line) for one in found if one.path == path)
            raise RefusedError(f"{'.'.join(path)} is set {count} times, in lines {lines}")


def _switches(found: list[_Value], wanted: str, path: str, text: str) -> Iterator[tuple[_Value, tuple[int, int], str, str]]:
    """``fp16: true`` beside ``bf16: false`` (training arguments), and ``fp16: {enabled: true}`` (DeepSpeed)."""
    by_path = {one.path: one for one in found}
    with_more = {one.path[:-1] for one in found if one.key != "enabled"}
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
        own = switch is not one and one.path in with_more
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
    indent = (split_lines(text[:start]) or [""])[-1].rpartition("\r")[2].rpartition("\n")[2]
    if indent.strip():
        raise RefusedError(f"line {one.line} holds more than the key {one.key}: write {to} beside it yourself")
    newline = next((line_end(line) for line in split_lines(text) if line_end(line)), "\n")
    if _is_json(path):
        block = f'"{to}": {{"enabled": true}},{newline}{indent}'
    else:
        block = f"{to}:{newline}{indent}  enabled: true{newline}{indent}"
    return one, (start, start), block, f"{to}.enabled is true"


def _spliced(text: str, edits: list[_Edit]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, to in sorted(edits):
        parts += [text[done:start], to]
        done = end
    return "".join([*parts, text[done:]])


def _check_json(text: str, what: str) -> None:
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"{what}: {error}") from error
