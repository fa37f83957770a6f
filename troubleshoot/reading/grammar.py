"""What the lines of a traceback look like: patterns and small tests that every reader of tracebacks shares.

All patterns are tried at one place of a line, and none goes back over what it took.
"""

from __future__ import annotations

from troubleshoot.basics.patterns import anchored

HEADER = "Traceback (most recent call last)"

#: ``File "x.py", line 3, in f`` on a stripped line.
FILE = anchored(r'File "([^"]*)", line (\d+)(?:, in (.*))?$')
#: The same after a terminal broke the line and the parts were joined.
FILE_JOINED = anchored(r'File "([^"]*)",\s*line\s*(\d+)(?:,\s*in\s*(.*))?$')

#: ``module.Class: message``, ``Class(Inner): message``, ``Class``.
EXCEPTION = anchored(r"([A-Za-z_]\w*+(?:\.(?:[A-Za-z_]\w*+|<locals>))*+(?:\([A-Za-z_]\w*+\))?)(?::(?:\s(.*))?)?$")

_CLASS_ENDS = (
    "Error", "Exception", "Interrupt", "Exit", "Warning", "StopIteration", "StopAsyncIteration", "Timeout", "Failure",
    "ExceptionGroup", "Unsupported", "NotFound", "Abort", "Fault",
)  # fmt: skip
_WARNING_NAMES = ("Warning",)

#: The beginnings of the lines that link a chain; a narrow terminal breaks what follows.
CAUSE_LINE = "The above exception was the direct cause"
CONTEXT_LINE = "During handling of the above exception"

#: Words of lines by which a launcher or a batch system tells that something of it ended.
LAUNCHER_LINES = (
    "srun: error:", "exits with return code", "mpirun has detected", "mpirun detected that", "Primary job  terminated normally",
    "prterun detected",
    "slurmstepd: error:", "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
)  # fmt: skip


def indent(line: str) -> int:
    """Return how many blanks a line begins with."""
    return len(line) - len(line.lstrip())


def class_like(name: str) -> bool:
    """Tell whether a dotted name is spelled as exception classes are."""
    last = name.rpartition(".")[2]
    if last.endswith(")"):
        last = last.partition("(")[0]
    return last.endswith(_CLASS_ENDS) and last[:1] != "_" and (last[:1].isupper() or "." in name)


def is_warning(name: str) -> bool:
    """Tell whether a class name is that of a warning."""
    return name.endswith(_WARNING_NAMES)


def is_carets(stripped: str) -> bool:
    """Tell whether a line only marks columns (``~~~~^^^^``)."""
    return "^" in stripped and not stripped.strip("~^- \t|")


def match_exception(stripped: str, after_frames: bool) -> tuple[str, str] | None:
    """Return (type, message) where a line names an exception, else None.

    ``after_frames``: right below frames any dotted or capitalised name will do.
    """
    match = EXCEPTION.match(stripped)
    if not match:
        return None
    name, message = match[1], match[2] or ""
    if class_like(name):
        return name, message
    if after_frames and ("." in name or name[:1].isupper() or ":" in stripped[len(name) : len(name) + 1]):
        return name, message
    return None
