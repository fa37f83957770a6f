"""Chains become failures: merged where identical, restatements dropped, with their roles in a job of several processes."""

from __future__ import annotations

import zlib
from dataclasses import replace

from troubleshoot.basics.patterns import searched
from troubleshoot.reading.places import locate, place_of
from troubleshoot.reading.report import Failure, Frame, Place, RaisedException
from troubleshoot.reading.stream import Chain, Scan

#: Different failures of one report that are kept: of more, the first ones and the last ones.
_MOST_FAILURES = 200
#: Footers of launchers that are read: one for each start of a job.
_MOST_FOOTERS = 64

_VOLATILE = searched(r"0x[0-9a-fA-F]++|(?<![\w.~-])(?:[A-Za-z]:)?[\w.~-]*+(?:[/\\][\w.~+-]++)++|\d++")
_BLANKS = searched(r"\s+")

#: Raised because another process of the job is gone, whatever else the report holds.
_VICTIM_WORDS = (
    "Connection closed by peer", "Connection reset by peer", "Watchdog caught collective operation timeout", "ncclRemoteError",
    "remote process exited",
    "NCCL communicator was aborted", "To avoid data inconsistency", "Stop_waiting response is expected", "failed to recv, got 0 bytes",
    "Broken pipe",
    "Application timeout caused pair closure", "Some NCCL operations have failed or timed out",
)  # fmt: skip
_VICTIM_TYPES = frozenset(("SignalException",))
#: Victims only where something else failed: alone, each may be the failure itself.
_SECONDARY_TYPES = frozenset(
    (
        "KeyboardInterrupt",
        "SystemExit",
        "BrokenPipeError",
        "ConnectionResetError",
        "ConnectionAbortedError",
        "ConnectionRefusedError",
        "EOFError",
        "CancelledError",
    )
)
_SECONDARY_WORDS = (
    "DataLoader worker (pid", "is killed by signal", "exited unexpectedly", "Timed out waiting", "Socket Timeout", "Connection refused",
    "wait timeout after", "Gloo connectFullMesh failed",
)  # fmt: skip
_LAUNCHER_TYPES = frozenset(("ChildFailedError",))
_LAUNCHER_FRAMES = (
    "accelerate/commands/launch.py",
    "torch/distributed/launch.py",
    "torch/distributed/run.py",
    "deepspeed/launcher/",
    "accelerate/launchers.py",
)


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
    # Twice 32 bits: hashlib would cost more to import than a report to read.
    return f"{zlib.crc32(data):08x}{zlib.crc32(data[::-1]):08x}"


