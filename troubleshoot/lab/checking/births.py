"""inf and NaN that come from finite values: where, why, and whether anything depends on them.

Many programs make inf or NaN on purpose or in passing (the logarithm of a mask, a division that ``where`` picks out again), so a birth is
a finding only where it reaches something that counts: a loss, a weight, a number that is printed, what a model returns.
"""

# ruff: noqa: SIM905  (lists of words read better as text)
from __future__ import annotations

import math
from typing import Any

import torch

from troubleshoot.lab.checking.check_findings import Place
from troubleshoot.lab.checking.exact import HALF, bad_of, tensors, widened_halves
from troubleshoot.lab.checking.frames import inside_module, module_path, users_line
from troubleshoot.lab.checking.recorder import Event, Recorder, usable
from troubleshoot.lab.checking.records import Birth, Lost, Record, ancestors

_NORMALISING = frozenset(("_softmax", "_log_softmax", "_safe_softmax"))
_DIVIDING = frozenset("div reciprocal rsqrt log log2 log10 addcdiv pow atanh true_divide".split())
#: Their results are zero for ordinary arguments: the fault is with what takes the logarithm of, or divides by, them.
_SQUASHING = frozenset("_softmax sigmoid exp _log_softmax tanh erf erfc gelu".split())
_EXAMINING = frozenset("argmax argmin topk sort multinomial _local_scalar_dense".split())
_SELECTS = frozenset("argmax argmin topk sort multinomial".split())


