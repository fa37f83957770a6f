"""What low precision loses without a sign: values squashed to zero, sums that absorb, integers that become the same, phases."""

# ruff: noqa: SIM905  (lists of words read better as text)
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from troubleshoot.lab.checking.check_findings import Place
from troubleshoot.lab.checking.exact import HALF, finite, flat, ulp, zeroed
from troubleshoot.lab.checking.recorder import Event, Recorder, usable
from troubleshoot.lab.checking.records import Lost, ancestors

#: Integers up to here are exact.
_EXACT = {"float16": 2048, "bfloat16": 256, "float8_e4m3fn": 16, "float8_e5m2": 8}
_ADDING = frozenset("add sub rsub lerp addcmul addcdiv".split())
#: Through these a state stays the same state; a matrix product or a norm makes something else.
_CARRYING = frozenset("add sub rsub mul div lerp addcmul addcdiv copy clone _to_copy neg stack cat".split())
_COUNTING = frozenset("arange linspace _to_copy copy cumsum add mul sub lift_fresh full clone".split())
_PHASES = frozenset(("sin", "cos", "tan", "polar"))
#: An update of which less than this comes through is lost.
LOST = 0.3
#: Of the values that an update would change, this part stays as it is: nothing moves, or (with the float32 run as witness) too little.
STUCK, SOME = 0.8, 0.6
_FEW = 4
_TAIL = 10


def squashed(event: Event) -> None:
    """Note values of a half-precision result that are zero and would not be in float32."""
    info = event.info
    if not info.arithmetic and info.name not in ("clamp", "clamp_min", "maximum", "copy", "full", "lift_fresh"):
        return
    for number, (out, record) in enumerate(event.outs):
        if out.dtype not in HALF or record.bad or not usable(out):
            continue
        if int(torch.count_nonzero(out)) == out.numel():
            continue
        exact = event.exact(number)
        if exact is None or exact.shape != out.shape:
            continue
        gone = zeroed(out, exact)
        if gone is None:
            continue
        share, mass, largest = gone
        tiny = next((one for one in event.scalars() if one and abs(one) < 6e-8), None)
        record.lost = Lost(share, mass, largest, tiny)
        if info.name == "mse_loss" and event.backward:
            continue
        if mass >= 0.5 and not event.backward and info.name not in ("_softmax", "_log_softmax", "sigmoid", "exp", "erf", "erfc"):
            sub = largest < 1e-3 and out.dtype == torch.float16
            event.recorder.log.add(
                "squashed",
                "numerics/underflow-epsilon",
                event.place,
                op=info.name,
                dtype=record.dtype,
                sure=False,
                score=mass * (1.0 if sub else 0.2),
                order=record.number,
                share=share,
                largest=largest,
            )


@dataclass
class _Sum:
    """One line that adds to what it made before: the changes that were meant, and what came through of them."""

    op: str = ""
    dtype: str = ""
    order: int = 0
    step: int = 0
    meant: list[tuple[float, float]] = field(default_factory=list)
    stuck: list[float] = field(default_factory=list)


