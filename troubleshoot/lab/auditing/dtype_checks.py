"""Checks of dtypes within the model: islands, guards, adapters, quantized layers, constants."""

from __future__ import annotations

import math
from collections.abc import Iterator

from troubleshoot.lab.auditing.census import Part
from troubleshoot.lab.auditing.context import HALF, Context
from troubleshoot.lab.auditing.findings import Finding
from troubleshoot.lab.auditing.sources import forward_source, methods_source

#: float16's and bfloat16's largest values; half of float16's smallest subnormal, below which a number rounds to zero.
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}
_ZERO = {"float16": 2.0**-25, "bfloat16": 2.0**-134}

_NORMS = ("LayerNorm", "GroupNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm2d", "RMSNorm")

#: Which known issue an island of a class belongs to, by what torch says when its input comes.
_ISSUES = (("conv", "torch/conv-input-weight-dtype"), ("norm", "torch/layer-norm-mixed-dtype"), ("", "torch/linear-dtype"))

#: First parts of the Python modules that quantized layers come from.
_QUANTIZERS = ("bitsandbytes", "auto_gptq", "gptqmodel", "awq", "autoawq", "hqq", "eetq", "quanto", "optimum", "aqlm", "torchao")
_QUANTIZED = ("QuantLinear", "WQLinear", "Linear4bit", "Linear8bitLt", "HQQLinear", "EetqLinear", "QLinear", "FP8Linear", "AqlmLinear")


def is_quantized(part: Part) -> bool:
    """Tell by class and origin whether a layer is quantized."""
    return part.home.partition(".")[0] in _QUANTIZERS or part.cls.startswith(_QUANTIZED) or ("Quant" in part.cls and "Linear" in part.cls)


def is_adapter(part: Part) -> bool:
    """Tell by its name whether a module is part of a LoRA adapter."""
    return any(piece.startswith("lora_") for piece in part.name.split("."))


def islands(context: Context) -> Iterator[Finding]:
    """Parts of the model in another floating-point dtype than the rest."""
    main = context.census.dtype
    if main is None or context.target is not None:
        return
    for part in context.census.parts:
        if is_adapter(part) or "modules_to_save" in part.name or is_quantized(part):
            continue
        odd = [one for one in part.weights if one.dtype != main]
        if odd:
            yield _island(context, part, odd[0].name, odd[0].dtype, main)


def _island(context: Context, part: Part, name: str, dtype: str, main: str) -> Finding:
    if not (part.cls in _NORMS or _is_layer(part)) or name not in ("weight", "bias", "in_proj_weight", "weight_ih_l0"):
        return _lone_parameter(part, name, dtype, main)
    text = f"{part.cls} has {dtype} weights in a {main} model"
    issue = next(id_ for word, id_ in _ISSUES if word in part.cls.lower())
    # By its last name a layer is meant in every block.
    named = part.name if part.last.isdigit() or not part.last else part.last
    fix = f'troubleshoot.apply({{"patch": "cast_module", "module": "{named}", "dtype": "{main}"}}, model)'
    if part.last == "wo" and any("RMSNorm" in one.cls and one.home.startswith("apex") for one in context.census.parts):
        text += ", and apex's norms do not cast what it returns"
        return Finding("island", "error", part.name, text, "transformers/t5-fused-rmsnorm-wo", fix)
    above = context.parent(part)
    for owner in (part, above):
        source = forward_source(type(owner.module)) if owner is not None else None
        if owner is not None and source is not None and source.casts:
            return Finding("island", "note", part.name, f"{text}; the forward of {owner.cls} casts, so it may be meant", issue, fix)
    return Finding("island", "error", part.name, f"{text}, and no forward around it casts what it gets", issue, fix)


def _lone_parameter(part: Part, name: str, dtype: str, main: str) -> Finding:
    """A parameter that a model or block holds itself: arithmetic with it promotes, and what reads the result has to cast."""
    where = f"{part.name}.{name}".lstrip(".")
    text = f"the parameter {name} of {part.cls} is {dtype} in a {main} model"
    fix = f"model.{where}.data = model.{where}.data.to(torch.{main})"
    source = methods_source(type(part.module))
    readers = [getattr(part.module, one, None) for one in source.readers_of(name)]
    sources = [forward_source(type(one)) for one in readers if one is not None]
    if source.casts_near(name) or any(one is not None and one.casts for one in sources):
        return Finding("island", "note", where, f"{text}; it is cast where it is read", "torch/linear-dtype", fix)
    if name == "query_tokens" and "Blip2" in part.cls:
        return Finding("island", "error", where, f"{text}, and the Q-Former does not cast it", "transformers/blip2-query-tokens-fp32", fix)
    return Finding("island", "warning", where, f"{text}: what is computed with it becomes {dtype}", "torch/linear-dtype", fix)


