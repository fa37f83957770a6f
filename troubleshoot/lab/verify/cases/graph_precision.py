"""Lower precision put into whole models by tools: the float16 converter of ONNX files, and torch's own int8."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_CONVERTER: dict[str, Any] = {
    "tier": "upstream", "devices": ("cpu",), "present": {"onnx": "", "onnxruntime": "", "onnxconverter-common": "", "numpy": ""},
    "installs": {"onnxconverter-common": "1.16.0", "onnx": "1.19.1", "onnxruntime": "1.23.2", "numpy": "2.3.4"}, "seconds": 6.0,
}  # fmt: skip


def _run(model: Any, x: Any) -> Any:
    """Run a model on the CPU provider."""
    import onnxruntime
    import torch

    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(None, {"x": x.numpy()})[0]).float()


@case(
    issues=("onnx/float16-truncated-constants",), plays=("limits", "block"), unplayable={"ignore": "the output is wrong here"},
    symptom="UserWarning: the float32 number 20000.0 will be truncated to 10000.0", **_CONVERTER,
)  # fmt: skip
def converter_truncates_constant(setting: Setting) -> Program:
    """The float16 converter cuts a constant that float16 could hold."""
    import torch

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        import numpy
        from onnx import TensorProto, helper, numpy_helper
        from onnxconverter_common import float16

        size = numpy.asarray([20000.0], dtype=numpy.float32)
        graph = helper.make_graph(
            [helper.make_node("Mul", ["x", "size"], ["y"])], "tiny",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
            [numpy_helper.from_array(size, "size")],
        )  # fmt: skip
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        if setting.faulty:
            more: dict[str, Any] = {"max_finite_val": 65504.0} if setting.variant == "limits" else {}
            if setting.variant == "block":
                more["op_block_list"] = [*float16.DEFAULT_OP_BLOCK_LIST, "Mul"]
            made = float16.convert_float_to_float16(made, keep_io_types=True, **more)
        return _run(made, inputs["x"])

    return Program(None, {"x": torch.tensor([0.25, 0.5, 1.0, 2.0])}, call)


@case(
    issues=("quantized/eager-int8-boundary",), tier="upstream", devices=("cpu",), dtypes=("float32",), plays=("stubs", "skip"),
    unplayable={"float-functional": "there is no addition here", "newer-flow": "needs torchao"},
)  # fmt: skip
def float_reaches_int8_layer(setting: Setting) -> Program:
    """A model that was quantized in eager mode lacks the stub that quantizes its input."""
    import warnings

    import torch

    quantization: Any = torch.ao.quantization
    values = [1.0, 0.5, -0.5, -1.0] * 8
    model: Any = torch.nn.Sequential(torch.nn.Linear(8, 4, bias=False)).eval()
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor(values).reshape(4, 8))

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        if setting.faulty and setting.variant != "skip":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if setting.variant == "stubs":
                    model = quantization.QuantWrapper(model)
                torch.backends.quantized.engine = next(
                    one for one in ("fbgemm", "x86", "qnnpack") if one in torch.backends.quantized.supported_engines
                )
                model.qconfig = quantization.default_qconfig
                quantization.prepare(model, inplace=True)
                model(inputs["x"])
                quantization.convert(model, inplace=True)
        with torch.no_grad():
            # Steps of 8 bits are all that is left.
            return (model(inputs["x"]) * 4).round() / 4

    return Program(model, {"x": torch.tensor([[1.0, 0.0, -1.0, 1.0] * 2, [-1.0, 1.0, 1.0, 0.0] * 2])}, call)
