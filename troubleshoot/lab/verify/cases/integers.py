"""Indices, labels and masks of the wrong dtype, and losses that refuse their targets."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_INTEGER = "dtype-mismatch/integer-expected"


@case(issues=("torch/embedding-indices",), plays=("cast-integer",))
def embedding_float_indices(setting: Setting) -> Program:
    """A batch cast to half precision as a whole brings floating-point token ids into an embedding."""
    import torch

    model = torch.nn.Embedding(32, 8).to(setting.device, setting.dtype)
    ids = torch.randint(0, 32, (2, 5)).to(setting.device)
    return Program(model, {"input": ids.to(setting.dtype) if setting.shows("cast-integer") else ids.long()})


@case(issues=("torch/index-dtype",), dtypes=("float32",), plays=("cast-integer", "spare-integers"))
def index_with_floats(setting: Setting) -> Program:
    """A floating-point tensor is used as an index."""
    import torch

    index = torch.tensor([2, 0, 3]).to(setting.device)
    if setting.shows("cast-integer", "spare-integers"):
        index = index.float()
    inputs = {"table": torch.randn(5, 4).to(setting.device, setting.dtype), "index": index}
    return Program(None, inputs, lambda model, inputs: inputs["table"][inputs["index"] if setting.faulty else inputs["index"].long()])


@case(issues=("torch/index-dtype",), dtypes=("float32",), plays=("cast-integer", "spare-integers"))
def masked_fill_float_mask(setting: Setting) -> Program:
    """A mask of zeros and ones in floating point goes into masked_fill."""
    import torch

    mask = torch.tensor([1, 0, 1, 0]).to(setting.device)
    mask = mask.float() if setting.shows("cast-integer", "spare-integers") else mask.bool()
    inputs = {"x": torch.randn(3, 4).to(setting.device, setting.dtype), "mask": mask}
    return Program(None, inputs, lambda model, inputs: inputs["x"].masked_fill(inputs["mask"], 0.0))


@case(issues=("torch/loss-target-dtype",), cause=_INTEGER, dtypes=("float32",), plays=("cast-targets",))
def cross_entropy_float_targets(setting: Setting) -> Program:
    """Class indices in floating point reach cross_entropy."""
    import torch

    labels = torch.tensor([1, 0, 2, 1]).to(setting.device)
    labels = labels.float() if setting.shows("cast-targets") else labels.long()
    inputs = {"logits": torch.randn(4, 3).to(setting.device, setting.dtype), "labels": labels}
    return Program(None, inputs, lambda model, inputs: torch.nn.functional.cross_entropy(inputs["logits"], inputs["labels"]))


@case(issues=("torch/loss-target-dtype",), cause="dtype-mismatch/double", dtypes=("float32",), plays=("cast-float32",))
def bce_double_targets(setting: Setting) -> Program:
    """Float64 targets from NumPy meet float32 predictions in a loss."""
    import torch

    target = torch.rand(4, 2, dtype=torch.float64)
    if not setting.shows("cast-float32"):
        target = target.to(setting.dtype)
    model = torch.nn.Linear(3, 2).to(setting.device, setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        return torch.nn.functional.binary_cross_entropy(model(inputs["x"]).sigmoid(), inputs["target"])

    inputs = {"x": torch.randn(4, 3).to(setting.device, setting.dtype), "target": target.to(setting.device)}
    return Program(model, inputs, call)


@case(issues=("torch/floating-point-required",), cause=_INTEGER, dtypes=("float32",), plays=("cast-float",))
def mean_of_integers(setting: Setting) -> Program:
    """The mean of a comparison or of counts is asked for."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        hits = (inputs["prediction"] == inputs["label"]).long()
        return (hits if setting.shows("cast-float") else hits.float()).mean()

    inputs = {"prediction": torch.tensor([1, 2, 3, 1]), "label": torch.tensor([1, 2, 0, 1])}
    return Program(None, {name: one.to(setting.device) for name, one in inputs.items()}, call)


@case(issues=("quantized/requires-grad",), cause=_INTEGER, dtypes=("float32",), plays=("float-tensor",))
def gradients_of_integers(setting: Setting) -> Program:
    """Gradients are requested for integers."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        x = inputs["x"].clone() if setting.shows("float-tensor") else inputs["x"].to(setting.dtype)
        x.requires_grad_(True)
        (x * x).sum().backward()
        return x.grad

    return Program(None, {"x": torch.tensor([1, 2]).to(setting.device)}, call)