class Absorbing:
    """A state that its own line adds to, and whose changes are rounded away: running sums, moving averages, integrators."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.sums: dict[tuple[Place, str], _Sum] = {}

    def __call__(self, event: Event) -> None:
        """Look at one operation."""
        info = event.info
        gathered = event.backward and "AccumulateGrad" in event.node.name()
        if info.name not in _ADDING or (event.backward and not gathered) or self.recorder.in_optimizer or not event.place.line:
            return
        for number, (out, record) in enumerate(event.outs):
            if out.dtype not in HALF or record.bad or not usable(out):
                continue
            base = self._base(event, out, number)
            if base is None:
                self._flat(event, number, out)
                continue
            exact = event.exact(number)
            if exact is None or exact.shape != out.shape:
                continue
            before = flat(base).to(torch.float64)
            meant = flat(exact).to(torch.float64) - before
            came = flat(out).to(torch.float64) - before
            square = float((meant * meant).sum())
            if not square:
                continue
            one = self.sums.setdefault((event.place, info.name), _Sum(info.name, record.dtype, record.number, event.recorder.log.step))
            if len(one.meant) < 4096:
                one.meant.append((float((meant * came).sum()), square))
                moving = meant != 0
                one.stuck.append(float((moving & (came == 0)).sum()) / max(1, int(moving.sum())))

    def _base(self, event: Event, out: Any, number: int) -> Any:
        """Return the operand that was made by this very line before."""
        if event.info.mutates and event.saved is not None:
            record = event.records[number]
            if self._again(event, record):
                return event.saved[number] if isinstance(event.saved, list) else event.saved
            return None
        for tensor, record in zip(event.inputs, event.records, strict=True):
            if tensor.shape == out.shape and tensor.dtype == out.dtype and self._again(event, record):
                return tensor
        return None

    def _again(self, event: Event, record: Any) -> bool:
        return any(
            one.place == event.place and one.op == event.info.name and one.backward == event.backward
            for one, _ in [(record, 0), *ancestors(record, 6, _CARRYING)]
        )

    def _flat(self, event: Event, number: int, out: Any) -> None:
        """A difference of nearly equal numbers, or a sum that leaves nothing of a variation: for the float32 run to judge."""
        if event.backward or event.info.name not in ("add", "sub", "rsub"):
            return
        exact = event.exact(number)
        if exact is None or exact.shape != out.shape:
            return
        wanted, found = flat(exact).to(torch.float64), flat(out).to(torch.float64)
        noise = float(torch.linalg.vector_norm(found - wanted))
        spread = float(torch.linalg.vector_norm(wanted - wanted.mean()))
        numbers = {}
        score = 0.0
        if spread and wanted.numel() >= 8 and noise / spread > 0.1:
            score, numbers = (
                noise / spread,
                {"noise": noise / spread, "distinct": int(found.unique().numel()), "of": int(wanted.unique().numel())},
            )
        computed = [
            one
            for one, record in zip(event.inputs, event.records, strict=True)
            if one.dtype in HALF and usable(one) and record.op not in ("given", "full", "arange", "lift_fresh", "randn", "rand")
        ]
        if len(computed) == 2:
            size = max(float(torch.linalg.vector_norm(flat(one).to(torch.float64))) for one in computed)
            left = float(torch.linalg.vector_norm(wanted))
            eps = 2.0**-8 if out.dtype == torch.bfloat16 else 2.0**-11
            if size and eps * size > 0.1 * left:
                score, numbers = max(score, eps * size / max(left, 1e-30)), {"operands": size, "difference": left}
        if len(event.inputs) == 2 and all(usable(one) and one.shape == out.shape for one in event.inputs) and not event.info.mutates:
            base = max(event.inputs, key=lambda one: float(torch.linalg.vector_norm(flat(one).to(torch.float64))))
            before = flat(base).to(torch.float64)
            meant, came = wanted - before, found - before
            square = float((meant * meant).sum())
            left = float((meant * came).sum()) / square if square else 1.0
            if left < LOST and not numbers:
                score, numbers = 1.0 - left, {"came": left, "calls": 1}
        if score > 0.1:
            event.recorder.log.add(
                "cancelled" if "difference" in numbers else "absorbed" if "came" in numbers else "flattened",
                "numerics/bf16-rounding",
                event.place,
                op=event.info.name,
                dtype=event.outs[number][1].dtype,
                sure=False,
                score=score,
                order=event.outs[number][1].number,
                numbers=numbers,
            )

    def finish(self) -> None:
        """Turn what did not move into findings."""
        for (place, op), one in self.sums.items():
            calls = len(one.meant)
            if calls < _FEW:
                continue
            half = calls // 2
            total = sum(square for _, square in one.meant)
            late = sum(square for _, square in one.meant[half:])
            came = sum(dot for dot, _ in one.meant) / total
            came_late = sum(dot for dot, _ in one.meant[half:]) / late if late else 1.0
            stuck = sum(one.stuck) / calls
            # It stands still at its end, though what is added is as large as before.
            tail = max(_TAIL, calls // 5)
            still = (
                calls > tail and min(one.stuck[-tail:]) > 0.99 and sum(part[1] for part in one.meant[-tail:]) > 0.1 * total * tail / calls
            )
            sure = came < LOST or (came_late < 0.1 and late > 0.2 * total) or stuck > STUCK or still
            if sure or stuck > SOME:
                self.recorder.log.add(
                    "absorbed",
                    "numerics/bf16-rounding",
                    place,
                    op=op,
                    dtype=one.dtype,
                    step=one.step,
                    order=one.order,
                    sure=sure,
                    score=stuck,
                    came=max(0.0, min(came, came_late)),
                    stuck=stuck,
                    calls=calls,
                )


class Integers:
    """Positions, timesteps, ids and counts in a dtype that cannot tell them apart."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.single: dict[Place, tuple[set[float], set[float], str, int]] = {}

    def __call__(self, event: Event) -> None:
        """Look at one operation."""
        if event.info.name not in _COUNTING or event.backward:
            return
        for number, (out, record) in enumerate(event.outs):
            limit = _EXACT.get(record.dtype)
            if limit is None or record.bad or not out.numel() or not usable(out):
                continue
            values = flat(out.detach()).to(torch.float64)
            if float(values.abs().max()) < limit:
                continue
            exact = self._meant(event, number, out)
            if exact is None or exact.numel() != out.numel() or not finite(exact):
                continue
            wanted = flat(exact.detach()).to(torch.float64)
            if not bool((wanted == wanted.round()).all()) or bool((wanted == values).all()):
                continue
            record.rounded = True
            self._judge(event, record, wanted, values)

    def _meant(self, event: Event, number: int, out: Any) -> Any:
        name = event.info.name
        if name in ("_to_copy", "copy", "clone"):
            source = event.inputs[-1] if name == "copy" else event.inputs[0]
            return source if source.dtype not in HALF and source.shape == out.shape else None
        return event.exact(number)

    def _judge(self, event: Event, record: Any, wanted: Any, values: Any) -> None:
        distinct = wanted.unique()
        if distinct.numel() < 3:
            known = self.single.setdefault(event.place, (set(), set(), record.dtype, record.number))
            known[0].update(distinct.tolist())
            known[1].update(values.unique().tolist())
            return
        kept = int(values.unique().numel())
        count = int(distinct.numel())
        gaps = distinct[1:] - distinct[:-1]
        even = float((gaps == gaps.min()).to(torch.float32).mean())
        sequence = even > 0.5 and count - kept >= max(1, 0.02 * count)
        event.recorder.log.add(
            "integers",
            "numerics/bf16-rounding",
            event.place,
            op=event.info.name,
            dtype=record.dtype,
            sure=sequence,
            score=max((count - kept) / count, 0.5 * float((wanted != values).to(torch.float32).mean())),
            order=record.number,
            distinct=kept,
            of=count,
            largest=float(wanted.abs().max()),
        )

    def finish(self) -> None:
        """Numbers that came one by one."""
        for place, (wanted, values, dtype, order) in self.single.items():
            lost = len(wanted) - len(values)
            if lost >= 1 or len(wanted) >= 1:
                self.recorder.log.add(
                    "integers",
                    "numerics/bf16-rounding",
                    place,
                    dtype=dtype,
                    sure=len(wanted) >= 4 and lost >= 0.25 * len(wanted),
                    score=max(0.1, lost / len(wanted)),
                    order=order,
                    distinct=len(values),
                    of=len(wanted),
                    largest=max(wanted),
                )


