"""The way of a step's measurements to the host: one tensor per device, one asynchronous copy, and what remains of it after a CUDA error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from troubleshoot.lab.watching.observations import LIMITS

if TYPE_CHECKING:
    from troubleshoot.lab.watching.recorder import Measured, Packet

#: The last value of a buffer, by which a copy that came through is known.
_ARRIVED = 4242.0

#: Half of float16's smallest subnormal number: what is below rounds to zero.
_LOST = 2.0**-25


@dataclass
class Part:
    """The measurements of one device: the host's tensor, the event that follows its copy, and which numbers of it mean what."""

    host: Any
    event: Any
    extremes: list[list[Measured]]
    samples: list[tuple[int, list[Measured]]]
    scale: bool


def send(order: list[tuple[Measured, Any, Any, Any]], scale: Any) -> list[Part]:
    """Stack the measurements per device and start their copies. Returns at once; raises RuntimeError where the device is dead."""
    import torch

    devices: dict[Any, list[tuple[Measured, Any, Any, Any]]] = {}
    for one in order:
        devices.setdefault(one[1].device, []).append(one)
    parts = []
    with torch.no_grad():
        for device, measured in devices.items():
            parts.append(_pack(device, measured, scale if scale is not None and scale.device == device else None))
    return parts


def _pack(device: Any, measured: list[tuple[Measured, Any, Any, Any]], scale: Any) -> Part:
    import torch

    wide = torch.float32 if device.type == "mps" else torch.float64
    pieces, extremes, samples = [], [], []
    by_dtype: dict[Any, list[tuple[Measured, Any, Any, Any]]] = {}
    by_sample: dict[Any, list[tuple[Measured, Any]]] = {}
    for one in measured:
        by_dtype.setdefault(one[1].dtype, []).append(one)
        if one[3] is not None:
            by_sample.setdefault((one[3].dtype, one[3].shape[0]), []).append((one[0], one[3]))
    for group in by_dtype.values():
        pieces.append(torch.stack([value for one in group for value in one[1:3]]).to(wide))
        extremes.append([one[0] for one in group])
    for (dtype, size), rows in by_sample.items():
        normal = LIMITS[str(dtype).removeprefix("torch.")][1]
        # float32 holds the subnormal numbers of the halves; on the CPU half comparisons are slow besides.
        values = torch.stack([row[1] for row in rows]).to(dtype if dtype == torch.float64 else torch.float32).abs()
        nonzero = values > 0
        counts = ((values == 0).sum(1), (nonzero & (values < normal)).sum(1), (nonzero & (values < _LOST)).sum(1))
        pieces.append(torch.stack(counts).to(wide).reshape(-1))
        samples.append((size, [row[0] for row in rows]))
    if scale is not None:
        pieces.append(scale.detach().reshape(-1)[:1].to(wide))
    pieces.append(torch.full((1,), _ARRIVED, dtype=wide, device=device))
    flat = torch.cat(pieces)
    if device.type != "cuda":
        return Part(flat.cpu(), None, extremes, samples, scale is not None)
    host = torch.zeros(flat.shape, dtype=wide, pin_memory=True)
    host.copy_(flat, non_blocking=True)
    event = torch.cuda.Event()  # type: ignore[no-untyped-call]
    event.record(torch.cuda.current_stream(device))
    return Part(host, event, extremes, samples, scale is not None)


def receive(packet: Packet, *, wait: bool) -> bool:
    """Fill the measurements of a packet in. Return False where it is not there yet; what a dead device kept is left out."""
    for part in packet.parts:
        if part.event is None:
            continue
        try:
            if wait:
                part.event.synchronize()
            elif not part.event.query():
                return False
        except RuntimeError:
            # The context is lost; whether the copy came through is told by its last value, which is plain memory.
            continue
    arrived: list[Measured] = []
    for part in packet.parts:
        numbers = part.host.tolist()
        if numbers[-1] == _ARRIVED:
            arrived += _read(part, numbers, packet)
    known = {id(one) for one in arrived}
    packet.order = [one for one in packet.order if id(one) in known]
    packet.parts = []
    return True


def _read(part: Part, numbers: list[float], packet: Packet) -> list[Measured]:
    at = 0
    found: list[Measured] = []
    for group in part.extremes:
        for one in group:
            one.low, one.high = numbers[at], numbers[at + 1]
            at += 2
            found.append(one)
    for size, rows in part.samples:
        count = len(rows)
        for index, one in enumerate(rows):
            one.zeros, one.subnormal, one.lost = (numbers[at + index + count * row] / size for row in range(3))
        at += 3 * count
    if part.scale:
        packet.scale = numbers[at]
    return found
