"""Modules kept in float32 inside a half-precision model, with borders that let large values through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from troubleshoot.basics.errors import InputError
from troubleshoot.lab.verify.patches import Handle, apply, map_floats

#: Layers of torch that refuse an input whose dtype differs from their weights'.
_STRICT = (
    "Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LayerNorm", "GroupNorm",
    "RMSNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "MultiheadAttention",
    "LSTM", "GRU", "RNN",
)  # fmt: skip


class Islands(Handle):
    """Modules kept in float32; ``remove()`` undoes it. ``borders`` names the layers at which float32 values were cast down."""

    def __init__(self, undo: list[Callable[[], None]], borders: set[str]) -> None:
        super().__init__("keep_float32", undo)
        self.borders = borders

    def __enter__(self) -> Islands:
        return self


def keep_float32(model: Any, modules: Sequence[str], *, closed: bool = False) -> Islands:
    """Keep modules (qualified names) of a half-precision model in float32, and return a handle whose ``remove()`` undoes it.

    Their inputs are cast up and autocast is off inside. What they return stays float32, so that a sum with it is float32 as well (a
    residual stream that exceeds 65504 stays whole), until a layer of torch with half weights reads it, where it is cast down. With
    ``closed`` it is cast back at once. Casting the weights up and back restores them exactly.

    Raises:
        InputError: the model has no such module.
    """
    import torch

    names = dict(model.named_modules())
    unknown = [name for name in modules if name not in names]
    if unknown:
        parts = ", ".join(one for one in names if one and "." not in one)
        raise InputError(f"the model has no module {unknown[0]!r}; its parts are {parts}")
    undo: list[Callable[[], None]] = []
    borders: set[str] = set()
    inside: set[int] = set()
    try:
        for name in _outermost(modules):
            module = names[name]
            inside |= {id(one) for one in module.modules()}
            undo.append(apply({"patch": "cast_module", "module": name, "dtype": "float32"}, model).remove)
            _enter_and_leave(module, closed, undo)
        strict = tuple(getattr(torch.nn, one) for one in _STRICT if hasattr(torch.nn, one))
        for name, module in names.items():
            if id(module) not in inside and isinstance(module, strict):
                undo.append(module.register_forward_pre_hook(_cast_down(name, borders), with_kwargs=True).remove)
    except BaseException:
        Handle("keep_float32", undo).remove()
        raise
    return Islands(undo, borders)


def _outermost(modules: Sequence[str]) -> list[str]:
    chosen = set(modules)

    def covered(one: str) -> bool:
        return any(other != one and (other == "" or one.startswith(other + ".")) for other in chosen)

    return [one for one in dict.fromkeys(modules) if not covered(one)]


def _enter_and_leave(module: Any, closed: bool, undo: list[Callable[[], None]]) -> None:
    import torch

    outside: list[tuple[Any, Any]] = []

    def enter(_: Any, args: Any, kwargs: Any) -> Any:
        met: list[Any] = []

        def see(one: Any) -> Any:
            met.append(one)
            return one

        map_floats((args, dict(kwargs)), see)
        context: Any = torch.autocast(met[0].device.type if met else "cpu", enabled=False)
        context.__enter__()
        outside.append((context, met[0].dtype if met else None))
        return map_floats(args, lambda one: one.float()), map_floats(kwargs, lambda one: one.float())

    def leave(_: Any, args: Any, output: Any) -> Any:
        context, dtype = outside.pop() if outside else (None, None)
        if context is not None:
            context.__exit__(None, None, None)
        return map_floats(output, lambda one: one.to(dtype)) if closed and dtype is not None and output is not None else None

    undo.append(module.register_forward_pre_hook(enter, with_kwargs=True).remove)
    try:
        undo.append(module.register_forward_hook(leave, always_call=True).remove)
    except TypeError:
        # torch before 2.1: where the module raises, autocast stays off until the handle is removed.
        undo.append(module.register_forward_hook(leave).remove)

    def close() -> None:
        while outside:
            outside.pop()[0].__exit__(None, None, None)

    undo.append(close)


def _cast_down(name: str, borders: set[str]) -> Callable[[Any, Any, Any], Any]:
    import torch

    def hook(module: Any, args: Any, kwargs: Any) -> Any:
        weight = next((one for one in module.parameters(recurse=True) if one.is_floating_point()), None)
        if weight is None or weight.element_size() != 2:
            return None

        def down(one: Any) -> Any:
            if one.dtype != torch.float32 or _autocast(one.device.type):
                return one
            borders.add(name)
            return one.to(weight.dtype)

        return map_floats(args, down), map_floats(kwargs, down)

    return hook


def _autocast(device: str) -> bool:
    import torch

    try:
        return torch.is_autocast_enabled(device)
    except TypeError:
        # torch before 2.4
        return torch.is_autocast_cpu_enabled() if device == "cpu" else torch.is_autocast_enabled()
