"""``troubleshoot kb new ID``: a new entry's file, complete enough to be filled in and to be checked from the first minute."""

from __future__ import annotations

import json
import re
from pathlib import Path

from troubleshoot.basics.errors import InputError
from troubleshoot.curation.draft import Draft
from troubleshoot.curation.wording import template_of

_ID = re.compile(r"^[a-z0-9_][a-z0-9_.-]*/[a-z0-9][a-z0-9_.-]*$")

_CAUSE = "dtype-mismatch/input-vs-weight"
_TITLE = "The cause in one line, not the message"
#: Examples with more lines go into a file of their own.
_INLINE_LINES = 16

_SKELETON = """\
# yaml-language-server: $schema=../schema.json
{notes}schema: 1
id: {id}
title: {title}
status: draft
cause: {cause}
kind: issue
impact: error
refines: [{refines}]

signature:
  exception: [{exception}]
  message:
    - template: {template}
{frames}
{affected}evidence:
  supporting: []

explanation: |
  What happens inside, why it surfaces there, how to be sure.

fixes:
  - id: first
    kind: other
    title: What to do
    applicability: manual
    action: {{advice: "Be concrete: a command, a line of code, a setting."}}
    reason: Why it helps here.

examples:
  positive:
    - provenance: {provenance}
{example}
  negative: []

references: {references}
"""


def new_entry(
    issue: str,
    root: Path,
    *,
    cause: str | None = None,
    message: str | None = None,
    title: str | None = None,
    refines: str | None = None,
    affected: tuple[str, str, str | None] | None = None,
    draft: Draft | None = None,
) -> Path:
    """Write the skeleton of an entry below ``root`` and return its path.

    ``draft`` is what a report or a thread says; the other arguments come before it. ``message`` is an error message to start the
    signature from, ``affected`` (package, introduced, fixed or None).

    Raises:
        InputError: the id is malformed, or the entry exists.
    """
    if not is_id(issue):
        raise InputError(f"{issue!r} is no id: write package/slug in small letters, such as torch/linear-dtype")
    path = root / f"{issue}.yaml"
    if path.exists():
        raise InputError(f"{path} exists: choose another id, or edit it")
    known = draft or Draft()
    given = message if message is not None else known.message
    text = " ".join(given.split()) if given else "a message with its {found:dtype} as a typed hole"
    parent = refines or known.answered_by
    path.parent.mkdir(parents=True, exist_ok=True)
    content = _SKELETON.format(
        id=issue,
        notes=_notes(known),
        title=_quoted(title) if title else _TITLE,
        cause=cause or known.cause or _CAUSE,
        refines=parent or "",
        exception=known.exception or "RuntimeError",
        template=_quoted(template_of(text) if given else text),
        frames=_frames(known),
        affected=_affected(affected),
        provenance="reported" if known.references and known.example else "constructed",
        example=_example(path, known.example or _message(known, given)),
        references=_references(known),
    )
    path.write_text(re.sub(r"\n{3,}", "\n\n", content), encoding="utf-8", newline="\n")
    return path


def is_id(text: str) -> bool:
    """Tell whether a text is package/slug in small letters."""
    return _ID.match(text) is not None


def _quoted(text: str) -> str:
    """Return a text as a double-quoted YAML scalar, which JSON's strings are."""
    return json.dumps(text, ensure_ascii=False)


def _notes(draft: Draft) -> str:
    lines = [f"upstream calls it: {draft.upstream}"] if draft.upstream else []
    lines += [f"versions in the report: {', '.join(draft.seen)}"] if draft.seen else []
    return "".join(f"# {' '.join(line.split())}\n" for line in lines)


def _message(draft: Draft, message: str | None) -> str:
    name = draft.exception or "RuntimeError"
    return f"{name}: {' '.join(message.split())}" if message else f"{name}: a message with its Half as a typed hole"


def _frames(draft: Draft) -> str:
    if draft.frame is None:
        return ""
    file, function = draft.frame
    return f"  frames:\n    - {{file: {_quoted(file)}{f', function: {_quoted(function)}' if function else ''}}}\n"


def _affected(affected: tuple[str, str, str | None] | None) -> str:
    if affected is None:
        return ""
    package, introduced, fixed = affected
    end = f", fixed: {_quoted(fixed)}" if fixed else ""
    return (
        f"affected:\n  - package: {_quoted(package)}\n    ranges: [{{introduced: {_quoted(introduced)}{end}}}]\n"
        "    basis: reported      # only what the source says; `measured` is written after troubleshoot kb bisect\n\n"
    )


def _example(path: Path, text: str) -> str:
    """Return the example inline, or write it to a file of its own and name that."""
    lines = text.strip("\n").splitlines()
    if len(lines) > _INLINE_LINES:
        file = path.parent / "examples" / f"{path.stem}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
        return f"      file: examples/{file.name}"
    if len(lines) == 1 or lines[0][:1].isspace() or not all(line.isprintable() for line in lines):
        return f"      text: {_quoted(chr(10).join(lines) + chr(10))}"
    return "      text: |\n" + "\n".join(f"        {line}" if line else "" for line in lines)


def _references(draft: Draft) -> str:
    return (
        "[]" if not draft.references else "\n" + "\n".join(f"  - {{kind: {kind}, url: {_quoted(url)}}}" for kind, url in draft.references)
    )
