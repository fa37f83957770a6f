"""The version, and what to print when the program itself fails."""

from __future__ import annotations

import platform
import sys


def tool_version() -> str:
    """Return the version of the installed package."""
    from troubleshoot.version import __version__

    return __version__


def version_line() -> str:
    """Return the line that ``--version`` prints."""
    from troubleshoot.knowledge import load_kb

    try:
        base = load_kb()
        knowledge = f"knowledge base {base.version}, {len(base.ids())} entries"
    except Exception as error:
        # --version must answer in a broken installation: that is when it is asked for.
        knowledge = f"knowledge base not readable: {error}"
    return f"troubleshoot {tool_version()} ({knowledge}; Python {platform.python_version()})"


def _short(path: str) -> str:
    """Return a path from the package's name on: where it is installed is nobody's business."""
    parts = path.replace("\\", "/").split("/")
    for name in ("site-packages", "troubleshoot"):
        if name in parts:
            return "/".join(parts[len(parts) - 1 - parts[::-1].index(name) + (name == "site-packages") :])
    return "/".join(parts[-2:])


def internal_error(error: Exception) -> str:
    """Return what to tell the user about a fault of the program: one line, and a draft of a report without personal details."""
    import traceback

    from troubleshoot.basics.redact import redact_text
    from troubleshoot.telling.layout import visible

    arguments = " ".join(argument if argument.startswith("-") else "..." for argument in sys.argv[1:])
    lines = [
        f"troubleshoot {tool_version()}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        f"arguments: {arguments}",
        *(f"  {_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)),
        *traceback.format_exception_only(type(error), error),
    ]
    draft = "\n".join(visible(redact_text(line.rstrip(), personal=True)) for line in lines)
    first = visible(redact_text(f"{type(error).__name__}: {error}".split("\n")[0], personal=True))
    return (
        f"troubleshoot: internal error, a fault of this program and not of yours: {first}\n"
        "Please report it with the draft below (personal details are masked; read it before you send it), and with the input if you can.\n"
        f"----- draft -----\n{draft}\n----- end -----\n"
    )
