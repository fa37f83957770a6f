"""``check()``: the context manager that users hold, and what the command's child process begins."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from troubleshoot.lab.checking.check_findings import Finding


def check(*, every: int = 1, steps: int = 0) -> Check:
    """Check every operation of a block for lost precision.

    ``every``: look at every so many steps only (a step ends with an optimizer's step). ``steps``: look at the first so many steps only.
    """
    return Check(every=every, steps=steps)


class Check:
    """A running or finished check; see :func:`check`."""

    def __init__(self, *, every: int = 1, steps: int = 0) -> None:
        from troubleshoot.lab.checking import rounding
        from troubleshoot.lab.checking.births import Births
        from troubleshoot.lab.checking.hooks import Hooks
        from troubleshoot.lab.checking.log import Log
        from troubleshoot.lab.checking.recorder import Recorder
        from troubleshoot.lab.checking.steps import Steps

        self._log = Log()
        self._recorder = Recorder(self._log, [], every=every, first=steps)
        self._births = Births(self._recorder)
        self._steps = Steps(self._recorder)
        self._sums = rounding.Absorbing(self._recorder)
        self._integers = rounding.Integers(self._recorder)
        self._recorder.rules += [
            rounding.squashed,
            self._births,
            self._sums,
            self._integers,
            rounding.phases,
            rounding.coarse,
            rounding.conversions,
            rounding.quantised,
            rounding.masks,
            rounding.unwritten,
            self._steps,
        ]
        self._hooks = Hooks(self._recorder, self._births, self._steps)
        self._finished = False
        self._stance = ExitStack()
        self._uncompiled: list[bool] = []

    def __enter__(self) -> Check:
        import gc

        import torch

        # What exists already takes part too.
        for one in gc.get_objects():
            if issubclass(type(one), torch.optim.Optimizer):
                self._steps.optimizers.add(one)
        return self.begin()

    def begin(self) -> Check:
        """Begin without looking for what exists already."""
        from troubleshoot.lab.checking.frames import run_uncompiled
        from troubleshoot.lab.watching.session import _run_uncompiled

        self._hooks.install()
        _run_uncompiled(self._stance)
        self._uncompiled = run_uncompiled()
        self._recorder.__enter__()  # type: ignore[no-untyped-call, unused-ignore]
        return self

    def __exit__(self, *details: Any) -> None:
        self._recorder.__exit__(*details)  # type: ignore[no-untyped-call, unused-ignore]
        self._hooks.remove()
        self._stance.close()
        self.finish()

    def finish(self) -> None:
        """Conclude: what is known only at the end."""
        if self._finished:
            return
        self._finished = True
        self._recorder.ended = True
        self._births.finish(exhausted=self._steps.exhausted)
        self._sums.finish()
        self._integers.finish()
        self._steps.finish()

    def until_first(self, then: Callable[[], object]) -> None:
        """Call a function as soon as something is certain to be found."""
        self._log.then = then

    def seen(self) -> dict[str, Any]:
        """Return what was seen beside findings, for the process that compares."""
        recorder = self._recorder
        return {
            "schema": 1,
            "steps": self.steps,
            "operations": recorder.ops,
            "error": self.error,
            "draws": recorder.draws,
            # Left out while the scale is being found: harmless, and the float32 run does the same. More than that is a fault of its own.
            "skips": [] if self._steps.exhausted else self._steps.left_out,
            "met": sorted(recorder.met),
            "uncompiled": bool(self._uncompiled),
        }

    @property
    def error(self) -> str | None:
        """What ended the check early, or None."""
        return self._recorder.error

    @property
    def steps(self) -> int:
        """How many steps of optimizers were seen."""
        return self._log.step

    @property
    def candidates(self) -> list[Finding]:
        """All that was seen, also what counts only where the float32 run shows that results are wrong."""
        from troubleshoot.lab.checking.judging import ranked

        return ranked(list(self._log.findings.values()))

    @property
    def findings(self) -> list[Finding]:
        """The findings, the first cause first."""
        from troubleshoot.lab.checking.judging import settled

        return settled(self.candidates, None)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        from troubleshoot.lab.checking.check_text import told

        return {
            "schema": 1,
            "findings": [told(one) for one in self.findings],
            "steps": self.steps,
            "operations": self._recorder.ops,
            "error": self.error,
        }

    def report(self, format: str = "text", *, language: str = "en") -> str:
        """Return the report as ``text``, ``json`` or ``html``."""
        from troubleshoot.lab.checking.check_text import render

        return render(self.to_dict(), format, language)

    def __str__(self) -> str:
        return self.report()
