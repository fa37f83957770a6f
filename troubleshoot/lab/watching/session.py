"""``watch()``: the context manager that users hold, and everything that can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from troubleshoot.basics.errors import InputError
from troubleshoot.lab.watching.analysis import Analysis
from troubleshoot.lab.watching.observations import INPUTS, LIMITS, OUTSIDE, Event, Proposal, Range
from troubleshoot.lab.watching.recorder import Call, Packet, Recorder, all_names
from troubleshoot.lab.watching.scales import ScaleHistory

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis

#: What wrappers put into qualified names: DDP and DataParallel, FSDP, torch.compile, activation checkpointing.
_WRAPPERS = ("_fsdp_wrapped_module", "_orig_mod", "_checkpoint_wrapped_module")


def watch(model: Any, *, backward: bool = True, scaler: Any = None) -> Watch:
    """Watch the numerical range of every module of ``model`` while the block runs.

    ``model`` is a ``torch.nn.Module`` (also under DDP, FSDP or ``torch.compile``, which runs uncompiled meanwhile) or a mapping of names to
    modules, such as ``pipe.components`` of a diffusers pipeline. ``backward``: gradients too. ``scaler``: a GradScaler whose scale is
    followed.

    Raises:
        InputError: there is no module to watch.
    """
    return Watch(model, backward=backward, scaler=scaler)


class Watch:
    """A running or finished watch; see :func:`watch`. It keeps the arguments of one call of the model, the first that went wrong."""

    def __init__(self, model: Any, *, backward: bool = True, scaler: Any = None) -> None:
        import torch

        roots = {"": model}
        if isinstance(model, Mapping):
            roots = {str(name): one for name, one in model.items() if isinstance(one, torch.nn.Module)}
        if not roots or not all(isinstance(one, torch.nn.Module) for one in roots.values()):
            raise InputError(f"watch() takes a torch.nn.Module or a mapping that holds some, not {type(model).__name__}")
        self.model = _unwrapped(roots[""]) if "" in roots else None
        names = all_names({name: _unwrapped(one) for name, one in roots.items()}, _WRAPPERS)
        # A wrapper goes by the name of what it wraps.
        for one in roots.values():
            for inner in one.modules():
                names.setdefault(id(inner), "")
        modules = {id(inner): inner for one in roots.values() for inner in one.modules()}
        self._modules = {names[key]: one for key, one in reversed(list(modules.items()))}
        self._analysis = Analysis({name: type(one).__name__ for name, one in self._modules.items()})
        self._recorder = Recorder(roots, names, self._consume, backward=backward, scaler=scaler)
        self._sharded = any(type(one).__name__ == "FullyShardedDataParallel" for one in modules.values()) or any(
            type(one).__name__ == "DTensor" for root in roots.values() for one in root.parameters()
        )
        self._stack = ExitStack()
        self._failing: Call | None = None
        self._last: Call | None = None
        self._entered = False

    def __enter__(self) -> Watch:
        self._entered = True
        _run_uncompiled(self._stack)
        self._recorder.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._recorder.stop()
        finally:
            self._stack.close()

    def _consume(self, packet: Packet) -> None:
        if packet.call is not None:
            self._last = packet.call
        if self._analysis.add(packet) and self._failing is None:
            self._failing = packet.call

    def _settled(self) -> Analysis:
        self._recorder.settle()
        return self._analysis

    @property
    def error(self) -> str | None:
        """What ended the watch early, or that it never began; None otherwise."""
        if not self._entered:
            return "nothing is recorded outside of a with block: with troubleshoot.watch(model) as watch: ..."
        return self._recorder.error

    @property
    def steps(self) -> int:
        """How many steps were seen: calls of the outermost module, each with its backward."""
        return self._settled().steps

    @property
    def first(self) -> dict[str, Any] | None:
        """The first overflow or NaN (else underflow) as ``{"module", "kind", "dtype", "value", "step", ...}``, or None.

        ``value`` is inf, -inf or NaN; for underflow the share of values below the smallest normal number.
        """
        event = self.first_event
        return event.to_dict() if event else None

    @property
    def first_event(self) -> Event | None:
        """The same as a dataclass."""
        return self._settled().first

    @property
    def events(self) -> tuple[Event, ...]:
        """The first overflow or NaN of every step that had one."""
        return tuple(self._settled().events)

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The range of every module, in the order in which they ran."""
        return self._settled().ranges()

    @property
    def scales(self) -> ScaleHistory:
        """The history of the GradScaler's scale; empty without one."""
        return ScaleHistory(tuple(self._settled().scales))

    def report(self, format: str = "text") -> str:
        """Return the report as ``text``, ``json`` or ``html`` (one page with a chart, no scripts).

        Raises:
            InputError: another format.
        """
        if format == "text":
            from troubleshoot.lab.watching.watch_text import render_text

            return render_text(self)
        if format == "json":
            import json

            return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        if format == "html":
            from troubleshoot.lab.watching.watch_page import render_html

            return render_html(self)
        raise InputError(f"report({format!r}): choose text, json or html")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; numbers that JSON lacks are texts."""
        from troubleshoot.lab.watching.observations import plain

        first = self.first
        if first is not None:
            first["value"] = plain(first["value"])
        return {
            "schema": 1,
            "first": first,
            "steps": self.steps,
            "bad_steps": self._analysis.bad_steps,
            "ranges": [one.to_dict() for one in self.ranges],
            "proposal": self.propose().to_dict(),
            "scales": self.scales.to_dict(),
            "error": self.error,
        }

    @property
    def dtype(self) -> str:
        """The narrowest dtype that modules returned, among float16, bfloat16, float32 and float64: the one whose limits matter."""
        met = {one.dtype for one in self.ranges if one.direction == "forward"}
        return next((one for one in ("float16", "bfloat16", "float32", "float64") if one in met), "float32")

    def propose(self, dtype: str | None = None) -> Proposal:
        """Propose the modules to keep in float32 if the rest is ``dtype`` (default: the half precision seen, else float16)."""
        dtype = self._target(dtype)
        leaves = frozenset(name for name, one in self._modules.items() if any(p is not None for p in one._parameters.values()))
        vanished = self.vanished() if dtype == "float16" else None
        if vanished is not None:
            return Proposal((vanished.module,), dtype, "what it returns is zero in float16")
        return _proposed(self.events, self.ranges, dtype, leaves)

    def _target(self, dtype: str | None) -> str:
        if dtype is None:
            return self.dtype if self.dtype in ("float16", "bfloat16") else "float16"
        if dtype not in LIMITS:
            raise InputError(f"{dtype!r}: choose {', '.join(LIMITS)}")
        return dtype

    def verify(self, run: Callable[[], object] | None = None, *, dtype: str | None = None) -> Proposal:
        """Run the model with the proposed modules in float32, add what is missing, leave out what is not needed, and return that set.

        ``run`` calls the model; by default the call that went wrong is repeated, without gradients. ``dtype`` (a name) casts the model for
        the time of the runs: to find the set for float16 after a watch in float32. The model is left as it was.

        Raises:
            InputError: nothing was recorded that could be repeated, several models are watched, or the model is sharded.
        """
        from troubleshoot.lab.verify.patches import apply
        from troubleshoot.lab.watching.proposal import Trial, settle

        if self.model is None:
            raise InputError("verify() needs one model: watch the component that went wrong by itself")
        if self._sharded:
            raise InputError("verify() needs parameters that are whole: run it on a model that is not sharded by FSDP")
        proposal = self.propose(dtype)
        repeat = run or self._repeat()
        active, self._recorder.active = self._recorder.active, False
        try:
            with ExitStack() as stack:
                if dtype is not None:
                    stack.enter_context(apply({"patch": "cast_module", "module": "", "dtype": dtype}, self.model))
                trial = Trial(self.model, repeat, _forward_only)
                return settle(trial, proposal, self._parts)
        finally:
            self._recorder.active = active

    def _repeat(self) -> Callable[[], object]:
        self._recorder.settle()
        call = self._failing or self._last
        if call is None:
            raise InputError("verify() has no call to repeat: give verify(lambda: model(**inputs))")

        def repeat() -> object:
            import torch

            with torch.no_grad():
                return call.module(*call.args, **call.kwargs)

        return repeat

    def _parts(self, name: str) -> tuple[str, ...]:
        """The layers with weights inside a module, the last one to run first."""
        prefix = f"{name}." if name else ""
        seen = [one.module for one in self.ranges if one.direction == "forward" and one.module.startswith(prefix) and one.module != name]
        leaves = [one for one in dict.fromkeys(seen) if any(p is not None for p in self._modules[one]._parameters.values())]
        return tuple(reversed(leaves))[:8]

    def broken_weights(self, name: str) -> str:
        """Return what the module's own parameters hold: "nan", "inf" (and no NaN), or "". Nothing is read from a device that failed."""
        import torch

        try:
            if any(bool(torch.isnan(one).any()) for one in self._own(name)):
                return "nan"
            return "inf" if any(bool(torch.isinf(one).any()) for one in self._own(name)) else ""
        except RuntimeError:
            return ""

    def has_weights(self, name: str) -> bool:
        """Tell whether a module holds parameters of its own."""
        return any(one is not None for one in getattr(self._modules.get(name), "_parameters", {}).values())

    def _own(self, name: str) -> list[Any]:
        """Return the module's own floating-point parameters that hold data."""
        module = self._modules.get(name)
        if module is None or self._recorder.error is not None:
            return []
        own = [one.detach() for one in module._parameters.values() if one is not None and one.is_floating_point()]
        return [one for one in own if one.device.type != "meta" and one.element_size() > 1]

    def vanished(self) -> Range | None:
        """Return the first module whose output was nothing but zeros in float16, where the last one's was too; None otherwise.

        A layer whose weights are zero returns zeros on purpose.
        """
        forward = [one for one in self.ranges if one.direction == "forward" and one.module not in (INPUTS, OUTSIDE)]
        if self._settled().events or not forward or not _zeros(forward[-1]):
            return None
        first = next(one for one in forward if _zeros(one))
        try:
            own = self._own(first.module)
            return None if own and not any(bool(one.any()) for one in own) else first
        except RuntimeError:
            return None

    def diagnose(self, **options: Any) -> Diagnosis:
        """Diagnose what was seen with the knowledge base; options are those of ``troubleshoot.diagnose`` (``gpu``, ``language``, ...)."""
        from troubleshoot.engine.diagnosis import diagnose
        from troubleshoot.lab.watching.story import story

        options.setdefault("environment", "local")
        return diagnose(story(self), **options)

    def __str__(self) -> str:
        return self.report()


