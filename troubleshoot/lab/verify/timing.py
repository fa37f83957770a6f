"""How long each dtype takes on the user's GPU, at a real size. The cases are toys: their times say nothing, and are never shown.

What is timed is the forward pass of one transformer layer (attention and feed-forward) of ``HIDDEN`` features on ``TOKENS`` tokens, which
is where the time of a language model goes. :func:`measure` runs in the child process, and runs on a CPU too, so that it can be tested
there; what it says of a CPU is never shown, since most CPUs emulate half precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: A small real model: hidden size and heads of a 1-billion-parameter decoder, and a prompt that keeps a GPU busy.
HIDDEN = 2048
HEADS = 16
TOKENS = 2048

#: Dtypes that are compared where the device has them.
DTYPES = ("float32", "float16", "bfloat16")

#: Seconds of measuring per dtype, after a warm-up.
_SECONDS = 1.0


def measure(
    torch: Any, device: str, dtypes: Sequence[str] = DTYPES, *, hidden: int = HIDDEN, tokens: int = TOKENS, seconds: float = _SECONDS
) -> dict[str, float | str]:
    """Return the median seconds of a forward pass per dtype, or the error's first line where the device cannot run it.

    torch.utils.benchmark waits for the device, warms up, and takes the median of blocks of runs.
    """
    from torch.utils.benchmark import Timer

    found: dict[str, float | str] = {}
    for name in dtypes:
        try:
            layer, inputs = layer_of(torch, device, getattr(torch, name), hidden, tokens)
            with torch.inference_mode():
                layer(inputs)
                timer = Timer("layer(inputs)", globals={"layer": layer, "inputs": inputs})
                found[name] = float(timer.blocked_autorange(min_run_time=seconds).median)
        except RuntimeError as error:
            found[name] = str(error).splitlines()[0][:200]
        layer = inputs = None
    return found


def layer_of(torch: Any, device: str, dtype: Any, hidden: int, tokens: int) -> tuple[Any, Any]:
    """Return a layer with random weights in a dtype, and one sequence of tokens for it."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        hidden, min(HEADS, hidden // 8), 4 * hidden, dropout=0.0, batch_first=True, norm_first=True, device=device, dtype=dtype
    )
    # In training mode torch takes the operations one by one, as models do; the fused kernel of evaluation exists for this class only.
    layer.train()
    return layer, torch.randn(1, tokens, hidden, device=device, dtype=dtype)
