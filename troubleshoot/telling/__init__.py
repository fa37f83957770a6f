"""Faces of a diagnosis: terminal text, Markdown, HTML, JSON. What is said is decided once (content), how it looks per format."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis
    from troubleshoot.telling.document import Document

T = TypeVar("T")

FORMATS = ("text", "markdown", "json", "html")

__all__ = ["FORMATS", "render", "render_documents"]


def render(
    diagnosis: Diagnosis,
    format: str = "text",
    *,
    color: bool = False,
    width: int = 80,
    top: int | None = None,
    redact: bool = False,
    full: bool = False,
    more: str = "",
) -> str:
    """Return the diagnosis as ``text`` (terminal), ``markdown``, ``html`` (one self-contained page) or ``json``, in its own language.

    Text is the short answer of at most 16 lines, unless it is to be ``full`` or ``top`` says how many diagnoses are shown in full; ``more``
    is what the short answer calls the way to the rest. The other formats hold everything (in JSON, ``top`` is how many diagnoses are
    listed). Secrets are always masked; ``redact`` also masks home directories, e-mail and IP addresses. ``color`` and ``width`` concern
    the terminal only. Ends with a newline.

    Raises:
        InputError: the format is none of these.
    """
    if format == "json":
        return _json(diagnosis, top, redact)
    if format == "text" and not full and top is None:
        return _short(diagnosis, color, width, redact, more)
    from troubleshoot.telling.content import answered, documents

    pages = documents(diagnosis, top) if format == "text" else answered(diagnosis, top)
    return render_documents(pages, format, color=color, width=width, redact=redact)


def render_documents(pages: tuple[Document, ...], format: str, *, color: bool = False, width: int = 80, redact: bool = False) -> str:
    """Return documents in a form; see :func:`render`."""
    pages = _masked(pages, redact)
    if format == "text":
        from troubleshoot.telling.text import to_text

        return to_text(pages, color=color, width=width)
    if format == "markdown":
        from troubleshoot.telling.markdown import to_markdown

        return to_markdown(pages)
    if format == "html":
        from troubleshoot.telling.html import to_html

        return to_html(pages)
    from troubleshoot.basics.errors import InputError

    raise InputError(f"there is no format {format!r}; choose one of {', '.join(FORMATS)}")


def _masked(shown: T, redact: bool) -> T:
    """Return what is shown without secrets."""
    from troubleshoot.basics.redact import redact_text
    from troubleshoot.telling.document import transform

    texts: list[str] = []
    transform(shown, lambda text: texts.append(text) or text)  # type: ignore[func-returns-value]
    # Most reports hold nothing to mask, and one look at all their texts together tells so.
    joined = "\n".join(texts)
    if redact_text(joined, personal=redact) == joined:
        return shown
    masked: T = transform(shown, lambda text: redact_text(text, personal=redact))
    return masked


def _short(diagnosis: Diagnosis, color: bool, width: int, redact: bool, more: str) -> str:
    from troubleshoot.telling.screen import first_screen
    from troubleshoot.telling.screen_text import screen_text

    if not more and diagnosis.first is not None and diagnosis.verdict != "unknown":
        more = f"troubleshoot explain {diagnosis.first.issue}"
    return screen_text(_masked(first_screen(diagnosis), redact), color=color, width=width, more=more)


def _json(diagnosis: Diagnosis, top: int | None, redact: bool) -> str:
    from troubleshoot.basics.json_text import json_text

    data = diagnosis.to_dict(redact=redact)
    if top is not None:
        data["diagnoses"] = data["diagnoses"][:top]
    return json_text(data, indent=2) + "\n"
