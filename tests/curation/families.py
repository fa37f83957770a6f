"""A family of one message, for tests of what is fitted to labelled reports."""

from __future__ import annotations

from pathlib import Path

_FAMILY = """\
schema: 1
id: torch/a-family
title: Two kernels quarrel
status: testing
kind: family
impact: error
signature:
  message:
    - {template: "the two kernels quarrel about {what:name}"}
causes:
CAUSES
explanation: They quarrel.
fixes:
  - {id: cast, kind: cast-inputs, title: Cast, applicability: safe, action: {edit: "x.to(model.dtype)"}, reason: Then they agree.}
references:
  - {kind: report, url: "https://github.com/pytorch/pytorch/issues/1"}
"""
#: A message that it answers.
MESSAGE = "RuntimeError: the two kernels quarrel about bread"


def family(causes: str) -> str:
    """Return the entry with these causes, lines of YAML."""
    return _FAMILY.replace("CAUSES\n", causes)


def write_family(root: Path, entry: str) -> Path:
    """Write a base of this entry alone, and return its folder."""
    (root / "torch").mkdir(parents=True)
    (root / "torch" / "a-family.yaml").write_text(entry, encoding="utf-8")
    return root
