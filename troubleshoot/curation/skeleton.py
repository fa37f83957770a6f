"""``troubleshoot kb new ID``: a new entry's file, complete enough to be filled in and to be checked from the first minute."""

from __future__ import annotations

import re
from pathlib import Path

from troubleshoot.errors import InputError

_ID = re.compile(r"^[a-z0-9_][a-z0-9_.-]*/[a-z0-9][a-z0-9_.-]*$")

_SKELETON = """\
# yaml-language-server: $schema=../schema.json
schema: 1
id: {id}
title: The cause in one line, not the message
status: draft
cause: {cause}
kind: issue
impact: error
refines: []

signature:
  exception: [RuntimeError]
  message:
    - template: "{template}"

evidence:
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
    - provenance: constructed
      text: |
        {example}
  negative: []

references: []
"""


def new_entry(issue: str, root: Path, *, cause: str = "dtype-mismatch/input-vs-weight", message: str | None = None) -> Path:
    """Write the skeleton of an entry below ``root`` and return its path.

    ``message`` is an error message to start the signature from.

    Raises:
        InputError: the id is malformed, or the entry exists.
    """
    if not _ID.match(issue):
        raise InputError(f"{issue!r} is no id: write package/slug in small letters, such as torch/linear-dtype")
    path = root / f"{issue}.yaml"
    if path.exists():
        raise InputError(f"{path} exists: choose another id, or edit it")
    text = " ".join((message or "a message with its {found:dtype} as a typed hole").split())
    literal = text if message is None else text.replace("{", "{{").replace("}", "}}").replace("[", "[[").replace("]", "]]")
    example = f"RuntimeError: {text}" if message else "RuntimeError: a message with its Half as a typed hole"
    path.parent.mkdir(parents=True, exist_ok=True)
    quoted = literal.replace("\\", "\\\\").replace('"', '\\"')
    path.write_text(_SKELETON.format(id=issue, cause=cause, template=quoted, example=example), encoding="utf-8")
    return path
