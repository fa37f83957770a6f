"""What ``watch`` costs, beside transformers' DebugUnderflowOverflow, on the same model in one run: ``python tests/benchmarks/watch.py``.

The model is transformers' T5 encoder (hidden size 1024, 1,024 tokens), or, where transformers is not installed, torch's own transformer
encoder, without the comparison. Figures are medians of calls measured in turn, because machines drift; nothing is asserted. The budget:
at most 25 % more on a CPU, 10 % on a GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from troubleshoot import watch


def t5(layers: int) -> tuple[Any, str] | None:
    """Return transformers' T5 encoder with random weights, or None where it is not installed."""
    try:
        from transformers import T5Config, T5EncoderModel
        from transformers import __version__ as version
    except ImportError:
        return None
    config = T5Config(d_model=1024, d_ff=4096, num_layers=layers, num_heads=16, d_kv=64, vocab_size=1000)
    return T5EncoderModel(config).eval(), f"transformers {version}, T5EncoderModel"


class Encoder(torch.nn.Module):
    """The stand-in: torch's encoder over embeddings."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(1000, 1024)
        layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.encoder(self.embedding(input_ids))


@contextlib.contextmanager
def debugged(model: Any) -> Iterator[None]:
    """DebugUnderflowOverflow on the model; it has no way to be taken off, so its hooks are cleared here."""
    from transformers.debug_utils import DebugUnderflowOverflow

    with contextlib.redirect_stdout(io.StringIO()):
        DebugUnderflowOverflow(model)
    try:
        yield
    finally:
        for module in model.modules():
            module._forward_hooks.clear()


def seconds(call: Callable[[], object], device: str) -> float:
    """Time one call, the device's work included."""
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def measure(model: Any, ids: torch.Tensor, device: str, runs: int, compare: bool) -> dict[str, list[float]]:
    """Return the seconds of a forward without and with each tool, measured in turn."""

    def forward() -> None:
        with torch.inference_mode():
            model(input_ids=ids)

    found: dict[str, list[float]] = {}
    seconds(forward, device)
    for _ in range(runs):
        found.setdefault("plain", []).append(seconds(forward, device))
        with watch(model):
            # The first call under it is the common one: a watch is not warmed up.
            found.setdefault("watch", []).append(seconds(forward, device))
        if compare:
            with debugged(model):
                found.setdefault("DebugUnderflowOverflow", []).append(seconds(forward, device))
    return found


def main() -> None:
    """Print the figures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--layers", type=int, default=4)
    arguments.add_argument("--tokens", type=int, default=1024)
    arguments.add_argument("--runs", type=int, default=9)
    options = arguments.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    built = t5(options.layers)
    if built is None:
        print("transformers is not installed: DebugUnderflowOverflow is left out, and torch's encoder stands in for T5")
    model, name = built or (Encoder(options.layers).eval(), f"torch {torch.__version__}, TransformerEncoder")
    size = f"{options.layers} layers, {options.tokens} tokens"
    print(f"{name}, {size}, torch {torch.__version__}, {device}, {platform.machine()}, {torch.get_num_threads()} threads")
    ids = torch.randint(0, 1000, (1, options.tokens), device=device)
    for dtype in (torch.float32, torch.bfloat16):
        model.to(device=device, dtype=dtype)
        found = measure(model, ids, device, options.runs, built is not None)
        plain = statistics.median(found["plain"])
        print(f"{str(dtype).removeprefix('torch.')}: plain {plain * 1e3:.1f} ms")
        for tool, values in found.items():
            if tool != "plain":
                ratio = statistics.median(one / base for one, base in zip(values, found["plain"], strict=True))
                print(f"  {tool}: {statistics.median(values) * 1e3:.1f} ms, {ratio:.2f} x plain")


if __name__ == "__main__":
    main()
