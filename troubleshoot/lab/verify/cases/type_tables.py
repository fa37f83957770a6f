"""Packages that keep a table of dtypes of their own, which older releases did not have all of, or newer ones dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_COMMON: dict[str, Any] = {"tier": "upstream", "devices": ("cpu",), "dtypes": ("bfloat16",), "seconds": 4.0}
# packaging is imported by safetensors 0.6 and 0.7, which do not require it.
_SAFETENSORS: dict[str, Any] = {
    "present": {"safetensors": "", "numpy": ""}, "installs": {"safetensors": "0.3.3", "numpy": "", "packaging": ""},
}  # fmt: skip
#: Powers of two: every type here holds them exactly, so that only a refusal can make a difference.
_VALUES = [0.5, 1.0, 2.0, 4.0] * 8


def _written(place: Path, name: str, dtype: Any) -> Path:
    """Write a safetensors file by hand: the length of the header, the header, and the bytes of one tensor."""
    import json
    import struct

    import torch

    data = bytes(torch.tensor(_VALUES).to(dtype).view(torch.uint8).tolist())
    header = json.dumps({"weight": {"dtype": name, "shape": [len(_VALUES)], "data_offsets": [0, len(data)]}}).encode()
    header += b" " * (-len(header) % 8)
    place.write_bytes(struct.pack("<Q", len(header)) + header + data)
    return place


def _loaded(setting: Setting, name: str, dtype: Any) -> Program:
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        from safetensors.torch import load_file

        half = not setting.shows("half-file")
        place = setting.folder / f"{setting.variant or 'file'}-{half}.safetensors"
        _written(place, "BF16" if half else name, torch.bfloat16 if half else dtype)
        return load_file(place)["weight"].float() * inputs["x"]

    return Program(None, {"x": torch.linspace(-1, 1, len(_VALUES))}, call)


@case(issues=("safetensors/float8-file",), plays=("half-file",), shows={"safetensors": "<0.4.2"}, **_COMMON, **_SAFETENSORS)
def safetensors_float8_file(setting: Setting) -> Program:
    """A file with float8 weights is read by a safetensors release that does not know the type."""
    import torch

    return _loaded(setting, "F8_E4M3", torch.float8_e4m3fn)


@case(
    issues=("safetensors/e8m0-scales",), plays=("half-file",), shows={"safetensors": "<0.6.0"},
    **_COMMON, **{**_SAFETENSORS, "installs": {**_SAFETENSORS["installs"], "safetensors": "0.5.3"}},
)  # fmt: skip
def safetensors_e8m0_file(setting: Setting) -> Program:
    """A file with the power-of-two scales of a microscaling format is read by a release that does not know the type."""
    import torch

    return _loaded(setting, "F8_E8M0", torch.float8_e8m0fnu)


@case(
    issues=("gguf/mxfp4-unknown",), plays=("other-type",), present={"gguf": "", "numpy": ""},
    installs={"gguf": "0.17.1", "numpy": ""}, shows={"gguf": "<0.18"}, **{**_COMMON, "dtypes": ("float16",)},
)  # fmt: skip
def gguf_mxfp4_tensor(setting: Setting) -> Program:
    """A GGUF file with an MXFP4 tensor is opened with the gguf package."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        import struct

        import gguf
        import numpy

        place = setting.folder / f"{setting.variant or setting.faulty}.gguf"
        writer = gguf.GGUFWriter(str(place), "llama")
        name = "blk.0.ffn_down_exps.weight"
        if setting.shows("other-type"):
            # One block: a power-of-two scale, here 1, and 32 values of 4 bits, all 1.0. It is written as bytes; an old package has no name
            # for the type.
            block = numpy.frombuffer(bytes([127]) + bytes([0x22] * 16), dtype=numpy.uint8).reshape(1, 17)
            writer.add_tensor(name, block, raw_shape=(1, 17), raw_dtype=gguf.GGMLQuantizationType.I8)
        else:
            writer.add_tensor(name, numpy.ones((1, 32), dtype=numpy.float16))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        if setting.shows("other-type"):
            # In the description of the tensor its name is followed by the number of dimensions, the dimensions, and the type.
            raw = place.read_bytes()
            start = raw.index(name.encode()) + len(name)
            described = struct.pack("<IQQI", 2, 32, 1, 39)
            place.write_bytes(raw[:start] + described + raw[start + len(described) :])
        tensor = gguf.GGUFReader(str(place)).tensors[0]
        weight = gguf.quants.dequantize(tensor.data, tensor.tensor_type) if setting.shows("other-type") else tensor.data
        return torch.from_numpy(numpy.asarray(weight, dtype=numpy.float32)).reshape(-1) * inputs["x"]

    return Program(None, {"x": torch.linspace(-1, 1, len(_VALUES))}, call)


