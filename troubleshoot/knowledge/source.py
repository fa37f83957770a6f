"""YAML files into structs, with errors that carry file and line. Data only: no tags, no duplicate keys, no unknown fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from troubleshoot.basics.errors import KnowledgeError, KnowledgeProblem
from troubleshoot.knowledge.files import UnreadableError, read_regular

#: libyaml's loader is nine times as fast; PyYAML builds without it still work.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

T = TypeVar("T", bound=msgspec.Struct)

#: a path in a message of msgspec: "... - at `$.fixes[0].kind`"
_PATH = re.compile(r" - at `(?:key in )?\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")

#: Bytes of a file, values within values, values in all (aliases counted as often as they are used), and characters of an unquoted value.
#: The largest file of the shipped base has 150,000 bytes and 6,000 values, 17 within each other.
MOST_BYTES = 4 << 20
_MOST_DEPTH = 64
_MOST_VALUES = 100_000
_LONGEST_PLAIN = 20_000


def read_yaml(path: Path) -> tuple[Any, yaml.Node]:
    """Return the data of a YAML file and its node tree, which knows the lines.

    Raises:
        KnowledgeError: it is no readable file, too large, not UTF-8, not YAML, nests too deeply, or has a key twice.
    """
    try:
        text = read_regular(path, MOST_BYTES).decode("utf-8")
    except UnreadableError as error:
        raise KnowledgeError((KnowledgeProblem(path, 1, "", str(error)),)) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise KnowledgeError((KnowledgeProblem(path, line, "", "is not UTF-8: save it as UTF-8"),)) from error
    zero = text.find("\0")
    if zero >= 0:
        line = text.count("\n", 0, zero) + 1
        raise KnowledgeError((KnowledgeProblem(path, line, "", "holds a zero character, as no text does: write the file again"),))
    loader = None
    try:
        _check_events(text, path)
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            raise KnowledgeError((KnowledgeProblem(path, 1, "", "is empty: see docs/writing-entries.md"),))
        duplicates = _duplicate_keys(node)
        if duplicates:
            raise KnowledgeError(tuple(KnowledgeProblem(path, line, key, "is given twice: keep one") for key, line in duplicates))
        return loader.construct_document(node), node
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise KnowledgeError((KnowledgeProblem(path, line, "", f"is not valid YAML: {what}"),)) from error
    except yaml.YAMLError as error:
        raise KnowledgeError((KnowledgeProblem(path, 1, "", f"is not valid YAML: {error}"),)) from error
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise KnowledgeError((KnowledgeProblem(path, 1, "", f"holds a value that cannot be read: {error}"),)) from error
    finally:
        if loader is not None:
            loader.dispose()


def _check_events(text: str, path: Path) -> None:
    """Refuse what would exhaust the stack or the memory once it is put together. libyaml's events come one by one and need neither.

    Raises:
        KnowledgeError: values within values too deep, too many values, an alias within what it stands for, a number without end.
    """
    values = 0
    sizes: dict[str, int] = {}
    # Of each mapping and list that is open: its anchor, and how many values came before it.
    within: list[tuple[str | None, int]] = []

    def refuse(event: Any, told: str) -> KnowledgeError:
        return KnowledgeError((KnowledgeProblem(path, event.start_mark.line + 1, "", told),))

    events: Iterator[Any] = yaml.parse(text, Loader=_Loader)
    for event in events:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            values += 1
            if event.anchor:
                sizes[event.anchor] = 1
            if len(event.value) > _LONGEST_PLAIN and (event.implicit[0] or event.tag):
                raise refuse(event, f"has a value of {len(event.value):,} characters without quotes: put it in quotes, or into a block (|)")
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            values += 1
            within.append((event.anchor, values))
            if len(within) > _MOST_DEPTH:
                raise refuse(event, f"has values within values, more than {_MOST_DEPTH} deep: no entry needs that")
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            anchor, before = within.pop()
            if anchor:
                sizes[anchor] = values - before + 1
        elif kind is yaml.AliasEvent:
            if any(anchor == event.anchor for anchor, _ in within):
                raise refuse(event, f"has the alias *{event.anchor} within what it stands for: write the value itself")
            values += sizes.get(event.anchor, 1)
        if values > _MOST_VALUES:
            raise refuse(event, f"has more than {_MOST_VALUES:,} values, aliases counted as often as they are used: write fewer")


def _duplicate_keys(root: yaml.Node) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    stack: list[yaml.Node] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                name = str(key.value)
                if name in seen:
                    found.append((name, key.start_mark.line + 1))
                seen.add(name)
                stack.append(value)
        elif isinstance(node, yaml.SequenceNode):
            stack.extend(node.value)
    return sorted(found, key=lambda item: item[1])


def convert(data: Any, node: yaml.Node, kind: type[T], path: Path) -> T:
    """Turn plain data into a struct, or raise every fault that can be found at once.

    Raises:
        KnowledgeError: with one problem for each top-level field (or list item) that does not fit.
    """
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problems = list(_problems(data, node, kind, path)) or [_problem(str(error), "", node, path)]
    raise KnowledgeError(tuple(problems))


def _problems(data: Any, node: yaml.Node, kind: type[msgspec.Struct], path: Path) -> list[KnowledgeProblem]:
    """Check field by field and item by item: msgspec itself stops at the first fault."""
    if not isinstance(data, dict):
        return [KnowledgeProblem(path, node.start_mark.line + 1, "", "is not a mapping: see docs/writing-entries.md")]
    problems: list[KnowledgeProblem] = []
    fields = {one.encode_name: one for one in msgspec.structs.fields(kind)}
    for name in data:
        if name not in fields:
            problems.append(KnowledgeProblem(path, line_of(node, str(name)), str(name), _unknown_field(str(name), list(fields))))
    for name, one in fields.items():
        if name not in data:
            if one.required:
                problems.append(KnowledgeProblem(path, node.start_mark.line + 1, name, "is missing"))
            continue
        value = data[name]
        item = _item_type(one.type)
        parts = [(f".{name}[{index}]", entry, item) for index, entry in enumerate(value)] if item and isinstance(value, list) else []
        for where, entry, wanted in parts or [(f".{name}", value, one.type)]:
            try:
                msgspec.convert(entry, wanted)
            except msgspec.ValidationError as error:
                problems.append(_problem(str(error), where, node, path))
    return problems


def _item_type(wanted: Any) -> Any:
    arguments: tuple[Any, ...] = getattr(wanted, "__args__", ())
    is_list = getattr(wanted, "__origin__", None) is tuple and arguments[1:] == (Ellipsis,)
    return arguments[0] if is_list else None


def _unknown_field(name: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    return f"is not a field: did you mean {close[0]!r}?" if close else f"is not a field; the fields are {', '.join(known)}"


def _problem(message: str, prefix: str, node: yaml.Node, path: Path) -> KnowledgeProblem:
    match = _PATH.search(message)
    where = prefix + (match["path"] if match else "")
    text = message[: match.start()] if match else message
    return KnowledgeProblem(path, line_of(node, where), where.lstrip("."), text[0].lower() + text[1:])


def line_of(node: yaml.Node, where: str) -> int:
    """Return the line on which a path such as ``.fixes[0].kind`` starts, or that of its deepest part that exists."""
    if not where.startswith((".", "[")):
        where = f".{where}"
    line = node.start_mark.line + 1
    for match in _STEP.finditer(where):
        name, index = match[1], match[2]
        if name is not None and isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if str(key.value) == name:
                    node, line = value, key.start_mark.line + 1
                    break
            else:
                return int(line)
        elif index is not None and index != "..." and isinstance(node, yaml.SequenceNode) and int(index) < len(node.value):
            node = node.value[int(index)]
            line = node.start_mark.line + 1
        else:
            return int(line)
    return int(line)
