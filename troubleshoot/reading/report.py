"""What a report says: the output of reading, the input of evidence. Frozen dataclasses, and frozen structs where a report has
many of a kind: making one costs a tenth.

Line numbers count from 1 in the text as it was pasted, before anything was stripped from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from troubleshoot.basics.lazy import lazy_attribute

if TYPE_CHECKING:
    from troubleshoot.reading.contrasts import Contrast
    from troubleshoot.reading.magnitudes import Reckoned
    from troubleshoot.reading.requirements import Requirement


class Frame(msgspec.Struct, frozen=True):
    """One frame of a traceback, as written in the report.

    ``file`` keeps the reporter's spelling (Windows paths too; :attr:`path` has forward slashes),
    ``number`` is the line in that file, ``code`` the quoted source line, ``at`` the line of the report.
    """

    file: str
    function: str | None
    number: int | None
    code: str | None
    at: int

    @property
    def path(self) -> str:
        """The file with forward slashes, for comparing path suffixes."""
        return self.file.replace("\\", "/")


@dataclass(frozen=True)
class RaisedException:
    """One exception of a chain or group.

    ``type`` is written as in the report and may be dotted (``torch.OutOfMemoryError``); it is empty for an error
    message that was pasted without its exception. ``message`` may have several lines. ``frames`` run from the outermost
    to the innermost. ``link`` says how it hangs together with the exception printed before it in the same chain:
    ``cause`` (raise ... from), ``context`` (while handling), ``group`` (member of an ExceptionGroup), None for the first. The members of a
    group come before the group, what a worker raised before the exception that carries its text: the order in which they were raised.
    ``complete`` is False where frames are missing or may be missing: cut at the top, elided, or without a header; a frame that
    is absent from an incomplete traceback is unknown, not refuted.
    """

    type: str
    message: str
    frames: tuple[Frame, ...]
    line: int
    last_line: int
    link: str | None = None
    complete: bool = False

    @property
    def name(self) -> str:
        """The class without its module."""
        return self.type.rpartition(".")[2]


@dataclass(frozen=True)
class Place:
    """Where it failed: ``user`` the deepest frame in the reporter's own code, ``library`` the deepest one in a package above torch.

    Each is ``path:line`` (shortened below site-packages) or None.
    """

    user: str | None = None
    library: str | None = None


@dataclass(frozen=True)
class Failure:
    """One thing that went wrong, with every exception of its chain in the order in which they were raised.

    ``role`` is ``cause``, ``victim`` (failed because something else did) or ``launcher`` (a footer that only reports
    exit codes). ``count`` says how often it occurs in the report, ``ranks`` which ranks of a distributed job printed it.
    ``line`` is that of the message of the first exception raised in its first occurrence.
    ``fingerprint`` is stable over line numbers, addresses, paths and ranks.
    """

    exceptions: tuple[RaisedException, ...]
    line: int
    role: str = "cause"
    count: int = 1
    ranks: tuple[int, ...] = ()
    fingerprint: str = ""
    place: Place = Place()

    @property
    def root(self) -> RaisedException:
        """The exception that was raised first: the one to explain."""
        return self.exceptions[0]

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All frames of the chain, in the order of the report."""
        return tuple(frame for one in self.exceptions for frame in one.frames)


class Mention(msgspec.Struct, frozen=True):
    """Something that the text says outside tracebacks or beside them, with its line.

    ``kind`` and what ``name`` and ``value`` mean:

    ========== =============================== =========================================================
    kind       name                            value
    ========== =============================== =========================================================
    package    normalised distribution name    version, or "" where only the presence is stated, or "absent"
    python     "python"                        version
    os         "os"                            "linux", "windows", "macos", "wsl"
    gpu        "gpu"                           as written ("Tesla T4")
    capability "capability"                    "7.5"
    cuda       "cuda" or "rocm" or "driver"    version
    model      "model"                         "Salesforce/blip2-opt-2.7b" or a class such as Blip2Model
    dtype      "requested" or "mentioned"      canonical dtype
    device     "requested" or "mentioned"      cuda, cpu, mps, ...
    quantization "quantization"                bitsandbytes-4bit, bitsandbytes-8bit, gptq, awq, fp8, gguf, hqq, torchao, ...
    attention  "attention"                     eager, sdpa, flash_attention_2, xformers, ...
    launcher   "launcher"                      torchrun, accelerate, deepspeed, mpirun, ray, slurm, lightning
    device_map "device_map"                    auto, balanced, sequential, cuda:0, ...
    autocast   "autocast"                      on, off
    flag       option without dashes           its value ("" for a bare flag)
    phase      "phase"                         training, inference, loading, saving, export, compile
    ========== =============================== =========================================================
    """

    kind: str
    name: str
    value: str
    line: int
    text: str = ""


@dataclass(frozen=True, repr=False)
class Report:
    """What the user gave, read once.

    ``lines`` are the cleaned lines (no ANSI codes, no rank, timestamp, container or quoting prefix) that were kept, and ``numbers``
    their line numbers in the original text; a text within the limits is kept whole. ``truncated`` tells that a long text was
    reduced to its failures' surroundings, its beginning and its end. ``reason`` is None, or why nothing could be read: "empty", "binary".
    """

    lines: tuple[str, ...]
    numbers: tuple[int, ...]
    failures: tuple[Failure, ...] = ()
    mentions: tuple[Mention, ...] = ()
    truncated: bool = False
    total_lines: int = 0
    reason: str | None = None

    def __repr__(self) -> str:
        """In short, and without what was pasted: it may hold secrets."""
        return f"<{type(self).__name__} of {self.total_lines} lines, {len(self.failures)} failures>"

    @property
    def cause(self) -> Failure | None:
        """The failure to diagnose first: the first with the role ``cause``, else the first of any role."""
        for failure in self.failures:
            if failure.role == "cause":
                return failure
        return self.failures[0] if self.failures else None

    @lazy_attribute
    def contrasts(self) -> tuple[Contrast, ...]:
        """What the report says of experiments that were made; read when it is first asked for."""
        from troubleshoot.reading.contrasts import find_contrasts

        return find_contrasts(self)

    @lazy_attribute
    def reckoned(self) -> tuple[Reckoned, ...]:
        """What the report's numbers tell of dtypes; read when it is first asked for."""
        from troubleshoot.reading.magnitudes import reckon

        return reckon(self.lines, self.numbers)

    @lazy_attribute
    def requirements(self) -> tuple[Requirement, ...]:
        """What the report's refusals accept and what they got; read when it is first asked for."""
        from troubleshoot.reading.requirements import read_requirements

        return read_requirements(self.lines, self.numbers)