@case(
    issues=("onnx/bfloat16-helper-removed",), plays=("typed-array",), present={"onnx": "", "numpy": ""},
    installs={"onnx": "1.20.1", "numpy": ""}, shows={"onnx": ">=1.20"},
    unplayable={"newer-caller": "is another package than onnx"}, **_COMMON,
)  # fmt: skip
def onnx_bfloat16_helper(setting: Setting) -> Program:
    """A converter turns numbers into bfloat16 with a helper of onnx."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        import numpy
        import onnx
        from onnx import numpy_helper

        values = inputs["weight"].numpy()
        if setting.shows("typed-array"):
            bits = numpy.asarray([onnx.helper.float32_to_bfloat16(one) for one in values.tolist()], dtype=numpy.uint16)
            tensor = onnx.helper.make_tensor("w", onnx.TensorProto.BFLOAT16, list(bits.shape), bits.tobytes(), raw=True)
        elif setting.variant == "typed-array":
            import ml_dtypes

            tensor = numpy_helper.from_array(values.astype(ml_dtypes.bfloat16), "w")
        else:
            tensor = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, list(values.shape), values.tobytes(), raw=True)
        stored = numpy.frombuffer(tensor.raw_data, dtype=numpy.float32 if tensor.data_type == 1 else numpy.uint16)
        if tensor.data_type != 1:
            stored = (stored.astype(numpy.uint32) << 16).view(numpy.float32)
        return torch.from_numpy(stored.copy())

    return Program(None, {"weight": torch.tensor(_VALUES)}, call)


@case(
    issues=("onnx/bfloat16-as-bits",), plays=("view-bits", "float32-file"), present={"onnx": "", "numpy": ""},
    installs={"onnx": "1.18.0", "numpy": ""}, shows={"onnx": ">=1.17,<1.19"},
    symptom="onnx 1.18.0: numpy_helper.to_array of a bfloat16 tensor returns uint16 integers like 16256 instead of the weights.", **_COMMON,
)  # fmt: skip
def onnx_bfloat16_to_array(setting: Setting) -> Program:
    """The weights of a bfloat16 ONNX file are read as a NumPy array."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        import numpy
        import onnx
        from onnx import numpy_helper

        weight = inputs["weight"]
        narrow = setting.faulty and setting.variant != "float32-file"
        kind = onnx.TensorProto.BFLOAT16 if narrow else onnx.TensorProto.FLOAT
        array = numpy_helper.to_array(onnx.helper.make_tensor("w", kind, list(weight.shape), weight.flatten().tolist()))
        if setting.variant == "view-bits" and array.dtype.itemsize == 2:
            array = (array.astype(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)
        return torch.from_numpy(array.astype(numpy.float32))

    return Program(None, {"weight": torch.tensor(_VALUES)}, call)


def _sized(setting: Setting, stored: Any) -> Program:
    import torch

    class Stored(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.proj = torch.nn.Linear(8, 4, bias=False)

        def forward(self, x: torch.Tensor) -> Any:
            return torch.nn.functional.linear(x, self.proj.weight.to(x.dtype))

    model = Stored()
    with torch.no_grad():
        model.proj.weight.copy_(torch.tensor(_VALUES).reshape(4, 8))
    if setting.faulty:
        model.proj.weight = torch.nn.Parameter(model.proj.weight.to(stored), requires_grad=False)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        from accelerate import infer_auto_device_map

        placed = {"": "cpu"} if setting.variant == "explicit-map" else infer_auto_device_map(model, max_memory={"cpu": 10**9})
        return model.to(next(iter(placed.values())))(**inputs)

    return Program(model, {"x": torch.linspace(-1, 1, 16).reshape(2, 8).to(setting.dtype)}, call)


@case(
    issues=("accelerate/float8-size-unknown",), plays=("explicit-map",), present={"accelerate": "", "numpy": ""},
    installs={"accelerate": "0.32.1", "numpy": "1.26.4"}, shows={"accelerate": "<0.33"}, **{**_COMMON, "seconds": 6.0},
)  # fmt: skip
def accelerate_sizes_float8(setting: Setting) -> Program:
    """Accelerate works out a device map for a model whose weights are stored in float8."""
    import torch

    return _sized(setting, torch.float8_e4m3fn)


@case(
    issues=("accelerate/e8m0-size-unknown",), plays=("explicit-map",), present={"accelerate": "", "numpy": ""},
    installs={"accelerate": "1.13.0", "numpy": ""}, shows={"accelerate": "<1.14"}, **{**_COMMON, "seconds": 6.0},
)  # fmt: skip
def accelerate_sizes_e8m0(setting: Setting) -> Program:
    """Accelerate works out a device map for a model with the power-of-two scales of a microscaling format."""
    import torch

    return _sized(setting, torch.float8_e8m0fnu)
