"""ONNX files in miniature and onnxruntime on the CPU: element types that a graph mixes, a feed that differs, kernels that are missing."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_ONNX: dict[str, Any] = {
    "tier": "upstream", "devices": ("cpu",), "present": {"onnx": "", "onnxruntime": "", "numpy": ""},
    "installs": {"onnx": "1.19.1", "onnxruntime": "1.23.2", "numpy": "2.3.4"}, "seconds": 5.0,
}  # fmt: skip


def _session(nodes: list[Any], inputs: dict[str, Any], output: Any, constants: dict[str, Any]) -> Any:
    """Return an onnxruntime session of a graph; element types are numpy dtypes, or ONNX's own numbers."""
    import numpy
    import onnxruntime
    from onnx import helper, numpy_helper

    def number(kind: Any) -> int:
        return kind if isinstance(kind, int) else helper.np_dtype_to_tensor_dtype(numpy.dtype(kind))

    graph = helper.make_graph(
        nodes, "tiny", [helper.make_tensor_value_info(name, number(kind), ["n", 4]) for name, kind in inputs.items()],
        [helper.make_tensor_value_info("y", number(output), ["n", 4])],
        [value if hasattr(value, "data_type") else numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def _x() -> Any:
    import torch

    return torch.randn(3, 4, generator=torch.Generator().manual_seed(2))


def _half(setting: Setting) -> Any:
    import numpy

    return numpy.float16 if setting.name == "float16" else numpy.float32


@case(issues=("onnx/input-dtype",), cause="dtype-mismatch/input-vs-weight", plays=("cast-feed",), **_ONNX)
def onnx_float32_feed(setting: Setting) -> Program:
    """A float32 array is fed to a float16 ONNX model."""

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        import numpy
        import torch
        from onnx import helper

        kind = _half(setting)
        weight = numpy.linspace(-1, 1, 16, dtype=numpy.float32).reshape(4, 4).astype(kind)
        session = _session([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": kind}, kind, {"w": weight})
        fed = inputs["x"].numpy()
        return torch.from_numpy(session.run(None, {"x": fed if setting.shows("cast-feed") else fed.astype(kind)})[0])

    return Program(None, {"x": _x()}, call)


@case(
    issues=("onnx/mixed-types-in-graph",), plays=("cast-in-model",),
    unplayable={"newer-tools": "the graph is written by hand: there is no converter to mend"}, **_ONNX,
)  # fmt: skip
def onnx_float32_constant(setting: Setting) -> Program:
    """A float32 constant meets float16 activations in an exported graph."""

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        import numpy
        import torch
        from onnx import helper

        kind = _half(setting)
        scale = numpy.linspace(0.5, 2, 4, dtype=numpy.float32)
        scale = scale if setting.shows("cast-in-model") else scale.astype(kind)
        session = _session([helper.make_node("Mul", ["x", "s"], ["y"])], {"x": kind}, kind, {"s": scale})
        return torch.from_numpy(session.run(None, {"x": inputs["x"].numpy().astype(kind)})[0])

    return Program(None, {"x": _x()}, call)


@case(
    issues=("onnx/no-kernel-for-type",), unplayable={"gpu-provider": "needs a GPU"}, **{**_ONNX, "dtypes": ("bfloat16",)}
)
def onnx_bfloat16_on_cpu(setting: Setting) -> Program:
    """A bfloat16 model runs on the CPU provider, which has no kernel for it."""

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        import numpy
        import torch
        from onnx import TensorProto, helper

        nodes = [helper.make_node("Cast", ["x"], ["h"], to=TensorProto.BFLOAT16), helper.make_node("Sigmoid", ["h"], ["s"])]
        nodes += [helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT)]
        if setting.name == "float32":
            nodes = [helper.make_node("Sigmoid", ["x"], ["y"])]
        session = _session(nodes, {"x": numpy.float32}, numpy.float32, {})
        return torch.from_numpy(session.run(None, {"x": inputs["x"].numpy()})[0])

    return Program(None, {"x": _x()}, call)


@case(
    issues=("onnx/bfloat16-export",), unplayable={"new-exporter": "would need onnxscript"}, **{**_ONNX, "dtypes": ("bfloat16",)}
)
def onnx_bfloat16_operator(setting: Setting) -> Program:
    """A graph uses bfloat16 with an operator whose definition does not allow it."""

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        import numpy
        import torch
        from onnx import TensorProto, helper

        nodes = [helper.make_node("Cast", ["x"], ["h"], to=TensorProto.BFLOAT16), helper.make_node("Sin", ["h"], ["s"])]
        nodes += [helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT)]
        if setting.name != "bfloat16":
            nodes = [helper.make_node("Sin", ["x"], ["y"])]
        session = _session(nodes, {"x": numpy.float32}, numpy.float32, {})
        return torch.from_numpy(session.run(None, {"x": inputs["x"].numpy()})[0])

    return Program(None, {"x": _x()}, call)