def _zeros(one: Range) -> bool:
    return one.dtype == "float16" and bool(one.calls) and one.low == one.high == 0.0


def _proposed(events: tuple[Event, ...], ranges: tuple[Range, ...], dtype: str, leaves: frozenset[str]) -> Proposal:
    from troubleshoot.lab.watching.proposal import propose

    return propose(events, ranges, dtype, leaves)


class _forward_only:  # noqa: N801
    """A watch for one run of a trial: forward only, ``first`` as a dataclass."""

    def __init__(self, model: Any) -> None:
        self._watch = Watch(model, backward=False)

    def __enter__(self) -> _forward_only:
        self._watch.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._watch.__exit__(*details)

    @property
    def first(self) -> Event | None:
        return self._watch.first_event

    @property
    def error(self) -> str | None:
        return self._watch.error


def _unwrapped(model: Any) -> Any:
    """Return the model inside of DataParallel, DistributedDataParallel, FullyShardedDataParallel and torch.compile."""
    while True:
        if type(model).__name__ in ("DataParallel", "DistributedDataParallel"):
            model = model.module
        elif type(model).__name__ == "OptimizedModule":
            model = model._orig_mod
        elif type(model).__name__ == "FullyShardedDataParallel":
            model = model._fsdp_wrapped_module
        else:
            return model


def _run_uncompiled(stack: ExitStack) -> None:
    """Hooks are not seen by code that is compiled already; where torch can (2.6 on) it runs eagerly meanwhile."""
    import sys

    compiler = sys.modules.get("torch.compiler")
    if "torch._dynamo" in sys.modules and compiler is not None and hasattr(compiler, "set_stance"):
        stack.enter_context(compiler.set_stance("force_eager"))