class Births:
    """The rule, and the births that it has seen."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.log = recorder.log
        self.births: dict[tuple[Place, str, str], Birth] = {}

    def __call__(self, event: Event) -> None:
        """Look at one operation."""
        info = event.info
        bad_in = [one for one in event.records if one.bad]
        if info.name in _EXAMINING:
            for tensor, record in zip(event.inputs, event.records, strict=True):
                if record.birth is not None and usable(tensor) and bad_of(tensor):
                    self.sink(record, "choice" if info.name in _SELECTS else "number", event.place)
        fine = True
        for number, (out, record) in enumerate(event.outs):
            if not record.bad:
                continue
            fine = False
            if event.args and info.mutates and self.recorder.in_optimizer:
                parent = next((one for one in bad_in if one.birth is not None), None)
                if parent is not None:
                    self.sink(parent, "weights", event.place)
            if self._meant(event, record, bad_in):
                record.deliberate = True
                continue
            inherited = next((one.birth for one in bad_in if one.birth is not None), None)
            if inherited is not None:
                record.birth = inherited
                continue
            if bad_in and not (record.bad == "nan" and all(one.bad == "inf" for one in bad_in)):
                self._brought(event, record, bad_in)
                continue
            self._born(event, number, out, record, bad_in)
        if fine and event.outs and not info.test and any(out.is_floating_point() for out, _ in event.outs):
            for one in bad_in:
                if one.birth is not None:
                    if self._hidden(event, one.birth):
                        self.sink(one, "zero", event.place)
                    else:
                        one.birth.absorbed = True

    def _hidden(self, event: Event, birth: Birth) -> bool:
        """Tell whether an overflow that is finite again (1 / inf = 0) gives another result than the value that float32 has there."""
        true = birth.numbers.get("float32")
        if not event.info.arithmetic or event.info.mutates or not true or birth.backward:
            return False
        args = widened_halves(list(event.args))
        args = [torch.nan_to_num(one, posinf=true, neginf=-true) if isinstance(one, torch.Tensor) and usable(one) else one for one in args]
        try:
            meant = tensors(event.func(*args, **widened_halves(dict(event.kwargs))))[0].to(torch.float64)
        except Exception:
            return False
        found = event.outs[0][0].detach().to(torch.float64)
        return bool(((found == 0) & (meant.abs() > max(6e-5, 1e-4 * float(found.abs().max())))).any())

    def _meant(self, event: Event, record: Record, bad_in: list[Record]) -> bool:
        """Tell whether the program wrote the inf or NaN itself, or carries one on that it wrote."""
        if event.info.fresh and not bad_in and event.info.name not in ("lift_fresh", "lift", "arange", "linspace"):
            finite = [one for one in event.scalars() if math.isfinite(one)]
            if not any(abs(one) > 65504 for one in finite):
                return True
        if event.info.name in ("lift_fresh", "lift"):
            return record.birth is None
        if any(not math.isfinite(one) for one in event.scalars()) and record.bad == "inf":
            return True
        if any(one.deliberate for one in bad_in) and not any(one.birth for one in bad_in):
            return record.bad == "inf" or any(one.deliberate and one.bad == "nan" for one in bad_in)
        # The logarithm of a mask is how one is made.
        return event.info.name == "log" and all(one.mask for one in event.records)

    def _brought(self, event: Event, record: Record, bad_in: list[Record]) -> None:
        """NaN or inf that came into the program from outside."""
        source = bad_in[0]
        place = source.place if source.place.line else event.place
        cause, rule = "numerics/nan-loss", "given-nonfinite"
        position = event.records.index(source)
        tensor = event.inputs[position]
        if isinstance(tensor, torch.nn.Parameter) or any(isinstance(one, torch.nn.Parameter) for one in event.inputs if one is tensor):
            cause, rule = "checkpoint/nan-weights", "nan-weights"
        if source.unread or any(one.unread for one, _ in ancestors(source, 2)):
            cause, rule = "checkpoint/uninitialized", "uninitialized"
        birth = self._birth(event, record, place, cause, rule, {"value": source.bad}, singular=True)
        source.birth = record.birth = birth

    def _born(self, event: Event, number: int, out: Any, record: Record, bad_in: list[Record]) -> None:
        exact = event.exact(number)
        same = exact is not None and bool(bad_of(exact))
        if exact is None:
            same = out.dtype not in HALF
        place, also = event.place, []
        name = event.info.name
        numbers: dict[str, Any] = {"value": record.bad}
        largest = max((float(_largest(one)) for one in event.inputs if usable(one)), default=0.0)
        numbers["largest_input"] = largest
        if exact is not None and not same:
            numbers["float32"] = float(_largest(exact))
        half = out.dtype in HALF or out.element_size() < 2
        cause, rule = "numerics/nan-loss", "nonfinite"
        root = self._zero_source(event)
        if out.element_size() < 2 or name.startswith(("quantize", "fake_quantize")):
            cause, rule = "quantized/accuracy", "overflow"
        elif half and not same and self._constant(event, exact):
            cause, rule = "numerics/constant-overflow", "constant-overflow"
            numbers["constant"] = self._constant(event, exact)
        elif name in _NORMALISING and bad_in:
            cause, rule = "numerics/masked-row", "masked-row"
        elif root is None and self._nothing_left(event, record.bad):
            cause, rule = "numerics/masked-row", "nothing-left"
        elif half and not same and (record.bad == "inf" or out.dtype == torch.float16) and largest > 1.0 and not root:
            if event.backward:
                cause, rule = "numerics/nan-loss", "gradient-overflow"
                also, place = [place], self.recorder.backward_place
            else:
                cause, rule = "numerics/fp16-overflow" if out.dtype == torch.float16 else "numerics/nan-loss", "overflow"
        elif root is not None:
            source, lost = root
            cause, rule = "numerics/underflow-epsilon", "divided-by-lost"
            numbers |= {"lost": lost.largest, "scalar": lost.scalar}
            if source.place.line and source.op not in _SQUASHING and not (event.backward and source.backward):
                also, place = [place], source.place
        elif self._cancelled(event):
            # A probability that is nearly one is one, and what is left of it zero; a variance below zero is a difference of roundings.
            below = name in ("acos", "asin", "sqrt", "rsqrt") or record.bad == "nan"
            cause, rule = "numerics/bf16-rounding" if below else "numerics/underflow-epsilon", "rounded-out-of-domain"
            source_place = self._cancelled(event)
            if source_place is not None and source_place.line and source_place != place:
                also, place = [place], source_place
        elif half and not same:
            cause = "numerics/underflow-epsilon" if name in _DIVIDING else "numerics/fp16-overflow" if out.dtype == torch.float16 else cause
        birth = self._birth(event, record, place, cause, rule, numbers, singular=same)
        birth.also += also
        if self.recorder.in_optimizer:
            birth.also.append(self.recorder.optimizer_place)
        record.birth = birth

    def _birth(
        self, event: Event, record: Record, place: Place, cause: str, rule: str, numbers: dict[str, Any], *, singular: bool
    ) -> Birth:
        key = (place, rule, record.bad)
        known = self.births.get(key)
        if known is None:
            scaled = event.backward and self.recorder.backward_scaled
            known = self.births[key] = Birth(
                record.bad,
                record,
                event.info.name,
                module_path() if not event.backward else "",
                record.dtype,
                cause,
                rule,
                place,
                self.log.step,
                numbers,
                event.backward,
                singular,
                scaled,
            )
        return known

    def _zero_source(self, event: Event) -> tuple[Record, Lost] | None:
        """For a division, logarithm or root: the operation at which what it takes became zero, though it should not."""
        name = event.info.name
        divisor = event.inputs[1:] if name in ("div", "true_divide") and len(event.inputs) > 1 else event.inputs
        if name == "addcdiv":
            divisor = event.inputs[-1:]
        for one in divisor:
            if not usable(one) or not bool((one == 0).any()):
                continue
            record = self.recorder.records.of(one)
            if record is None:
                continue
            for candidate, distance in [(record, 0), *ancestors(record, 5)]:
                if candidate.lost is not None and (candidate.lost.mass > 0.3 or distance <= 2):
                    return candidate, candidate.lost
        return None

    def _cancelled(self, event: Event) -> Place | None:
        """A root or logarithm of a value below zero, or an arc function beyond one, by no more than half precision rounds."""
        name = event.info.name
        if name not in ("sqrt", "rsqrt", "log", "pow", "acos", "asin", "acosh", "atanh", "log1p", "div") or not event.inputs:
            return None
        value = event.inputs[-1] if name == "div" else event.inputs[0]
        record = event.records[-1] if name == "div" else event.records[0]
        if not usable(value):
            return None
        chain = [record, *(one for one, _ in ancestors(record, 4))]
        if not any(one.dtype in ("float16", "bfloat16") for one in chain):
            return None
        low, high = (float(part) for part in torch.aminmax(value.detach().to(torch.float32)))
        if name in ("acos", "asin", "atanh"):
            edge = max(high - 1.0, -1.0 - low)
            return event.place if 0 <= edge < 0.05 else None
        source = next(
            (one for one in chain if one.op in ("sub", "rsub", "add", "mean", "var") and one.dtype in ("float16", "bfloat16")), None
        )
        if low <= 0 and source is not None and source.op in ("sub", "rsub"):
            return source.place
        return None

    def _constant(self, event: Event, exact: Any) -> float | None:
        """Return the constant of the program that the dtype cannot hold, where it is what overflowed."""
        limit = 65504.0 if any(out.dtype == torch.float16 for out, _ in event.outs) else 3.38e38
        for one in event.scalars():
            if math.isfinite(one) and abs(one) > limit:
                return one
        for tensor, record in zip(event.inputs, event.records, strict=True):
            if not usable(tensor) or record.bad:
                continue
            largest = _largest(tensor)
            written = record.op in _WRITTEN or (tensor.numel() > 3 and tensor.detach().abs().unique().numel() <= 2)
            if largest > limit and (written or largest >= 0.99 * _LAST):
                return largest
            if event.info.name in ("add", "sub") and largest in _MASKS and (written or largest >= 65504.0):
                return largest
        return None

    def _nothing_left(self, event: Event, bad: str) -> bool:
        """A mean of nothing: an empty tensor, a sum of weights or of a mask that is zero, a loss whose targets are all ignored."""
        name = event.info.name
        if name in ("mean", "var", "std", "var_mean", "std_mean", "median"):
            return any(one.numel() == 0 for one in event.inputs)
        if name.startswith("nll_loss"):
            return True
        if name in ("div", "true_divide") and len(event.inputs) > 1 and bad == "nan" and not event.backward:
            count = event.records[-1]
            return bool((event.inputs[-1] == 0).any()) and any(
                one.op == "sum" or (one.op in _KEEPING and one.mask) for one in [count, *(one for one, _ in ancestors(count, 2))]
            )
        return False

    def sink(self, record: Record, what: str, place: Place) -> None:
        """Note that something depends on a birth."""
        birth = record.birth
        if birth is None or (birth.backward and birth.scaled and what != "weights"):
            return
        if not birth.sunk or what in ("loss", "weights"):
            birth.sunk, birth.sunk_at = birth.sunk or what, birth.sunk_at if birth.sunk else place
            self.log.certain()

    def on_loss(self, loss: Any) -> None:
        """A backward pass begins at a tensor."""
        record = self.recorder.records.of(loss) if isinstance(loss, torch.Tensor) else None
        if record is not None and record.birth is not None:
            self.sink(record, "loss", users_line())

    def on_output(self, module: Any, args: Any, output: Any) -> None:
        """A module returns: what the outermost one returns counts."""
        if not self.births or self.recorder.ended or self.recorder.paused:
            return
        for one in _found(output):
            record = self.recorder.records.of(one) if type(one) is torch.Tensor else None
            if record is not None and record.birth is not None and not record.birth.sunk and inside_module() <= 1 and usable(one):
                self.recorder.paused += 1
                try:
                    if bad_of(one):
                        self.sink(record, "output", users_line())
                finally:
                    self.recorder.paused -= 1

    def finish(self, *, exhausted: bool = False) -> None:
        """Turn the births that count into findings. ``exhausted``: a GradScaler left out every step."""
        for birth in self.births.values():
            if birth.backward and birth.scaled and birth.sunk != "weights":
                if not (exhausted and birth.singular):
                    continue
                birth.sunk = "skipped"
            if not birth.sunk and (birth.absorbed or birth.backward):
                continue
            self.log.add(
                birth.rule,
                birth.cause,
                birth.place,
                op=birth.op,
                module=birth.module,
                dtype=birth.dtype,
                step=birth.step,
                order=birth.record.number,
                also=(*birth.also, birth.sunk_at),
                reaches=birth.sunk or "end",
                numbers=birth.numbers,
            )


_KEEPING = frozenset(("_to_copy", "clamp", "clamp_min", "copy", "add"))
_WRITTEN = frozenset("full full_like new_full scalar_tensor lift_fresh fill masked_fill where".split())
_LAST = float(torch.finfo(torch.bfloat16).max)
_MASKS = frozenset((1e4, 1e9, 65504.0, 32752.0, float(torch.finfo(torch.float32).max), float(torch.finfo(torch.bfloat16).max)))


def _largest(tensor: Any) -> float:
    plain = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    values = plain.detach().to(torch.float64).abs().reshape(-1)
    values = values[torch.isfinite(values)]
    return float(values.max()) if values.numel() else 0.0


def _found(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [one for part in value.values() for one in _found(part)]
    return tensors(value)
