"""What an operator decides, in one frozen object. Its defaults are safe on a machine that others can reach only through a proxy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from troubleshoot.reader import Reader


@dataclass(frozen=True)
class Settings:
    """The options of ``troubleshoot serve``, and of :func:`troubleshoot.serve.create_app`.

    ``language`` is used until a user shows one. ``overlays`` are folders of entries; those that are not shipped are used for diagnoses, and
    shown in lists and pages only with ``show_overlays``. ``assume`` are facts (``{"model": "Qwen/Qwen2-VL-7B-Instruct"}``) that hold
    unless a report or its author says otherwise. ``public_url`` is where links to the pages of entries lead; by default the address that
    was asked.
    ``max_chars`` is how long a chat answer may be (0: any length). ``tokens`` are the bearer tokens that may use the interfaces (none:
    anybody may); ``allowed_hosts`` the names by which the server may be addressed (none: any). Limits: ``max_body`` bytes of a request,
    ``timeout`` seconds for one, ``max_requests`` at a time. Requests are read in ``engines`` processes (0: one for each processor, at least
    2, at most 4); one request may take ``cpu_limit`` seconds of processor time there, and such a process ``memory_limit`` bytes of memory.
    ``feedback`` is the SQLite file to which feedback goes (None: it is refused); ``store_reports`` keeps the redacted report with it.
    ``log_requests`` logs each request as a line of JSON. ``reader`` is a language model that reads the reports too (None: nothing leaves
    the server).
    """

    language: str = "en"
    overlays: tuple[Path, ...] = ()
    show_overlays: bool = False
    assume: Mapping[str, str] = field(default_factory=dict)
    public_url: str | None = None
    max_chars: int = 0
    tokens: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    max_body: int = 1024 * 1024
    timeout: float = 10.0
    max_requests: int = 256
    engines: int = 0
    cpu_limit: float = 3.0
    memory_limit: int = 512 * 1024 * 1024
    feedback: Path | None = None
    store_reports: bool = False
    log_requests: bool = False
    reader: Reader | None = None
