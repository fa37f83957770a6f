"""A callback for ``transformers.Trainer``: failures of a training run, with the model that was trained."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

from troubleshoot.handlers.explaining import report
from troubleshoot.handlers.options import Options, options

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis


class TroubleshootCallback(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Diagnose what ends a training run: ``Trainer(..., callbacks=[TroubleshootCallback()])``.

    Trainer has no event for a failure: the hook for uncaught exceptions is installed while it trains, and a previous one called first.
    ``output`` and further options are those of :func:`troubleshoot.install`.
    """

    def __init__(self, output: Any = "stderr", **given: Any) -> None:
        self._options: Options = options(output, **given)
        self._previous: Callable[..., Any] | None = None
        self.diagnosis: Diagnosis | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Watch for an exception from here on."""
        if self._previous is None:
            self._previous, sys.excepthook = sys.excepthook, self._hook

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Put the previous hook back."""
        if self._previous is not None and sys.excepthook == self._hook:
            sys.excepthook, self._previous = self._previous, None

    def _hook(self, kind: type[BaseException], value: BaseException, traceback: Any) -> None:
        previous = self._previous or sys.__excepthook__
        previous(kind, value, traceback)
        self.diagnosis = report(value, self._options)
