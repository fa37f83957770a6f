"""How configurations and command lines spell a dtype, and which one a fix asks for."""

from __future__ import annotations

import re

from troubleshoot.engine.result import FixAdvice
from troubleshoot.lab.editing.plans import RefusedError

HALF = frozenset({"float16", "bfloat16"})
#: spelling -> dtype
NAMES = {
    "float16": "float16", "fp16": "float16", "half": "float16", "torch.float16": "float16", "16": "float16", "16-mixed": "float16",
    "16-true": "float16", "bfloat16": "bfloat16", "bf16": "bfloat16", "torch.bfloat16": "bfloat16", "bf16-mixed": "bfloat16",
    "bf16-true": "bfloat16", "float32": "float32", "fp32": "float32", "torch.float32": "float32", "no": "float32", "32": "float32",
    "32-true": "float32", "float": "float32",
}  # fmt: skip
_SHORT = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}
_LIGHTNING = {"float16": "16", "bfloat16": "bf16", "float32": "32"}
_KINDS = {"use-bf16": "bfloat16", "use-fp16": "float16", "use-fp32": "float32", "disable-amp": "float32"}
_SWITCHED = re.compile(r"\b(bf16|fp16)\"?\s*(?:=|:)\s*(?:\{\s*\"enabled\":\s*)?(?:True|true)")


def wanted_dtype(fix: FixAdvice) -> str:
    """Return the dtype that a fix asks for. Raises RefusedError where it asks for none."""
    if fix.command is not None:
        raise RefusedError(f"it is no edit but a command: {fix.command}")
    found = _KINDS.get(fix.kind)
    if found is None:
        match = _SWITCHED.search(fix.code or "")
        if match is None:
            raise RefusedError("it sets no dtype that a configuration or a command line could hold")
        found = NAMES[match[1]]
    return found


def respelled(old: str, wanted: str, key: str) -> str:
    """Return a dtype in the spelling that another one had: ``fp16`` becomes ``bf16``, ``16-mixed`` ``bf16-mixed``."""
    if key.replace("-", "_") == "mixed_precision" and wanted == "float32":
        return "no"
    if old.startswith("torch."):
        return f"torch.{wanted}"
    if old[:2] in ("16", "32") or old.startswith("bf16-"):
        kind = old.partition("-")[2]
        if wanted == "float32":
            return "32-true" if kind else "32"
        return f"{_LIGHTNING[wanted]}-{kind or 'mixed'}"
    return _SHORT[wanted] if old in ("fp16", "bf16", "fp32") else wanted
