"""A GPU that torch does not see: what a CPU build says, and what runs on it all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


@case(
    issues=("hardware/cuda-not-compiled",),
    devices=("cpu",),
    dtypes=("float32",),
    plays=("other-device", "cpu-float32"),
    unplayable={"cuda-wheel": "installs a torch of several gigabytes, and needs a GPU to do something with it"},
)
def cuda_on_cpu_build(setting: Setting) -> Program:
    """A model is moved to CUDA with a torch that was built for the CPU."""
    import torch

    if torch.version.cuda is not None:
        raise ImportError("shows only with a torch that was built without CUDA")

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        if setting.shows("cpu-float32", "other-device"):
            model = model.cuda()
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return model.to(device)(inputs["x"].to(device))

    return Program(torch.nn.Linear(8, 4), {"x": torch.randn(2, 8)}, call)


def _saved_on_gpu(folder: Path, weight: Any) -> Path:
    """Write a checkpoint whose tensors are tagged with the device of a GPU, as torch.save does there."""
    from unittest import mock

    import torch

    path = folder / "gpu.pt"
    with mock.patch("torch.serialization.location_tag", lambda storage: "cuda:0"):
        torch.save({"weight": weight}, path)
    return path


@case(
    issues=("hardware/deserialize-cuda",),
    devices=("cpu",),
    dtypes=("float32",),
    plays=("map-location",),
    stand_in="the checkpoint was written on the CPU with the tag of a GPU; the bytes are those that torch.save writes there",
)
def checkpoint_of_a_gpu(setting: Setting) -> Program:
    """A checkpoint that was saved on a GPU is loaded where torch sees none."""
    import torch

    if torch.cuda.is_available():
        raise ImportError("shows only where torch sees no GPU")
    path = _saved_on_gpu(setting.folder, torch.arange(8.0).reshape(2, 4) / 8)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        where = None if setting.shows("map-location") else "cpu"
        model.load_state_dict(torch.load(path, map_location=where))
        return model(inputs["x"])

    return Program(torch.nn.Linear(4, 2, bias=False), {"x": torch.randn(3, 4)}, call)
