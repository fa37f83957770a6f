"""The lines that a reader of tracebacks works on, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field

from troubleshoot.report.model import Frame, RaisedException


@dataclass
class Source:
    """Cleaned lines of one stream with their numbers in the pasted text."""

    lines: list[str]
    numbers: list[int]
    rank: int | None = None

    def __len__(self) -> int:
        return len(self.lines)


@dataclass
class Chain:
    """Exceptions that belong together, in the order in which they were raised, as found at one place of a report."""

    exceptions: list[RaisedException]
    rank: int | None = None
    role: str | None = None
    # Restated in torchelastic's footer, not printed by the process itself.
    from_footer: bool = False


@dataclass
class Scan:
    """Everything found in one stream."""

    chains: list[Chain] = field(default_factory=list)
    # The rank whose failure torchelastic saw first, and the line that says so.
    root_rank: int | None = None
    root_line: int = 0


def raised(
    kind: str, message: str, frames: list[Frame], line: int, last_line: int, link: str | None = None, complete: bool = False
) -> RaisedException:
    """Build a RaisedException with its message cut to the limit of 4 KB."""
    message = message.strip()
    if len(message) > MESSAGE_LIMIT:
        message = message[:MESSAGE_LIMIT]
    return RaisedException(kind, message, tuple(frames), line, last_line, link, complete)


MESSAGE_LIMIT = 4096
