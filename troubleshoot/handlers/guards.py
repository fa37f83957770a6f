"""``guard()``, ``@explain`` and a logging handler: diagnosis of exceptions that somebody does catch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from troubleshoot.handlers.explaining import report
from troubleshoot.handlers.options import TIMEOUT, VERDICTS, Options, options

if TYPE_CHECKING:
    import os

    from troubleshoot.engine.result import Diagnosis

#: ``inspect.CO_COROUTINE``, without importing inspect
_COROUTINE = 0x80

Function = TypeVar("Function", bound=Callable[..., Any])


class guard:  # noqa: N801  (used as a statement: `with troubleshoot.guard():`)
    """Diagnose an exception that leaves the block, and let it go on. ``diagnosis`` holds what was reported.

    Raises:
        InputError: an option cannot be used; see :func:`troubleshoot.handlers.options.options`.
    """

    def __init__(
        self,
        output: str | os.PathLike[str] | Callable[[Diagnosis], object] | Any = "stderr",
        *,
        language: str | None = None,
        kb: Sequence[str | os.PathLike[str]] = (),
        redact: bool = False,
        verdicts: Sequence[str] = VERDICTS,
        timeout: float = TIMEOUT,
    ) -> None:
        self._options = options(output, language=language, kb=kb, redact=redact, verdicts=verdicts, timeout=timeout)
        self.diagnosis: Diagnosis | None = None

    def __enter__(self) -> guard:
        self.diagnosis = None
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> Literal[False]:
        if value is not None:
            self.diagnosis = _report_quietly(value, self._options)
        return False


def _report_quietly(value: BaseException, now: Options) -> Diagnosis | None:
    try:
        return report(value, now)
    except (Exception, KeyboardInterrupt):
        # The exception that is on its way matters more than the rest of its report; at the end of the stack not even a call is certain.
        return None


def explain(function: Function | None = None, **given: Any) -> Any:
    """Diagnose an exception that leaves a function, and let it go on: ``@explain`` or ``@explain(output="notes")``.

    Takes the options of :class:`guard`. Coroutine functions are awaited inside.
    """
    if function is None:
        return lambda decorated: explain(decorated, **given)
    checked = options(**given)
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & _COROUTINE:

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            try:
                return await function(*args, **kwargs)
            except Exception as error:
                _report_quietly(error, checked)
                raise

        return awaited

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            _report_quietly(error, checked)
            raise

    return called


class DiagnosisHandler(logging.Handler):
    """A logging handler that diagnoses what is logged with an exception (``logger.exception``), after it was logged.

    Takes the options of :class:`guard`; add it behind the handlers that write the log.
    """

    def __init__(self, output: Any = "stderr", *, level: int = logging.ERROR, **given: Any) -> None:
        super().__init__(level)
        self._options = options(output, **given)

    def emit(self, record: logging.LogRecord) -> None:
        """Diagnose the exception of a record, if it has one."""
        found = record.exc_info
        if isinstance(found, tuple) and isinstance(found[1], BaseException):
            _report_quietly(found[1], self._options)
