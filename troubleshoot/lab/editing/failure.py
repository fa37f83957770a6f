"""What an edit, or another run, is to take away: a failure with its diagnosis, its frames, and what was seen in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from troubleshoot.engine.result import Culprit, Diagnosis, FixAdvice
from troubleshoot.reading.report import Frame

if TYPE_CHECKING:
    from troubleshoot.engine.live.seen import Seen


@dataclass(frozen=True)
class KnownValue:
    """A name that held a dtype or a device where it failed: ``function`` is None for a global of the file."""

    file: str
    function: str | None
    name: str
    kind: str
    value: str


@dataclass(frozen=True)
class Failure:
    """One failure of a program, as text only, so that it can be handed from process to process.

    ``frames`` run from the outermost to the innermost. ``culprit`` and what follows it are known only from a live exception: ``change`` is
    the (kind, line of code) that takes the cause away, ``root`` how the code calls the outermost module, ``odd`` the modules that hold
    parameters unlike most of the model, ``call`` the expression of the program that failed, ``named`` the tensors that it names with their
    dtypes, ``torch`` the functions of torch below it, ``values`` the names of dtypes and devices in the program's frames. ``saved`` tells
    that it was read from a saved report: its line numbers may be those of another version, and its paths whatever its writer put there.
    """

    error: str
    traceback: str
    verdict: str
    issue: str
    cause: str
    title: str
    fixes: tuple[FixAdvice, ...] = ()
    frames: tuple[Frame, ...] = ()
    culprit: Culprit | None = None
    change: tuple[str, str] | None = None
    root: str = "model"
    root_class: str | None = None
    odd: tuple[str, ...] = ()
    main_dtype: str | None = None
    main_device: str | None = None
    call: str = ""
    named: tuple[tuple[str, str], ...] = ()
    torch: tuple[str, ...] = ()
    values: tuple[KnownValue, ...] = ()
    saved: bool = False

    @property
    def known(self) -> bool:
        """Whether there is a diagnosis."""
        return bool(self.issue)

    def of(self, fixes: tuple[FixAdvice, ...], *, issue: str, cause: str, title: str) -> Failure:
        """Return the same failure, taken for another issue."""
        return replace(self, fixes=fixes, issue=issue, cause=cause, title=title)


def failure_of(diagnosis: Diagnosis, seen: Seen | None = None, values: tuple[KnownValue, ...] = ()) -> Failure:
    """Return the failure that a diagnosis explains; ``issue`` is empty where it explains none."""
    first = diagnosis.first if diagnosis.verdict != "unknown" else None
    failures = diagnosis.report.failures
    index = first.failure if first is not None and first.failure is not None else None
    failure = failures[index] if index is not None else diagnosis.report.cause
    root = failure.root if failure is not None else None
    found = Failure(
        error=f"{root.type}: {root.message}".strip(": ") if root is not None else "",
        traceback="\n".join(diagnosis.report.lines),
        verdict=diagnosis.verdict,
        issue=first.issue if first is not None else "",
        cause=first.cause if first is not None else "",
        title=first.title if first is not None else "",
        fixes=first.fixes if first is not None else (),
        frames=root.frames if root is not None else (),
        culprit=diagnosis.culprit,
        values=values,
    )
    if seen is None:
        return found
    change = seen.blame.change if seen.blame is not None and diagnosis.culprit is not None else None
    return replace(
        found, change=change, root=seen.root, root_class=seen.root_cls, odd=seen.odd, main_dtype=seen.main_dtype,
        main_device=seen.main_device, call=seen.call, named=seen.named, torch=seen.torch,
    )  # fmt: skip


def encode(failure: Failure) -> bytes:
    """Return a failure as JSON."""
    import msgspec

    return msgspec.json.encode(failure)


def decode(data: bytes) -> Failure:
    """Return the failure that :func:`encode` wrote. Raises ValueError."""
    import msgspec

    found: Any = msgspec.json.decode(data, type=Failure)
    assert isinstance(found, Failure)
    return found
