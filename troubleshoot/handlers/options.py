"""What a handler is told once: where its reports go, and which."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis
    from troubleshoot.knowledge import KnowledgeBase

#: Seconds that a diagnosis may take before the handler gives up on it.
TIMEOUT = 10.0

VERDICTS = ("known", "likely")


class Options(NamedTuple):
    """Where reports go (``output``), which (``verdicts``), in which language, with which overlays (``kb``), whether masked (``redact``)."""

    output: Any = "stderr"
    language: str = "en"
    kb: tuple[str, ...] = ()
    redact: bool = False
    verdicts: tuple[str, ...] = VERDICTS
    timeout: float = TIMEOUT
    base: KnowledgeBase | None = None


def options(
    output: str | os.PathLike[str] | Callable[[Diagnosis], object] | Any = "stderr",
    *,
    language: str | None = None,
    kb: Sequence[str | os.PathLike[str]] = (),
    redact: bool = False,
    verdicts: Sequence[str] = VERDICTS,
    timeout: float = TIMEOUT,
) -> Options:
    """Return checked options.

    ``output`` is "stderr", "notes" (added to the exception), a path (appended to; JSON lines where it ends with .jsonl), a logger, or
    a function that gets the Diagnosis.

    Raises:
        InputError: an option is none of what is allowed.
    """
    if isinstance(output, str) and output not in ("stderr", "notes"):
        _refuse(f'output={output!r}: give "stderr", "notes", a path (pathlib.Path({output!r})), a logger or a function')
    if not (isinstance(output, str | os.PathLike) or callable(output) or is_logger(output)):
        _refuse(f"output={output!r} is no path, logger or function")
    unknown = set(verdicts) - {"known", "likely", "unknown"}
    if unknown:
        _refuse(f"verdicts: {', '.join(sorted(unknown))}: the verdicts are known, likely and unknown")
    if language not in (None, "en", "zh"):
        _refuse(f"language={language!r}: choose en or zh")
    return Options(output, language or spoken(), tuple(os.fspath(one) for one in kb), redact, tuple(verdicts), timeout)


def _refuse(text: str) -> NoReturn:
    # Imported here: it brings pathlib, which takes as long as the rest of install().
    from troubleshoot.basics.errors import InputError

    raise InputError(text)


def spoken() -> str:
    """Return the language of the environment: ``TROUBLESHOOT_LANG``, else that of the locale."""
    for name in ("TROUBLESHOOT_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name)
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def is_logger(value: object) -> bool:
    """Tell whether a value is a logger, without importing logging."""
    logging = sys.modules.get("logging")
    return logging is not None and isinstance(value, logging.Logger | logging.LoggerAdapter)
