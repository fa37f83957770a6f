"""The page of the Python API: a directive for every public name, which mkdocstrings fills in from its docstring."""

from __future__ import annotations

from inspect import isclass
from operator import attrgetter

import troubleshoot
from troubleshoot.curation.publishing.markup import front_matter

API = "api.md"

_INTRODUCTION = """\
# Python API

`import troubleshoot` costs nothing: every name is imported when it is first used, and torch only by what runs something. A `str` is always
text, a file is an `os.PathLike`. Tutorials: [in a terminal](tutorials/command.md), [in a program](tutorials/exceptions.md).
"""

#: Heading -> names, in the order of use.
_GROUPS = {
    "Diagnose": ("diagnose", "Diagnosis", "apply"),
    "In your program": ("install", "uninstall", "guard", "explain", "DiagnosisHandler", "reload"),
    "Models": ("audit", "audit_checkpoint", "check", "watch", "keep_float32", "loss_scales"),
    "Knowledge and environment": ("load_kb", "KnowledgeBase", "Environment"),
    "Errors": ("TroubleshootError", "InputError", "UnknownIssueError", "KnowledgeError"),
}
#: What a diagnosis is made of.
_PARTS = ("IssueDiagnosis", "FixAdvice", "EvidenceItem", "SeenRun", "Question", "Culprit")


def api_page() -> str:
    """Return the page; a public name without a place here stands under *Further names*."""
    known = {name for names in _GROUPS.values() for name in names}
    further = tuple(name for name in troubleshoot.__all__ if name not in known and not name.startswith("__"))
    parts = [front_matter(title="Python API", hide=["navigation"]), _INTRODUCTION]
    for heading, names in {**_GROUPS, **({"Further names": further} if further else {})}.items():
        parts.append(f"## {heading}")
        parts += [_directive(name) for name in names]
        if heading == "Diagnose":
            parts += [_block(f"troubleshoot.engine.result.{name}", members=True) for name in _PARTS]
    return "\n\n".join(parts) + "\n"


def _directive(name: str) -> str:
    thing = attrgetter(name)(troubleshoot)
    return _block(f"{thing.__module__}.{name}", members=isclass(thing) and not issubclass(thing, Exception))


def _block(path: str, *, members: bool) -> str:
    options = "    options:\n      members: true\n      inherited_members: false" if members else ""
    return f"::: {path}\n{options}".rstrip()
