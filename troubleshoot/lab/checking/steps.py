"""Optimizer steps: weights that do not move, gradients that are gone, and GradScaler used in the wrong order."""

from __future__ import annotations

import weakref
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import torch

from troubleshoot.lab.checking.check_findings import Place
from troubleshoot.lab.checking.exact import HALF
from troubleshoot.lab.checking.frames import users_line
from troubleshoot.lab.checking.recorder import Event, Recorder
from troubleshoot.lab.checking.records import ancestors, key_of
from troubleshoot.lab.checking.rounding import LOST, SOME, STUCK

#: Steps in a row that a GradScaler may leave out while it looks for its scale.
_SKIPS = 10
_EVERY = 10
_FIRST = 6


@dataclass
class _Gradient:
    """What is known of one parameter's gradient: the scaler that multiplied it and by how much, or that it is unscaled."""

    scaler: Any = None
    scales: set[float] = field(default_factory=set)
    unscaled: bool = False
    unscaled_at: Place = field(default_factory=Place)
    by_hand: Place | None = None
    backward_at: Place = field(default_factory=Place)
    stepped: bool = False


class Steps:
    """Follows every optimizer and GradScaler of the program."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.log = recorder.log
        self.optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self.gradients: dict[int, _Gradient] = {}
        #: which calls of a GradScaler's step left the optimizer's out
        self.left_out: list[int] = []
        self.scaler_steps = 0
        self.made_at: dict[int, Place] = {}
        self.skipped: dict[int, int] = defaultdict(int)
        self.taken: dict[int, int] = defaultdict(int)
        self.skip_place: dict[int, Place] = {}
        self.moved: dict[Place, list[tuple[float, float, float]]] = defaultdict(list)
        self.begun = 0
        self._plan: Any = None
        self._ran = False
        self._counts: dict[int, int] = defaultdict(int)
        self._clipping = False
        self._in_scaler_step = False
        self._ordered = -1

    # --- backward

    def parameters(self) -> list[Any]:
        """Return the parameters of all optimizers."""
        return [one for optimizer in list(self.optimizers) for group in optimizer.param_groups for one in group["params"]]

    def before_backward(self, loss: Any) -> Any:
        """Note where a backward pass begins, and whether its root is scaled."""
        record = self.recorder.records.of(loss) if isinstance(loss, torch.Tensor) else None
        self.recorder.backward_place = users_line()
        scaler = record.scaled if record is not None else None
        self.recorder.backward_scaled = scaler is not None
        self.begun = self.recorder.records.number
        return scaler

    def after_backward(self, scaler: Any) -> None:
        """Note what the gradients are now."""
        scale = _scale(scaler) if scaler is not None else 1.0
        for parameter in self.parameters():
            if parameter.grad is None:
                self.gradients.pop(id(parameter), None)
                continue
            record = self.recorder.records.of(parameter.grad)
            if record is None or record.number <= self.begun:
                continue
            known = self.gradients.setdefault(id(parameter), _Gradient())
            if known.unscaled and not known.stepped and scaler is not None and scaler is known.scaler and not known.by_hand:
                self._order("accumulated-after-unscale", known.unscaled_at, scale=scale)
            if known.scaler is not None and scaler is None and not known.unscaled and not known.stepped:
                self._order("never-scaled", self.recorder.backward_place, scale=max(known.scales, default=1.0))
            if known.stepped or known.scaler is None:
                known.scales = set()
            known.scaler, known.unscaled, known.stepped, known.by_hand = scaler, False, False, None
            known.scales.add(scale)
            known.backward_at = self.recorder.backward_place

    def zeroed(self, parameters: Any) -> None:
        """Gradients begin anew."""
        for one in parameters:
            self.gradients.pop(id(one), None)

    # --- scaler

    def unscaling(self, scaler: Any, optimizer: Any) -> None:
        """``unscale_`` begins."""
        place = users_line()
        plain: _Gradient | None = None
        half = None
        for parameter in _of(optimizer):
            if parameter.grad is None:
                continue
            known = self.gradients.get(id(parameter))
            if parameter.grad.dtype == torch.bfloat16:
                half = parameter
            if known is None:
                continue
            if known.by_hand is not None:
                self._order("unscaled-twice", known.by_hand, also=(place,), scale=max(known.scales, default=0.0))
            elif known.scaler is None and not known.unscaled:
                plain = known
            elif len(known.scales) > 1:
                self._order("mixed-scales", place, scale=max(known.scales), other=min(known.scales))
            known.unscaled, known.unscaled_at, known.scaler = True, place, scaler
        if plain is not None:
            self._order("never-scaled", plain.backward_at, also=(place,), scale=_scale(scaler))
        if half is not None:
            self.log.add("scaler-with-bf16", "amp/scaler-with-bf16", place, dtype="bfloat16", order=self.recorder.records.number)

    def scaler_step(self, scaler: Any, ran: bool) -> None:
        """``scaler.step`` has ended; ``ran``: the optimizer's own step was called."""
        key = id(scaler)
        self.skip_place[key] = users_line()
        self.skipped[key] = 0 if ran else self.skipped[key] + 1
        self.taken[key] += ran
        if not ran:
            self.left_out.append(self.scaler_steps)
        self.scaler_steps += 1
        scale = _scale(scaler)
        if self.skipped[key] == _SKIPS or (not ran and scale < 1.0):
            self._exhausted(key, scale)

    def _exhausted(self, key: int, scale: float) -> None:
        self.log.add(
            "scale-exhausted",
            "numerics/loss-scale-exhausted",
            self.skip_place[key],
            order=self.recorder.records.number + 1_000_000,
            skipped=self.skipped[key],
            scale=scale,
        )

    @property
    def exhausted(self) -> bool:
        """Whether a GradScaler has left out every step, and more than it takes to find its scale."""
        return any(count >= 5 and (not self.taken[key] or count >= _SKIPS) for key, count in self.skipped.items())

    def _order(self, rule: str, place: Place, also: tuple[Place, ...] = (), **numbers: Any) -> None:
        if self._ordered == self.log.step and (rule, "amp/scaler-order", place) not in self.log.findings:
            # What follows from the first mistake of a step is none of its own.
            return
        self._ordered = self.log.step
        self.log.add(rule, "amp/scaler-order", place, order=self.recorder.records.number, also=also, **numbers)

    # --- clipping

    def clipping(self, parameters: Any, limit: float, norm: float | None) -> None:
        """``clip_grad_norm_`` or ``clip_grad_value_`` is called."""
        place = users_line()
        for parameter in parameters:
            known = self.gradients.get(id(parameter))
            if known is None or parameter.grad is None:
                continue
            if known.scaler is not None and not known.unscaled:
                scale = max(known.scales, default=1.0)
                if scale > 1.0 and limit < scale * 1e-3 and (norm is None or norm > limit):
                    self._order("clipped-scaled", place, scale=scale, limit=limit, norm=norm)
                    return
            if known.stepped and known.scaler is not None:
                self._order("clipped-after-step", place, limit=limit)
                return

    def __call__(self, event: Event) -> None:
        """Look at what writes into gradients outside of all that."""
        if not event.info.mutates or event.backward or self._clipping or self.recorder.in_scaler or not self.gradients:
            return
        if self.recorder.in_optimizer or event.info.name not in ("mul", "div", "clamp", "clamp_min", "clamp_max") or not event.place.line:
            return
        targets = event.args[0] if isinstance(event.args[0], (list, tuple)) else [event.args[0]]
        keys = {key_of(one) for one in targets if isinstance(one, torch.Tensor)}
        for parameter in self.parameters():
            known = self.gradients.get(id(parameter))
            if known is None or parameter.grad is None or known.scaler is None or known.unscaled or key_of(parameter.grad) not in keys:
                continue
            scale = max(known.scales, default=1.0)
            factor = self._factor(event)
            if event.info.name in ("mul", "div") and factor and scale > 1:
                if event.info.name == "div":
                    factor = 1.0 / factor
                if abs(factor * scale - 1.0) < 0.01:
                    known.by_hand, known.unscaled = event.place, True
                elif factor < 1e-2 and event.info.name == "mul" and event.inputs[-1].numel() == 1 and len(event.inputs) > 1:
                    self._order("clipped-scaled", event.place, scale=scale, factor=factor)
            elif event.info.name.startswith("clamp"):
                limit = max((abs(one) for one in event.scalars()), default=0.0)
                if limit and limit < scale * 1e-3:
                    self._order("clipped-scaled", event.place, scale=scale, limit=limit)

    def _factor(self, event: Event) -> float:
        found = event.scalars()
        if found:
            return found[0]
        last = event.inputs[-1]
        return float(last) if last.numel() == 1 and len(event.inputs) > 1 else 0.0

    # --- optimizer steps

    def before_step(self, optimizer: Any) -> None:
        """An optimizer's step begins."""
        self.optimizers.add(optimizer)
        self._ran = True
        place = users_line()
        self._plan = None
        if not self._in_scaler_step and any(
            known is not None and known.stepped and known.scaler is not None for known in map(self._known, _of(optimizer))
        ):
            self._order("stepped-twice", place)
        scaled = next(
            (one for one in map(self._known, _of(optimizer)) if one is not None and one.scaler is not None and not one.unscaled), None
        )
        if scaled is not None and max(scaled.scales, default=1.0) > 1.0:
            self._order("stepped-scaled", place, scale=max(scaled.scales))
        self._gone(optimizer, place)
        self._counts[id(optimizer)] += 1
        count = self._counts[id(optimizer)]
        if count <= _FIRST or count % _EVERY == 0:
            self.recorder.paused += 1
            try:
                self._plan = (place, *_intended(optimizer))
            except Exception:
                self._plan = None
            finally:
                self.recorder.paused -= 1

    def _known(self, parameter: Any) -> _Gradient | None:
        return self.gradients.get(id(parameter)) if parameter.grad is not None else None

    def _gone(self, optimizer: Any, place: Place) -> None:
        """Gradients that are zero because the backward pass squashed them."""
        whole = [one for one in _of(optimizer) if one.grad is not None and one.grad.layout == torch.strided and one.grad.numel()]
        self.recorder.paused += 1
        try:
            for one in whole:
                record = self.recorder.records.of(one.grad)
                if record is None or int(torch.count_nonzero(one.grad)):
                    continue
                source = next(
                    (
                        found
                        for found, _ in [(record, 0), *ancestors(record, 40)]
                        if found.lost is not None and found.lost.mass > 0.9 and found.backward
                    ),
                    None,
                )
                if source is not None and source.lost is not None:
                    known = self.gradients.get(id(one))
                    where = known.backward_at if known is not None and known.backward_at.line else self.recorder.backward_place
                    self.log.add(
                        "gradient-gone",
                        "numerics/underflow-epsilon",
                        where,
                        op=source.op,
                        dtype=source.dtype,
                        order=source.number,
                        also=(source.place, place),
                        largest=source.lost.largest,
                        gradients=len(whole),
                    )
                    return
        finally:
            self.recorder.paused -= 1

    def after_step(self, optimizer: Any) -> None:
        """An optimizer's step has ended: compare what the weights did with what the same step does in float32."""
        for parameter in _of(optimizer):
            known = self.gradients.get(id(parameter))
            if known is not None:
                known.stepped = True
        if self._plan is None:
            return
        place, before, wanted = self._plan
        self._plan = None
        self.recorder.paused += 1
        try:
            dot = square = 0.0
            still = count = 0.0
            for parameter, old, new in zip(_halves(optimizer), before, wanted, strict=True):
                meant = new.to(torch.float64) - old.to(torch.float64)
                came = parameter.detach().to(torch.float64) - old.to(torch.float64)
                if not bool(torch.isfinite(meant).all()) or not bool(torch.isfinite(came).all()):
                    return
                dot += float((meant * came).sum())
                square += float((meant * meant).sum())
                moving = meant != 0
                still += float((moving & (came == 0)).sum())
                count += float(moving.sum())
            if square and count:
                self.moved[place].append((dot, square, still / count))
        finally:
            self.recorder.paused -= 1

    def finish(self) -> None:
        """Say which weights did not move, and which scalers never found their scale."""
        for place, steps in self.moved.items():
            square = sum(one[1] for one in steps)
            came = sum(one[0] for one in steps) / square
            stuck = sum(one[2] for one in steps) / len(steps)
            if came < 2 * LOST or stuck > SOME:
                self.log.add(
                    "weights-stuck",
                    "numerics/bf16-rounding",
                    place,
                    op="step",
                    order=self.recorder.records.number,
                    step=0,
                    sure=came < LOST or stuck > STUCK,
                    score=max(stuck, 1.0 - came),
                    came=max(0.0, came),
                    stuck=stuck,
                    steps=len(steps),
                )
        for key, count in self.skipped.items():
            if count >= 5 and not self.taken[key]:
                self._exhausted(key, 0.0)


