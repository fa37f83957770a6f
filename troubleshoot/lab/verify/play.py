"""How each fix of an entry is played on its case: in another dtype, by a live patch, under autocast, by the case itself, or by other
packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from troubleshoot.knowledge.schema import Fix
from troubleshoot.lab.verify.outcomes import Case

_DTYPE_OF = {"use-bf16": "bfloat16", "use-fp16": "float16", "use-fp32": "float32"}

#: Kinds that promise only that the program goes on: what they let through may be wrong, and that is said.
HIDING = frozenset({"sanitize-probabilities", "ignore"})


@dataclass(frozen=True)
class Play:
    """One fix as a run. ``install`` are packages to change (a version, "" for any, None to remove); ``skip`` says why it is not run."""

    fix: Fix
    dtype: str
    variant: str | None = None
    patches: tuple[Mapping[str, Any], ...] = ()
    autocast: str | None = None
    install: Mapping[str, str | None] = field(default_factory=dict)
    skip: str | None = None

    @property
    def workaround(self) -> bool:
        """True for what changes the user's program: it must be known what becomes of it on a fixed release."""
        return not self.skip and not self.install and bool(self.variant or self.patches)


def play(fix: Fix, case: Case) -> Play:
    """Return how to run a fix on a case."""
    asked = case.dtypes[0]
    dtype = _DTYPE_OF.get(fix.kind, asked)
    if fix.id in case.plays:
        return Play(fix, dtype, variant=fix.id)
    action = fix.action
    if fix.id in case.unplayable:
        return Play(fix, asked, skip=case.unplayable[fix.id])
    # "Run in float32" as a whole-model cast: the user's inputs follow, so the program is built in that dtype.
    if fix.kind in _DTYPE_OF and action.get("module", "") == "":
        return Play(fix, dtype)
    if "patch" in action:
        return Play(fix, asked, patches=(action,))
    if fix.kind == "enable-autocast":
        return Play(fix, asked, autocast=asked)
    for name in ("upgrade", "downgrade", "install"):
        if name in action and "{" in str(action[name]):
            return Play(fix, asked, skip="general advice: which package it is depends on the report")
        if name in action:
            return Play(fix, asked, install={str(action[name]): str(action.get("to", ""))})
    if "uninstall" in action:
        return Play(fix, asked, install={str(action["uninstall"]): None})
    if "advice" in action:
        return Play(fix, asked, skip="advice: there is nothing to run")
    return Play(fix, asked, skip="the case has no variant that plays this change of the caller's program")
