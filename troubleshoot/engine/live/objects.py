"""Reading a user's objects without running a line of the user's code.

Types are taken from ``type(x)`` and its method resolution order, attributes from instance dictionaries. ``__repr__``, ``__getattr__``,
properties and ``__torch_function__`` of the user's classes are never called, no tensor operation is run, torch is used only where it is
loaded.
"""

from __future__ import annotations

import sys
import time
from types import GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

_MRO = type.__dict__["__mro__"]
_CLASS_DICT = type.__dict__["__dict__"]

#: Values that are read of one container, and how deep containers are opened.
_MOST_ITEMS = 64
#: Characters of a class's name.
_LONGEST_NAME = 200


class TimeUpError(Exception):
    """The time for looking is over; what has been seen until then counts."""


class Clock:
    """Counts the time that looking may take."""

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds

    def check(self) -> None:
        """Raise TimeUpError when the time is over."""
        if time.perf_counter() > self._end:
            raise TimeUpError


def classes(value: object) -> tuple[type, ...]:
    """Return the method resolution order of a value's type, whatever its metaclass says."""
    found: tuple[type, ...] = _MRO.__get__(type(value))
    return found


def class_name(value: object) -> str:
    """Return the name of a value's class."""
    name: str = type.__dict__["__name__"].__get__(type(value))
    return str.__getitem__(name, slice(_LONGEST_NAME))


def class_module(value: object) -> str:
    """Return the module that a value's class says it is from."""
    module = _CLASS_DICT.__get__(type(value)).get("__module__")
    return module if type(module) is str else ""


def instance_dict(value: object) -> dict[str, Any]:
    """Return a value's own attributes; empty where it has none, or its class hides them."""
    for one in classes(value):
        descriptor = _CLASS_DICT.__get__(one).get("__dict__")
        if descriptor is not None and one is not type:
            if type(descriptor) not in (GetSetDescriptorType, MemberDescriptorType):
                return {}
            found = descriptor.__get__(value)
            return found if isinstance(found, dict) else {}
    return {}


def items(value: object) -> list[tuple[Any, Any]]:
    """Return the items of a dict, without calling what its class defines."""
    return list(dict.items(value)) if dict in classes(value) else []  # type: ignore[arg-type]


def elements(value: object) -> list[Any]:
    """Return the elements of a list, tuple or dict; empty for anything else."""
    kinds = classes(value)
    if list in kinds:
        return list(list.__iter__(value))[:_MOST_ITEMS]  # type: ignore[arg-type]
    if tuple in kinds:
        return list(tuple.__iter__(value))[:_MOST_ITEMS]  # type: ignore[arg-type]
    return [one for _, one in items(value)[:_MOST_ITEMS]]


def loaded(module: str, name: str) -> Any:
    """Return an attribute of a module that the program has imported, or None."""
    known = sys.modules.get(module)
    return known.__dict__.get(name) if type(known) is ModuleType else instance_dict(known).get(name)


def is_module(value: object) -> bool:
    """Tell whether a value is a ``torch.nn.Module``."""
    kind = loaded("torch.nn.modules.module", "Module")
    return kind is not None and kind in classes(value)


def is_tensor(value: object) -> bool:
    """Tell whether a value is a ``torch.Tensor``."""
    kind = loaded("torch", "Tensor")
    return kind is not None and kind in classes(value)


def is_parameter(value: object) -> bool:
    """Tell whether a value is a ``torch.nn.Parameter``."""
    kind = loaded("torch.nn.parameter", "Parameter")
    return kind is not None and kind in classes(value)


class Reading:
    """dtype, device and shape of one tensor; None for what cannot be read without running code of its class."""

    __slots__ = ("device", "dtype", "shape")

    def __init__(self, dtype: str | None, device: str | None, shape: tuple[int, ...] | None) -> None:
        self.dtype = dtype
        self.device = device
        self.shape = shape

    @property
    def size(self) -> int:
        """How many elements it has; 0 where the shape is unknown."""
        count = 1
        for one in self.shape or (0,):
            count *= one
        return count


def read_tensor(value: object) -> Reading:
    """Read what a tensor's header says: no kernel runs, no device is asked, a dead CUDA context does not matter.

    A subclass that dispatches by itself (fake tensors, DTensor) computes its device in Python, so that only its own attributes are read.
    """
    base = loaded("torch._C", "TensorBase")
    guard = loaded("torch._C", "DisableTorchFunctionSubclass") or loaded("torch._C", "DisableTorchFunction")
    if base is None or guard is None:
        return Reading(None, None, None)
    tensor = loaded("torch", "Tensor")
    dispatches = any("__torch_dispatch__" in _CLASS_DICT.__get__(one) for one in _before(classes(value), tensor))
    with guard():
        dtype = str(base.dtype.__get__(value)).removeprefix("torch.")
        if not dispatches:
            device = str(base.device.__get__(value))
            return Reading(dtype, device, tuple(int(one) for one in base.shape.__get__(value)))
    own = instance_dict(value)
    known = own.get("_fake_device", own.get("fake_device"))
    if known is not None and type(known) is loaded("torch", "device"):
        return Reading(dtype, str(known), None)
    local = own.get("_local_tensor") if "_local_tensor" in own else _slot(value, "_local_tensor")
    if local is not None and local is not value and type(local) is tensor:
        return Reading(dtype, read_tensor(local).device, None)
    return Reading(dtype, None, None)


def _slot(value: object, name: str) -> Any:
    """Return what an instance keeps in a slot, or None."""
    for one in classes(value):
        descriptor = _CLASS_DICT.__get__(one).get(name)
        if descriptor is not None:
            try:
                return descriptor.__get__(value) if type(descriptor) is MemberDescriptorType else None
            except AttributeError:
                return None
    return None


def _before(kinds: tuple[type, ...], end: type) -> tuple[type, ...]:
    return kinds[: kinds.index(end)] if end in kinds else kinds


def named_tensors(module: object) -> list[tuple[str, str, Any]]:
    """Return (name, role, tensor) of a module's own parameters, buffers and constants (tensors that are plain attributes)."""
    own = instance_dict(module)
    found: list[tuple[str, str, Any]] = []
    for role, key in (("parameter", "_parameters"), ("buffer", "_buffers")):
        found += [(name, role, one) for name, one in items(own.get(key)) if type(name) is str and is_tensor(one)]
    found += [(name, "constant", one) for name, one in list(own.items()) if type(name) is str and is_tensor(one)]
    return found


def children(module: object) -> list[tuple[str, Any]]:
    """Return (name, module) of a module's direct children."""
    return [(name, one) for name, one in items(instance_dict(module).get("_modules")) if type(name) is str and is_module(one)]


def attribute(value: object, name: str) -> Any:
    """Return an attribute as a module or an instance stores it, or None; properties and class attributes are not looked at."""
    own = instance_dict(value)
    if name in own:
        return own[name]
    for key in ("_parameters", "_buffers", "_modules"):
        for stored, one in items(own.get(key)):
            if type(stored) is str and stored == name:
                return one
    return None
