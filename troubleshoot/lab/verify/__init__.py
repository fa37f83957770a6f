"""Verification: reproduce a known issue on this machine, try every fix, show what works."""

from typing import TYPE_CHECKING

from troubleshoot.basics.lazy import lazy_names

if TYPE_CHECKING:
    from troubleshoot.lab.verify.outcomes import Verification
    from troubleshoot.lab.verify.patches import Handle, apply
    from troubleshoot.lab.verify.runner import verify, verify_diagnosis

_HOMES = {"Handle": "patches", "Verification": "outcomes", "apply": "patches", "verify": "runner", "verify_diagnosis": "runner"}

__all__ = ["Handle", "Verification", "apply", "verify", "verify_diagnosis"]

__getattr__ = lazy_names(__name__, _HOMES)
