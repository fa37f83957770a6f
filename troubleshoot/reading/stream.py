"""The lines that a reader of tracebacks works on, and what it returns."""

from __future__ import annotations

from troubleshoot.reading.report import Frame, RaisedException


class Source:
    """Cleaned lines of one stream with their numbers in the pasted text.

    ``stamped`` tells which lines a logger gave a time, where one did.
    """

    def __init__(self, lines: list[str], numbers: list[int], rank: int | None = None, stamped: list[bool] | None = None) -> None:
        self.lines = lines
        self.numbers = numbers
        self.rank = rank
        self.stamped = stamped
        #: Lines that readers may still look at in vain: a few for each line, so that all of them together stay linear.
        self.allowance = 2_000 + 4 * len(lines)

    def __len__(self) -> int:
        return len(self.lines)


class Chain:
    """Exceptions that belong together, in the order in which they were raised, as found at one place of a report."""

    def __init__(self, exceptions: list[RaisedException], rank: int | None = None, role: str | None = None) -> None:
        self.exceptions = exceptions
        self.rank = rank
        self.role = role
        # Restated in torchelastic's footer, not printed by the process itself.
        self.from_footer = False
        # Raised where nobody could catch it, in a destructor or at exit.
        self.ignored = False


class Scan:
    """Everything found in a report; for each footer of torchelastic its line and the rank whose failure it saw first."""

    def __init__(self, chains: list[Chain] | None = None) -> None:
        self.chains = chains if chains is not None else []
        self.roots: list[tuple[int, int]] = []


def raised(
    kind: str, message: str, frames: list[Frame], line: int, last_line: int, link: str | None = None, complete: bool = False
) -> RaisedException:
    """Build a RaisedException with its message cut to the limit of 4 KB."""
    message = message.strip()
    if len(message) > MESSAGE_LIMIT:
        message = message[:MESSAGE_LIMIT]
    return RaisedException(kind, message, tuple(frames), line, last_line, link, complete)


MESSAGE_LIMIT = 4096
