"""Checks of devices: parts of the model left behind, constants that ``to()`` forgets, tensors that were never loaded."""

from __future__ import annotations

from collections.abc import Iterator

from troubleshoot.lab.auditing.census import Part
from troubleshoot.lab.auditing.context import HALF, Context
from troubleshoot.lab.auditing.findings import Finding
from troubleshoot.lab.auditing.sources import forward_source


def dispatched(context: Context) -> bool:
    """Tell whether accelerate spread the model over devices, and moves tensors between them."""
    root = context.census.parts[0].module
    return bool(getattr(root, "hf_device_map", None)) or any("_hf_hook" in vars(part.module) for part in context.census.parts)


def left_behind(context: Context) -> Iterator[Finding]:
    """Modules on another device than the rest, and tensors that have no data yet."""
    main = context.census.device
    if main is None:
        return
    spread = dispatched(context)
    for part in context.census.parts:
        places = {one.device for one in part.of("parameter", "buffer")} - {main}
        for place in sorted(places):
            if place == "meta":
                if spread and "_hf_hook" in vars(part.module):
                    text = "its weights are offloaded; accelerate brings them when it is called"
                    yield Finding("device", "note", part.name, text, "accelerate/dispatched-model-moved", "do not move the model by hand")
                    continue
                text = f"{_what(part, place)} on the meta device, without data, in a model on {main}"
                fix = "load the weights that are missing; model.to_empty(device=...) gives them memory, not values"
                yield Finding("device", "error", part.name, text, "torch/device-meta-tensor", fix)
            elif spread:
                text = f"on {place}, the largest part of the model on {main}: accelerate moves what passes between them"
                yield Finding("device", "note", part.name, text, None, "")
            else:
                yield _left(part, place, main)


def _cast(part: Part) -> bool:
    source = forward_source(type(part.module))
    return source is not None and source.casts


def _reads(part: Part, name: str) -> bool:
    source = forward_source(type(part.module))
    return source is None or source.mentions(f"self.{name}")


def _what(part: Part, place: str) -> str:
    names = [one.name for one in part.of("parameter", "buffer") if one.device == place]
    return f"{part.cls}.{names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "") + (" are" if len(names) > 1 else " is")


def _left(part: Part, place: str, main: str) -> Finding:
    issue = "minicpm/vpm-left-on-cpu" if "vpm" in part.name.split(".") else "torch/device-all-tensors-same-device"
    fix = f'troubleshoot.apply({{"patch": "move_module", "module": "{_top(part)}", "device": "model"}}, model)'
    return Finding("device", "error", part.name, f"on {place} in a model on {main}", issue, fix)


def _top(part: Part) -> str:
    """The first part of the name, where a whole tower was left."""
    return part.name.partition(".")[0]


def forgotten_constants(context: Context) -> Iterator[Finding]:
    """Tensors that are plain attributes: neither ``to()`` nor ``half()`` reaches them, and no checkpoint holds them."""
    device, dtype = context.census.device, context.dtype
    for part in context.census.parts:
        for one in part.of("constant"):
            fix = f'self.register_buffer("{one.name.partition("[")[0]}", ..., persistent=False)'
            if device is not None and one.device != device and one.values > 0:
                text = f"the attribute {one.name} of {part.cls} is on {one.device} in a model on {device}, and to() does not move it"
                yield Finding("constant-left-behind", "error", part.name, text, "torch/device-all-tensors-same-device", fix)
            elif one.floating and dtype in HALF and one.dtype != dtype and one.values > 1 and not _cast(part):
                text = f"the attribute {one.name} of {part.cls} stays {one.dtype} in a {dtype} model: half() does not convert it"
                yield Finding("constant-left-behind", "warning", part.name, text, "torch/expected-scalar-type", fix)
            elif _reads(part, one.name.partition("[")[0]):
                text = f"the attribute {one.name} of {part.cls} is a tensor that to() does not move"
                yield Finding("constant-left-behind", "note", part.name, text, None, fix)
