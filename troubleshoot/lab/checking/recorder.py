"""The mode that sees every operation, keeps a record of each result, and hands both to the rules.

What is seen is below autograd: the operations of the backward pass, of optimizers and of code outside of modules count too. A rule must
never break the program: the first error of ours ends the check, and is told.
"""

# ruff: noqa: SIM905  (lists of words read better as text)
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from troubleshoot.lab.checking.check_findings import Place
from troubleshoot.lab.checking.exact import HALF, again, bad_of, tensors
from troubleshoot.lab.checking.float32 import drawn, dtype_drawn
from troubleshoot.lab.checking.frames import users_line
from troubleshoot.lab.checking.log import Log
from troubleshoot.lab.checking.records import Record, Records, key_of

#: Operations that move, select or compare values: what comes out is what went in.
SELECTING = frozenset(
    "where masked_fill masked_select masked_scatter index index_select gather embedding slice select clone copy relu threshold "
    "hardtanh maximum minimum max min amax amin topk sort argmax argmin cat stack constant_pad_nd repeat roll flip zeros_like "
    "ones_like new_zeros new_ones new_full full full_like zeros ones zero fill eye tril triu one_hot scatter index_put index_copy "
    "nan_to_num clamp clamp_min clamp_max sign floor ceil round trunc abs neg native_dropout bernoulli max_pool2d_with_indices "
    "slice_backward select_backward embedding_dense_backward threshold_backward unbind split im2col col2im upsample_nearest2d "
    "slice_scatter select_scatter _local_scalar_dense randn rand randint randperm normal uniform exponential empty empty_like "
    "new_empty empty_strided rand_like randn_like lift_fresh scalar_tensor isnan isinf isfinite unfold_backward index_add "
    "multinomial".split()
)
_RANDOM = frozenset(
    "randn rand randint randperm normal uniform exponential bernoulli rand_like randn_like native_dropout multinomial".split()
)
_EMPTY = frozenset(("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"))
_TESTS = frozenset(("isnan", "isinf", "isfinite"))
_FRESH = frozenset("full full_like new_full scalar_tensor lift_fresh lift fill arange linspace zeros ones".split())


class Info:
    """What is known of an operation from its schema."""

    __slots__ = ("arithmetic", "draws", "empty", "foreach", "fresh", "mutates", "name", "random", "skip", "test")

    def __init__(self, func: Any) -> None:
        name = func.__name__.partition(".")[0]
        space = func.namespace
        schema = func._schema
        self.mutates = bool(schema.is_mutable)
        self.name = name.rstrip("_") if self.mutates and not name.startswith("__") else name
        self.name = self.name.removeprefix("_foreach_")
        self.foreach = name.startswith("_foreach_")
        self.skip = (
            space in ("profiler", "prim", "_c10d_functional", "c10d", "prims")
            or (func.is_view and name not in ("lift_fresh",))
            or name in ("detach", "_version", "resize_", "set_", "record_stream", "_nested_tensor_size", "requires_grad_")
        )
        self.empty = name in _EMPTY
        self.random = self.name in _RANDOM
        self.draws = drawn(func)
        self.fresh = self.name in _FRESH
        self.test = self.name in _TESTS
        self.arithmetic = self.name not in SELECTING and not self.random and not self.empty


