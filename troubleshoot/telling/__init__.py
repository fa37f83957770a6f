"""Faces of a diagnosis: terminal text, Markdown, HTML, JSON. What is said is decided once (content), how it looks per format."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from troubleshoot.engine.result import Diagnosis
    from troubleshoot.telling.document import Document

FORMATS = ("text", "markdown", "json", "html")

__all__ = ["FORMATS", "render", "render_documents"]


def render(
    diagnosis: Diagnosis, format: str = "text", *, color: bool = False, width: int = 80, top: int | None = None, redact: bool = False
) -> str:
    """Return the diagnosis as ``text`` (terminal), ``markdown``, ``html`` (one self-contained page) or ``json``, in its own language.

    ``top`` is how many diagnoses are shown in full (default 1; in JSON: how many are listed, default all). Secrets are always masked;
    ``redact`` also masks home directories, e-mail and IP addresses. ``color`` and ``width`` concern the terminal only. Ends with a newline.

    Raises:
        InputError: the format is none of these.
    """
    if format == "json":
        return _json(diagnosis, top, redact)
    from troubleshoot.telling.content import documents

    return render_documents(documents(diagnosis, top, brief=format == "text"), format, color=color, width=width, redact=redact)


def render_documents(pages: tuple[Document, ...], format: str, *, color: bool = False, width: int = 80, redact: bool = False) -> str:
    """Return documents in a form; see :func:`render`."""
    from troubleshoot.basics.redact import redact_text
    from troubleshoot.telling.document import transform

    texts: list[str] = []
    for page in pages:
        transform(page, lambda text: texts.append(text) or text)  # type: ignore[func-returns-value]
    # Most reports hold nothing to mask, and one look at all their texts together tells so.
    joined = "\n".join(texts)
    if redact_text(joined, personal=redact) != joined:
        pages = tuple(transform(page, lambda text: redact_text(text, personal=redact)) for page in pages)
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


def _json(diagnosis: Diagnosis, top: int | None, redact: bool) -> str:
    from troubleshoot.basics.json_text import json_text

    data = diagnosis.to_dict(redact=redact)
    if top is not None:
        data["diagnoses"] = data["diagnoses"][:top]
    return json_text(data, indent=2) + "\n"
