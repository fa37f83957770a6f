"""Dtypes that came to PyTorch with some release, and what could not be done with them at first; all of it can be seen on the CPU."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case


@case(
    issues=("numpy/unsigned-array-rejected",), dtypes=("float32",), plays=("signed-first",), present={"numpy": ""},
    shows={"torch": "<2.3"}, installs={"torch": "2.1.2", "numpy": "1.26.4"},
)  # fmt: skip
def sixteen_bit_image(setting: Setting) -> Program:
    """A depth image of unsigned 16-bit integers becomes a tensor."""
    import numpy
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        depth = inputs["x"].abs().mul(1000).cpu().numpy().astype(numpy.uint16)
        taken = depth if setting.shows("signed-first") else depth.astype(numpy.int32)
        return torch.from_numpy(taken).to(setting.device, setting.dtype) / 1000

    return Program(None, {"x": torch.randn(4, 4).to(setting.device)}, call)


@case(
    issues=("checkpoint/unsigned-not-saved",), dtypes=("float32",), plays=("save-signed", "save-bytes"), torch=">=2.3",
    shows={"torch": "<2.6"}, installs={"torch": "2.4.1"},
)  # fmt: skip
def unsigned_tensor_saved(setting: Setting) -> Program:
    """A tensor of unsigned 16-bit integers is saved and loaded."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        counts = inputs["x"].abs().mul(1000).to(torch.int32)
        if setting.variant == "save-bytes":
            stored = counts.to(torch.uint16).view(torch.uint8)
        else:
            stored = counts.to(torch.uint16) if setting.shows("save-signed") else counts
        torch.save(stored, setting.folder / "counts.pt")
        loaded = torch.load(setting.folder / "counts.pt")
        if setting.variant == "save-bytes":
            loaded = loaded.view(torch.uint16)
        return loaded.to(setting.device, setting.dtype)

    return Program(None, {"x": torch.randn(4, 4).to(setting.device)}, call)


def _missing_dtype(setting: Setting, name: str) -> Program:
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        if setting.faulty:
            # What a library's table of dtypes does when it is imported.
            {str(one): one for one in (torch.float16, getattr(torch, name))}
        return inputs["x"] * 2

    return Program(None, {"x": torch.randn(4, 4)}, call)


@case(
    issues=("checkpoint/torch-before-int-bits",), dtypes=("float32",), devices=("cpu",), shows={"torch": "<2.6"},
    installs={"torch": "2.1.2"},
)  # fmt: skip
def torch_without_int_bits(setting: Setting) -> Program:
    """A library names torch.int1, as torchao does when it is imported."""
    return _missing_dtype(setting, "int1")


@case(
    issues=("checkpoint/torch-before-float8-scale",), dtypes=("float32",), devices=("cpu",), shows={"torch": "<2.7"},
    installs={"torch": "2.1.2"},
)  # fmt: skip
def torch_without_float8_scale(setting: Setting) -> Program:
    """A library names torch.float8_e8m0fnu, the dtype of the scales of MX formats."""
    return _missing_dtype(setting, "float8_e8m0fnu")


@case(
    issues=("checkpoint/torch-before-float8",), dtypes=("float32",), devices=("cpu",), shows={"torch": "<2.1"},
    installs={"torch": "2.0.1"},
)  # fmt: skip
def torch_without_float8(setting: Setting) -> Program:
    """A library names torch.float8_e4m3fn."""
    return _missing_dtype(setting, "float8_e4m3fn")


@case(
    issues=("checkpoint/float8-not-saved",), dtypes=("bfloat16",), plays=("save-16-bit", "save-bytes"), torch=">=2.1",
    shows={"torch": "<2.2"}, installs={"torch": "2.1.2"},
)  # fmt: skip
def float8_tensor_saved(setting: Setting) -> Program:
    """A weight in float8 is saved and loaded."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        weight = inputs["weight"].to(torch.float8_e4m3fn)
        stored = weight if setting.shows("save-16-bit", "save-bytes") else weight.to(torch.bfloat16)
        if setting.variant == "save-bytes":
            stored = weight.view(torch.uint8)
        torch.save(stored, setting.folder / "weight.pt")
        loaded = torch.load(setting.folder / "weight.pt")
        if setting.variant == "save-bytes":
            loaded = loaded.view(torch.float8_e4m3fn)
        return loaded.float()

    # Values that float8 holds exactly.
    return Program(None, {"weight": torch.tensor([1.0, 0.5, -2.0, 0.25]).to(setting.device)}, call)


@case(
    issues=("quantized/float8-indexing",), dtypes=("bfloat16",), devices=("cpu",), plays=("as-bytes", "cast-up"), torch=">=2.1",
    shows={"torch": "<2.10"}, installs={"torch": "2.4.1"},
)  # fmt: skip
def float8_indexed(setting: Setting) -> Program:
    """Rows of a float8 weight are selected by a tensor."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        weight, ids = inputs["weight"].to(torch.float8_e4m3fn), torch.tensor([2, 0])
        if setting.variant == "as-bytes":
            return weight.view(torch.uint8)[ids].view(weight.dtype).float()
        return (weight if setting.shows("cast-up") else weight.to(torch.bfloat16))[ids].float()

    return Program(None, {"weight": torch.tensor([[1.0, 0.5], [-2.0, 0.25], [4.0, -0.5]])}, call)


@case(
    issues=("quantized/float8-cast-nan",), dtypes=("bfloat16",), plays=("scale", "clamp"), torch=">=2.1", shows={"torch": "<2.13"},
    installs={"torch": "2.10.0"}, devices=("cpu",),
    symptom="Casting weights to torch.float8_e4m3fn produces NaN for values larger than 448.",
)  # fmt: skip
def float8_cast_beyond_range(setting: Setting) -> Program:
    """A weight beyond the range of float8 is stored in it."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        weight = inputs["weight"]
        if not setting.faulty:
            return weight.float()
        if setting.variant == "scale":
            return (weight / 2).to(torch.float8_e4m3fn).float() * 2
        return (weight.clamp(-448, 448) if setting.variant == "clamp" else weight).to(torch.float8_e4m3fn).float()

    # Float8 holds all of them exactly but the last, which it holds divided by two.
    return Program(None, {"weight": torch.cat([torch.full((24,), 448.0), torch.tensor([480.0])])}, call)