def assemble(found: Scan, most: int | None = _MOST_FAILURES) -> tuple[Failure, ...]:
    """Return the failures of a report, in its order: merged where identical, with roles. ``most`` of them are kept (None: all)."""
    order: dict[str, list[Chain]] = {}
    for chain in _without_restatements(found.chains):
        order.setdefault(fingerprint(chain.exceptions), []).append(chain)
    failures = [_failure(key, chains) for key, chains in order.items()]
    failures.sort(key=lambda failure: failure.line)
    if most is not None and len(failures) > most:
        failures = failures[: most * 3 // 4] + failures[-most // 4 :]
    return tuple(_with_roles(failures, found) if len(failures) > 1 else failures)


def _bare(function: str | None) -> str:
    if not function:
        return ""
    name = function.partition("(")[0]
    return "<module>" if name.startswith("<") else name.rpartition(".")[2]


def _failure(key: str, chains: list[Chain]) -> Failure:
    # A process's own words before the launcher's; of those, the most complete.
    first = min(chains, key=lambda chain: (chain.from_footer, chain.exceptions[0].line))
    exceptions = tuple(first.exceptions)
    ranks = tuple(sorted({chain.rank for chain in chains if chain.rank is not None}))
    own = sum(1 for chain in chains if not chain.from_footer) or 1
    role = next((chain.role for chain in chains if chain.role), None) or _role(exceptions)
    return Failure(exceptions, exceptions[0].line, role, own, ranks, key, _place(exceptions))


def _place(exceptions: tuple[RaisedException, ...]) -> Place:
    """The place of the exception raised first; what its own frames do not tell, those of the whole chain do."""
    place = place_of(exceptions[0].frames)
    if len(exceptions) == 1 or (place.user and place.library):
        return place
    frames: list[Frame] = [frame for one in exceptions for frame in one.frames]
    rest = place_of(frames)
    return Place(place.user or rest.user, place.library or rest.library)


def _role(exceptions: tuple[RaisedException, ...]) -> str:
    last = exceptions[-1]
    if last.name in _LAUNCHER_TYPES:
        return "launcher"
    if last.name == "CalledProcessError" and any(mark in frame.path for frame in last.frames for mark in _LAUNCHER_FRAMES):
        return "launcher"
    root = exceptions[0]
    if root.name in _VICTIM_TYPES or any(word in root.message for word in _VICTIM_WORDS):
        return "victim"
    return "cause"


def _secondary(failure: Failure) -> bool:
    root = failure.root
    return root.name in _SECONDARY_TYPES or any(word in root.message for word in _SECONDARY_WORDS)


def _with_roles(failures: list[Failure], found: Scan) -> list[Failure]:
    ignored = {chain.exceptions[0].line for chain in found.chains if chain.ignored}
    secondary = [failure.line in ignored or _secondary(failure) for failure in failures]
    if any(failure.role == "cause" and not late for failure, late in zip(failures, secondary, strict=True)):
        failures = [
            replace(failure, role="victim") if late and failure.role == "cause" else failure
            for failure, late in zip(failures, secondary, strict=True)
        ]
    begin = 0
    for line, rank in sorted(found.roots)[:_MOST_FOOTERS]:
        failures = _before_footer(failures, begin, line, rank)
        begin = line
    return failures


def _before_footer(failures: list[Failure], begin: int, footer: int, rank: int) -> list[Failure]:
    """Take the launcher's word for one of its runs: it saw which process ended first, what else that run printed is a consequence."""
    run = [failure for failure in failures if begin <= failure.line < footer and failure.role == "cause"]
    first = next((failure for failure in run if rank in failure.ranks), None)
    if first is None:
        return failures
    victims = {failure.line for failure in run if failure is not first}
    return [replace(failure, role="victim") if failure.line in victims else failure for failure in failures]


def _without_restatements(chains: list[Chain]) -> list[Chain]:
    """Drop messages without frames that say what a traceback says, and footers that repeat what a rank printed."""
    if len(chains) < 2:
        return chains
    told: dict[str, Chain] = {}
    for chain in chains:
        if chain.exceptions[-1].frames and not chain.from_footer:
            for one in chain.exceptions:
                told.setdefault(_said(one.message), chain)
    kept: list[Chain] = []
    for chain in chains:
        last = chain.exceptions[-1]
        if chain.from_footer:
            original = told.get(_said(last.message))
            if original and original.exceptions[-1].name == last.name:
                if original.rank is None:
                    original.rank = chain.rank
                continue
        elif len(chain.exceptions) == 1 and last.frames and not last.complete and _is_cut_of(last, told.get(_said(last.message))):
            continue
        elif len(chain.exceptions) == 1 and not last.frames and chain.role is None:
            said = _said(last.message)
            if said in told or any(
                said.endswith(message) or message.startswith(said) for message in _few(told) if len(message) > 8 and len(said) > 8
            ):
                continue
        kept.append(chain)
    return kept


def _is_cut_of(cut: RaisedException, whole: Chain | None) -> bool:
    """Tell whether a traceback is the end of one that the report holds whole: its top was outside of what was kept."""
    if whole is None:
        return False
    spots = [(frame.file, frame.number) for frame in cut.frames]
    return any(
        one.complete and one.type == cut.type and [(frame.file, frame.number) for frame in one.frames][-len(spots) :] == spots
        for one in whole.exceptions
    )


def _few(told: dict[str, Chain]) -> list[str]:
    return list(told)[:50]


def _said(message: str) -> str:
    """The first line of a message, without what a log line appends to it."""
    return _BLANKS.sub(" ", message.partition("\n")[0]).strip().rstrip(".`'\"").lower()[:300]
