"""Checks of inputs, per modality, against the first parameters that they meet."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from troubleshoot.lab.auditing.census import WIDE, Part
from troubleshoot.lab.auditing.context import Context
from troubleshoot.lab.auditing.dtype_checks import is_quantized
from troubleshoot.lab.auditing.findings import Finding
from troubleshoot.lab.auditing.sources import forward_source

#: modality -> (what its inputs are called, what the modules that read them are called)
_MODALITIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "image": (
        ("pixel_values", "image", "vision", "patches"),
        ("vision", "visual", "vpm", "vit", "image_encoder", "img", "patch_embed", "pixel"),
    ),
    "audio": (
        ("input_features", "input_values", "audio", "waveform", "mel"),
        ("audio", "apm", "speech", "feature_extractor", "feature_encoder", "conv1", "wav"),
    ),
    "text": (
        ("input_ids", "token", "ids", "decoder_input_ids", "text"),
        ("embed_tokens", "word_embeddings", "wte", "shared", "tok_embeddings", "embedding", "embed"),
    ),
}

#: Inputs that hold indices, and may have any integer dtype.
_INDICES = ("ids", "labels", "grid", "position", "cache")


def inputs(context: Context) -> Iterator[Finding]:
    """Dtype and device of every input against the parameters that it meets first."""
    for name, tensor in _named(context):
        part = _reader(context, name)
        if part is None:
            continue
        yield from _against(context, name, tensor, part)


def _named(context: Context) -> Iterator[tuple[str, Any]]:
    """Yield (name, tensor) of a mapping, a tensor, or a list of tensors, which go by the names of forward's arguments."""
    import torch

    given = context.inputs
    if isinstance(given, torch.Tensor):
        yield "", given
    elif isinstance(given, Mapping):
        for name, value in given.items():
            if isinstance(value, torch.Tensor):
                yield str(name), value
            elif isinstance(value, list | tuple) and value and isinstance(value[0], torch.Tensor):
                yield str(name), value[0]
    elif isinstance(given, list | tuple):
        names = _arguments(context)[1:]
        for index, value in enumerate(given):
            if isinstance(value, torch.Tensor):
                name = names[index] if index < len(names) else f"argument {index}"
                yield ("" if index == 0 and modality(name) is None else name), value


def modality(name: str) -> str | None:
    """Return image, audio or text by an input's name, or None."""
    low = name.lower()
    for kind, (words, _) in _MODALITIES.items():
        if any(word in low for word in words):
            return kind
    return None


def _reader(context: Context, name: str) -> Part | None:
    """The first module with parameters that reads an input: of its modality, else the first at all."""
    if "mask" in name or name.startswith("argument"):
        return None
    held = [one for one in context.census.parts if one.weights or is_quantized(one)]
    kind = modality(name)
    if kind == "text" or (kind is None and "ids" in name):
        for one in held:
            if "Embedding" in one.cls and not any(word in one.name.lower() for word in ("position", "vision", "visual")):
                return one
        return None
    if kind is not None:
        words = _MODALITIES[kind][1]
        found = next((one for one in held if any(word in one.name.lower() for word in words) and "Embedding" not in one.cls), None)
        if found is None and name in _arguments(context):
            found = next((one for one in held if "Conv" in one.cls), None)
        return found if found is not None and (name in _arguments(context) or "kwargs" in _arguments(context)) else None
    if name and name not in ("x", "input", "inputs", "hidden_states", "inputs_embeds", "sample"):
        return None
    return held[0] if held else None


def _arguments(context: Context) -> list[str]:
    """The names that the model's forward takes, ``self`` first."""
    try:
        return list(inspect.signature(type(context.census.parts[0].module).forward).parameters)
    except (TypeError, ValueError):
        return []


def _against(context: Context, name: str, tensor: Any, part: Part) -> Iterator[Finding]:
    shown = f"the input {name}" if name else "the input"
    dtype, device = str(tensor.dtype).removeprefix("torch."), str(tensor.device)
    variable = name or "inputs"
    own = part.of("parameter", "buffer")
    places = [one.device for one in own]
    if places and device != places[0] and "meta" not in (device, places[0]):
        text = f"{shown} is on {device}, the first layer that reads it on {places[0]}"
        fix = f"{variable} = {variable}.to({places[0]!r})"
        yield Finding("input", "error", part.name, text, "torch/device-all-tensors-same-device", fix)
    if "Embedding" in part.cls:
        if tensor.is_floating_point():
            fix = f"{variable} = {variable}.long()"
            yield Finding(
                "input", "error", part.name, f"{shown} is {dtype}, and an embedding takes integers", "torch/embedding-indices", fix
            )
        return
    if not part.weights or any(word in name for word in _INDICES):
        return
    wanted = context.dtype_of(part.weights[0])
    if dtype == wanted or (dtype not in WIDE and not dtype.startswith(("int", "uint"))):
        return
    yield _mismatch(context, shown, variable, dtype, wanted, part)


def _mismatch(context: Context, shown: str, variable: str, dtype: str, wanted: str, part: Part) -> Finding:
    casts = False
    above: Part | None = part
    while above is not None:
        source = forward_source(type(above.module))
        if source is not None and source.casts and (above is part or source.mentions("dtype")):
            casts = True
            break
        above = context.parent(above)
    text = f"{shown} is {dtype}, the first layer that reads it ({part.cls}) {wanted}"
    issue = "torch/conv-input-weight-dtype" if "Conv" in part.cls else "torch/linear-dtype"
    if modality(variable) in ("image", "audio") and part.home.startswith("torch.nn") and _is_transformers(context):
        issue = "transformers/processor-float32-inputs"
    if casts and above is not None:
        return Finding(
            "input", "note", part.name, f"{text}; the forward of {above.cls} casts", issue, f"{variable} = {variable}.to(torch.{wanted})"
        )
    return Finding("input", "error", part.name, text, issue, f"{variable} = {variable}.to(torch.{wanted})")


def _is_transformers(context: Context) -> bool:
    return context.census.parts[0].home.startswith("transformers.")
