"""What watch finds: the first fault and its module, masks, gradients, code between modules, exceptions, in-place changes."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from watch_models import TinyT5, ids  # noqa: E402

from troubleshoot.lab.watching import watch  # noqa: E402
from troubleshoot.lab.watching.story import story  # noqa: E402

pytestmark = pytest.mark.torch


class Products(nn.Module):
    """A gated product that overflows in the code of the module, between its layers."""

    def __init__(self, factor: float = 400.0) -> None:
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        for layer in (self.gate, self.up):
            layer.weight.data = torch.eye(4) * factor
            layer.bias.data.zero_()
        self.down.weight.data = torch.eye(4) / factor**2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.gate(x) * self.up(x))


def test_the_wo_that_overflows_is_named() -> None:
    """On a tiny T5-like model in float16 the first fault is the overflowing projection, with its dtype and step."""
    model = TinyT5().half().eval()
    with watch(model) as watching:
        output = model(ids())
    first = watching.first
    assert output.isnan().any()
    assert first is not None
    assert (first["module"], first["kind"], first["dtype"], first["step"]) == ("block.1.feed_forward.wo", "overflow", "float16", 0)
    assert math.isinf(first["value"])
    assert first["class"] == "Linear"


def test_a_finite_run_has_no_first_fault_and_its_masks_are_none() -> None:
    """-inf in masked scores is meant, so a healthy model is not reported, and the range that holds the mask says so."""
    model = TinyT5(overflowing=()).half().eval()
    with watch(model) as watching:
        model(ids())
    assert watching.first is None
    masked = [one for one in watching.ranges if one.masked]
    assert {one.module for one in masked} <= {f"block.{i}.attention" for i in range(3)}
    assert masked


@pytest.mark.parametrize("value", [torch.finfo(torch.float16).min, -1e4])
def test_a_finite_mask_constant_does_not_use_up_the_headroom(value: float) -> None:
    """finfo.min and -1e4 in a mask are no large activations."""

    class Masking(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.masked_fill(x > 2, value)

    model = nn.Sequential(Masking(), nn.Softmax(-1))
    with watch(model) as watching:
        model(torch.tensor([[0.5, 1.0, 3.0]], dtype=torch.float16))
    scores = next(one for one in watching.ranges if one.module == "0")
    assert scores.masked
    assert scores.largest < 10


def test_overflow_between_layers_is_blamed_on_the_module_whose_code_it_is() -> None:
    """A product of two layers overflows in the forward of their parent, before the third reads it."""
    model = nn.Sequential(nn.Identity(), Products()).half()
    with watch(model) as watching:
        model(torch.full((2, 4), 2.0, dtype=torch.float16))
    first = watching.first
    assert first is not None
    assert (first["module"], first["kind"], first["before"]) == ("1", "overflow", "1.down")


def test_minus_infinity_that_turns_into_nan_is_an_overflow_after_all() -> None:
    """A sum that overflows to -inf only looks like a mask, until a norm makes NaN of it."""

    class Sum(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + x

    model = nn.Sequential(Sum(), nn.LayerNorm(3)).half()
    with watch(model) as watching:
        model(torch.tensor([[-60000.0, 1.0, 2.0]], dtype=torch.float16))
    first = watching.first
    assert first is not None
    assert (first["module"], first["kind"], first["value"]) == ("0", "overflow", -math.inf)


def test_nan_inputs_are_not_blamed_on_a_module() -> None:
    """What was NaN on arrival is said to be in the inputs."""
    model = nn.Linear(2, 2)
    with watch(model) as watching:
        model(torch.tensor([[float("nan"), 0.0]]))
    first = watching.first
    assert first is not None
    assert (first["module"], first["kind"]) == ("(inputs)", "nan")


def test_a_gradient_that_overflows_is_blamed_on_the_module_whose_backward_made_it() -> None:
    """The forward pass is finite; the gradient overflows on its way through the layer with large weights."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).half()
    model[1].weight.data.fill_(300.0)
    with watch(model) as watching:
        output = model(torch.full((1, 2), 1e-3, dtype=torch.float16))
        output.backward(torch.full_like(output, 300.0))
    first = watching.first
    assert first is not None
    assert (first["module"], first["kind"], first["direction"]) == ("1", "overflow", "backward")


def test_a_loss_that_is_nan_is_outside_the_model() -> None:
    """NaN gradients that come from behind the last module are told apart from the model's own."""
    model = nn.Linear(2, 1)
    with watch(model) as watching:
        (model(torch.zeros(1, 2)) * float("nan")).sum().backward()
    first = watching.first
    assert first is not None
    assert (first["module"], first["kind"], first["direction"]) == ("(outside the model)", "nan", "backward")


