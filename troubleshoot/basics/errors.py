"""The exceptions of the package, one tree.

Everything that the package raises on purpose is a :class:`TroubleshootError`, so that a caller
needs one ``except`` clause. Each message says what was wrong, where, and what to do.
"""

from __future__ import annotations

from pathlib import Path


class TroubleshootError(Exception):
    """Base class of every error that the package raises on purpose."""


class InputError(TroubleshootError):
    """The report, an option or an answer cannot be used as given."""


class FactError(InputError, ValueError):
    """A fact that was given (a GPU, a version, an answer) has a name or a value that nobody knows; the message has the nearest ones."""


class UnknownIssueError(InputError):
    """No known issue has this id.

    ``suggestions`` holds the ids that are spelled most alike, best first.
    """

    def __init__(self, issue: str, suggestions: tuple[str, ...] = ()) -> None:
        self.issue = issue
        self.suggestions = suggestions
        hint = f" Did you mean: {', '.join(suggestions)}?" if suggestions else ""
        super().__init__(f"no known issue is called {issue!r}.{hint} See: troubleshoot kb list")


class EnvironmentProbeError(TroubleshootError):
    """Another interpreter, or a deep probe, did not answer."""


class KnowledgeError(TroubleshootError):
    """A knowledge-base file cannot be read. ``problems`` lists every fault that was found."""

    def __init__(self, problems: tuple[KnowledgeProblem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class KnowledgeProblem:
    """One fault in one file: ``kb/torch/linear.yaml:12: fixes[0].kind: ... (do this)``."""

    __slots__ = ("file", "line", "path", "text")

    def __init__(self, file: Path | str, line: int, path: str, text: str) -> None:
        self.file = file
        self.line = line
        self.path = path
        self.text = text

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{self.file}:{self.line}: {where}{self.text}"

    def __repr__(self) -> str:
        return f"KnowledgeProblem({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnowledgeProblem) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))
