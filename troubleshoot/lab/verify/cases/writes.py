"""Values written into tensors of another dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_WRITE = ("torch/buffer-write-dtype",)
_PLAYS = ("cast-source", "allocate-like")
_CAUSE = "dtype-mismatch/buffer-write"


def _written(setting: Setting, write: Callable[[Any, Any], Any]) -> Program:
    """A half-precision table takes rows that were computed in float32."""
    import torch

    table = torch.randn(6, 4).to(setting.device, setting.dtype)
    rows = torch.randn(2, 4).to(setting.device)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        table, rows = inputs["table"].clone(), inputs["rows"]
        if setting.variant == "allocate-like":
            table = table.to(rows.dtype)
        elif not setting.shows("cast-source"):
            rows = rows.to(table.dtype)
        write(table, rows)
        return table

    return Program(None, {"table": table, "rows": rows}, call)


@case(issues=_WRITE, cause=_CAUSE, plays=_PLAYS)
def index_put_dtype(setting: Setting) -> Program:
    """Float32 rows are assigned by index into a half-precision tensor."""
    import torch

    return _written(setting, lambda table, rows: table.__setitem__(torch.tensor([1, 4], device=table.device), rows))


@case(issues=_WRITE, cause=_CAUSE, plays=_PLAYS)
def scatter_dtype(setting: Setting) -> Program:
    """Float32 values are scattered into a half-precision tensor."""
    import torch

    return _written(setting, lambda table, rows: table.scatter_(0, torch.tensor([[0, 1, 2, 3], [4, 5, 0, 1]], device=table.device), rows))


@case(issues=_WRITE, cause=_CAUSE, plays=_PLAYS)
def masked_scatter_dtype(setting: Setting) -> Program:
    """Float32 image features are put in the place of half-precision token embeddings by masked_scatter."""
    import torch

    mask = torch.tensor([1, 0, 0, 1, 0, 0]).bool()[:, None]
    return _written(setting, lambda table, rows: table.masked_scatter_(mask.to(table.device).expand_as(table), rows))


@case(issues=_WRITE, cause=_CAUSE, plays=_PLAYS)
def index_copy_dtype(setting: Setting) -> Program:
    """A float32 state is copied by index into a half-precision cache."""
    import torch

    return _written(setting, lambda table, rows: table.index_copy_(0, torch.tensor([0, 5], device=table.device), rows))


@case(issues=_WRITE, cause=_CAUSE, plays=_PLAYS)
def index_add_dtype(setting: Setting) -> Program:
    """Float32 expert outputs are added by index to a half-precision result."""
    import torch

    return _written(setting, lambda table, rows: table.index_add_(0, torch.tensor([2, 3], device=table.device), rows))


@case(issues=("torch/lerp-dtype",), cause=_CAUSE, plays=("cast-update", "cast-before-optimizer"))
def lerp_average_dtype(setting: Setting) -> Program:
    """A float32 moving average follows half-precision weights."""
    import torch

    average = torch.randn(8, 8).to(setting.device)
    current = torch.randn(8, 8).to(setting.device, setting.dtype)
    if not setting.shows("cast-before-optimizer"):
        average = average.to(setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        average, current = inputs["average"].clone(), inputs["current"]
        if not setting.shows("cast-update"):
            current = current.to(average.dtype)
        return average.lerp_(current, 0.25)

    return Program(None, {"average": average, "current": current}, call)


@case(issues=("torch/inplace-result-type",), cause="dtype-mismatch/integer-expected", dtypes=("float32",), plays=("cast-integer",))
def inplace_into_integers(setting: Setting) -> Program:
    """A fractional update is added in place to integer counts."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        counts, update = inputs["counts"].clone(), inputs["update"]
        if not setting.shows("cast-integer"):
            counts = counts.to(update.dtype)
        counts += update
        return counts

    inputs = {"counts": torch.arange(6), "update": torch.rand(6, dtype=setting.dtype)}
    return Program(None, {name: one.to(setting.device) for name, one in inputs.items()}, call)