def test_underflow_is_named_where_nothing_worse_happens() -> None:
    """Gradients of which most are below float16's smallest normal number are reported as underflow with their share."""
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)).half()
    with watch(model) as watching:
        output = model(torch.randn(4, 8, dtype=torch.float16))
        output.backward(torch.full_like(output, 2e-6))
    first = watching.first
    assert first is not None
    assert (first["kind"], first["direction"], first["dtype"]) == ("underflow", "backward", "float16")
    assert 0.5 < first["value"] <= 1


def test_every_call_of_the_model_is_a_step_with_its_own_first_fault() -> None:
    """Steps count from 0; the fault of a later step carries its number."""
    model = nn.Linear(2, 2).half()
    model.weight.data.fill_(300.0)
    with watch(model) as watching:
        for value in (0.0, 1.0, 200.0, 300.0):
            model(torch.full((1, 2), value, dtype=torch.float16))
    assert watching.steps == 4
    assert [one.step for one in watching.events] == [2, 3]


def test_an_exception_in_the_model_passes_and_what_ran_before_is_known() -> None:
    """A failing forward leaves the exception alone, and the next call starts with a clean stack."""

    class Failing(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.isinf().any():
                raise ValueError("infinite")
            return x

    model = nn.Sequential(nn.Linear(1, 1, bias=False), Failing()).half()
    model[0].weight.data.fill_(60000.0)
    with watch(model) as watching:
        with pytest.raises(ValueError, match="infinite"):
            model(torch.full((1, 1), 2.0, dtype=torch.float16))
        model(torch.zeros(1, 1, dtype=torch.float16))
    assert watching.steps == 2
    assert [one.module for one in watching.events] == ["0"]
    assert watching.error is None


def test_a_tensor_changed_in_place_is_measured_again() -> None:
    """The sum that a parent writes into a layer's output is the parent's."""

    class InPlace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(1, 1, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x).mul_(1e4)

    model = InPlace().half()
    model.layer.weight.data.fill_(100.0)
    with watch(model) as watching, torch.no_grad():
        model(torch.ones(1, 1, dtype=torch.float16))
    assert [(one.module, one.kind) for one in watching.events] == [("", "overflow")]


def test_hooks_are_gone_afterwards_and_nothing_is_left_on_tensors() -> None:
    """After the block the model has no hooks, and outputs carry no attributes."""
    model = TinyT5().eval()
    with watch(model):
        output = model(ids())
    assert all(not one._forward_hooks and not one._forward_pre_hooks for one in model.modules())
    assert not vars(output)


def test_results_and_gradients_are_those_without_a_watch() -> None:
    """Watching changes no bit of outputs or gradients."""
    model = TinyT5(overflowing=()).eval()
    model(ids()).square().sum().backward()
    plain = [one.grad.clone() for one in model.parameters()]
    model.zero_grad()
    with watch(model):
        model(ids()).square().sum().backward()
    assert all(torch.equal(one.grad, other) for one, other in zip(model.parameters(), plain, strict=True))


def test_a_fault_of_the_watch_itself_ends_it_and_not_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where measuring raises, the model runs on and the report says why it ends early."""

    def broken(_: torch.Tensor) -> torch.Tensor:
        raise ZeroDivisionError("broken")

    monkeypatch.setattr("troubleshoot.lab.watching.recorder.sample_of", broken)
    model = nn.Linear(2, 2)
    with watch(model) as watching:
        assert model(torch.zeros(1, 2)).shape == (1, 2)
    assert "broken" in str(watching.error)
    assert "broken" in watching.report()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", ["script", "trace"])
def test_torchscript_parts_break_nothing(kind: str) -> None:
    """Whether or not TorchScript takes hooks, the overflow is seen at the latest where its output is read."""
    plain = nn.Linear(2, 2, bias=False).half()
    scripted = torch.jit.script(plain) if kind == "script" else torch.jit.trace(plain, torch.zeros(1, 2, dtype=torch.float16))
    model = nn.Sequential(nn.Linear(2, 2).half(), scripted, nn.Identity())
    for one in (model[0].weight, next(scripted.parameters())):
        one.data.fill_(6e4)
    with watch(model) as watching:
        model(torch.full((1, 2), 0.1, dtype=torch.float16))
    assert watching.error is None
    assert watching.first is not None
    assert (watching.first["module"], watching.first["before"]) in (("1", None), ("", "2"))


def test_inference_mode_and_calls_of_parts_alone() -> None:
    """Tensors of inference mode are measured, also when the step is read outside of it, and a part that is called by itself is a step."""
    model = TinyT5().half().eval()
    with watch(model) as watching:
        with torch.inference_mode():
            x = model.shared(ids())
            mask = torch.zeros(10, 10, dtype=torch.bool)
            for block in model.block:
                x = block(x, mask)
        assert watching.first is not None
        assert watching.first["module"] == "block.1.feed_forward.wo"
        with torch.inference_mode():
            model.shared(ids())
    assert watching.error is None
    assert watching.steps == 2


def test_a_double_backward_and_two_calls_before_one_backward_are_measured() -> None:
    """Gradient penalties and siamese calls break nothing."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    x = torch.ones(1, 2, requires_grad=True)
    with watch(model) as watching:
        gradient = torch.autograd.grad((model(x) + model(2 * x)).sum(), x, create_graph=True)[0]
        gradient.square().sum().backward()
    assert watching.error is None
    assert watching.first is None
    assert all(one.grad is not None for one in model.parameters() if one.dim() == 2)


def test_samples_are_taken_now_and_then_and_extremes_always() -> None:
    """Shares come from the first steps and every tenth; a fault of a step in between is seen all the same."""
    model = nn.Linear(1, 1, bias=False).half()
    model.weight.data.fill_(300.0)
    with watch(model) as watching:
        for step in range(25):
            model(torch.full((1, 1), 300.0 if step == 17 else 0.0, dtype=torch.float16))
    assert [one.step for one in watching.events] == [17]
    output = next(one for one in watching.ranges if one.module == "")
    assert (output.calls, output.zeros) == (24, 1.0)


def test_a_watch_that_was_never_entered_says_so() -> None:
    """Without a with block nothing is recorded, and the report must not read as if all were well."""
    model = nn.Linear(4, 4)
    watching = watch(model)
    model(torch.ones(1, 4))
    assert watching.error is not None
    assert "with troubleshoot.watch(model)" in watching.error
    assert "with troubleshoot.watch(model)" in watching.report()
    with watching:
        model(torch.ones(1, 4))
    assert watching.error is None


def test_weights_that_training_broke_are_no_fault_of_a_checkpoint() -> None:
    """They were whole in the step before."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1)).half()
    with watch(model, backward=False) as watching:
        model(torch.ones(1, 4).half())
        model[1].weight.data.fill_(math.nan)
        model(torch.ones(1, 4).half())
    assert "checkpoint" not in story(watching)
    assert "during training" in story(watching)
    with watch(model, backward=False) as watching:
        model(torch.ones(1, 4).half())
    assert "before the first step" in story(watching)
    assert "checkpoint" not in story(watching)


class Arithmetic(nn.Module):
    """Code of a module without weights."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


@pytest.mark.parametrize("function", [lambda x: x.relu() / (x.relu() + 1e-8), lambda x: 1 / x.relu()])
def test_a_division_by_zero_is_no_activation_beyond_the_range(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Where nothing is larger than 5, nothing exceeds 65504: the divisor has become zero."""
    torch.manual_seed(0)
    with watch(nn.Sequential(nn.Linear(4, 4), Arithmetic(function)).half()) as watching:
        watching.model(torch.randn(8, 4).half())
    assert "65504" not in story(watching)
    first = watching.diagnose(environment="report").first
    assert first is not None
    assert first.cause == "numerics/underflow-epsilon"


def test_an_output_of_zeros_is_an_underflow() -> None:
    """Everything is finite, and nothing is left; a layer that was initialised with zeros returns them on purpose."""
    torch.manual_seed(0)
    with watch(nn.Sequential(nn.Linear(4, 4), Arithmetic(lambda x: x * 1e-5 * 1e-5)).half()) as watching:
        watching.model(torch.randn(8, 4).half())
    assert "zero everywhere in float16, from 1 (Arithmetic) on" in watching.report()
    assert watching.propose().modules == ("1",)
    first = watching.diagnose(environment="report").first
    assert first is not None
    assert first.cause == "numerics/underflow-epsilon"
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).half()
    model[1].weight.data.zero_()
    model[1].bias.data.zero_()
    with watch(model) as watching:
        model(torch.randn(8, 4).half())
    assert watching.vanished() is None
    assert "zero everywhere" not in watching.report()


def test_weights_that_a_cast_made_infinite_are_no_fault_of_a_checkpoint() -> None:
    """What was loaded is whole; float16 cannot hold it."""
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    model[0].weight.data.fill_(1e6)
    with watch(model.half()) as watching:
        model(torch.randn(2, 4).half())
    assert "checkpoint" not in story(watching)
    first = watching.diagnose(environment="report").first
    assert first is not None
    assert first.cause == "numerics/fp16-overflow"
