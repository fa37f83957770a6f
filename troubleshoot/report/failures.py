"""Chains become failures: merged where identical, with their roles in a job of several processes."""

from __future__ import annotations

import re
import zlib

from troubleshoot.report.model import Failure, RaisedException
from troubleshoot.report.places import locate, place_of
from troubleshoot.report.source import Chain

_VOLATILE = re.compile(r"0x[0-9a-fA-F]+|(?:[A-Za-z]:)?[\w.~-]*(?:[/\\][\w.~+-]+)+|\d+")

_LAUNCHER_TYPES = ("ChildFailedError",)
_VICTIM_TYPES = ("KeyboardInterrupt", "SystemExit", "SignalException", "BrokenPipeError", "ConnectionResetError", "EOFError", "ConnectionRefusedError")
_VICTIM_WORDS = (
    "Connection closed by peer", "Connection reset by peer", "Watchdog caught collective operation timeout", "ncclRemoteError", "remote process exited",
    "NCCL communicator was aborted", "is killed by signal", "exited unexpectedly", "Broken pipe", "Timed out waiting", "Socket Timeout",
    "To avoid data inconsistency", "ncclSystemError", "DistBackendError", "Connection refused", "Stop_waiting response is expected",
)  # fmt: skip


def fingerprint(exceptions: list[RaisedException] | tuple[RaisedException, ...]) -> str:
    """Return 16 hexadecimal digits that are the same for the same failure whatever the line numbers, addresses, paths and ranks."""
    parts = []
    for one in exceptions:
        parts.append(one.name)
        parts.append(_VOLATILE.sub("#", one.message))
        for frame in one.frames:
            owner, short = locate(frame.path)
            parts.append(short.rpartition("/")[2] if owner in ("user", "python") else short)
            parts.append(_bare(frame.function))
    data = "\n".join(parts).encode("utf-8", "replace")
    return f"{zlib.crc32(data):08x}{zlib.crc32(data[::-1]):08x}"


def _bare(function: str | None) -> str:
    if not function:
        return ""
    name = function.partition("(")[0]
    return "<module>" if name.startswith("<") else name.rpartition(".")[2]


def assemble(chains: list[Chain]) -> tuple[Failure, ...]:
    """Merge identical chains, drop restatements, give roles; ``chains`` are in the order of the report."""
    order: list[str] = []
    merged: dict[str, list[Chain]] = {}
    for chain in chains:
        key = fingerprint(chain.exceptions)
        if key not in merged:
            order.append(key)
            merged[key] = []
        merged[key].append(chain)
    failures = []
    for key in order:
        group = merged[key]
        first = group[0]
        exceptions = tuple(first.exceptions)
        ranks = tuple(sorted({chain.rank for chain in group if chain.rank is not None}))
        frames = [frame for one in exceptions for frame in one.frames]
        own = exceptions[0].frames
        place = place_of(own) if own else place_of(frames)
        failures.append(Failure(exceptions, exceptions[0].line, "cause", len(group), ranks, key, place))
    failures.sort(key=lambda failure: failure.line)
    return tuple(failures)
