"""What the source of a ``forward`` tells: whether it casts to float32, whether it casts back, which constants it writes into tensors.

Only the text is read. Where there is none (compiled, typed in a prompt) nothing is known.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

#: Methods and functions that convert a Python number to the tensor's dtype, and raise where it does not fit ...
_WRITES = frozenset(
    {"masked_fill", "masked_fill_", "fill_", "full_like", "index_fill", "index_fill_", "clamp", "clamp_", "pad", "new_full"}
)
#: ... and those that write infinity instead.
_WRITES_QUIETLY = frozenset({"where"})

_UP = re.compile(r"\.float\(\)|\.(?:to|type)\(\s*(?:dtype\s*=\s*)?torch\.(?:float32|float)\s*[,)]")
_ANY_CAST = re.compile(r"\.(?:to|type)\(|\.(?:half|bfloat16|float|type_as)\(|autocast|_cast_input_dtype|cast_input")
_OWN_WEIGHT_CAST = re.compile(r"self\.(?:weight|bias)\s*\.(?:float\(|to\(|type\()|\.to\(\s*(?:dtype\s*=\s*)?self\.(?:weight|bias)\.dtype")


@dataclass(frozen=True)
class Source:
    """A forward's source without its comments and strings' documentation."""

    text: str

    @property
    def casts_up(self) -> bool:
        """True where something is cast to float32."""
        return bool(_UP.search(self.text))

    @property
    def casts(self) -> bool:
        """True where anything is cast at all."""
        return bool(_ANY_CAST.search(self.text))

    @property
    def casts_own_weight(self) -> bool:
        """True where the module's own weight is cast, or the input is cast to it."""
        return bool(_OWN_WEIGHT_CAST.search(self.text))

    def casts_near(self, name: str) -> bool:
        """True where a line that names ``name`` casts."""
        return any(_ANY_CAST.search(line) for line in self.text.splitlines() if re.search(rf"\b{re.escape(name)}\b", line))

    def readers_of(self, name: str) -> tuple[str, ...]:
        """Return the attributes that are called with ``name`` among their arguments: ``self.qformer(query_embeds=query_tokens)``."""
        return tuple(re.findall(rf"self\.(\w+)\([^()]*\b{re.escape(name)}\b", self.text))

    def mentions(self, *words: str) -> bool:
        """True where one of the texts occurs."""
        return any(word in self.text for word in words)

    def written_constants(self) -> list[tuple[float, bool]]:
        """Return (number, raises) of the constants that are written into tensors; ``finfo(torch.float32).min`` counts as its value."""
        try:
            tree = ast.parse(self.text)
        except SyntaxError:
            return []
        found = []
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
            if name in _WRITES or name in _WRITES_QUIETLY:
                for argument in (*node.args, *(one.value for one in node.keywords)):
                    value = _number(argument)
                    if value is not None:
                        found.append((value, name in _WRITES))
        return found


def _number(node: ast.expr) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        try:
            return float(node.value)  # type: ignore[arg-type]
        except OverflowError:
            return None
    if isinstance(node, ast.Attribute) and node.attr in ("min", "max") and ast.unparse(node.value) in _FLOAT32:
        return -3.4028234663852886e38 if node.attr == "min" else 3.4028234663852886e38
    return None


_FLOAT32 = ("torch.finfo(torch.float32)", "torch.finfo(torch.float)", "np.finfo(np.float32)")


def forward_source(cls: Any) -> Source | None:
    """Return the source of a class's own ``forward``, or None where it has none or torch wrote it."""
    return _forward_source(cls)


@lru_cache(maxsize=4096)
def _forward_source(cls: Any) -> Source | None:
    for one in cls.__mro__:
        if "forward" in vars(one):
            if one.__module__.startswith("torch."):
                return None
            return _source_of(vars(one)["forward"])
    return None


def methods_source(cls: Any) -> Source:
    """Return the source of all functions that a class defines itself; empty where there is none."""
    return _methods_source(cls)


@lru_cache(maxsize=4096)
def _methods_source(cls: Any) -> Source:
    found = (_source_of(one) for one in vars(cls).values() if inspect.isfunction(one))
    return Source("\n".join(one.text for one in found if one is not None))


def _source_of(function: Any) -> Source | None:
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
        # Round the tree: comments go, and so do the document strings.
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError, ValueError, IndexError):
        return None
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
            and isinstance(node.body[0].value, ast.Constant)
        ):
            node.body[0] = ast.Pass()
    return Source(ast.unparse(ast.fix_missing_locations(tree)))
