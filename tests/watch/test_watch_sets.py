"""The set of modules to keep in float32: proposed, verified, grown, shrunk."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from test_watch_faults import Products  # noqa: E402
from torch import nn  # noqa: E402
from watch_models import TinyT5, ids  # noqa: E402

import troubleshoot  # noqa: E402
from troubleshoot.basics.errors import InputError  # noqa: E402
from troubleshoot.lab.watching import keep_float32, watch  # noqa: E402

pytestmark = pytest.mark.torch


def test_keeping_the_proposed_set_in_float32_removes_the_nan() -> None:
    """The verified set is the one projection, the model without it is as it was, and with it the output is that of float32."""
    model = TinyT5().half().eval()
    reference = TinyT5().eval()
    reference.load_state_dict(model.state_dict())
    with watch(model) as watching:
        assert model(ids()).isnan().any()
    proposal = watching.verify()
    assert proposal.modules == ("block.1.feed_forward.wo",)
    assert proposal.verified is True
    assert all(one.dtype == torch.float16 for one in model.parameters())
    assert model(ids()).isnan().any()
    with keep_float32(model, proposal.modules):
        torch.testing.assert_close(model(ids()).float(), reference(ids()), rtol=0.05, atol=0.05)
    assert all(not one._forward_hooks and not one._forward_pre_hooks for one in model.modules())


def test_a_set_that_is_too_small_grows() -> None:
    """Every overflowing projection is found, though the first run shows only the first of them."""
    model = TinyT5(overflowing=(0, 2)).half().eval()
    with watch(model) as watching:
        model(ids())
    assert watching.propose().modules == ("block.0.feed_forward.wo",)
    assert set(watching.verify().modules) == {"block.0.feed_forward.wo", "block.2.feed_forward.wo"}


def test_many_layers_of_a_kind_are_found_without_a_run_for_each() -> None:
    """From the third layer of one kind on the others of that kind are tried at once, and those that need nothing are left out."""
    wanted = {f"block.{index}.feed_forward.wo" for index in (0, 1, 2, 4, 6)}
    model = TinyT5(blocks=8, overflowing=(0, 1, 2, 4, 6)).half().eval()
    with watch(model) as watching:
        model(ids())
    proposal = watching.verify()
    assert proposal.verified is True
    assert set(proposal.modules) == wanted


def test_a_norm_of_torch_that_reads_too_large_values_joins_the_set() -> None:
    """Torch's LayerNorm refuses float32 with half weights; casting the sum down would overflow again, so it is kept in float32 too."""

    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wo, self.norm, self.head = nn.Linear(4, 4, bias=False), nn.LayerNorm(4), nn.Linear(4, 2)
            self.wo.weight.data = torch.eye(4) * 1e4

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.norm(x + self.wo(x)))

    model = Residual().half()
    x = torch.tensor([[1.0, 30.0, -20.0, 5.0]], dtype=torch.float16)
    with watch(model) as watching:
        model(x)
    proposal = watching.verify()
    assert proposal.verified is True
    assert set(proposal.modules) == {"wo", "norm"}
    with keep_float32(model, proposal.modules):
        assert model(x).isfinite().all()


def test_code_that_overflows_is_kept_in_float32_by_one_of_its_layers() -> None:
    """A product that overflows is whole if one of its factors is float32; every member of the set that is found is needed."""
    model = nn.Sequential(nn.Identity(), Products()).half()
    x = torch.full((2, 4), 2.0, dtype=torch.float16)
    with watch(model) as watching:
        model(x)
    proposal = watching.verify()
    assert proposal.verified is True
    with keep_float32(model, proposal.modules):
        assert model(x).isfinite().all()
    for left_out in proposal.modules:
        with keep_float32(model, [one for one in proposal.modules if one != left_out]):
            assert not model(x).isfinite().all()


def test_a_float32_run_tells_what_float16_could_not_hold() -> None:
    """Nothing overflows in float32; the proposal names what exceeds 65504, and the verification tries it in float16."""
    model = TinyT5().eval()
    with watch(model) as watching:
        model(ids())
    assert watching.first is None
    assert watching.propose("float16").modules == ("block.1.feed_forward.wo",)
    proposal = watching.verify(dtype="float16")
    assert (proposal.modules, proposal.verified) == (("block.1.feed_forward.wo",), True)
    assert all(one.dtype == torch.float32 for one in model.parameters())


def test_under_autocast_the_set_is_left_out_of_it() -> None:
    """Autocast runs the projection in float16 although its weights are float32; kept out of it, the loss is finite."""
    model = TinyT5().eval()

    def run() -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.float16), torch.no_grad():
            return model(ids())

    with watch(model) as watching:
        assert run().isnan().any()
    assert watching.first is not None
    assert watching.first["module"] == "block.1.feed_forward.wo"
    proposal = watching.verify(run)
    assert (proposal.modules, proposal.verified) == (("block.1.feed_forward.wo",), True)
    with keep_float32(model, proposal.modules):
        assert run().isfinite().all()


def test_nan_inputs_cannot_be_repaired_and_that_is_said() -> None:
    """A verification that no set can pass returns what remains."""
    model = nn.Linear(2, 2).half()
    with watch(model) as watching:
        model(torch.full((1, 2), float("nan"), dtype=torch.float16))
    proposal = watching.verify()
    assert proposal.verified is False
    assert "(inputs)" in str(proposal.error)


def test_verify_without_a_call_says_what_to_give() -> None:
    """Nothing ran: there is nothing to repeat."""
    with watch(nn.Linear(2, 2)) as watching:
        pass
    with pytest.raises(InputError, match="verify"):
        watching.verify()


def test_a_module_that_does_not_exist_is_refused_by_name() -> None:
    """The error names the parts that exist, and the model has no hooks left."""
    model = TinyT5()
    with pytest.raises(InputError, match="block"):
        keep_float32(model, ["blocks.1"])
    assert all(not one._forward_pre_hooks for one in model.modules())


def test_an_exception_inside_a_kept_module_leaves_autocast_as_it_was() -> None:
    """Autocast is off inside only; a module that raises does not switch it off for what comes after."""

    class Raising(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            assert not torch.is_autocast_enabled("cpu")
            raise ValueError("inside")

    model = nn.Sequential(Raising())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with keep_float32(model, ["0"]), pytest.raises(ValueError, match="inside"):
            model(torch.zeros(1, 2))
        assert torch.is_autocast_enabled("cpu")


def test_a_block_that_gives_back_what_came_in_is_found_where_float32_is_refused() -> None:
    """Code between modules that refuses float32 beside half weights makes the borders closed: each module casts its output back."""

    class Strict(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.products = Products()
            self.matrix = nn.Parameter(torch.eye(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.linear(self.products(x), self.matrix)

    model = Strict().half()
    x = torch.full((2, 4), 2.0, dtype=torch.float16)
    with watch(model) as watching:
        assert not model(x).isfinite().all()
    proposal = watching.verify()
    assert (proposal.verified, proposal.closed) == (True, True)
    namespace = {"troubleshoot": troubleshoot, "model": model}
    exec(proposal.code, namespace)
    assert model(x).isfinite().all()
    namespace["handle"].remove()
    assert not model(x).isfinite().all()
