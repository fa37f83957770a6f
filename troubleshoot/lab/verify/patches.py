"""Live patches: fixes applied to a model in memory, and taken back.

``troubleshoot.apply(fix, model)`` applies a fix of a diagnosis, or an action such as ``{"patch": "cast_module", "module": "qformer",
"dtype":
"float16"}``, and returns a handle whose ``remove()`` undoes it. Names and parameters are those of docs/writing-entries.md. torch must be
installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from troubleshoot.basics.errors import InputError


class Undo(list[Callable[[], None]]):
    """What takes a patch back, last change last; ``changed`` tells whether it has changed anything."""

    changed = False

    def noting(self, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a change of a tensor that notes when it does change one."""

        def noted(one: Any) -> Any:
            made = change(one)
            self.changed = self.changed or made is not one
            return made

        return noted


class Handle:
    """An applied patch. ``remove()`` undoes it and may be called again; as a context manager it does so at the end of the block."""

    def __init__(self, name: str, undo: list[Callable[[], None]]) -> None:
        self.name = name
        self._undo = undo

    @property
    def changed(self) -> bool:
        """Whether anything was changed so far: a patch that casts finds every tensor as it should be, or does not."""
        return not isinstance(self._undo, Undo) or self._undo.changed

    def __repr__(self) -> str:
        return f"<Handle of {self.name}{'' if self._undo else ', removed'}>"

    def remove(self) -> None:
        """Undo the patch, last change first."""
        while self._undo:
            self._undo.pop()()

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def apply(fix: Any, model: Any, *, requested: Any = None) -> Handle:
    """Apply a fix (``FixAdvice``, or the mapping of its action) to a ``torch.nn.Module`` and return a handle with ``remove()``.

    ``requested`` is the ``torch.dtype`` that "requested" stands for; by default that of most of the model's parameters. Casting weights
    down and
    back restores them exactly: the originals are kept until the handle is removed.

    Raises:
        InputError: the fix is no live patch, or the model has no such module.
    """
    action: Mapping[str, Any] = fix if isinstance(fix, Mapping) else fix.action
    name = action.get("patch")
    patch = _PATCHES.get(str(name))
    if patch is None:
        kind = next(iter(action), "nothing")
        raise InputError(f"this fix is no live patch ({kind}): the patches are {', '.join(_PATCHES)}")
    undo = Undo()
    # What casts says by itself whether it does.
    undo.changed = name not in _CASTS
    try:
        patch(model, action, requested, undo)
    except BaseException:
        Handle(str(name), undo).remove()
        raise
    return Handle(str(name), undo)


def _dtype(model: Any, action: Mapping[str, Any], requested: Any) -> Any:
    import torch

    name = str(action.get("dtype", "requested"))
    if name in ("requested", "model"):
        return requested if name == "requested" and requested is not None else _main_dtype(model)
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise InputError(f"{name!r} is no dtype of this torch")
    return dtype


def _main_dtype(model: Any) -> Any:
    """The dtype of most parameters."""
    counts: dict[Any, int] = {}
    for one in model.parameters():
        if one.is_floating_point():
            counts[one.dtype] = counts.get(one.dtype, 0) + one.numel()
    if not counts:
        raise InputError("the model has no floating-point parameters, so no dtype of its own: name one")
    return max(counts, key=lambda dtype: counts[dtype])


def _modules(model: Any, name: str) -> list[Any]:
    """The module of this dotted name; else all whose name ends so (``wo`` in every block); an empty name is the whole model.

    Raises:
        InputError: there is none; the message names some that exist.
    """
    if not name:
        return [model]
    named = dict(model.named_modules())
    if name in named:
        return [named[name]]
    found = [module for path, module in named.items() if path.endswith(f".{name}")]
    if not found:
        tops = ", ".join(path for path in named if path and "." not in path)
        raise InputError(f"the model has no module {name!r}; its parts are {tops}")
    return found


def _tensors(module: Any) -> Iterable[tuple[Any, str, Any]]:
    """(owner, name, tensor) of every parameter and buffer, and of tensors that are plain attributes: constants that ``to()`` forgets."""
    import torch

    for owner in module.modules():
        for name, tensor in (*owner._parameters.items(), *owner._buffers.items()):
            if tensor is not None:
                yield owner, name, tensor
        for name, value in list(vars(owner).items()):
            if isinstance(value, torch.Tensor):
                yield owner, name, value


