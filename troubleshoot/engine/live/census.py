"""One walk through a model: what is where, in which dtype, on which device."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from troubleshoot.basics.dtypes import BITS, FLOATING
from troubleshoot.engine.live.objects import Clock, children, class_module, class_name, instance_dict, named_tensors, read_tensor
from troubleshoot.engine.live.seen import SeenModule

#: Modules of one model that are looked at.
_MOST_MODULES = 20_000

#: Modules that are never in a frame themselves.
_LISTS = frozenset({"ModuleList", "ModuleDict"})

#: Classes of quantized layers by name -> what quantized them.
_QUANTIZED = {
    "Linear4bit": "bitsandbytes-4bit", "Linear8bitLt": "bitsandbytes-8bit", "QuantLinear": "gptq",
    "WQLinear": "awq", "WQLinear_GEMM": "awq", "WQLinear_GEMV": "awq",
    "HQQLinear": "hqq", "FP8Linear": "fp8", "FbgemmFp8Linear": "fp8", "QLinear": "quanto", "AqlmLinear": "aqlm",
}  # fmt: skip


class Held:
    """A tensor of a model: its module's path, its name and role, its header. The tensor itself is not kept."""

    __slots__ = ("device", "dtype", "key", "name", "path", "role", "size")

    def __init__(self, path: str, name: str, role: str, tensor: Any) -> None:
        header = read_tensor(tensor)
        self.key = id(tensor)
        self.path = path
        self.name = name
        self.role = role
        self.dtype = header.dtype
        self.device = header.device
        self.size = max(1, header.size)

    @property
    def full(self) -> str:
        """The dotted name."""
        return f"{self.path}.{self.name}" if self.path else self.name


class Census:
    """The modules of a model by path. ``walk`` may be cut short by the clock; what was seen until then counts."""

    def __init__(self) -> None:
        self.paths: dict[int, str] = {}
        self.classes: dict[str, str] = {}
        self.held: list[Held] = []
        self.owners: dict[int, Held] = {}
        self.quantized: dict[str, str] = {}
        self.hooks: dict[str, str] = {}

    def walk(self, root: Any, clock: Clock, way: frozenset[int] = frozenset()) -> None:
        """Walk the tree below ``root``, breadth first; what is on the ``way`` to the failure (identities) and lists of modules first."""
        urgent: deque[tuple[str, Any]] = deque([("", root)])
        waiting: deque[tuple[str, Any]] = deque()
        while (urgent or waiting) and len(self.paths) < _MOST_MODULES:
            path, module = (urgent or waiting).popleft()
            if id(module) in self.paths:
                continue
            clock.check()
            self.paths[id(module)] = path
            cls = class_name(module)
            self.classes[path] = cls
            kind = quantized_kind(module)
            if kind:
                self.quantized[path] = kind
            hook = instance_dict(module).get("_hf_hook")
            if hook is not None:
                self.hooks[path] = class_name(hook)
            for name, role, tensor in named_tensors(module):
                one = Held(path, name, role, tensor)
                self.held.append(one)
                self.owners.setdefault(one.key, one)
            for name, child in children(module):
                first = id(child) in way or class_name(child) in _LISTS
                (urgent if first else waiting).append((f"{path}.{name}" if path else name, child))

    @property
    def main_dtype(self) -> str | None:
        """The floating dtype of most parameters."""
        counts: Counter[str] = Counter()
        for one in self.held:
            if one.role == "parameter" and one.dtype in FLOATING:
                counts[one.dtype] += one.size
        # With as many in each, the narrow one is what was asked for.
        return max(counts, key=lambda dtype: (counts[dtype], -BITS[dtype])) if counts else None

    @property
    def main_device(self) -> str | None:
        """The device of most parameters and buffers."""
        counts: Counter[str] = Counter()
        for one in self.held:
            if one.role != "constant" and one.device is not None:
                counts[one.device] += one.size
        return max(counts, key=lambda device: (counts[device], device not in ("cpu", "meta"))) if counts else None

    def below(self, path: str) -> list[Held]:
        """Return the tensors of a module and of all below it."""
        return [one for one in self.held if one.path == path or not path or one.path.startswith(f"{path}.")]

    def widest(self, path: str, *, dtype: str | None = None, device: str | None = None) -> str:
        """Return the outermost module around ``path`` of which every parameter has this dtype or device: the part that was left out."""
        best = path
        while best:
            parent = best.rpartition(".")[0]
            if not parent or not self._uniform(parent, dtype, device):
                break
            best = parent
        return best

    def _uniform(self, path: str, dtype: str | None, device: str | None) -> bool:
        for one in self.below(path):
            if one.role != "parameter":
                continue
            if (device is not None and one.device != device) or (dtype is not None and one.dtype in FLOATING and one.dtype != dtype):
                return False
        return True

    def odd(self, kind: str) -> tuple[str, ...]:
        """Return the modules that hold parameters unlike most of the model, in ``kind`` "dtype" or "device"; empty for another kind."""
        if kind == "dtype":
            main = self.main_dtype
            found = [one.path for one in self.held if one.role == "parameter" and one.dtype in FLOATING and one.dtype != main]
        elif kind == "device":
            main = self.main_device
            found = [one.path for one in self.held if one.role == "parameter" and one.device != main]
        else:
            found = []
        return tuple(dict.fromkeys(found))

    def describe(self, path: str) -> SeenModule:
        """Return what a module's own tensors are."""
        own = [one for one in self.held if one.path == path and one.role != "constant"]
        return SeenModule(
            path,
            self.classes.get(path, ""),
            tuple(sorted({one.dtype for one in own if one.dtype})),
            tuple(sorted({one.device for one in own if one.device})),
            self.quantized.get(path),
            self.hooks.get(path),
        )


def quantized_kind(module: Any) -> str | None:
    """Return what quantized a layer, or None for a plain one."""
    name = class_name(module)
    if name not in _QUANTIZED or class_module(module).startswith("torch.nn.modules"):
        return None
    return _QUANTIZED[name]
