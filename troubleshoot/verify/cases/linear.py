"""Matrix products of two dtypes."""

from __future__ import annotations

from troubleshoot.verify.model import Program, Setting
from troubleshoot.verify.registry import case


@case(issues=("torch/linear-dtype",), cause="dtype-mismatch/input-vs-weight")
def linear_input_dtype(setting: Setting) -> Program:
    """A float32 batch reaches half-precision linear layers."""
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 16)).to(setting.device, setting.dtype)
    batch = torch.randn(8, 64).to(setting.device)
    if not setting.faulty:
        batch = batch.to(setting.dtype)
    return Program(model, {"input": batch})
