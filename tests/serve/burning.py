"""An engine that does what reports tell it to, and an application that diagnoses with it: what a fault of the real one would do."""

from __future__ import annotations

import os
import re
import signal
import time
from typing import Any

from fastapi import FastAPI

from troubleshoot.engine.result import Diagnosis
from troubleshoot.reading import Report
from troubleshoot.serve import Settings, create_app
from troubleshoot.serve.engine import Engine


class Burning(Engine):
    """Obeys the words of a report before it diagnoses it."""

    def diagnose(self, report: str | bytes | Report, **given: Any) -> tuple[Diagnosis, tuple[str, ...]]:
        """Burn, crash, take memory or wait, then diagnose."""
        text = report if isinstance(report, str) else ""
        if "BURN" in text:
            # Native code that does not return, nor lets Python handle a signal.
            re.match(r"(a+)+$", "a" * 60 + "b")
        if "CRASH" in text:
            os.kill(os.getpid(), signal.SIGSEGV)
        if "MEMORY" in text:
            bytes(bytearray(2**31))
        if "SLEEP" in text:
            time.sleep(0.6)
        if "WAIT" in text:
            time.sleep(60)
        if "FAIL" in text:
            raise ValueError(text)
        return super().diagnose(report, **given)


def app() -> FastAPI:
    """Return the application: for ``uvicorn --factory burning:app``."""
    return create_app(Settings(cpu_limit=0.3, timeout=20.0), engine=Burning)