def _of(optimizer: Any) -> list[Any]:
    return [one for group in optimizer.param_groups for one in group["params"] if isinstance(one, torch.Tensor)]


def _halves(optimizer: Any) -> list[Any]:
    return [one for one in _of(optimizer) if one.dtype in HALF and one.grad is not None and one.grad.layout == torch.strided]


def _intended(optimizer: Any) -> tuple[list[Any], list[Any]]:
    """Return the half-precision weights before a step, and what the same step in float32 makes of them."""
    chosen = _halves(optimizer)
    if not chosen or not torchs(optimizer):
        raise ValueError("no weights in half precision, or a step of which it is not known what else it does")
    before = [one.detach().clone() for one in chosen]
    copies = {}
    for one in chosen:
        copy = torch.nn.Parameter(one.detach().to(torch.float32))
        copy.grad = one.grad.detach().to(torch.float32)
        copies[one] = copy
    twin = object.__new__(type(optimizer))
    twin.__dict__.update(optimizer.__dict__)
    twin.param_groups = [
        {
            **{k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in group.items()},
            "params": [copies[one] for one in group["params"] if one in copies],
        }
        for group in optimizer.param_groups
    ]
    twin.state = defaultdict(dict)
    for one, copy in copies.items():
        state = optimizer.state.get(one)
        if state:
            twin.state[copy] = {k: v.detach().to(torch.float32, copy=True) if isinstance(v, torch.Tensor) else v for k, v in state.items()}
    step = type(optimizer).step
    while hasattr(step, "__wrapped__"):
        step = step.__wrapped__
    with torch.no_grad():
        step(twin)
    return before, [copies[one].detach() for one in chosen]


def torchs(optimizer: Any) -> bool:
    """Tell whether an optimizer is one of torch's own: its step may be done twice."""
    return type(optimizer).__module__.startswith("torch.")


def _scale(scaler: Any) -> float:
    value = getattr(scaler, "_scale", None)
    return float(value) if isinstance(value, torch.Tensor) else float(getattr(scaler, "_init_scale", 1.0))