def phases(event: Event) -> None:
    """Sine and cosine of angles so large that the dtype's step is a good part of a turn."""
    if event.info.name not in _PHASES or event.backward or not event.inputs:
        return
    angle, record = event.inputs[0], event.records[0]
    if record.bad or not usable(angle):
        return
    chain = [record, *(one for one, _ in ancestors(record, 4))]
    dtype = next((one.dtype for one in chain if one.dtype in ("float16", "bfloat16")), None)
    if dtype is None:
        return
    sizes = flat(angle.detach()).to(torch.float32).abs()
    border = 64.0 if dtype == "bfloat16" else 512.0
    share = float((sizes >= border).to(torch.float32).mean())
    largest = float(sizes.max())
    if share < 0.01 or record.op in ("given", "randn", "rand"):
        return
    rounded = next((one for one in chain if one.rounded), None)
    if rounded is None and angle.dtype not in HALF:
        # The values were rounded before they were widened and multiplied: that is where the digits went.
        rounded = next((one for one in chain if one.dtype == dtype and one.place.line), None)
    place = rounded.place if rounded is not None else record.place if record.place.line else event.place
    event.recorder.log.add(
        "phase",
        "numerics/bf16-rounding",
        place,
        op=event.info.name,
        dtype=dtype,
        order=record.number,
        also=(record.place, event.place),
        largest=largest,
        apart=ulp(largest, dtype),
        share=share,
    )


