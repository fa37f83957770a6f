"""Live patches: they repair what they say, and ``remove()`` takes everything back."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import troubleshoot  # noqa: E402
from troubleshoot.basics.errors import InputError  # noqa: E402
from troubleshoot.engine.fixes.actions import PATCHES  # noqa: E402
from troubleshoot.lab.verify import patches  # noqa: E402

pytestmark = pytest.mark.torch


class Block(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A linear layer, a norm, and a constant that ``to()`` forgets."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
        self.norm = torch.nn.LayerNorm(4)
        self.mean = torch.zeros(4)

    def forward(self, x: Any) -> Any:
        return self.norm(self.fc(x))


def state(model: Any) -> list[tuple[str, Any, Any]]:
    return [(name, tensor.dtype, tensor.clone()) for name, tensor in model.state_dict().items()]


def same(one: list[Any], other: list[Any]) -> bool:
    return all(a[:2] == b[:2] and torch.equal(a[2], b[2]) for a, b in zip(one, other, strict=True))


def test_every_patch_of_the_actions_exists() -> None:
    """What an entry may name can be applied."""
    assert set(patches._PATCHES) == set(PATCHES)


def test_cast_inputs_lets_a_half_model_take_float32() -> None:
    """Floating-point inputs are cast, integers are left alone, and without the patch it fails again."""
    model = torch.nn.Linear(4, 2).bfloat16()
    handle = troubleshoot.apply({"patch": "cast_inputs", "dtype": "model"}, model)
    assert model(torch.randn(1, 4)).dtype == torch.bfloat16
    handle.remove()
    with pytest.raises(RuntimeError):
        model(torch.randn(1, 4))


def test_cast_module_and_back_is_exact() -> None:
    """Casting to half precision loses bits, taking it back does not."""
    model = Block()
    before = state(model)
    parameter = model.fc.weight
    with troubleshoot.apply({"patch": "cast_module", "module": "", "dtype": "float16"}, model):
        assert {one.dtype for one in model.parameters()} == {torch.float16}
        assert model.mean.dtype == torch.float16
    assert same(before, state(model))
    assert model.mean.dtype == torch.float32
    assert model.fc.weight is parameter, "an optimizer holds the parameter itself"


def test_a_module_is_found_by_the_end_of_its_name() -> None:
    """``fc`` means that layer of every block."""
    model = torch.nn.Sequential(Block(), Block())
    troubleshoot.apply({"patch": "cast_module", "module": "fc", "dtype": "bfloat16"}, model)
    assert model[0].fc.weight.dtype == model[1].fc.weight.dtype == torch.bfloat16
    assert model[0].norm.weight.dtype == torch.float32


def test_keep_fp32_has_both_borders() -> None:
    """A float32 island in a half-precision model takes and gives half precision."""
    model = Block().bfloat16()
    with troubleshoot.apply({"patch": "keep_fp32", "modules": ["norm", "mel"]}, model):
        assert model.norm.weight.dtype == torch.float32
        assert model(torch.randn(2, 4).bfloat16()).dtype == torch.bfloat16
    assert model.norm.weight.dtype == torch.bfloat16
    assert not model.norm._forward_hooks and not model.norm._forward_pre_hooks


def test_cast_outputs_of_one_layer() -> None:
    """The output of a float32 layer is brought back to the rest's dtype."""
    model = Block().bfloat16()
    model.fc.float()
    handle = troubleshoot.apply({"patch": "cast_outputs", "module": "fc", "dtype": "bfloat16"}, model)
    assert model.fc(torch.randn(1, 4)).dtype == torch.bfloat16
    handle.remove()
    assert model.fc(torch.randn(1, 4)).dtype == torch.float32


def test_repair_probabilities_makes_a_distribution() -> None:
    """NaN and infinite logits become such that a token can be drawn, even where all are NaN."""
    model = torch.nn.Linear(2, 3)
    with torch.no_grad():
        model.weight.fill_(float("nan"))
    with troubleshoot.apply({"patch": "repair_probabilities"}, model):
        torch.multinomial(torch.softmax(model(torch.ones(1, 2)), -1), 1)
    assert bool(model(torch.ones(1, 2)).isnan().all())


def test_move_module_takes_constants_along() -> None:
    """A tensor that is a plain attribute moves too."""
    model = Block()
    handle = troubleshoot.apply({"patch": "move_module", "module": "", "device": "meta"}, model)
    assert model.mean.device.type == model.fc.weight.device.type == "meta"
    handle.remove()
    assert model.mean.device.type == model.fc.weight.device.type == "cpu"


def test_set_attention_needs_a_model_that_has_it() -> None:
    """A plain module has no attention implementation to set."""
    with pytest.raises(InputError, match="transformers"):
        troubleshoot.apply({"patch": "set_attention", "implementation": "sdpa"}, Block())


def test_a_missing_module_is_named_and_nothing_stays() -> None:
    """The error lists what the model has, and a patch that fails half-way is undone."""
    model = Block()
    with pytest.raises(InputError, match="fc, norm"):
        troubleshoot.apply({"patch": "cast_module", "module": "qformer", "dtype": "float16"}, model)
    assert {one.dtype for one in model.parameters()} == {torch.float32}


def test_an_upgrade_is_no_live_patch() -> None:
    """Applying what cannot be applied says so."""
    with pytest.raises(InputError, match="no live patch"):
        troubleshoot.apply({"upgrade": "transformers"}, Block())


def test_requested_is_the_dtype_of_most_parameters() -> None:
    """Without being told, "requested" is what most of the model is in already."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 64).half(), torch.nn.Linear(2, 2))
    troubleshoot.apply({"patch": "cast_module", "module": "", "dtype": "requested"}, model)
    assert {one.dtype for one in model.parameters()} == {torch.float16}


def test_nested_outputs_are_mapped() -> None:
    """Tuples, named tuples, lists and dicts keep their types."""
    from collections import namedtuple

    pair = namedtuple("pair", "a b")
    value = {"x": pair(torch.ones(1), [torch.ones(1, dtype=torch.int64)]), "y": (None, "text")}
    found = patches.map_floats(value, lambda one: one.double())
    assert found["x"].a.dtype == torch.float64
    assert found["x"].b[0].dtype == torch.int64
    assert found["y"] == (None, "text")
