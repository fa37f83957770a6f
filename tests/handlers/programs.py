"""Running small programs, with and without a handler, and comparing what they print and how they end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

#: A failure that the tool knows, without torch.
KNOWN = 'raise RuntimeError("expected scalar type Float but found Half")'
TITLE = "torch/expected-scalar-type"


def run(
    code: str, *, flags: tuple[str, ...] = (), timeout: float = 60, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program text in a process of its own."""
    known = {**os.environ, "PYTHONHASHSEED": "0", **environment}
    return subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, timeout=timeout, env=known, cwd=cwd)


def run_file(path: Path, *arguments: str, prefix: tuple[str, ...] = (), **options: object) -> subprocess.CompletedProcess[bytes]:
    """Run a script as python does, or with a prefix such as ``-m troubleshoot run``."""
    return subprocess.run([sys.executable, *prefix, str(path), *arguments], capture_output=True, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


def told(text: str) -> bool:
    """Tell whether a diagnosis was printed."""
    return "troubleshoot explain" in text or TITLE in text
