"""A model counted: every parameter, buffer and constant with its dtype and device. Values are not read, so meta tensors of any size do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

#: Dtypes that are rounded to; the narrow ones (8 bits and less) belong to quantized layers.
WIDE = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Held:
    """A tensor that a module holds itself: a parameter, a buffer, or a constant (an attribute that is neither, which ``to()`` forgets)."""

    name: str
    kind: str
    dtype: str
    device: str
    values: int
    trained: bool
    tensor: Any = field(repr=False, compare=False)

    @property
    def floating(self) -> bool:
        """True for the floating-point dtypes of two bytes and more."""
        return self.dtype in WIDE


@dataclass(frozen=True)
class Part:
    """One module. ``home`` is the Python module of its class; ``held`` what it holds itself, not what its parts hold."""

    name: str
    cls: str
    home: str
    held: tuple[Held, ...]
    module: Any = field(repr=False, compare=False)

    @property
    def parent(self) -> str:
        """The name of the module that holds this one."""
        return self.name.rpartition(".")[0]

    @property
    def last(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]

    def of(self, *kinds: str) -> tuple[Held, ...]:
        """Return what it holds of these kinds."""
        return tuple(one for one in self.held if one.kind in kinds)

    @property
    def weights(self) -> tuple[Held, ...]:
        """Its own floating-point parameters."""
        return tuple(one for one in self.held if one.kind == "parameter" and one.floating)


@dataclass(frozen=True)
class Census:
    """All modules of a model in the order of ``named_modules``."""

    parts: tuple[Part, ...]

    @cached_property
    def by_name(self) -> dict[str, Part]:
        """Every module by its qualified name."""
        return {one.name: one for one in self.parts}

    @cached_property
    def dtype(self) -> str | None:
        """The dtype of most floating-point parameters' values; None where there are none."""
        return _most((one.dtype, one.values) for part in self.parts for one in part.weights)

    @cached_property
    def device(self) -> str | None:
        """The device of most values; an accelerator comes before the CPU, and both before meta: what was left behind was left there."""
        counts: dict[str, int] = {}
        for part in self.parts:
            for one in part.of("parameter", "buffer"):
                counts[one.device] = counts.get(one.device, 0) + one.values
        rank = {"meta": 0, "cpu": 1}
        return max(counts, key=lambda device: (rank.get(device.partition(":")[0], 2), counts[device])) if counts else None

    @cached_property
    def totals(self) -> tuple[tuple[str, str, int, int], ...]:
        """(dtype, device, tensors, values) of parameters and buffers, the largest first."""
        counts: dict[tuple[str, str], list[int]] = {}
        for part in self.parts:
            for one in part.of("parameter", "buffer"):
                total = counts.setdefault((one.dtype, one.device), [0, 0])
                total[0] += 1
                total[1] += one.values
        found = [(dtype, device, tensors, values) for (dtype, device), (tensors, values) in counts.items()]
        return tuple(sorted(found, key=lambda one: -one[3]))

    def below(self, name: str) -> Iterator[Part]:
        """Yield a module and everything inside."""
        for one in self.parts:
            if name == "" or one.name == name or one.name.startswith(name + "."):
                yield one


def _most(counted: Iterator[tuple[str, int]]) -> str | None:
    counts: dict[str, int] = {}
    for dtype, values in counted:
        counts[dtype] = counts.get(dtype, 0) + values
    return max(counts, key=lambda dtype: counts[dtype]) if counts else None


def take(model: Any) -> Census:
    """Count a ``torch.nn.Module``."""
    parts = []
    for name, module in model.named_modules():
        cls = type(module)
        parts.append(Part(name, cls.__name__, cls.__module__, tuple(_held(module)), module))
    return Census(tuple(parts))


def _held(module: Any) -> Iterator[Held]:
    attributes = vars(module)
    for kind, store in (("parameter", "_parameters"), ("buffer", "_buffers")):
        for name, tensor in attributes.get(store, {}).items():
            if tensor is not None:
                yield _one(name, kind, tensor)
    for name, value in attributes.items():
        if name.startswith("_") and name in ("_parameters", "_buffers", "_modules"):
            continue
        for path, tensor in _constants(name, value):
            yield _one(path, "constant", tensor)


def _constants(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Tensors in an attribute: itself, or in a list, tuple or dict."""
    import torch

    if isinstance(value, torch.Tensor):
        yield name, value
    elif type(value) in (list, tuple):
        for index, one in enumerate(value[:64]):
            if isinstance(one, torch.Tensor):
                yield f"{name}[{index}]", one
    elif type(value) is dict:
        for key, one in list(value.items())[:64]:
            if isinstance(one, torch.Tensor):
                yield f"{name}[{key!r}]", one


def _one(name: str, kind: str, tensor: Any) -> Held:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Held(name, kind, dtype, str(tensor.device), int(tensor.numel()), bool(tensor.requires_grad), tensor)
