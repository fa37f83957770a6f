"""Hooks that measure what modules return, without waiting for the device.

A tensor is measured once, where it is first seen: as the output of the innermost module that returned it, or as the input of the first
module that reads it if code between modules made it. The measurements of a step are brought to the host by one asynchronous copy into
pinned memory, issued when the outermost call returns and when backward ends, so that what a later device-side assert destroys is
already on its way.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from troubleshoot.lab.watching.tensors import measurable, sample_of, tensors_in, version_of

#: Samples are taken in the first steps, and in every tenth later.
_SAMPLED, _SAMPLED_EVERY = 3, 10


@dataclass
class Seen:
    """A tensor that was seen in a step: ``made`` by a module (None: by code in ``parent``), read by ``readers``."""

    made: str | None
    parent: str | None
    dtype: str
    readers: list[str] = field(default_factory=list)
    own_arithmetic: bool = False


@dataclass
class Measured:
    """One measurement on its way: a tensor, or the gradient of one."""

    seen: Seen
    direction: str
    dtype: str
    low: float = 0.0
    high: float = 0.0
    zeros: float = 0.0
    subnormal: float = 0.0
    lost: float = 0.0
    sampled: bool = False


@dataclass
class Call:
    """An outermost call: its module and arguments, kept until it is known whether it went wrong."""

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass
class Packet:
    """Measurements of one step that were sent to the host together."""

    step: int
    order: list[Measured]
    call: Call | None
    parts: list[Any]
    scale: float | None = None


class Recorder:
    """Hooks on every module of some roots. ``consume`` gets each packet once its values are on the host."""

    def __init__(
        self, roots: dict[str, Any], names: dict[int, str], consume: Callable[[Packet], None], *, backward: bool, scaler: Any
    ) -> None:
        self.names = names
        self.consume = consume
        self.step = -1
        self.active = False
        self.error: str | None = None
        self._roots = {id(one) for one in roots.values()}
        self._modules = {id(one): one for root in roots.values() for one in root.modules()}
        self._arithmetic = {key for key, one in self._modules.items() if any(p is not None for p in one._parameters.values())}
        self._backward = backward
        self._scaler = scaler
        self._stack: list[str] = []
        self._outer: set[int] = set()
        self._seen: dict[int, tuple[Any, int, Seen]] = {}
        self._order: list[tuple[Measured, Any, Any, Any]] = []
        self._call: Call | None = None
        self._packets: list[Packet] = []
        self._handles: list[Any] = []
        self._in_backward = False

    def start(self) -> None:
        """Put the hooks in place."""
        self.active = True
        before, after = self._guarded(self._before), self._guarded(self._after)
        for module in self._modules.values():
            try:
                self._handles.append(module.register_forward_pre_hook(before, with_kwargs=True))
                self._handles.append(module.register_forward_hook(after))
            except RuntimeError:
                # A scripted module takes no such hooks; what it returns is seen where it is read.
                continue

    def stop(self) -> None:
        """Take the hooks away and bring what is left to the host."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._stack.clear()
        self.flush()
        self.active = False
        self.drain(wait=True)
        self._seen.clear()

    def _guarded(self, hook: Callable[..., None]) -> Callable[..., None]:
        """A hook must never break the program: the first thing that goes wrong ends the watch, and is told."""

        @functools.wraps(hook)
        def guarded(*args: Any) -> None:
            if not self.active:
                return
            try:
                hook(*args)
            except Exception as error:
                self.active = False
                self.error = f"watching stopped in step {self.step}: {type(error).__name__}: {error}"

        return guarded

    def _before(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        key = id(module)
        name = self.names.get(key)
        if name is None:
            # A copy that DataParallel made for another device.
            return
        if key in self._roots and not _in_backward_pass():
            # What an exception left behind.
            self._stack.clear()
        parent = self._stack[-1] if self._stack else None
        if not self._stack:
            self._outermost(key, module, args, kwargs)
        self._stack.append(name)
        for tensor in tensors_in((args, kwargs)):
            seen = self._look(tensor, None, parent, False)
            if seen is not None:
                seen.readers.append(name)

    def _outermost(self, key: int, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if _in_backward_pass():
            # A checkpointed block runs again: the same step.
            return
        if _capturing():
            # What runs in a CUDA graph runs again without Python, and nothing foreign may be captured.
            self.active = False
            self.error = "watching stopped: a CUDA graph is being captured; watch the model without graphs"
            return
        if self.step < 0 or key in self._roots or key in self._outer:
            self.flush()
            self.drain(wait=False)
            self._seen.clear()
            self._outer.clear()
            self._in_backward = False
            self.step += 1
            self._call = Call(module, args, dict(kwargs))
        self._outer.add(key)

    def _after(self, module: Any, args: Any, output: Any) -> None:
        name = self.names.get(id(module))
        if name is None:
            return
        while self._stack and self._stack.pop() != name:
            pass
        for tensor in tensors_in(output):
            self._look(tensor, name, self._stack[-1] if self._stack else None, id(module) in self._arithmetic)
        if not self._stack:
            self.flush()

    def _look(self, tensor: Any, made: str | None, parent: str | None, arithmetic: bool) -> Seen | None:
        """Return what is known of a tensor, measuring it where it is new; None where it cannot be measured."""
        known = self._seen.get(id(tensor))
        version = version_of(tensor)
        if known is not None and known[0]() is tensor and known[1] == version:
            return known[2]
        plain = measurable(tensor)
        if plain is None:
            return None
        seen = Seen(made, parent, _name(plain.dtype), [], arithmetic)
        self._seen[id(tensor)] = (weakref.ref(tensor), version, seen)
        self._measure(plain, seen, "forward")
        if self._backward and tensor.requires_grad and tensor.grad_fn is not None:
            tensor.register_hook(self._guarded(functools.partial(self._gradient, seen)))
        return seen

    def _gradient(self, seen: Seen, gradient: Any) -> None:
        import torch

        if not self._in_backward:
            self._in_backward = True
            torch.autograd.Variable._execution_engine.queue_callback(self._end_of_backward)
        plain = measurable(gradient)
        if plain is not None and plain.is_floating_point():
            self._measure(plain, seen, "backward")

    def _end_of_backward(self) -> None:
        self._in_backward = False
        self._guarded(self.flush)()

    def _measure(self, plain: Any, seen: Seen, direction: str) -> None:
        import torch

        # What is measured is detached, so autograd has no part in this.
        low, high = torch.aminmax(plain)
        sample = sample_of(plain) if self.step < _SAMPLED or self.step % _SAMPLED_EVERY == 0 else None
        self._order.append((Measured(seen, direction, _name(plain.dtype), sampled=sample is not None), low, high, sample))

    def flush(self) -> None:
        """Send what was measured since the last time on its way to the host."""
        if not self._order:
            return
        from troubleshoot.lab.watching.transfer import send

        order, self._order = self._order, []
        scale = getattr(self._scaler, "_scale", None) if self._scaler is not None else None
        try:
            parts = send(order, scale)
        except RuntimeError as error:
            # A dead CUDA context: what is on the host already stays readable.
            self.active = False
            self.error = f"watching stopped in step {self.step}: {str(error).splitlines()[0]}"
            return
        self._packets.append(Packet(self.step, [one[0] for one in order], self._call, parts))

    def drain(self, *, wait: bool) -> None:
        """Hand packets that have arrived to ``consume``; with ``wait``, all of them."""
        while self._packets:
            from troubleshoot.lab.watching.transfer import receive

            packet = self._packets[0]
            if not receive(packet, wait=wait):
                return
            self._packets.pop(0)
            self.consume(packet)

    def settle(self) -> None:
        """Read all that was measured so far."""
        self.flush()
        self.drain(wait=True)


@functools.lru_cache(maxsize=64)
def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _capturing() -> bool:
    import torch

    initialized = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return bool(initialized and torch.cuda.is_current_stream_capturing())


def _in_backward_pass() -> bool:
    import torch

    return bool(torch._C._current_graph_task_id() != -1)


def all_names(roots: dict[str, Any], prefixes: Iterable[str]) -> dict[int, str]:
    """Return the qualified name of every module by its identity, without the prefixes that wrappers (DDP, FSDP, compile) put in."""
    names: dict[int, str] = {}
    for root, module in roots.items():
        for name, one in module.named_modules():
            parts = [part for part in name.split(".") if part and part not in prefixes]
            names.setdefault(id(one), ".".join(([root] if root else []) + parts))
    return names
