"""What was watched, told in the words that the knowledge base knows: the same engine then answers as for a pasted report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from troubleshoot.lab.watching.observations import INPUTS, LIMITS, OUTSIDE, Event

if TYPE_CHECKING:
    from troubleshoot.lab.watching.session import Watch


def story(watch: Watch) -> str:
    """Return a report of what was seen, as text. Empty of symptoms where nothing went wrong."""
    event = watch.first_event
    lines = [_model(watch.model)] if watch.model is not None else []
    if event is not None:
        if event.dtype in ("float16", "bfloat16"):
            lines.append(f"torch_dtype=torch.{event.dtype}")
        lines += _symptoms(watch, event)
    vanished = watch.vanished()
    if event is None and vanished is not None:
        name = vanished.module or type(watch.model).__name__
        lines.append("torch_dtype=torch.float16")
        lines.append(f"In float16 values underflow to zero at {name}: its output is all zeros, its inputs are not.")
    history = watch.scales.story()
    if history:
        lines.append(history)
    return "\n".join(one for one in lines if one) + "\n"


def _kind(model: Any) -> str:
    """What the model is: the type in its config (t5, qwen2_vl), else its class."""
    kind = getattr(getattr(model, "config", None), "model_type", "")
    return kind if isinstance(kind, str) and kind else type(model).__name__


def _model(model: Any) -> str:
    config = getattr(model, "config", None)
    attention = getattr(config, "_attn_implementation", "")
    text = f"model: {type(model).__name__} ({_kind(model)})"
    if isinstance(attention, str) and attention:
        text += f"\nattn_implementation={attention!r}"
    return text


def _symptoms(watch: Watch, event: Event) -> list[str]:
    name = event.module or type(watch.model).__name__
    if event.kind == "underflow":
        what = "gradients underflow" if event.direction == "backward" else "values underflow"
        return [f"In {event.dtype} {what} to zero at {name}: {event.value:.0%} are below the smallest normal number."]
    word = "NaN" if event.kind == "nan" else "Inf"
    if event.module == INPUTS:
        return [f"The inputs contain {word} before the first layer; the loss is nan."]
    if event.direction == "backward":
        where = "in the loss" if event.module == OUTSIDE else f"in the backward of {name}"
        scaled = " under GradScaler" if watch.scales.points else ""
        return [f"The gradients are {word.lower()} in {event.dtype}{scaled}, made {where}; the forward pass was finite."]
    broken = watch.broken_weights(event.module)
    if broken:
        if event.step > 0:
            # They were whole in the steps before: training has broken them, not what was loaded.
            return [f"The weights of {name} become nan during training in {event.dtype}, and the loss is nan."]
        if broken == "inf" and event.dtype == "float16":
            # What is loaded or made in float32 may exceed the range.
            limit = f"{LIMITS['float16'][0]:.0f}"
            return [f"In float16 values beyond {limit} overflow to inf when the model is cast: those of {name} are inf, float32 is fine."]
        return [f"The parameters of {name} hold NaN before the first step."]
    if event.dtype == "float16":
        small = _small(watch, event)
        if small is not None:
            return [
                f"In float16 the output of {name} becomes {word.lower()} by a division by zero: nothing before it is larger than "
                f"{small:.2g}, and a small divisor or epsilon underflows to zero."
            ]
        kind = _kind(watch.model)
        fault = f"overflow: they exceed {LIMITS['float16'][0]:.0f}" if event.kind == "overflow" else "are nan"
        return [f"{word} detected in output of {name}", f"In float16 the activations of {kind} {fault} at {name}."]
    return [f"The output of {name} becomes {word.lower()} in {event.dtype}, and the loss is {word.lower()}."]


def _small(watch: Watch, event: Event) -> float | None:
    """Return the largest value that came before a fault in the forward pass, where neither a product nor an exponential of such values
    leaves the range: what is not finite then comes of a division. None otherwise, and where a layer multiplies with weights of its own.
    """
    if event.direction != "forward" or event.module == OUTSIDE or watch.has_weights(event.module):
        return None
    seen = [one.largest for one in watch.ranges if one.direction == "forward" and one.calls]
    largest = max(seen, default=math.nan)
    return largest if largest < math.log(LIMITS[event.dtype][0]) else None
