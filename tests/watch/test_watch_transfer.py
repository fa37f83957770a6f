"""What is read when the device has failed: plain host memory, and of that only what had arrived."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from troubleshoot.lab.watching.analysis import Analysis  # noqa: E402
from troubleshoot.lab.watching.recorder import Measured, Packet, Seen  # noqa: E402
from troubleshoot.lab.watching.tensors import SAMPLE, sample_of  # noqa: E402
from troubleshoot.lab.watching.transfer import receive, send  # noqa: E402

pytestmark = pytest.mark.torch


class DeadEvent:
    """An event of a CUDA context that was lost to a device-side assert."""

    def query(self) -> bool:
        raise RuntimeError("CUDA error: device-side assert triggered")

    def synchronize(self) -> None:
        raise RuntimeError("CUDA error: device-side assert triggered")


class SlowEvent:
    """An event of a copy that is still under way."""

    def query(self) -> bool:
        return False

    def synchronize(self) -> None:
        pass


def packet(*tensors: Any) -> Packet:
    order = [
        (Measured(Seen("layer", None, "float16"), "forward", "float16", sampled=True), *torch.aminmax(one), sample_of(one))
        for one in tensors
    ]
    return Packet(0, [one[0] for one in order], None, send(order, None))


def test_what_had_arrived_is_read_although_the_device_is_dead() -> None:
    """A copy that came through before the assert still names the fault."""
    sent = packet(torch.tensor([1.0, float("inf")], dtype=torch.float16))
    sent.parts[0].event = DeadEvent()
    assert receive(sent, wait=True)
    analysis = Analysis({"layer": "Linear"})
    assert analysis.add(sent)
    assert analysis.first is not None
    assert analysis.first.module == "layer"


def test_what_had_not_arrived_is_left_out() -> None:
    """Zeros of a buffer that was never written are not taken for measurements."""
    sent = packet(torch.ones(4, dtype=torch.float16))
    sent.parts[0].event = DeadEvent()
    sent.parts[0].host.zero_()
    assert receive(sent, wait=True)
    assert sent.order == []


def test_a_copy_under_way_is_not_waited_for_until_asked() -> None:
    """Between steps nothing blocks; a question does."""
    sent = packet(torch.ones(4, dtype=torch.float16))
    sent.parts[0].event = SlowEvent()
    assert not receive(sent, wait=False)
    assert receive(sent, wait=True)
    assert (sent.order[0].low, sent.order[0].high) == (1.0, 1.0)


@pytest.mark.parametrize("shape", [(1,), (3,), (5, 7), (64, 64, 64), (2, 3, 50, 50)])
@pytest.mark.parametrize("form", ["plain", "transposed", "channels_last", "sliced", "expanded"])
def test_samples_are_small_and_of_the_tensor(shape: tuple[int, ...], form: str) -> None:
    """Whatever the layout, a sample has a power of four values of the tensor, at most 1,024, in memory of its own."""
    tensor = torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float32).reshape(shape)
    if form == "transposed":
        tensor = tensor.transpose(0, -1)
    elif form == "channels_last" and tensor.dim() == 4:
        tensor = tensor.to(memory_format=torch.channels_last)
    elif form == "sliced":
        tensor = tensor[..., ::2]
    elif form == "expanded":
        tensor = tensor.unsqueeze(0).expand(5, *shape)
    sample = sample_of(tensor)
    assert sample.shape[0] in {4**power for power in range(6)}
    assert sample.shape[0] <= SAMPLE
    assert torch.isin(sample, tensor).all()
    assert sample.untyped_storage().nbytes() <= SAMPLE * 4