def _convert(module: Any, undo: Undo, *, dtype: Any = None, device: Any = None) -> None:
    """Convert floating-point tensors to a dtype and all to a device."""
    import torch

    for owner, name, tensor in _tensors(module):
        wanted = dtype if dtype is not None and tensor.is_floating_point() else tensor.dtype
        place = device if device is not None else tensor.device
        if tensor.dtype == wanted and tensor.device == place:
            continue
        moved = tensor.data.to(device=place, dtype=wanted)
        undo.changed = True
        table = owner._parameters if name in owner._parameters else owner._buffers if name in owner._buffers else None
        if table is None:
            setattr(owner, name, moved)
            undo.append(partial(setattr, owner, name, tensor))
        elif torch._has_compatible_shallow_copy_type(tensor, moved):
            # In place: an optimizer may hold the parameter.
            undo.append(partial(setattr, tensor, "data", tensor.data))
            tensor.data = moved
        else:
            table[name] = torch.nn.Parameter(moved, tensor.requires_grad) if table is owner._parameters else moved
            undo.append(partial(table.__setitem__, name, tensor))


def map_floats(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change every floating-point tensor in nested lists, tuples, dicts and model outputs; what holds none is returned as it is."""
    return map_tensors(value, lambda one: change(one) if one.is_floating_point() else one)


def map_tensors(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change every tensor in nested lists, tuples, dicts and model outputs; what holds none is returned as it is."""
    import torch

    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, tuple):
        changed = [map_tensors(one, change) for one in value]
        return type(value)(*changed) if hasattr(value, "_fields") else type(value)(changed)
    if isinstance(value, list):
        return [map_tensors(one, change) for one in value]
    if isinstance(value, Mapping):
        changed_items = {key: map_tensors(one, change) for key, one in value.items()}
        # transformers' ModelOutput is a dict and a dataclass: it is built from its fields.
        return changed_items if type(value) is dict else type(value)(**changed_items)
    return value


def _cast_inputs(model: Any, action: Mapping[str, Any], requested: Any, undo: Undo) -> None:
    for module in _modules(model, str(action.get("module", ""))):
        dtype = _dtype(module, action, requested)

        def hook(_: Any, args: Any, kwargs: Any, dtype: Any = dtype) -> Any:
            change = undo.noting(lambda one: one.to(dtype))
            return map_floats(args, change), map_floats(kwargs, change)

        undo.append(module.register_forward_pre_hook(hook, with_kwargs=True).remove)


def _cast_module(model: Any, action: Mapping[str, Any], requested: Any, undo: Undo) -> None:
    for module in _modules(model, str(action["module"])):
        _convert(module, undo, dtype=_dtype(model, action, requested))


def _cast_outputs(model: Any, action: Mapping[str, Any], requested: Any, undo: Undo) -> None:
    dtype = _dtype(model, action, requested)
    change = undo.noting(lambda one: one.to(dtype))
    for module in _modules(model, str(action["module"])):
        undo.append(module.register_forward_hook(lambda _module, _args, output: map_floats(output, change)).remove)


def _keep_fp32(model: Any, action: Mapping[str, Any], requested: Any, undo: Undo) -> None:
    """Weights in float32, inputs cast up, outputs cast back to what came in: a float32 island with both of its borders."""
    import torch

    listed = action["modules"]
    names = [str(one) for one in ([listed] if isinstance(listed, str) else listed)]
    # A list of usual names: those that this model has.
    there = [name for name in names if _has(model, name)] or names
    for module in {id(found): found for name in there for found in _modules(model, name)}.values():
        outside: list[Any] = []
        _convert(module, undo, dtype=torch.float32)

        def enter(_: Any, args: Any, kwargs: Any, outside: list[Any] = outside) -> Any:
            outside.append(_first_dtype((args, dict(kwargs))))
            change = undo.noting(lambda one: one.float())
            return map_floats(args, change), map_floats(kwargs, change)

        def leave(_: Any, args: Any, output: Any, outside: list[Any] = outside) -> Any:
            dtype = outside.pop() if outside else None
            return output if dtype is None else map_floats(output, lambda one: one.to(dtype))

        undo.append(module.register_forward_pre_hook(enter, with_kwargs=True).remove)
        undo.append(module.register_forward_hook(leave).remove)


def _has(model: Any, name: str) -> bool:
    return not name or any(path == name or path.endswith(f".{name}") for path, _ in model.named_modules())


def _first_dtype(value: Any) -> Any:
    """The dtype of the first floating-point tensor in nested arguments, or None."""
    met: list[Any] = []

    def see(one: Any) -> Any:
        met.append(one.dtype)
        return one

    map_floats(value, see)
    return met[0] if met else None


def _device(model: Any, name: str) -> Any:
    """The device of this name; "model" is where most of the model is."""
    import torch

    if name != "model":
        return torch.device(name)
    places: dict[Any, int] = {}
    for one in model.parameters():
        places[one.device] = places.get(one.device, 0) + one.numel()
    if not places:
        raise InputError("the model has no parameters, so it is on no device: name one")
    # Accelerators first: what was left behind was left on the CPU.
    return max(places, key=lambda place: (place.type != "cpu", places[place]))