class Event:
    """One operation, seen from the rules."""

    __slots__ = (
        "_exact",
        "_wide",
        "args",
        "backward",
        "func",
        "info",
        "inputs",
        "kwargs",
        "node",
        "out",
        "outs",
        "place",
        "recorder",
        "records",
        "saved",
    )

    def __init__(self, recorder: Recorder, func: Any, info: Info, args: Any, kwargs: Any, inputs: list[Any], records: list[Record]) -> None:
        self.recorder, self.func, self.info, self.args, self.kwargs = recorder, func, info, args, kwargs
        self.inputs, self.records = inputs, records
        self.saved: Any = None
        self.out: Any = None
        self.outs: list[tuple[Any, Record]] = []
        self.place = Place()
        self.backward = False
        self.node: Any = None
        self._exact: Any = False
        self._wide: Any = False

    def exact(self, number: int = 0, *, wide: bool = False) -> Any:
        """Return a result as it is where half precision is float32 (``wide``: float32 is float64 too); None where that cannot be told."""
        known = self._wide if wide else self._exact
        if known is False:
            known = None
            if not self.info.random and not (self.info.mutates and self.saved is None):
                known = again(self.func, self.args, self.kwargs, self.saved, half=not wide)
            if wide:
                self._wide = known
            else:
                self._exact = known
        return known[number] if known is not None and number < len(known) else None

    def scalars(self) -> list[float]:
        """Return the numbers among the arguments."""
        return [float(one) for one in (*self.args, *self.kwargs.values()) if type(one) in (float, int)]


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call, unused-ignore]
    """Sees every operation; ``rules`` are called with each event."""

    def __init__(self, log: Log, rules: list[Callable[[Event], None]], *, every: int = 1, first: int = 0) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.log = log
        self.rules = rules
        self.every = max(1, every)
        self.first = first
        self.records = Records()
        self.error: str | None = None
        self.paused = 0
        self.ended = False
        self.ops = 0
        #: the dtype of every drawing of random numbers
        self.draws: list[str] = []
        #: the dtypes of half precision that were met
        self.met: set[str] = set()
        #: the line of the forward pass, by autograd's sequence number
        self.forward: dict[int, Place] = {}
        #: the line that started the backward pass
        self.backward_place = Place()
        self.in_optimizer = False
        #: where the optimizer was made that is at work
        self.optimizer_place = Place()
        self.in_loading = False
        self.in_scaler = False
        self.backward_scaled = False
        self._infos: dict[Any, Info] = {}
        self._unknown: set[Any] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.paused or self.ended:
            out = func(*args, **kwargs)
            if self.ended and drawn(func):
                self.draws.append(dtype_drawn(out))
            return out
        info = self._infos.get(func)
        if info is None:
            info = self._infos[func] = Info(func)
        if info.skip or not all(one is torch.Tensor or one is torch.nn.Parameter for one in types):
            return func(*args, **kwargs)
        event: Event | None = None
        if self.every == 1 or self.log.step % self.every == 0:
            try:
                event = self._before(func, info, args, kwargs)
            except Exception as error:
                self.fail(error)
        out = func(*args, **kwargs)
        if info.draws:
            self.draws.append(dtype_drawn(out))
        if event is not None and not self.ended:
            self.paused += 1
            try:
                self._after(event, out)
            except Exception as error:
                self.fail(error)
            finally:
                self.paused -= 1
        return out

    def fail(self, error: Exception) -> None:
        """End the check: the program goes on without it."""
        import os

        if os.environ.get("TROUBLESHOOT_DEBUG"):
            import traceback

            traceback.print_exc()
        self.ended = True
        self.error = f"{type(error).__name__}: {error}"

    def _before(self, func: Any, info: Info, args: Any, kwargs: Any) -> Event:
        inputs = _inputs(args, kwargs)
        records = [self.record_of(one) for one in inputs]
        event = Event(self, func, info, args, kwargs, inputs, records)
        if info.mutates and args and (info.arithmetic or info.name in ("copy", "clamp", "clamp_min")):
            target = args[0]
            if isinstance(target, torch.Tensor):
                if target.dtype in HALF or (info.name == "copy" and not target.is_floating_point()):
                    event.saved = target.clone()
            elif isinstance(target, (list, tuple)) and target and isinstance(target[0], torch.Tensor) and target[0].dtype in HALF:
                event.saved = [one.clone() for one in target]
        self.ops += 1
        return event

    def record_of(self, tensor: Any) -> Record:
        """Return the record of a tensor, a new one for a tensor that comes from elsewhere."""
        known = self.records.of(tensor)
        if known is None:
            known = self.records.new("given", Place(), _dtype(tensor), (), False)
            if usable(tensor):
                known.bad = bad_of(tensor)
            self.records.put(tensor, known)
        return known

    def _after(self, event: Event, out: Any) -> None:
        event.out = out
        info = event.info
        node = torch._C._current_autograd_node()
        event.node = node
        event.backward = node is not None and not torch.is_grad_enabled()
        event.place = self._place(event)
        results = tensors(out)
        if info.mutates and not results:
            first = event.args[0]
            results = [one for one in first if isinstance(one, torch.Tensor)] if isinstance(first, (list, tuple)) else tensors(first)
        keys = {key_of(one) for one in event.inputs} if not info.mutates else set()
        parents = tuple(dict.fromkeys(event.records))
        for one in results:
            if type(one) not in (torch.Tensor, torch.nn.Parameter) or one.layout != torch.strided or one.device.type == "meta":
                continue
            key = key_of(one)
            if key in keys and info.name not in ("lift_fresh",):
                continue
            record = self.records.new(info.name, event.place, _dtype(one), parents, event.backward)
            if one.dtype in HALF:
                self.met.add(record.dtype)
            record.unread = info.empty and one.is_floating_point()
            record.mask = one.dtype == torch.bool or (
                bool(parents)
                and all(parent.mask for parent in parents)
                and info.name
                in ("_to_copy", "copy", "sum", "rsub", "mul", "clone", "logical_not", "bitwise_not", "expand", "clamp", "clamp_min", "add")
            )
            if one.numel() <= 1:
                record.scaled = next((parent.scaled for parent in parents if parent.scaled is not None), None)
            if usable(one) and not info.empty:
                record.bad = bad_of(one)
            self.records.put(one, record)
            event.outs.append((one, record))
        if not event.backward and torch.is_grad_enabled():
            # The node of this operation has just got its number.
            self.forward[torch._C._autograd._get_sequence_nr() - 1] = event.place
            if len(self.forward) > 400_000:
                for number in list(self.forward)[:200_000]:
                    del self.forward[number]
        for rule in self.rules:
            rule(event)

    def _place(self, event: Event) -> Place:
        place = users_line(sys._getframe(3))
        if event.backward and "Backward" in event.node.name():
            # A user's own backward is on the stack itself; of torch's, the line is that of the forward pass.
            known = self.forward.get(event.node._sequence_nr()) if event.node.name()[0].isupper() else None
            if known is not None and known.line and (place == self.backward_place or not place.line):
                return known
        return place


def usable(tensor: Any) -> bool:
    """Tell whether a tensor has floating-point values that can be read."""
    return bool(
        (tensor.is_floating_point() or tensor.is_complex())
        and tensor.numel()
        and tensor.layout == torch.strided
        and tensor.device.type != "meta"
        and type(tensor) in (torch.Tensor, torch.nn.Parameter)
    )


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _inputs(args: Any, kwargs: Any) -> list[Any]:
    found = []
    for one in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(one, torch.Tensor):
            if one.layout == torch.strided:
                found.append(one)
        elif isinstance(one, (list, tuple)):
            found += [part for part in one if isinstance(part, torch.Tensor) and part.layout == torch.strided]
    return found
