"""Verification: reproduce a known issue on this machine, try every fix, show what works."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from troubleshoot.verify.model import Verification
    from troubleshoot.verify.patches import Handle, apply
    from troubleshoot.verify.runner import verify, verify_diagnosis

_HOMES = {"Handle": "patches", "Verification": "model", "apply": "patches", "verify": "runner", "verify_diagnosis": "runner"}

__all__ = ["Handle", "Verification", "apply", "verify", "verify_diagnosis"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
