"""Collectives and sharding in a process group of one, over gloo: what they check, they check on the CPU as well."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


def _group(setting: Setting) -> Any:
    """Join a process group of one process; its meeting place is a file of its own, so that runs do not meet."""
    import os

    import torch.distributed as dist

    if not dist.is_initialized():
        place = setting.folder / f"group-{os.getpid()}"
        dist.init_process_group("gloo", init_method=place.as_uri(), rank=0, world_size=1)
    return dist


@case(
    issues=("distributed/collective-tensors-differ",),
    cause="distributed/collective-dtype",
    devices=("cpu",),
    plays=("same-dtype-buffers",),
)
def all_gather_float32_buffers(setting: Setting) -> Program:
    """Half-precision features are gathered into buffers that were created in float32."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        dist = _group(setting)
        x = inputs["x"]
        wide = torch.float32 if setting.shows("same-dtype-buffers") else x.dtype
        gathered = [torch.empty(x.shape, dtype=wide) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, x)
        return gathered[0]

    return Program(None, {"x": torch.randn(4, 8).to(setting.dtype)}, call)


@case(
    issues=("distributed/collective-unsupported-dtype",),
    devices=("cpu",),
    dtypes=("float32",),
    plays=("cast-for-transfer",),
    unplayable={"newer-torch": "gloo has no 16-bit integers in the newest release either"},
)
def gather_counts_in_int16(setting: Setting) -> Program:
    """Counts in 16-bit integers are summed over the ranks by gloo, which has no such type."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        dist = _group(setting)
        counts = inputs["counts"].clone()
        if setting.shows("cast-for-transfer"):
            dist.all_reduce(counts)
            return counts.to(setting.dtype)
        wide = counts.to(torch.int32)
        dist.all_reduce(wide)
        return wide.to(counts.dtype).to(setting.dtype)

    return Program(None, {"counts": torch.tensor([3, 1, 4], dtype=torch.int16)}, call)


@case(
    issues=("distributed/fsdp-mixed-dtype",),
    devices=("cpu",),
    dtypes=("bfloat16",),
    torch=">=2.1",
    plays=("cast-adapters", "load-fp32", "wrap-apart", "use-orig-params"),
)
def fsdp_float32_adapter(setting: Setting) -> Program:
    """FSDP is to flatten a bfloat16 layer and its float32 adapter into one parameter."""
    import torch

    class Adapted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = torch.nn.Linear(16, 16)
            self.adapter = torch.nn.Linear(16, 16, bias=False)

        def forward(self, x: torch.Tensor) -> Any:
            return self.base(x) + self.adapter(x.to(self.adapter.weight.dtype)).to(x.dtype)

    wide = setting.variant == "load-fp32"
    model = Adapted().to(torch.float32 if wide else setting.dtype)
    if setting.shows("cast-adapters", "load-fp32"):
        model.adapter.float()
    x = torch.randn(4, 16).to(torch.float32 if wide else setting.dtype)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        if not setting.faulty:
            return model(inputs["x"])
        _group(setting)
        from torch.distributed.fsdp import FullyShardedDataParallel

        more: dict[str, Any] = {"use_orig_params": True} if setting.variant == "use-orig-params" else {}
        if setting.variant == "wrap-apart":
            more["auto_wrap_policy"] = lambda module, recurse, nonwrapped_numel: recurse or module is model.adapter
        sharded = FullyShardedDataParallel(model, device_id=torch.device("cpu"), **more)
        return sharded(inputs["x"])

    return Program(model, {"x": x}, call)
