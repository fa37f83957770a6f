"""The same program in float32: half-precision dtypes, casts and autocast are taken away, from the same random numbers.

torch's own tables know its dtypes; the program's names for them are made to mean float32: ``torch.float16`` and its other spellings in
the module ``torch``, what methods such as ``half()`` do, and what functions are told by ``dtype=``. Random numbers are drawn in the dtype
of the first run, and widened: a normal distribution in bfloat16 takes other numbers from the generator than one in float32.
"""

# ruff: noqa: SIM905  (lists of words read better as text)
from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from troubleshoot.lab.checking.frames import run_uncompiled

#: The dtypes themselves: in such a process their names in ``torch`` mean float32.
_NAMED = {"float16": torch.float16, "bfloat16": torch.bfloat16}
_HALVES = tuple(_NAMED.values())
_FLOAT = torch.float32
_RANDOM = frozenset(
    "randn rand randn_like rand_like normal_ uniform_ exponential_ bernoulli bernoulli_ native_dropout normal log_normal_ cauchy_ "
    "geometric_ random_".split()
)


def drawn(func: Any) -> bool:
    """Tell whether an operation draws random numbers."""
    return func.__name__.partition(".")[0] in _RANDOM


def dtype_drawn(out: Any) -> str:
    """Return the dtype in which an operation has drawn."""
    first = out[0] if isinstance(out, (list, tuple)) else out
    return str(first.dtype).removeprefix("torch.")


class Draws(TorchDispatchMode):  # type: ignore[no-untyped-call, unused-ignore]
    """Draws random numbers in the dtypes of another run, and widens them."""

    def __init__(self, wanted: list[str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.wanted = wanted
        self.at = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not drawn(func):
            return func(*args, **kwargs)
        dtype = _NAMED.get(self.wanted[self.at]) if self.at < len(self.wanted) else None
        self.at += 1
        if dtype is None:
            return func(*args, **kwargs)
        return self._narrow(func, args, kwargs, dtype)

    def _narrow(self, func: Any, args: Any, kwargs: Any, dtype: Any) -> Any:
        name = func.__name__.partition(".")[0]
        if args and isinstance(args[0], torch.Tensor) and args[0].dtype == _FLOAT:
            narrow = args[0].to(dtype)
            if name.endswith("_"):
                return args[0].copy_(func(narrow, *args[1:], **kwargs))
            if name == "native_dropout":
                _, kept = func(narrow, *args[1:], **kwargs)
                rate = args[1]
                return args[0] * kept / (1 - rate) if rate < 1 else args[0] * 0, kept
            return func(narrow, *args[1:], **kwargs).to(_FLOAT)
        return func(*args, **{**kwargs, "dtype": dtype}).to(_FLOAT)


class InFloat32(TorchFunctionMode):
    """Rewrites half-precision dtypes in what functions of torch are told."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in ("half", "bfloat16") and args:
            return args[0].to(_FLOAT)
        args = tuple(_wide(one) for one in args)
        kwargs = {key: _wide(one) for key, one in (kwargs or {}).items()}
        return func(*args, **kwargs)


def _wide(value: Any) -> Any:
    if value in _HALVES if isinstance(value, torch.dtype) else False:
        return _FLOAT
    if isinstance(value, str) and value in ("torch.HalfTensor", "torch.BFloat16Tensor"):
        return "torch.FloatTensor"
    return value


def begin(draws: list[str], skips: list[int]) -> None:
    """Make this process one in which everything is float32; ``skips`` are the steps that a GradScaler has left out in the first run."""
    mode = Draws(list(draws))
    mode.__enter__()  # type: ignore[no-untyped-call, unused-ignore]
    InFloat32().__enter__()  # type: ignore[no-untyped-call]
    names: dict[str, Any] = {"float16": _FLOAT, "half": _FLOAT, "bfloat16": _FLOAT}
    default = torch.set_default_dtype
    torch.set_default_dtype = lambda d: default(_wide(d))
    _no_autocast()
    _no_scaler(frozenset(skips))
    _load_wide()
    run_uncompiled()
    for table in ("_dtype_to_storage_type_map", "_storage_type_to_dtype_map"):
        # Made when first asked for: they have to be made while the names are right.
        getattr(torch.storage, table, bool)()
    for name, value in names.items():
        setattr(torch, name, value)


def _no_autocast() -> None:
    original = torch.amp.autocast_mode.autocast.__init__

    def init(self: Any, device_type: Any, *args: Any, **kwargs: Any) -> None:
        original(self, device_type, enabled=False)

    torch.amp.autocast_mode.autocast.__init__ = init  # type: ignore[method-assign]


def _no_scaler(skips: frozenset[int]) -> None:
    original = torch.amp.grad_scaler.GradScaler.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, args[0] if args and isinstance(args[0], str) else kwargs.get("device", "cpu"), enabled=False)

    calls = 0

    def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        return None if calls - 1 in skips else optimizer.step(*args, **kwargs)

    torch.amp.grad_scaler.GradScaler.__init__ = init  # type: ignore[method-assign]
    torch.amp.grad_scaler.GradScaler.step = step  # type: ignore[method-assign]


def _load_wide() -> None:
    """Halves that come from files and arrays are widened where they come in."""
    import functools

    def widened(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype in _HALVES:
            return value.to(_FLOAT)
        if isinstance(value, dict):
            for key, one in value.items():
                value[key] = widened(one)
        elif isinstance(value, list):
            return [widened(one) for one in value]
        return value

    for name in ("load", "from_numpy", "as_tensor", "frombuffer"):
        original = getattr(torch, name)

        def wrapper(*args: Any, original: Any = original, **kwargs: Any) -> Any:
            return widened(original(*args, **kwargs))

        setattr(torch, name, functools.wraps(original)(wrapper))
