"""How NumPy chooses the type of a result, which changed with NumPy 2."""

from __future__ import annotations

from typing import Any

from troubleshoot.lab.verify.outcomes import Program, Setting
from troubleshoot.lab.verify.registry import case

_NUMPY: dict[str, Any] = {"tier": "upstream", "devices": ("cpu",), "present": {"numpy": ""}, "shows": {"numpy": ">=2"}, "seconds": 3.0}


@case(
    issues=("numpy/scalar-widens-array",), dtypes=("float32",), plays=("python-number", "cast-array"), installs={"numpy": "2.0.2"}, **_NUMPY
)
def numpy_scalar_widens_array(setting: Setting) -> Program:
    """A float32 array is divided by a NumPy scalar and handed to a float32 model."""
    import numpy
    import torch

    model = torch.nn.Linear(8, 4).to(setting.dtype)
    features = numpy.linspace(-1, 1, 24, dtype=numpy.float32).reshape(3, 8)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        if setting.shows("python-number", "cast-array"):
            return model(torch.from_numpy(features / numpy.sqrt(8)))
        if setting.variant == "cast-array":
            return model(torch.from_numpy(features / numpy.sqrt(8)).float())
        return model(torch.from_numpy(features / float(numpy.sqrt(8))))

    return Program(model, {}, call)


@case(
    issues=("numpy/float16-keeps-type",),
    dtypes=("float16",),
    plays=("wide-first", "fitting-constant"),
    installs={"numpy": "2.0.2"},
    symptom="RuntimeWarning: overflow encountered in cast: since numpy 2 my float16 attention mask times -1e9 gives nan and -inf.",
    **_NUMPY,
)
def numpy_float16_mask(setting: Setting) -> Program:
    """A float16 mask is multiplied by a number that float16 cannot hold."""
    import numpy
    import torch

    scores = torch.linspace(-2, 2, 12).reshape(2, 6)

    def call(model: Any, inputs: dict[str, Any]) -> Any:
        kept: Any = numpy.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0]], dtype=numpy.float16 if setting.faulty else numpy.float32)
        if setting.variant == "wide-first":
            kept = kept.astype(numpy.float32)
        bias = (1 - kept) * (-1e4 if setting.variant == "fitting-constant" else -1e9)
        return torch.softmax(inputs["scores"] + torch.from_numpy(bias).float(), dim=-1)

    return Program(None, {"scores": scores}, call)