def _move_inputs(model: Any, action: Mapping[str, Any], requested: Any, undo: Undo) -> None:
    device = _device(model, str(action["device"]))

    change = undo.noting(lambda one: one.to(device))

    def hook(_: Any, args: Any, kwargs: Any) -> Any:
        return map_tensors(args, change), map_tensors(kwargs, change)

    for module in _modules(model, str(action.get("module", ""))):
        undo.append(module.register_forward_pre_hook(hook, with_kwargs=True).remove)


def _autocast(model: Any, action: Mapping[str, Any], requested: Any, undo: Undo) -> None:
    """Run ``forward`` under autocast, on the device of the model."""
    import torch

    dtype = _dtype(model, action, requested)
    decorate = torch.autocast(_device(model, "model").type, dtype=dtype)
    had = "forward" in vars(model)
    before = model.forward
    model.forward = decorate(before)
    undo.append(partial(setattr, model, "forward", before) if had else partial(delattr, model, "forward"))


def _move_module(model: Any, action: Mapping[str, Any], requested: Any, undo: Undo) -> None:
    device = _device(model, str(action["device"]))
    dtype = _dtype(model, action, requested) if "dtype" in action else None
    for module in _modules(model, str(action["module"])):
        _convert(module, undo, dtype=dtype, device=device)


def _set_attention(model: Any, action: Mapping[str, Any], requested: Any, undo: Undo) -> None:
    """Change the implementation of a transformers model that is loaded already."""
    wanted = str(action["implementation"])
    if wanted not in ("eager", "sdpa", "flash_attention_2", "flash_attention_3", "flex_attention"):
        raise InputError(f"{wanted!r} is no attention implementation")
    configs = {id(one.config): one.config for one in model.modules() if hasattr(getattr(one, "config", None), "_attn_implementation")}
    if not configs:
        raise InputError("set_attention works on transformers models; this one has no attention implementation in its config")
    for config in configs.values():
        _set(config, "_attn_implementation", wanted, undo)
    # transformers 5 keeps the choice in configs of their own for sub-models, which the loop above has met.
    suffix = {"sdpa": "SdpaAttention", "flash_attention_2": "FlashAttention2", "eager": "Attention"}.get(wanted)
    for module in model.modules():
        # Releases before the attention interface (4.48, for some models 4.53) chose a class when the model was built.
        base = type(module).__name__.replace("SdpaAttention", "Attention").replace("FlashAttention2", "Attention")
        if suffix and base.endswith("Attention"):
            import sys

            other = getattr(sys.modules[type(module).__module__], base.removesuffix("Attention") + suffix, None)
            if isinstance(other, type) and other is not type(module) and _related(other, type(module)):
                _set(module, "__class__", other, undo)
        if hasattr(module, "_attn_implementation"):
            _set(module, "_attn_implementation", wanted, undo)


def _related(one: type, other: type) -> bool:
    import torch

    shared = set(one.__mro__) & set(other.__mro__)
    return bool(shared - set(torch.nn.Module.__mro__))


def _set(owner: Any, name: str, value: Any, undo: Undo) -> None:
    before = getattr(owner, name)
    setattr(owner, name, value)
    undo.append(lambda: setattr(owner, name, before))


def _repair_probabilities(model: Any, action: Mapping[str, Any], requested: Any, undo: Undo) -> None:
    """NaN and -inf become the least finite logit, +inf the greatest, so that a distribution can be drawn from. The overflow stays."""
    import torch

    def repair(logits: Any) -> Any:
        limits = torch.finfo(logits.dtype)
        return torch.nan_to_num(logits, nan=limits.min, posinf=limits.max, neginf=limits.min)

    def hook(_module: Any, _args: Any, output: Any) -> Any:
        if isinstance(output, torch.Tensor):
            return repair(output) if output.is_floating_point() else output
        logits = getattr(output, "logits", None)
        if isinstance(logits, torch.Tensor):
            output.logits = repair(logits)
        return output

    undo.append(model.register_forward_hook(hook).remove)


#: Patches that change nothing where everything has that dtype, or is on that device, already.
_CASTS = frozenset({"cast_inputs", "cast_module", "cast_outputs", "keep_fp32", "move_module", "move_inputs"})

_PATCHES: Mapping[str, Callable[[Any, Mapping[str, Any], Any, Undo], None]] = {
    "cast_inputs": _cast_inputs,
    "cast_module": _cast_module,
    "cast_outputs": _cast_outputs,
    "keep_fp32": _keep_fp32,
    "move_module": _move_module,
    "move_inputs": _move_inputs,
    "autocast": _autocast,
    "set_attention": _set_attention,
    "repair_probabilities": _repair_probabilities,
}