def conversions(event: Event) -> None:
    """Floating-point values that an integer type cannot hold, or that a copy into one cuts off."""
    name = event.info.name
    if name not in ("_to_copy", "copy") or event.backward or not event.inputs:
        return
    source = event.inputs[-1] if name == "copy" else event.inputs[0]
    for out, record in event.outs:
        if record.dtype.startswith("float8") and usable(source):
            sizes = flat(source.detach()).to(torch.float64).abs()
            limit = float(torch.finfo(out.dtype).max)
            beyond = float((sizes > 1.04 * limit).to(torch.float32).mean())
            if beyond > 0.001 and not record.bad:
                event.recorder.log.add(
                    "integer-range",
                    "quantized/accuracy",
                    event.place,
                    op=name,
                    dtype=record.dtype,
                    order=record.number,
                    share=beyond,
                    largest=float(sizes.max()),
                    limit=limit,
                )
            continue
        if out.is_floating_point() or out.is_complex() or out.dtype == torch.bool or not usable(source) or source.is_complex():
            continue
        if event.records[-1 if name == "copy" else 0].bad:
            continue
        came_from = event.records[-1 if name == "copy" else 0]
        chain = [came_from, *(one for one, _ in ancestors(came_from, 4))]
        ids = next((one for one in chain if one.rounded and one.op in ("_to_copy", "copy")), None)
        if ids is not None and out.dtype in (torch.int64, torch.int32):
            event.recorder.log.add(
                "integers-back", "numerics/bf16-rounding", ids.place, op=name, dtype=ids.dtype, order=ids.number, also=(event.place,)
            )
        rough = next((one for one in chain if one.coarse > 0.3), None)
        if rough is not None and out.dtype in (torch.int8, torch.uint8):
            event.recorder.log.add(
                "coarse",
                "quantized/accuracy",
                rough.place,
                op=rough.op,
                dtype=record.dtype,
                order=rough.number,
                also=(event.place,),
                error=rough.coarse,
            )
            return
        values = flat(source.detach()).to(torch.float64)
        limits = torch.iinfo(out.dtype)
        beyond = float(((values < limits.min - 1 + 1e-9) | (values > limits.max + 1 - 1e-9)).to(torch.float32).mean())
        numbers = {"share": beyond, "largest": float(values.abs().max()), "limit": limits.max}
        if beyond > 0.001:
            event.recorder.log.add(
                "integer-range", "quantized/accuracy", event.place, op=name, dtype=record.dtype, order=record.number, numbers=numbers
            )
        elif name == "copy" and event.place.line and float(values.abs().max()) > 0:
            cut = values - values.trunc()
            mass = float(torch.linalg.vector_norm(cut) / torch.linalg.vector_norm(values))
            if mass > 0.1:
                event.recorder.log.add(
                    "cut-off",
                    "dtype-mismatch/buffer-write",
                    event.place,
                    op=name,
                    dtype=record.dtype,
                    order=record.number,
                    sure=mass > 0.5,
                    score=mass,
                    share=mass,
                )


