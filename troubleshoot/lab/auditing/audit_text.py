"""An audit for the terminal: findings, then the tree of modules with their dtypes and devices."""

from __future__ import annotations

from troubleshoot.lab.auditing.census import Census, Part
from troubleshoot.lab.auditing.findings import Audit, Finding, Node
from troubleshoot.telling.layout import visible

_MARKS = {"error": "✗", "warning": "!", "note": "·"}

#: Lines of the tree; modules deeper than that are summed up in their parents.
_MOST_NODES = 60
_DEEPEST = 6


def tree_of(census: Census) -> tuple[Node, ...]:
    """Return the tree: a part whose tensors are all alike is one line, and neighbours that are alike (the blocks of a model) are one."""
    children: dict[str, list[Part]] = {}
    for part in census.parts[1:]:
        children.setdefault(part.parent, []).append(part)
    sums: dict[str, dict[tuple[str, str], int]] = {part.name: {} for part in census.parts}
    for part in census.parts:
        name = part.name
        for one in part.of("parameter", "buffer"):
            key, above = (one.dtype, one.device), name
            while True:
                sums[above][key] = sums[above].get(key, 0) + one.values
                if not above:
                    break
                above = above.rpartition(".")[0]
    nodes: list[Node] = []
    _grow(census.parts[0], 0, children, sums, nodes)
    return tuple(nodes)


def _grow(part: Part, depth: int, children: dict[str, list[Part]], sums: dict[str, dict[tuple[str, str], int]], nodes: list[Node]) -> None:
    nodes.append(Node(part.last, part.cls, depth, _tensors(sums[part.name])))
    below = [one for one in children.get(part.name, ()) if sums[one.name]]
    uniform = len(sums[part.name]) == 1
    if (uniform and depth > 0) or depth >= _DEEPEST:
        return
    index = 0
    while index < len(below):
        one = below[index]
        alike = 1
        while index + alike < len(below) and _alike(one, below[index + alike], sums):
            alike += 1
        start = len(nodes)
        _grow(one, depth + 1, children, sums, nodes)
        if alike > 1:
            nodes[start] = Node(f"{one.last}-{below[index + alike - 1].last}", one.cls, depth + 1, nodes[start].tensors, alike)
        index += alike


def _alike(one: Part, other: Part, sums: dict[str, dict[tuple[str, str], int]]) -> bool:
    return one.last.isdigit() and one.cls == other.cls and sums[one.name] == sums[other.name]


def _tensors(counts: dict[tuple[str, str], int]) -> tuple[tuple[str, str, int], ...]:
    found = [(dtype, device, values) for (dtype, device), values in counts.items()]
    return tuple(sorted(found, key=lambda one: -one[2]))


def render_audit(audit: Audit) -> str:
    """Return the text: a line with the census, the findings, the tree."""
    counts = {severity: sum(one.severity == severity for one in audit.findings) for severity in _MARKS}
    found = ", ".join(f"{count} {severity}{'s' if count != 1 else ''}" for severity, count in counts.items() if count) or "nothing found"
    kind = " ".join(one for one in (audit.dtype, f"on {audit.device}" if audit.device else None) if one)
    lines = [f"{audit.title}: {kind or 'no parameters'}; {found}"]
    for one in audit.findings:
        lines += ["", *_finding(one)]
    lines += [f"! {one}" for one in audit.errors]
    if audit.tree:
        lines += ["", *_tree(audit)]
    elif audit.totals:
        lines += ["", *(f"{dtype} {device}: {tensors} tensors, {values:,} values" for dtype, device, tensors, values in audit.totals)]
    # Names of tensors and files are whatever stands in the checkpoint.
    return "\n".join(map(visible, lines)) + "\n"


def _finding(one: Finding) -> list[str]:
    name = one.module or "the model"
    rest = f" and {len(one.others)} more ({', '.join(one.others[:3])}{', ...' if len(one.others) > 3 else ''})" if one.others else ""
    lines = [f"{_MARKS[one.severity]} {one.severity}: {name}{rest}", f"    {one.text}"]
    if one.fix:
        lines += [f"    fix: {line}" if index == 0 else f"         {line}" for index, line in enumerate(one.fix.splitlines())]
    if one.issue:
        lines.append(f"    see: troubleshoot explain {one.issue}")
    return lines


def _tree(audit: Audit) -> list[str]:
    lines = []
    for node in audit.tree[:_MOST_NODES]:
        name = f"{node.name} {node.cls}" if node.name else node.cls
        count = f" ({node.count} alike)" if node.count > 1 else ""
        tensors = ", ".join(f"{dtype} {device} {_short(values)}" for dtype, device, values in node.tensors)
        lines.append(f"{'  ' * node.depth}{name}{count}: {tensors or 'no parameters'}")
    if len(audit.tree) > _MOST_NODES:
        lines.append(f"... and {len(audit.tree) - _MOST_NODES} more")
    return lines


def _short(values: int) -> str:
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if values >= size:
            return f"{values / size:.3g}{unit}"
    return str(values)
