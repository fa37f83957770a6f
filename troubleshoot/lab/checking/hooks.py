"""What is seen beside operations: optimizers, GradScaler, clipping, backward passes, loading, what models return."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from troubleshoot.lab.checking.births import Births
from troubleshoot.lab.checking.exact import HALF, bad_of
from troubleshoot.lab.checking.frames import users_line
from troubleshoot.lab.checking.recorder import Recorder, usable
from troubleshoot.lab.checking.steps import Steps, torchs


class Hooks:
    """Puts the wrappers in place, and takes them away."""

    def __init__(self, recorder: Recorder, births: Births, steps: Steps) -> None:
        self.recorder, self.births, self.steps = recorder, births, steps
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Put the wrappers in place."""
        from torch.optim import optimizer as optim

        self._undo.append(optim.register_optimizer_step_pre_hook(self._before_step).remove)
        self._undo.append(optim.register_optimizer_step_post_hook(self._after_step).remove)
        self._undo.append(torch.nn.modules.module.register_module_forward_hook(self._returned).remove)
        self._wrap(optim.Optimizer, "__init__", self._new_optimizer)
        self._wrap(optim.Optimizer, "zero_grad", self._zero_grad)
        self._wrap(torch.nn.Module, "zero_grad", self._zero_module)
        self._wrap(torch.Tensor, "backward", self._backward)
        self._wrap(torch.autograd, "backward", self._backward)
        self._wrap(torch.nn.Module, "load_state_dict", self._load)
        self._wrap(torch, "tensor", self._constant)
        scaler = torch.amp.grad_scaler.GradScaler
        self._wrap(scaler, "scale", self._scale)
        self._wrap(scaler, "unscale_", self._unscale)
        self._wrap(scaler, "step", self._scaler_step)
        self._wrap(scaler, "update", self._inside_scaler)
        for name, one in (("clip_grad_norm_", self._clip_norm), ("clip_grad_value_", self._clip_value)):
            self._wrap(torch.nn.utils.clip_grad, name, one)
            original = getattr(torch.nn.utils, name)
            setattr(torch.nn.utils, name, getattr(torch.nn.utils.clip_grad, name))
            self._undo.append(functools.partial(setattr, torch.nn.utils, name, original))

    def remove(self) -> None:
        """Take the wrappers away."""
        for one in reversed(self._undo):
            one()
        self._undo.clear()

    def _wrap(self, owner: Any, name: str, around: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if self.recorder.ended:
                return original(*args, **kwargs)
            return around(original, *args, **kwargs)

        own = name in vars(owner)
        setattr(owner, name, wrapper)
        self._undo.append(lambda: setattr(owner, name, original) if own else delattr(owner, name))

    def _safe(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call something of ours without being seen; an error of it ends the check and not the program."""
        self.recorder.paused += 1
        try:
            return function(*args, **kwargs)
        except Exception as error:
            self.recorder.fail(error)
            return None
        finally:
            self.recorder.paused -= 1

    # --- optimizers

    def _new_optimizer(self, original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(optimizer, *args, **kwargs)
        self.steps.optimizers.add(optimizer)
        self.steps.made_at.setdefault(id(optimizer), users_line())
        return result

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.recorder.ended:
            return
        self._safe(self.steps.before_step, optimizer)
        self.recorder.in_optimizer = torchs(optimizer)
        self.recorder.optimizer_place = self.steps.made_at.get(id(optimizer), self.recorder.optimizer_place)

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.recorder.ended:
            return
        self.recorder.in_optimizer = False
        self._safe(self.steps.after_step, optimizer)
        self.recorder.log.step += 1
        if self.recorder.first and self.recorder.log.step >= self.recorder.first:
            self.recorder.ended = True

    def _zero_grad(self, original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        self.steps.zeroed([one for group in optimizer.param_groups for one in group["params"]])
        return original(optimizer, *args, **kwargs)

    def _zero_module(self, original: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        self.steps.zeroed(list(module.parameters()))
        return original(module, *args, **kwargs)

    # --- backward passes and what models return

    def _backward(self, original: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
        if torch._C._current_graph_task_id() != -1 or self.recorder.paused:
            return original(loss, *args, **kwargs)
        if original.__name__ == "backward" and getattr(original, "__module__", "") == "torch.autograd" and self._nested:
            return original(loss, *args, **kwargs)
        root = loss[0] if isinstance(loss, (list, tuple)) and loss else loss
        self._safe(self.births.on_loss, root)
        scaler = self._safe(self.steps.before_backward, root)
        self._nested = True
        try:
            return original(loss, *args, **kwargs)
        finally:
            self._nested = False
            self.recorder.backward_scaled = False
            self._safe(self.steps.after_backward, scaler)

    _nested = False

    def _returned(self, module: Any, args: Any, output: Any) -> None:
        if not self.recorder.ended and self.births.births:
            self._safe_output(module, args, output)

    def _safe_output(self, module: Any, args: Any, output: Any) -> None:
        try:
            self.births.on_output(module, args, output)
        except Exception as error:
            self.recorder.fail(error)

    # --- GradScaler

    def _scale(self, original: Any, scaler: Any, outputs: Any) -> Any:
        result = original(scaler, outputs)
        if isinstance(result, torch.Tensor) and scaler.is_enabled():
            self.recorder.record_of(result).scaled = scaler
        return result

    def _unscale(self, original: Any, scaler: Any, optimizer: Any) -> Any:
        if scaler.is_enabled():
            self._safe(self.steps.unscaling, scaler, optimizer)
        return self._inside_scaler(original, scaler, optimizer)

    def _inside_scaler(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        before, self.recorder.in_scaler = self.recorder.in_scaler, True
        try:
            return original(*args, **kwargs)
        finally:
            self.recorder.in_scaler = before

    def _scaler_step(self, original: Any, scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        self.steps._ran = False
        self.steps._in_scaler_step = True
        try:
            result = original(scaler, optimizer, *args, **kwargs)
        finally:
            self.steps._in_scaler_step = False
        if scaler.is_enabled():
            self._safe(self.steps.scaler_step, scaler, self.steps._ran)
        return result

    def _clip_norm(self, original: Any, parameters: Any, max_norm: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        before, self.steps._clipping = self.steps._clipping, True
        try:
            result = original(chosen, max_norm, *args, **kwargs)
        finally:
            self.steps._clipping = before
        self._safe(lambda: self.steps.clipping(chosen, float(max_norm), float(result)))
        return result

    def _clip_value(self, original: Any, parameters: Any, clip_value: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        self._safe(lambda: self.steps.clipping(chosen, float(clip_value), None))
        before, self.steps._clipping = self.steps._clipping, True
        try:
            return original(chosen, clip_value, *args, **kwargs)
        finally:
            self.steps._clipping = before

    # --- loading and constants

    def _load(self, original: Any, module: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        self._safe(self._look_at_state, state)
        return original(module, state, *args, **kwargs)

    def _look_at_state(self, state: Any) -> None:
        for name, one in state.items():
            if isinstance(one, torch.Tensor) and usable(one):
                kind = bad_of(one)
                if kind and not any(part in name for part in ("mask", "bias_table")):
                    record = self.recorder.record_of(one)
                    if record.birth is None:
                        self.recorder.log.add(
                            "nan-weights",
                            "checkpoint/nan-weights",
                            users_line(),
                            op="load_state_dict",
                            module=name,
                            order=record.number,
                            dtype=str(one.dtype)[6:],
                            value=kind,
                        )
                        return

    def _constant(self, original: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(data, *args, **kwargs)
        if result.dtype in HALF and not isinstance(data, torch.Tensor):
            self._safe(self._look_at_constant, original, data, result)
        return result

    def _look_at_constant(self, original: Any, data: Any, result: Any) -> None:
        """Numbers of the program that the dtype turns into inf, zero or each other."""
        from troubleshoot.lab.checking.records import Birth, Lost

        wanted = original(data, dtype=torch.float64)
        place = users_line()
        record = self.recorder.records.new("lift_fresh", place, str(result.dtype)[6:], (), False)
        self.recorder.records.put(result, record)
        record.bad = bad_of(result)
        if record.bad and not bad_of(wanted):
            record.birth = self.births.births.setdefault(
                (place, "constant-overflow", "inf"),
                Birth(
                    "inf",
                    record,
                    "tensor",
                    "",
                    record.dtype,
                    "numerics/constant-overflow",
                    "constant-overflow",
                    place,
                    self.recorder.log.step,
                    {"constant": float(wanted.abs().max())},
                    False,
                    False,
                ),
            )
        elif record.bad:
            record.deliberate = True
        gone = (result == 0) & (wanted != 0)
        if bool(gone.any()):
            record.lost = Lost(float(gone.to(torch.float32).mean()), 1.0, float(wanted[gone].abs().max()), float(wanted[gone].abs().max()))