def coarse(event: Event) -> None:
    """Note how far rounding or clamping is off: what a quantisation with a wrong scale shows."""
    if event.info.name not in ("round", "clamp") or event.backward or event.info.mutates or not event.inputs or not usable(event.inputs[0]):
        return
    source, record = flat(event.inputs[0].detach()).to(torch.float64), event.records[0]
    for out, made in event.outs:
        if out.numel() < 8 or made.bad or record.bad or out.shape != event.inputs[0].shape:
            continue
        size = float(torch.linalg.vector_norm(source))
        found = flat(out.detach()).to(torch.float64)
        error = float(torch.linalg.vector_norm(found - source)) / size if size else 0.0
        alive = source != 0
        gone = float((alive & (found == 0)).sum()) / max(1, int(alive.sum()))
        # One value far beyond the others takes the whole range.
        made.coarse = max(error, gone if gone > 0.9 else 0.0, record.coarse)


def quantised(event: Event) -> None:
    """A quantisation that is far from what it quantises."""
    if (
        not event.info.name.startswith(("quantize_per", "fake_quantize"))
        or event.backward
        or not event.inputs
        or not usable(event.inputs[0])
    ):
        return
    out = tensors_of(event.out)
    source = event.inputs[0].detach().to(torch.float64)
    if out is None or out.shape != source.shape:
        return
    found = (out.dequantize() if out.is_quantized else out).detach().to(torch.float64)
    size = float(torch.linalg.vector_norm(source))
    error = float(torch.linalg.vector_norm(found - source)) / size if size else 0.0
    if error > 0.3:
        event.recorder.log.add("quantised", "quantized/accuracy", event.place, op=event.info.name, dtype=str(out.dtype)[6:], error=error)


def tensors_of(value: Any) -> Any:
    """Return the first tensor of a result."""
    from troubleshoot.lab.checking.exact import tensors

    return next(iter(tensors(value)), None)


def masks(event: Event) -> None:
    """An attention mask of zeros and ones in a floating-point dtype: it is added to the scores, and masks nothing."""
    if "scaled_dot_product" not in event.info.name or event.backward:
        return
    mask = event.kwargs.get("attn_mask", event.kwargs.get("attn_bias"))
    if mask is None and event.info.name == "_scaled_dot_product_attention_math" and len(event.args) > 3:
        mask = event.args[3]
    if isinstance(mask, torch.Tensor) and mask.is_floating_point() and mask.numel() > 1:
        values = mask.detach().to(torch.float32).unique()  # type: ignore[no-untyped-call, unused-ignore]
        if values.numel() == 2 and values.tolist() == [0.0, 1.0]:
            event.recorder.log.add(
                "float-mask", "dtype-mismatch/attention-mask", event.place, op="scaled_dot_product_attention", dtype=str(mask.dtype)[6:]
            )


def unwritten(event: Event) -> None:
    """A parameter or buffer that is read before anything was written into it."""
    name = event.info.name
    if name in ("copy", "fill", "zero", "normal", "uniform", "_to_copy", "clone") or event.info.empty or event.info.random:
        return
    for number, (tensor, record) in enumerate(zip(event.inputs, event.records, strict=True)):
        if record.unread and isinstance(tensor, torch.nn.Parameter) and not (event.info.mutates and number == 0):
            record.unread = False
            event.recorder.log.add(
                "uninitialized",
                "checkpoint/uninitialized",
                record.place if record.place.line else event.place,
                op=name,
                dtype=record.dtype,
                also=(event.place,),
                order=record.number,
            )
