"""What C++ and launchers print when they end: ``terminate called``, watchdogs, and torchelastic's list of failed ranks."""

from __future__ import annotations

from troubleshoot.basics.patterns import anchored, searched
from troubleshoot.reading.report import Frame, RaisedException
from troubleshoot.reading.stream import Source, raised
from troubleshoot.reading.tracebacks import ends_message

_TERMINATE = anchored(r".*terminate called after throwing an instance of '([^']{1,200})'")
_UNCAUGHT = anchored(r".*terminating (?:due to|with) uncaught exception of type ([\w:]{1,200})(?:: (.*))?")
_FAULT_FRAME = anchored(r'File "([^"]*)", line (\d{1,9}) in (.*)$')
_RANK = searched(r"\[[Rr]ank (\d{1,5})\]")
_FOOTER_RANK = anchored(r"\s*+rank\s{1,20}: (\d{1,6})(?:\s|$)")


def read_terminate(source: Source, at: int) -> tuple[RaisedException | None, int]:
    """Read ``terminate called after throwing an instance of 'c10::Error'`` with its ``what():``."""
    lines, numbers, end = source.lines, source.numbers, len(source)
    match = _TERMINATE.match(lines[at][:1000])
    parts: list[str] = []
    i = at + 1
    if match:
        kind = match[1]
        while i < end and i < at + 3 and "what():" not in lines[i]:
            i += 1
        if i >= end or "what():" not in lines[i]:
            return raised(kind, "", [], numbers[at], numbers[at]), at + 1
        parts.append(lines[i].partition("what():")[2].strip())
        i += 1
    else:
        match = _UNCAUGHT.match(lines[at][:5000])
        if not match:
            return None, at + 1
        kind = match[1]
        parts.append(match[2] or "")
    while i < end and len(parts) < 40:
        stripped = lines[i].strip()
        if not stripped or ends_message(stripped):
            break
        parts.append(stripped)
        i += 1
    return raised(kind, "\n".join(parts), [], numbers[at], numbers[i - 1]), skip_native_frames(lines, i)


def skip_native_frames(lines: list[str], at: int) -> int:
    """Return the index past a C++ stack that begins at ``at``."""
    while at < len(lines) and lines[at].lstrip().startswith(("frame #", "Exception raised from", "<omitting python frames>")):
        at += 1
    return at


def read_fatal(source: Source, at: int) -> tuple[RaisedException | None, int]:
    """Read what Python's fault handler prints: ``Fatal Python error: Segmentation fault`` and frames, the innermost first."""
    lines, numbers = source.lines, source.numbers
    frames: list[Frame] = []
    past = at + 1
    threads = 0
    for i in range(at + 1, min(len(source), at + 400)):
        stripped = lines[i].strip()
        if "most recent call first" in stripped:
            threads += 1
        match = _FAULT_FRAME.match(stripped)
        if match:
            if threads == 1:
                frames.append(Frame(match[1], match[3], int(match[2]), None, numbers[i]))
        elif stripped and "most recent call first" not in stripped and not stripped.startswith("Python runtime state"):
            break
        past = i + 1
    frames.reverse()
    return raised("", lines[at].partition(": ")[2], frames, numbers[at], numbers[past - 1], complete=bool(frames)), past


def read_watchdog(source: Source, at: int) -> tuple[RaisedException, int | None]:
    """Return the exception (without a class) of NCCL's watchdog, and the rank that it names."""
    line = source.lines[at]
    rank = _RANK.search(line[:2000])
    message = line[line.find("Watchdog caught") :]
    return raised("", message, [], source.numbers[at], source.numbers[at]), int(rank[1]) if rank else None


def footer_rank(line: str) -> int | None:
    """Return the rank that a line of torchelastic's footer (``  rank      : 1 (local_rank: 1)``) names."""
    match = _FOOTER_RANK.match(line)
    return int(match[1]) if match else None