def _is_layer(part: Part) -> bool:
    return part.cls.endswith(("Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "LSTM", "GRU"))


def guards(context: Context) -> Iterator[Finding]:
    """Layers that cast their input to float32 on purpose and need float32 parameters, but have half ones."""
    for part in context.census.parts:
        halves = [one for one in part.weights if context.dtype_of(one) in HALF]
        source = forward_source(type(part.module))
        if not halves or source is None or not source.casts_up or source.casts_own_weight:
            continue
        fused = source.mentions("super().forward(", "super(", "layer_norm(", "group_norm(", "batch_norm(", "F.linear(", "_conv_forward(")
        if not fused:
            # Element by element the product is promoted; nothing breaks.
            continue
        dtype = context.dtype_of(halves[0])
        issue = "torch/fp32-norm-guard"
        if part.home.startswith("open_clip") or part.cls == "LayerNormFp32":
            issue = "open_clip/layernorm-fp32-cast"
        elif part.home.startswith("whisper"):
            issue = "whisper/layer-norm-half"
        verb = "will have" if context.target else "has"
        fix = f'for one in model.modules():\n    if type(one).__name__ == "{part.cls}": one.float()'
        yield Finding("guard", "error", part.name, f"{part.cls} casts its input to float32 and {verb} {dtype} parameters", issue, fix)


def adapters(context: Context) -> Iterator[Finding]:
    """LoRA weights, and modules that are trained beside them, in another dtype than the base layer."""
    for part in context.census.parts:
        if not part.weights:
            continue
        if is_adapter(part):
            base = _base_dtype(context, part)
            dtype = part.weights[0].dtype
            if base is None or base == dtype:
                continue
            above = _adapter_owner(context, part)
            source = forward_source(type(above.module)) if above is not None else None
            casts = source is not None and source.casts
            text = f"the adapter's {part.cls} is {dtype}, its base layer {base}"
            text += "; the layer casts its input, which is how it is meant for training" if casts else ", and the layer does not cast"
            fix = f'for name, one in model.named_parameters():\n    if "lora_" in name: one.data = one.data.to(torch.{base})'
            yield Finding("adapter", "note" if casts else "error", part.name, text, "peft/lora-adapter-dtype", fix)
        elif ".modules_to_save." in part.name and context.census.dtype not in (None, part.weights[0].dtype):
            text = f"a module that is saved with the adapter is {part.weights[0].dtype} in a {context.census.dtype} model"
            fix = "use autocast, or cast it like the base model where it is not trained"
            yield Finding("adapter", "warning", part.name, text, "peft/modules-to-save-dtype", fix)


def _adapter_owner(context: Context, part: Part) -> Part | None:
    pieces = part.name.split(".")
    first = next(index for index, piece in enumerate(pieces) if piece.startswith("lora_"))
    return context.census.by_name.get(".".join(pieces[:first]))


def _base_dtype(context: Context, part: Part) -> str | None:
    """The dtype of the layer that an adapter sits on: its owner's own weights, or those of its base layer."""
    owner = _adapter_owner(context, part)
    if owner is None:
        return context.census.dtype
    for name in (owner.name, f"{owner.name}.base_layer".lstrip("."), f"{owner.name}.base".lstrip("."), f"{owner.name}.linear".lstrip(".")):
        base = context.census.by_name.get(name)
        if base is not None and is_quantized(base):
            compute = getattr(base.module, "compute_dtype", None)
            return str(compute).removeprefix("torch.") if compute is not None else None
        if base is not None and base.weights:
            return base.weights[0].dtype
    return context.census.dtype


def quantized(context: Context) -> Iterator[Finding]:
    """Quantized layers whose compute dtype differs from what their neighbours give them."""
    main = context.dtype
    for part in context.census.parts:
        if not is_quantized(part):
            continue
        compute = getattr(part.module, "compute_dtype", None)
        name = str(compute).removeprefix("torch.") if compute is not None else None
        if part.cls.startswith("Linear4bit") and name == "float32" and main in HALF:
            text = f"{part.cls} computes in float32 among {main} layers: slow, and its kernel for one token takes half precision"
            fix = f"BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.{main})"
            yield Finding("quantized", "warning", part.name, text, "bitsandbytes/compute-dtype-float32", fix)
        elif name in HALF and main in HALF and name != main:
            text = f"{part.cls} computes in {name}, the layers around it are {main}"
            fix = f"load with {name} for both, or set the compute dtype to {main}"
            yield Finding("quantized", "warning", part.name, text, "quantized/activation-dtype", fix)
        elif part.cls.startswith("Linear8bitLt") and main not in (None, "float16"):
            text = f"{part.cls} computes in float16, the layers around it are {main}: its inputs are cast"
            fix = "load with torch_dtype=torch.float16"
            yield Finding("quantized", "note", part.name, text, "quantized/int8-cast-warning", fix)
        elif part.cls.startswith(("QuantLinear", "WQLinear")) and main not in (None, "float16"):
            text = f"{part.cls} comes with kernels for float16, the layers around it are {main}"
            fix = "load with torch_dtype=torch.float16"
            yield Finding(
                "quantized",
                "warning",
                part.name,
                text,
                "quantized/awq-kernel-dtype" if "WQ" in part.cls else "quantized/activation-dtype",
                fix,
            )


def constants(context: Context) -> Iterator[Finding]:
    """Numbers that do not fit: written by forward into half tensors, held in buffers, or an epsilon that rounds to zero."""
    dtype = context.dtype
    if dtype not in HALF:
        return
    seen: set[str] = set()
    for part in context.census.parts:
        source = forward_source(type(part.module))
        if source is not None and part.cls not in seen:
            seen.add(part.cls)
            for value, raises in source.written_constants():
                if abs(value) > _LARGEST[dtype] and math.isfinite(value):
                    what = "raises" if raises else "gives infinity"
                    text = f"the forward of {part.cls} writes {value:g} into a tensor, which {what} if that is {dtype}"
                    fix = (
                        "torch.finfo(x.dtype).min instead of the number" if value < 0 else "torch.finfo(x.dtype).max instead of the number"
                    )
                    yield Finding("constant", "warning", part.name, text, "numerics/constant-overflow", fix)
        if source is not None and not source.casts_up:
            yield from _epsilons(part, dtype)
        yield from _buffers(context, part, dtype)


def _epsilons(part: Part, dtype: str) -> Iterator[Finding]:
    for name, value in vars(part.module).items():
        if "eps" in name.lower() and type(value) is float and 0 < value < _ZERO[dtype]:
            text = f"{name} = {value:g} of {part.cls} is zero in {dtype}"
            yield Finding("constant", "warning", part.name, text, "numerics/underflow-epsilon", f"{name}=1e-5, or compute it in float32")


def _buffers(context: Context, part: Part, dtype: str) -> Iterator[Finding]:
    import torch

    for one in part.of("buffer", "constant"):
        if not one.floating or one.device == "meta" or type(one.tensor) is not torch.Tensor or not 0 < one.values <= 1 << 20:
            continue
        values = one.tensor.detach().abs()
        if bool(torch.isnan(values).any()):
            fix = "compute it again in float32, or load it from an intact checkpoint"
            yield Finding("constant", "error", part.name, f"the {one.kind} {one.name} holds NaN", "checkpoint/nan-weights", fix)
        elif one.dtype == dtype and bool((one.tensor == math.inf).any()):
            # Minus infinity is how masks are written; plus infinity is what a cast has made of a value beyond the range.
            text = f"the {one.kind} {one.name} holds inf: a value beyond the range of {dtype} before it was cast"
            fix = f"compute it again in float32 and keep it there, or limit it to torch.finfo(torch.{dtype}).max before the cast"
            yield Finding("constant", "error", part.name, text, "numerics/constant-overflow", fix)
        elif one.dtype != context.dtype_of(one):
            largest = float(values[torch.isfinite(values)].max()) if bool(torch.isfinite(values).any()) else 0.0
            if largest > _LARGEST[dtype]:
                text = f"the {one.kind} {one.name} holds {largest:g}, which is infinite in {dtype}"
                fix = f"torch.finfo(torch.{dtype}).max as its limit"
                yield Finding("constant", "warning", part.name, text, "numerics/constant-overflow", fix)
